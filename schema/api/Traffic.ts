// /api/statistics: who may read it, traffic settings and their calendar, and what the ledger answers; its rebuild too.
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import {
  Forbidden,
  InvalidFields,
  InvalidId,
  InvalidRequest,
  NoFields,
  NotFound,
  ServiceUnavailable,
  StorageUnavailable,
  TrafficDailyRequiresBilling,
  TrafficRebuildRunning,
  TrafficRebuildUnavailable,
  wire
} from "../Errors.ts"
import { NodeIdFromPath } from "../Ids.ts"
import {
  StatisticsAccess,
  TrafficCalendar,
  TrafficDaily,
  TrafficIfaces,
  TrafficMonthly,
  TrafficSettingsAnswer,
  TrafficSettingsWrite,
  TrafficSummary
} from "../Traffic.ts"
import { TrafficExplain, TrafficRebuild } from "../TrafficProof.ts"
import { AdminOnly, OptionalBearer } from "./Security.ts"

const param = Schema.optional(Schema.String)
/** Repeated on every read, because each judges all of them (contract, traffic queries). */
const common = { server_id: param, iface: param, period: param, months: param }

const access = HttpApiEndpoint.get("access", "/statistics/access")
  .addSuccess(StatisticsAccess)
  .addError(wire(StorageUnavailable), { status: 503 })
  .middleware(OptionalBearer)

const settings = HttpApiEndpoint.get("settings", "/statistics/traffic/settings")
  .addSuccess(TrafficSettingsAnswer)
  .middleware(OptionalBearer)

const changeSettings = HttpApiEndpoint.patch("changeSettings", "/statistics/traffic/settings")
  .setPayload(TrafficSettingsWrite)
  .addError(wire(InvalidRequest), { status: 400 })
  .addError(wire(NoFields), { status: 400 })
  .addError(wire(InvalidFields), { status: 400 })
  .addError(wire(StorageUnavailable), { status: 503 })
  .middleware(AdminOnly)

const calendar = HttpApiEndpoint.get("calendar", "/statistics/traffic/calendar")
  .setUrlParams(Schema.Struct({ mode: param, start_day: param, anchor_date: param, timezone: param, at: param }))
  .addSuccess(TrafficCalendar)
  .addError(wire(InvalidRequest), { status: 400 })
  .addError(wire(InvalidFields), { status: 400 })
  .middleware(OptionalBearer)
  .annotate(
    OpenApi.Description,
    "The cycles that some settings would make. What is left out is taken from the saved settings, as in a PATCH. `at`: RFC 3339 or unix seconds, now when left out."
  )

/** What needs no ledger. */
export class TrafficSettingsApi extends HttpApiGroup.make("trafficSettings")
  .add(access)
  .add(settings)
  .add(changeSettings)
  .add(calendar)
  .annotate(OpenApi.Title, "Traffic settings")
  .prefix("/api") {}

const ifaces = HttpApiEndpoint.get("ifaces", "/statistics/traffic/ifaces")
  .setUrlParams(Schema.Struct({ server_id: param }))
  .addSuccess(TrafficIfaces)
  .addError(wire(InvalidRequest), { status: 400 })
  .addError(wire(Forbidden), { status: 403 })
  .addError(wire(NotFound), { status: 404 })
  .addError(wire(StorageUnavailable), { status: 503 })
  .addError(wire(ServiceUnavailable), { status: 503 })
  .middleware(OptionalBearer)

const summary = HttpApiEndpoint.get("summary", "/statistics/traffic/summary")
  .setUrlParams(Schema.Struct(common))
  .addSuccess(TrafficSummary)
  .addError(wire(InvalidRequest), { status: 400 })
  .addError(wire(Forbidden), { status: 403 })
  .addError(wire(NotFound), { status: 404 })
  .addError(wire(StorageUnavailable), { status: 503 })
  .addError(wire(ServiceUnavailable), { status: 503 })
  .middleware(OptionalBearer)
  .annotate(OpenApi.Description, "The current cycle of one interface. `iface` is a name; `all` is refused.")

