// The update manifest that a report's answer carries while an upgrade is pending.
import { Schema } from "effect"

export const UpdateManifest = Schema.Struct({
  id: Schema.String,
  version: Schema.String,
  url: Schema.String,
  sha256: Schema.String.pipe(Schema.pattern(/^[0-9a-f]{64}$/)),
  size: Schema.Int.pipe(Schema.positive())
}).annotations({ identifier: "UpdateManifest" })
export type UpdateManifest = typeof UpdateManifest.Type

export const ReportAnswer = Schema.Struct({
  ok: Schema.Literal(true),
  update: Schema.NullOr(UpdateManifest)
}).annotations({ identifier: "ReportAnswer" })
export type ReportAnswer = typeof ReportAnswer.Type
