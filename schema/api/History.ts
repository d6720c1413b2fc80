// History and online reads: optional Bearer, filtered by the node's visibility and by the guests' access mode.
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Forbidden, InvalidRequest, NotFound, ServiceUnavailable, wire } from "../Errors.ts"
import { HistoryAnswer, OnlineAnswer } from "../History.ts"
import { OptionalBearer } from "./Security.ts"

const param = Schema.optional(Schema.String)

/** What a history request may say, each once. */
export const historyParams = Schema.Struct({
  server_id: param,
  metric: param,
  range: param,
  agg: param,
  device: param,
  from: param,
  to: param
})

const history = HttpApiEndpoint.get("history", "/metrics/history")
  .setUrlParams(historyParams)
  .addSuccess(HistoryAnswer)
  .addError(wire(InvalidRequest), { status: 400 })
  .addError(wire(Forbidden), { status: 403 })
  .addError(wire(NotFound), { status: 404 })
  .addError(wire(ServiceUnavailable), { status: 503 })
  .middleware(OptionalBearer)
  .annotate(
    OpenApi.Description,
    "One metric of one node. `range` 30m, 1h, 12h, 24h, 1w, 15d or 30d, or appended `from` and `to` (RFC 3339 or unix seconds) with an automatic step of at most 2,000 points. `agg` avg (default), max, min or last. `device`: name, ref, path or mount point; required for disk metrics, an interface for the network rates, else not looked at. Values are kept to six decimals."
  )

const online = HttpApiEndpoint.get("online", "/metrics/online")
  .setUrlParams(Schema.Struct({ server_id: param, range: param }))
  .addSuccess(OnlineAnswer)
  .addError(wire(InvalidRequest), { status: 400 })
  .addError(wire(Forbidden), { status: 403 })
  .addError(wire(NotFound), { status: 404 })
  .addError(wire(ServiceUnavailable), { status: 503 })
  .middleware(OptionalBearer)
  .annotate(
    OpenApi.Description,
    "48 complete buckets of 30 (`24h`) or 210 minutes (`7d`): reports received per report promised. Time in which this service itself could not take reports promises none."
  )

export class HistoryApi extends HttpApiGroup.make("history")
  .add(history)
  .add(online)
  .annotate(OpenApi.Title, "History")
  .prefix("/api") {}
