// A notification channel as a form: its fields as typed, what is wrong with them, and what is sent.
import type { Channel } from "../../../../schema/AlertChannels.ts"

export const channelKinds = ["webhook", "email", "bot", "account"] as const
export type ChannelKind = (typeof channelKinds)[number]

export interface HeaderField {
  readonly name: string
  /** Empty keeps what is stored under the name. */
  readonly value: string
}

/** Secrets are empty when they are to stay as they are. */
export interface ChannelForm {
  readonly name: string
  readonly enabled: boolean
  readonly kind: ChannelKind
  readonly url: string
  readonly headers: ReadonlyArray<HeaderField>
  readonly secret: string
  readonly host: string
  readonly port: string
  readonly isTls: boolean
  readonly username: string
  readonly password: string
  readonly sender: string
  readonly recipients: string
  readonly token: string
  readonly chatId: string
  readonly apiId: string
  readonly apiHash: string
  readonly phone: string
}

/** Fields that can be wrong, under the names of the service. */
export const channelFields = [
  "name",
  "url",
  "headers",
  "secret",
  "smtp_host",
  "smtp_port",
  "username",
  "password",
  "from",
  "to",
  "bot_token",
  "chat_id",
  "api_id",
  "api_hash",
  "phone"
] as const
export type ChannelField = (typeof channelFields)[number]
/** Those that are judged here. */
export type JudgedField = Exclude<ChannelField, "headers" | "secret" | "username" | "password">

export const newChannel: ChannelForm = {
  name: "",
  enabled: true,
  kind: "webhook",
  url: "",
  headers: [],
  secret: "",
  host: "",
  port: "587",
  isTls: true,
  username: "",
  password: "",
  sender: "",
  recipients: "",
  token: "",
  chatId: "",
  apiId: "",
  apiHash: "",
  phone: ""
}

export const kindOf = ({ config, type }: Channel): ChannelKind =>
  type !== "telegram" ? type : config["mode"] === "mtproto" ? "account" : "bot"

const textOf = (config: Channel["config"], name: string): string => {
  const value = config[name]
  return typeof value === "string" || typeof value === "number" ? String(value) : ""
}

const listOf = (config: Channel["config"], name: string): ReadonlyArray<string> => {
  const value = config[name]
  return typeof value === "object" ? value : []
}

export const formOfChannel = (channel: Channel): ChannelForm => {
  const { config } = channel
  return {
    ...newChannel,
    name: channel.name,
    enabled: channel.enabled,
    kind: kindOf(channel),
    url: textOf(config, "url"),
    headers: listOf(config, "header_names").map((name) => ({ name, value: "" })),
    host: textOf(config, "smtp_host"),
    port: textOf(config, "smtp_port") || newChannel.port,
    isTls: config["use_tls"] !== false,
    username: textOf(config, "username"),
    sender: textOf(config, "from"),
    recipients: listOf(config, "to").join(", "),
    chatId: textOf(config, "chat_id"),
    apiId: textOf(config, "api_id"),
    phone: textOf(config, "phone")
  }
}

/** Where a channel leads, in a few words; never a secret. */
export const placeOf = (channel: Channel): string => {
  const { config } = channel
  switch (kindOf(channel)) {
    case "webhook":
      return textOf(config, "url")
    case "email":
      return `${listOf(config, "to").join(", ")} (${textOf(config, "smtp_host")}:${textOf(config, "smtp_port")})`
    case "bot":
      return textOf(config, "chat_id")
    case "account":
      return `${textOf(config, "phone")} → ${textOf(config, "chat_id")}`
  }
}

/** Null for channels without a login. */
export const loginOf = (channel: Channel): { readonly isIn: boolean; readonly username: string } | null =>
  kindOf(channel) === "account"
    ? { isIn: channel.config["logged_in"] === true, username: textOf(channel.config, "username") }
    : null

interface Body {
  readonly name: string
  readonly type: Channel["type"]
  readonly enabled: boolean
  readonly config: Readonly<Record<string, unknown>>
}

