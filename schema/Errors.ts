// The error catalogue: every expected failure, its HTTP status and its wire `code`. No other file names a status.
import { Data, Schema } from "effect"

/** The only shape a JSON error has on the wire. */
export const WireError = Schema.Struct({ code: Schema.String, message: Schema.String }).annotations({
  identifier: "Error",
  description: "Every JSON error: a stable code and a readable message that names the field."
})
export type WireError = typeof WireError.Type

export interface FailureClass<F extends Failure> {
  new (args: { readonly message: string }): F
  readonly status: number
  readonly code: string
}

export interface Failure extends Error {
  readonly _tag: string
  readonly status: number
  readonly code: string
}

const failure = <const Tag extends string, const Code extends string>(tag: Tag, status: number, code: Code) =>
  class extends Data.TaggedError(tag)<{ readonly message: string }> {
    static readonly status: number = status
    static readonly code: Code = code
    get status(): number {
      return status
    }
    get code(): Code {
      return code
    }
  }

export class InvalidRequest extends failure("InvalidRequest", 400, "invalid_request") {}
export class InvalidJson extends failure("InvalidJson", 400, "invalid_json") {}
export class InvalidId extends failure("InvalidId", 400, "invalid_id") {}
export class InvalidPath extends failure("InvalidPath", 400, "invalid_path") {}
export class NoFields extends failure("NoFields", 400, "no_fields") {}
export class InvalidFields extends failure("InvalidFields", 400, "invalid_fields") {}
export class InvalidPersistence extends failure("InvalidPersistence", 400, "invalid_persistence") {}
export class InvalidSession extends failure("InvalidSession", 400, "invalid_session") {}
export class InvalidName extends failure("InvalidName", 400, "invalid_name") {}
export class InvalidDisplayOrder extends failure("InvalidDisplayOrder", 400, "invalid_display_order") {}
export class InvalidIds extends failure("InvalidIds", 400, "invalid_ids") {}
export class InvalidTags extends failure("InvalidTags", 400, "invalid_tags") {}
export class InvalidSecret extends failure("InvalidSecret", 400, "invalid_secret") {}
export class InvalidGroupIds extends failure("InvalidGroupIds", 400, "invalid_group_ids") {}
export class InvalidCycleMode extends failure("InvalidCycleMode", 400, "invalid_traffic_cycle_mode") {}
export class InvalidStartDay extends failure("InvalidStartDay", 400, "invalid_traffic_billing_start_day") {}
export class InvalidAnchorDate extends failure("InvalidAnchorDate", 400, "invalid_traffic_billing_anchor_date") {}
export class InvalidTimezone extends failure("InvalidTimezone", 400, "invalid_traffic_billing_timezone") {}
export class InvalidDirectionMode extends failure("InvalidDirectionMode", 400, "invalid_traffic_direction_mode") {}
export class NotLoggedIn extends failure("NotLoggedIn", 400, "not_logged_in") {}
export class InvalidCode extends failure("InvalidCode", 400, "invalid_code") {}
export class InvalidPassword extends failure("InvalidPassword", 400, "invalid_password") {}
export class Unauthorized extends failure("Unauthorized", 401, "unauthorized") {}
export class Forbidden extends failure("Forbidden", 403, "forbidden") {}
export class NotFound extends failure("NotFound", 404, "not_found") {}
export class MethodNotAllowed extends failure("MethodNotAllowed", 405, "method_not_allowed") {}
export class DuplicateSecret extends failure("DuplicateSecret", 409, "duplicate_secret") {}
export class DefaultGroupKept extends failure("DefaultGroupKept", 409, "default_group_not_deletable") {}
export class TrafficDailyRequiresBilling extends failure(
  "TrafficDailyRequiresBilling",
  409,
  "traffic_daily_requires_billing"
) {}
export class TrafficRebuildRunning extends failure("TrafficRebuildRunning", 409, "traffic_rebuild_running") {}
export class BodyTooLarge extends failure("BodyTooLarge", 413, "body_too_large") {}
export class UnsupportedMediaType extends failure("UnsupportedMediaType", 415, "unsupported_media_type") {}
export class InvalidMetrics extends failure("InvalidMetrics", 422, "invalid_metrics") {}
export class InvalidStatic extends failure("InvalidStatic", 422, "invalid_static_payload") {}
export class RateLimited extends failure("RateLimited", 429, "rate_limited") {}
export class InternalError extends failure("InternalError", 500, "internal_error") {}
export class SecretCollision extends failure("SecretCollision", 500, "secret_collision_exhausted") {}
export class StorageUnavailable extends failure("StorageUnavailable", 503, "db_error") {}
export class AuthUnavailable extends failure("AuthUnavailable", 503, "auth_unavailable") {}
export class NotifyError extends failure("NotifyError", 503, "notify_error") {}
export class ServiceUnavailable extends failure("ServiceUnavailable", 503, "service_unavailable") {}
export class TrafficRebuildUnavailable extends failure(
  "TrafficRebuildUnavailable",
  503,
  "traffic_rebuild_unavailable"
) {}

/** Every class above; a contract test walks it and proves each row reachable. */
export const catalogue = [
  InvalidRequest,
  InvalidJson,
  InvalidId,
  InvalidPath,
  NoFields,
  InvalidFields,
  InvalidPersistence,
  InvalidSession,
  InvalidName,
  InvalidDisplayOrder,
  InvalidIds,
  InvalidTags,
  InvalidSecret,
  InvalidGroupIds,
  InvalidCycleMode,
  InvalidStartDay,
  InvalidAnchorDate,
  InvalidTimezone,
  InvalidDirectionMode,
  NotLoggedIn,
  InvalidCode,
  InvalidPassword,
  Unauthorized,
  Forbidden,
  NotFound,
  MethodNotAllowed,
  DuplicateSecret,
  DefaultGroupKept,
  TrafficDailyRequiresBilling,
  TrafficRebuildRunning,
  BodyTooLarge,
  UnsupportedMediaType,
  InvalidMetrics,
  InvalidStatic,
  RateLimited,
  InternalError,
  SecretCollision,
  StorageUnavailable,
  AuthUnavailable,
  NotifyError,
  ServiceUnavailable,
  TrafficRebuildUnavailable
] as const

/** True for a value that the catalogue made. */
export const isFailure = (u: unknown): u is Failure => catalogue.some((one) => u instanceof one)

/**
 * The wire codec of one failure class: `{code, message}` without a tag.
 * Given to `.addError(wire(X), { status: X.status })`, so responses, the OpenAPI document and the typed client agree.
 */
export const wire = <F extends Failure>(one: FailureClass<F>): Schema.Schema<F, { code: string; message: string }> =>
  Schema.transform(
    Schema.Struct({ code: Schema.Literal(one.code), message: Schema.String }).annotations({
      description: `${one.status} ${one.code}`
    }),
    Schema.declare((u: unknown): u is F => u instanceof one, { identifier: one.name }),
    {
      strict: true,
      decode: ({ message }) => new one({ message }),
      encode: (failed) => ({ code: one.code, message: failed.message })
    }
  )
