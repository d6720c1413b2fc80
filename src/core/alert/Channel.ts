// What a notification channel is: its address, its secrets, the bounds of each, and its text at rest.
import { Either, Schema } from "effect"

export const channelTypes = ["telegram", "email", "webhook"] as const
export type ChannelType = (typeof channelTypes)[number]

/** A signed or unsigned POST to `url`; `secret` "" means no signature. */
export interface WebhookConfig {
  readonly type: "webhook"
  readonly url: string
  /** Sent with each request, names in lower case. Their values are treated as secrets. */
  readonly headers: Readonly<Record<string, string>>
  readonly secret: string
}

/** A mail through an SMTP server; `username` "" means no login. */
export interface EmailConfig {
  readonly type: "email"
  readonly smtpHost: string
  readonly smtpPort: number
  readonly username: string
  readonly password: string
  readonly from: string
  readonly to: ReadonlyArray<string>
  /** Port 465: TLS from the first byte; every other port: STARTTLS, required. */
  readonly useTls: boolean
}

export interface TelegramBotConfig {
  readonly type: "telegram"
  readonly mode: "bot"
  readonly botToken: string
  readonly chatId: string
}

/** A Telegram account of a person; `session` "" means that nobody has logged in yet. */
export interface TelegramUserConfig {
  readonly type: "telegram"
  readonly mode: "mtproto"
  readonly apiId: number
  readonly apiHash: string
  readonly phone: string
  /** `self`, `@name`, a number (a leading -100 marks a channel) or a name that can be resolved. */
  readonly chatId: string
  readonly session: string
  /** The account's own name, known after the login; "" when it has none. */
  readonly username: string
}

export type ChannelConfig = WebhookConfig | EmailConfig | TelegramBotConfig | TelegramUserConfig

export interface Channel {
  readonly id: number
  readonly name: string
  readonly enabled: boolean
  readonly config: ChannelConfig
  /** Grows with each change; whoever keeps something for a channel keeps it for one revision only. */
  readonly revision: number
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** Milliseconds since 1970. */
  readonly updatedAt: number
}

/** The context under which the configuration of a channel is sealed at rest, so that a row cannot stand in for another. */
export const sealContext = (channelId: number): string => `alert_channels:${channelId}`

export const nameMax = 128
export const urlMax = 2048
export const headersMax = 32
export const headerValueMax = 1024
export const recipientsMax = 50
/** Of host names (RFC 1035) and mail addresses (RFC 5321, 4.5.3.1.3). */
export const hostMax = 253
export const addressMax = 254
/** Of user names, passwords, tokens and the like. */
export const secretMax = 1024
export const chatIdMax = 128
export const phoneMax = 32
/** Of the session of a Telegram account; real ones have about 350 characters. */
export const sessionMax = 4096

const Config: Schema.Schema<ChannelConfig> = Schema.Union(
  Schema.Struct({
    type: Schema.Literal("webhook"),
    url: Schema.String,
    headers: Schema.Record({ key: Schema.String, value: Schema.String }),
    secret: Schema.String
  }),
  Schema.Struct({
    type: Schema.Literal("email"),
    smtpHost: Schema.String,
    smtpPort: Schema.Int,
    username: Schema.String,
    password: Schema.String,
    from: Schema.String,
    to: Schema.Array(Schema.String),
    useTls: Schema.Boolean
  }),
  Schema.Struct({
    type: Schema.Literal("telegram"),
    mode: Schema.Literal("bot"),
    botToken: Schema.String,
    chatId: Schema.String
  }),
  Schema.Struct({
    type: Schema.Literal("telegram"),
    mode: Schema.Literal("mtproto"),
    apiId: Schema.Int,
    apiHash: Schema.String,
    phone: Schema.String,
    chatId: Schema.String,
    session: Schema.String,
    username: Schema.String
  })
)

const decode = Schema.decodeUnknownEither(Schema.parseJson(Config))

/** The configuration as one text, secrets and all: only ever written sealed, under {@link sealContext}. */
export const configText = (config: ChannelConfig): string => JSON.stringify(config)

/** The configuration out of its text; undefined when it is none. */
export const configOf = (text: string): ChannelConfig | undefined => Either.getOrUndefined(decode(text))