/** The whole channel, or the fields that are wrong. A secret may be empty only while `keepsSecrets`. */
export const channelOfForm = (
  form: ChannelForm,
  keepsSecrets: boolean
): { readonly body: Body } | { readonly wrong: ReadonlyArray<JudgedField> } => {
  const wrong = wrongIn(form, keepsSecrets)
  const name = form.name.trim()
  if (name === "" || name.length > 128) wrong.unshift("name")
  if (wrong.length > 0) return { wrong }
  const type = form.kind === "bot" || form.kind === "account" ? "telegram" : form.kind
  return { body: { name, type, enabled: form.enabled, config: configOf(form) } }
}

const wrongIn = (form: ChannelForm, keepsSecrets: boolean): Array<JudgedField> => {
  const wrong: Array<JudgedField> = []
  const need = (isRight: boolean, field: JudgedField): void => {
    if (!isRight) wrong.push(field)
  }
  switch (form.kind) {
    case "webhook":
      need(isWebAddress(form.url.trim()), "url")
      break
    case "email":
      need(form.host.trim() !== "", "smtp_host")
      need(isPort(form.port.trim()), "smtp_port")
      need(isMail(form.sender.trim()), "from")
      need(isMails(recipientsOf(form)), "to")
      break
    case "bot":
      need((keepsSecrets && form.token.trim() === "") || /^\d+:[\w-]+$/.test(form.token.trim()), "bot_token")
      need(form.chatId.trim() !== "", "chat_id")
      break
    case "account":
      need(/^[1-9]\d{0,9}$/.test(form.apiId.trim()), "api_id")
      need(keepsSecrets || form.apiHash.trim() !== "", "api_hash")
      need(/^\+?\d[\d ()-]*$/.test(form.phone.trim()), "phone")
      need(form.chatId.trim() !== "", "chat_id")
  }
  return wrong
}

const isWebAddress = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { password, protocol, username } = new URL(text)
  return (protocol === "https:" || protocol === "http:") && username === "" && password === ""
}

const isPort = (text: string): boolean => /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535
const isMail = (text: string): boolean => /^[^\s@<>",;]+@[^\s@<>",;]+$/.test(text)
const recipientsMax = 50
const isMails = (all: ReadonlyArray<string>): boolean =>
  all.length > 0 && all.length <= recipientsMax && all.every(isMail)

const recipientsOf = (form: ChannelForm): ReadonlyArray<string> =>
  form.recipients
    .split(/[,;\s]+/)
    .map((one) => one.trim())
    .filter((one) => one !== "")

const configOf = (form: ChannelForm): Readonly<Record<string, unknown>> => {
  switch (form.kind) {
    case "webhook":
      return {
        url: form.url.trim(),
        // A line that was not filled in is none.
        headers: Object.fromEntries(
          form.headers
            .filter(({ name, value }) => name.trim() !== "" || value !== "")
            .map(({ name, value }) => [name.trim(), value])
        ),
        secret: form.secret
      }
    case "email":
      return {
        smtp_host: form.host.trim(),
        smtp_port: Number(form.port.trim()),
        username: form.username.trim(),
        password: form.password,
        from: form.sender.trim(),
        to: recipientsOf(form),
        use_tls: form.isTls
      }
    case "bot":
      return { mode: "bot", bot_token: form.token.trim(), chat_id: form.chatId.trim() }
    case "account":
      return {
        mode: "mtproto",
        api_id: Number(form.apiId.trim()),
        api_hash: form.apiHash.trim(),
        phone: form.phone.trim(),
        chat_id: form.chatId.trim()
      }
  }
}

/** The field of a refusal: `config.headers.x-token` is about the headers. */
export const refusedChannelField = (member: string): ChannelField | "" => {
  const [name] = member.replace(/^config\./, "").split(".")
  return channelFields.find((one) => one === name) ?? ""
}
