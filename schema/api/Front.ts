// Public reads: version, brand, front metrics, groups and the live frame.
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { Forbidden, InvalidRequest, NotFound, ServiceUnavailable, wire } from "../Errors.ts"
import { FrontGroup } from "../Group.ts"
import { LiveFrame, Recent } from "../Live.ts"
import { Snapshot } from "../Snapshot.ts"
import { Brand, VersionAnswer } from "../System.ts"
import { OptionalBearer } from "./Security.ts"

const param = Schema.optional(Schema.String)

const version = HttpApiEndpoint.get("version", "/version").addSuccess(VersionAnswer)

const brand = HttpApiEndpoint.get("brand", "/front/brand")
  .addSuccess(Brand)
  .addError(wire(ServiceUnavailable), { status: 503 })
  .middleware(OptionalBearer)

const metrics = HttpApiEndpoint.get("metrics", "/front/metrics")
  .setUrlParams(Schema.Struct({ limit: param, offset: param, ids: param }))
  .addSuccess(Schema.Array(Snapshot))
  .addError(wire(InvalidRequest), { status: 400 })
  .addError(wire(ServiceUnavailable), { status: 503 })
  .middleware(OptionalBearer)
  .annotate(
    OpenApi.Description,
    "Every visible node that has reported. `limit` 1..1000 (larger is lowered), `offset` 0..100000 only with `limit`; appended `ids`: comma-separated node ids. Carries an ETag."
  )

const groups = HttpApiEndpoint.get("groups", "/front/groups")
  .addSuccess(Schema.Array(FrontGroup))
  .addError(wire(ServiceUnavailable), { status: 503 })
  .middleware(OptionalBearer)

const live = HttpApiEndpoint.get("live", "/front/live")
  .setUrlParams(Schema.Struct({ since: param }))
  .addSuccess(LiveFrame)
  .addError(wire(InvalidRequest), { status: 400 })
  .middleware(OptionalBearer)
  .annotate(OpenApi.Description, "Compact columnar frame: only what changed since `since`. Carries an ETag.")

const recent = HttpApiEndpoint.get("recent", "/front/recent")
  .setUrlParams(Schema.Struct({ server_id: param }))
  .addSuccess(Recent)
  .addError(wire(InvalidRequest), { status: 400 })
  .addError(wire(Forbidden), { status: 403 })
  .addError(wire(NotFound), { status: 404 })
  .middleware(OptionalBearer)
  .annotate(OpenApi.Description, "The last minutes of one node at report resolution.")

export class FrontApi extends HttpApiGroup.make("front")
  .add(version)
  .add(brand)
  .add(metrics)
  .add(groups)
  .add(live)
  .add(recent)
  .annotate(OpenApi.Title, "Public reads")
  .prefix("/api") {}
