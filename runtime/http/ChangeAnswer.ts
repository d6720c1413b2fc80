// The answers to changes of alerts: 204, the place of what was made, and a warning where alerts do not follow yet.
import { HttpServerResponse } from "@effect/platform"
import type { Written } from "../alert/AlertChanges.ts"

/** The change is stored, but the running alerts will only follow once the database can be read again (contract, mounts). */
const warning = { "x-dash-warning": "alert_reconcile_delayed" }

/** 204 without a body. */
export const answered = ({ isFollowed }: Written<unknown>): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.empty({ status: 204, headers: isFollowed ? {} : warning })

/** 204 with a Location header that names what was made, below `path`. */
export const createdAt = (
  path: string,
  { isFollowed, value }: Written<number>
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.empty({ status: 204, headers: { location: `${path}/${value}`, ...(isFollowed ? {} : warning) } })
