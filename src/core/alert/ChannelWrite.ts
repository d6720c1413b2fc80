// Checks the write form of a channel, keeps the secrets that a change leaves out, and tells a channel without them.
import { Either } from "effect"
import { InvalidFields } from "../../../schema/Errors.ts"
import { lineOf } from "../Line.ts"
import { isoSeconds } from "../Online.ts"
import {
  type Channel,
  type ChannelConfig,
  channelTypes,
  chatIdMax,
  nameMax,
  phoneMax,
  secretMax,
  type TelegramBotConfig,
  type TelegramUserConfig
} from "./Channel.ts"
import { emailOf } from "./EmailWrite.ts"
import { type Checked, isMember, kept, line, type Members, membersOf, refuse } from "./Members.ts"
import { webhookOf } from "./WebhookWrite.ts"

/** The body of a create or replace call as it arrives; every member is judged here. */
export interface ChannelBody {
  readonly name?: unknown
  readonly type?: unknown
  readonly config?: unknown
  readonly enabled?: unknown
}

/** What a channel is to hold after the call. */
export interface ChannelDraft {
  readonly name: string
  readonly enabled: boolean
  readonly config: ChannelConfig
}

/** A channel as reads tell it: an allow-list without any secret (contract, channels). */
export interface ChannelView {
  readonly id: number
  readonly name: string
  readonly type: ChannelConfig["type"]
  readonly config: Readonly<Record<string, string | number | boolean | ReadonlyArray<string>>>
  readonly enabled: boolean
  readonly created_at: string
  readonly updated_at: string
}

/** A channel to create. */
export const newChannel = (body: ChannelBody): Either.Either<ChannelDraft, InvalidFields> => draftOf(body, undefined)

/**
 * What a channel becomes when it is replaced. A secret that is missing or blank stays while the type (and for
 * Telegram the mode) stays; the login of a Telegram account stays while it is the same account (contract, channels).
 */
export const replacedChannel = (
  current: Pick<Channel, "config">,
  body: ChannelBody
): Either.Either<ChannelDraft, InvalidFields> => draftOf(body, current.config)

/** The body of the switch: `enabled` and nothing else counts. */
export const switchOf = (body: { readonly enabled?: unknown }): Either.Either<boolean, InvalidFields> =>
  typeof body.enabled === "boolean" ? Either.right(body.enabled) : refuse("enabled", "must be true or false")

/** The configuration of an account after its login. */
export const loggedIn = (config: TelegramUserConfig, session: string, username: string): TelegramUserConfig => ({
  ...config,
  session,
  username
})

/** The configuration without its secrets, as reads tell it. */
export const configView = (config: ChannelConfig): ChannelView["config"] => {
  switch (config.type) {
    case "webhook":
      return { url: config.url, header_names: Object.keys(config.headers), has_secret: config.secret !== "" }
    case "email":
      return {
        smtp_host: config.smtpHost,
        smtp_port: config.smtpPort,
        username: config.username,
        from: config.from,
        to: config.to,
        use_tls: config.useTls
      }
    case "telegram":
      if (config.mode === "bot") return { mode: "bot", chat_id: config.chatId }
      return {
        mode: "mtproto",
        api_id: config.apiId,
        phone: config.phone,
        chat_id: config.chatId,
        logged_in: config.session !== "",
        ...(config.username === "" ? {} : { username: config.username })
      }
  }
}

export const channelView = (channel: Omit<Channel, "revision">): ChannelView => ({
  id: channel.id,
  name: channel.name,
  type: channel.config.type,
  config: configView(channel.config),
  enabled: channel.enabled,
  created_at: isoSeconds(channel.createdAt),
  updated_at: isoSeconds(channel.updatedAt)
})

const draftOf = (body: ChannelBody, before: ChannelConfig | undefined): Checked<ChannelDraft> =>
  Either.gen(function* () {
    if (typeof body.name !== "string") return yield* refuse("name", "must be a text")
    const name = yield* Either.mapLeft(
      lineOf(body.name, nameMax),
      (why) => new InvalidFields({ message: `name ${why}` })
    )
    const type = body.type
    if (!isMember(channelTypes, type)) return yield* refuse("type", `must be one of ${channelTypes.join(", ")}`)
    const enabled = yield* switchOf(body)
    const members = yield* membersOf("config", body.config)
    const config =
      type === "webhook"
        ? yield* webhookOf(members, before?.type === "webhook" ? before : undefined)
        : type === "email"
          ? yield* emailOf(members, before?.type === "email" ? before : undefined)
          : yield* telegramOf(members, before?.type === "telegram" ? before : undefined)
    return { name, enabled, config }
  })

const telegramOf = (
  members: Members,
  before: TelegramBotConfig | TelegramUserConfig | undefined
): Checked<TelegramBotConfig | TelegramUserConfig> => {
  switch (members["mode"] ?? "bot") {
    case "bot":
      return botOf(members, before?.mode === "bot" ? before : undefined)
    case "mtproto":
      return accountOf(members, before?.mode === "mtproto" ? before : undefined)
    default:
      return refuse("config.mode", "must be bot or mtproto")
  }
}

// The token stands in the path of each call, so nothing that means something in a URL may be in it.
const tokenForm = /^[0-9]+:[A-Za-z0-9_-]+$/

const botOf = (members: Members, before: TelegramBotConfig | undefined): Checked<TelegramBotConfig> =>
  Either.gen(function* () {
    const botToken = yield* kept(members, "bot_token", secretMax, before?.botToken)
    if (!tokenForm.test(botToken)) return yield* refuse("config.bot_token", "must be a number, a colon and a key")
    return { type: "telegram", mode: "bot", botToken, chatId: yield* chatIdOf(members) }
  })

const accountOf = (members: Members, before: TelegramUserConfig | undefined): Checked<TelegramUserConfig> =>
  Either.gen(function* () {
    const apiId = yield* apiIdOf(members["api_id"])
    const apiHash = yield* kept(members, "api_hash", secretMax, before?.apiHash)
    const phone = yield* line(members, "phone", phoneMax)
    if (!/^\+?[0-9][0-9 ()-]*$/.test(phone)) return yield* refuse("config.phone", "must be a telephone number")
    const chatId = yield* chatIdOf(members)
    const isSame = before?.apiId === apiId && before.apiHash === apiHash && before.phone === phone
    const login = isSame ? { session: before.session, username: before.username } : { session: "", username: "" }
    return { type: "telegram", mode: "mtproto", apiId, apiHash, phone, chatId, ...login }
  })

const chatIdOf = (members: Members): Checked<string> => {
  const value = members["chat_id"]
  if (Number.isSafeInteger(value)) return Either.right(String(value))
  return line(members, "chat_id", chatIdMax)
}

const apiIdMax = 2 ** 31 - 1

const apiIdOf = (value: unknown): Checked<number> => {
  const number = typeof value === "string" && /^\s*[0-9]{1,10}\s*$/.test(value) ? Number(value) : value
  const isId = typeof number === "number" && Number.isInteger(number) && number > 0 && number <= apiIdMax
  return isId ? Either.right(number) : refuse("config.api_id", "must be a positive whole number")
}
