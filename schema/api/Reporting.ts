// /api/node: what agents call. Served by the fast lane; declared here so that it stands in the OpenAPI document.
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import {
  BodyTooLarge,
  InvalidMetrics,
  InvalidRequest,
  InvalidStatic,
  RateLimited,
  ServiceUnavailable,
  Unauthorized,
  UnsupportedMediaType,
  wire
} from "../Errors.ts"
import { NodeReport } from "../Report.ts"
import { Static } from "../Static.ts"
import { IdentityAnswer } from "../System.ts"
import { ReportAnswer } from "../Upgrade.ts"

const headers = Schema.Struct({
  "x-node-secret": Schema.String.annotations({ description: "The node's reporting secret." })
})

const identity = HttpApiEndpoint.post("identity", "/node/identity")
  .setHeaders(headers)
  .addSuccess(IdentityAnswer)
  .addError(wire(Unauthorized), { status: 401 })
  .addError(wire(UnsupportedMediaType), { status: 415 })
  .addError(wire(BodyTooLarge), { status: 413 })
  .addError(wire(RateLimited), { status: 429 })
  .addError(wire(ServiceUnavailable), { status: 503 })

const metrics = HttpApiEndpoint.post("report", "/node/metrics")
  .setHeaders(headers)
  .setPayload(NodeReport)
  .addSuccess(ReportAnswer)
  .addError(wire(InvalidRequest), { status: 400 })
  .addError(wire(Unauthorized), { status: 401 })
  .addError(wire(BodyTooLarge), { status: 413 })
  .addError(wire(UnsupportedMediaType), { status: 415 })
  .addError(wire(InvalidMetrics), { status: 422 })
  .addError(wire(RateLimited), { status: 429 })
  .addError(wire(ServiceUnavailable), { status: 503 })
  .annotate(OpenApi.Description, "200 means that the report is on disk.")

const statics = HttpApiEndpoint.post("static", "/node/static")
  .setHeaders(headers)
  .setPayload(Static)
  .addSuccess(Schema.Literal("ok").pipe(HttpApiSchema.withEncoding({ kind: "Text" })))
  .addError(wire(InvalidRequest), { status: 400 })
  .addError(wire(Unauthorized), { status: 401 })
  .addError(wire(BodyTooLarge), { status: 413 })
  .addError(wire(UnsupportedMediaType), { status: 415 })
  .addError(wire(InvalidStatic), { status: 422 })
  .addError(wire(RateLimited), { status: 429 })
  .addError(wire(ServiceUnavailable), { status: 503 })
  .annotate(OpenApi.Description, "200 means that the payload is on disk.")

export class ReportingApi extends HttpApiGroup.make("reporting")
  .add(identity)
  .add(metrics)
  .add(statics)
  .annotate(OpenApi.Title, "Node reporting")
  .prefix("/api") {}
