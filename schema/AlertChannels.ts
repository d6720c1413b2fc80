// Notification channels on the wire: what may be shown of them, their write form, tests, and the login to Telegram.
import { Schema } from "effect"

const { Array: Arr, Boolean: Bool, Int, Literal, NullOr, Number: Num, optional, String: Str, Struct, Unknown } = Schema

/** RFC 3339 in UTC and whole seconds. */
const Instant = Str

const ConfigValue = Schema.Union(Str, Num, Bool, Arr(Str))

export const Channel = Struct({
  id: Int,
  name: Str,
  type: Literal("telegram", "email", "webhook"),
  config: Schema.Record({ key: Str, value: ConfigValue }).annotations({
    description:
      "Never a secret. Telegram bot: `mode`, `chat_id`; Telegram account: `mode`, `api_id`, `phone`, `chat_id`, `logged_in`, `username`; e-mail: `smtp_host`, `smtp_port`, `username`, `from`, `to`, `use_tls`; webhook: `url`, `header_names`, `has_secret`."
  }),
  enabled: Bool,
  created_at: Instant,
  updated_at: Instant
}).annotations({ identifier: "AlertChannel" })
export type Channel = typeof Channel.Type

/** `src/core/alert/ChannelWrite` judges every member. */
export const ChannelWrite = Struct({
  name: optional(Unknown),
  type: optional(Unknown),
  config: optional(Unknown),
  enabled: optional(Unknown)
}).annotations({
  identifier: "AlertChannelWrite",
  description:
    "All four are required. Secrets (`bot_token`, `api_hash`, `password`, `secret`) that are missing or blank stay as they are while the type stays."
})
export type ChannelWrite = typeof ChannelWrite.Type

export const ChannelSwitch = Struct({ enabled: optional(Unknown) }).annotations({ identifier: "AlertChannelSwitch" })
export type ChannelSwitch = typeof ChannelSwitch.Type

export const ChannelTest = Struct({ title: optional(NullOr(Str)), message: optional(NullOr(Str)) }).annotations({
  identifier: "AlertChannelTest",
  description: "Both have a default. Sent to a disabled channel too."
})
export type ChannelTest = typeof ChannelTest.Type

/** The account channel that a login is for. */
export const LoginStart = Struct({ channel_id: Int }).annotations({ identifier: "TelegramLoginStart" })
export const LoginStarted = Struct({
  login_id: Str,
  /** Seconds until the code can be asked for another way. */
  timeout: optional(Int)
}).annotations({ identifier: "TelegramLoginStarted" })
export const LoginCode = Struct({ login_id: Str, code: Str }).annotations({ identifier: "TelegramLoginCode" })
/** Answered instead of 204 when the account has a password. */
export const LoginNeedsPassword = Struct({ password_required: Literal(true) }).annotations({
  identifier: "TelegramLoginNeedsPassword"
})
export const LoginPassword = Struct({ login_id: Str, password: Str }).annotations({
  identifier: "TelegramLoginPassword"
})
export const LoginPing = Struct({
  valid: Bool,
  reason: optional(Literal("not_logged_in", "invalid_session"))
}).annotations({ identifier: "TelegramLoginPing" })