const daily = HttpApiEndpoint.get("daily", "/statistics/traffic/daily")
  .setUrlParams(Schema.Struct(common))
  .addSuccess(TrafficDaily)
  .addError(wire(InvalidRequest), { status: 400 })
  .addError(wire(Forbidden), { status: 403 })
  .addError(wire(NotFound), { status: 404 })
  .addError(wire(TrafficDailyRequiresBilling), { status: 409 })
  .addError(wire(StorageUnavailable), { status: 503 })
  .addError(wire(ServiceUnavailable), { status: 503 })
  .middleware(OptionalBearer)
  .annotate(OpenApi.Description, "Needs `usage_mode` billing. `period`: current (default) or previous.")

const monthly = HttpApiEndpoint.get("monthly", "/statistics/traffic/monthly")
  .setUrlParams(Schema.Struct(common))
  .addSuccess(TrafficMonthly)
  .addError(wire(InvalidRequest), { status: 400 })
  .addError(wire(Forbidden), { status: 403 })
  .addError(wire(NotFound), { status: 404 })
  .addError(wire(StorageUnavailable), { status: 503 })
  .addError(wire(ServiceUnavailable), { status: 503 })
  .middleware(OptionalBearer)
  .annotate(
    OpenApi.Description,
    "Cycles walked back from the current (`period` current, default) or the previous one. `months`: 1 to 24, default 6; more is lowered to 24."
  )

const explain = HttpApiEndpoint.get("explain", "/statistics/traffic/explain")
  .setUrlParams(Schema.Struct(common))
  .addSuccess(TrafficExplain)
  .addError(wire(InvalidRequest), { status: 400 })
  .addError(wire(Forbidden), { status: 403 })
  .addError(wire(NotFound), { status: 404 })
  .addError(wire(StorageUnavailable), { status: 503 })
  .addError(wire(ServiceUnavailable), { status: 503 })
  .middleware(OptionalBearer)
  .annotate(
    OpenApi.Description,
    "The five-minute facts of a cycle, the rule of its percentile and the slots that decide it."
  )

const exported = HttpApiEndpoint.get("export", "/statistics/traffic/export")
  .setUrlParams(Schema.Struct({ ...common, kind: param }))
  .addSuccess(HttpApiSchema.Text({ contentType: "text/csv" }))
  .addError(wire(InvalidRequest), { status: 400 })
  .addError(wire(Forbidden), { status: 403 })
  .addError(wire(NotFound), { status: 404 })
  .addError(wire(TrafficDailyRequiresBilling), { status: 409 })
  .addError(wire(StorageUnavailable), { status: 503 })
  .addError(wire(ServiceUnavailable), { status: 503 })
  .middleware(OptionalBearer)
  .annotate(OpenApi.Description, "CSV with a header line. `kind`: facts, days or months.")

const rebuildStatus = HttpApiEndpoint.get("rebuildStatus", "/admin/nodes/traffic/rebuild")
  .addSuccess(TrafficRebuild)
  .middleware(AdminOnly)

const rebuild = HttpApiEndpoint.post("rebuild", "/admin/nodes/:id/traffic/rebuild")
  .setPath(Schema.Struct({ id: NodeIdFromPath }))
  .addSuccess(TrafficRebuild, { status: 202 })
  .addError(wire(InvalidId), { status: 400 })
  .addError(wire(NotFound), { status: 404 })
  .addError(wire(TrafficRebuildRunning), { status: 409 })
  .addError(wire(TrafficRebuildUnavailable), { status: 503 })
  .middleware(AdminOnly)
  .annotate(
    OpenApi.Description,
    "Makes the totals of a node anew from its facts, one node at a time in the whole service."
  )

/** What the ledger answers. */
export class TrafficApi extends HttpApiGroup.make("traffic")
  .add(ifaces)
  .add(summary)
  .add(daily)
  .add(monthly)
  .add(explain)
  .add(exported)
  .add(rebuildStatus)
  .add(rebuild)
  .annotate(OpenApi.Title, "Traffic")
  .prefix("/api") {}
