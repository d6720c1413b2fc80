// Login, tokens and who is looking: shapes of /api/auth and the Viewer that every read takes.
import { Data, Schema } from "effect"
import type { SessionId } from "./Ids.ts"

/** Every read is answered for exactly one of these; the decision is made once per request. */
export type Viewer = Data.TaggedEnum<{
  Admin: { readonly sessionId: SessionId }
  Guest: object
}>
export const Viewer = Data.taggedEnum<Viewer>()

/** Members stay unknown: `persistence` and `password` have codes of their own, checked in the order of the contract. */
export const Login = Schema.Struct({
  password: Schema.optional(Schema.Unknown),
  persistence: Schema.optional(Schema.Unknown)
}).annotations({ identifier: "Login", description: "`password`, and `persistence`: `session` or `persistent`." })
export type Login = typeof Login.Type

export const Grant = Schema.Struct({
  access_token: Schema.String,
  expires_at: Schema.String,
  csrf_token: Schema.String
}).annotations({ identifier: "Grant", description: "Access token with its expiry, and the value of the csrf cookie." })
export type Grant = typeof Grant.Type

export const SessionRow = Schema.Struct({
  id: Schema.String,
  expires_at: Schema.String,
  session_only: Schema.Boolean,
  current: Schema.Boolean
}).annotations({ identifier: "Session" })
export type SessionRow = typeof SessionRow.Type

export const SessionList = Schema.Struct({ sessions: Schema.Array(SessionRow) })
