// Every setting of the service: its environment name, default and meaning. Nothing else reads the environment.
import { Config, ConfigError, Context, Effect, Either, Layer, Option, Redacted } from "effect"
import ipaddr from "ipaddr.js"
import { isAbsolute, resolve } from "node:path"
import { type Locale, locales } from "../src/core/alert/Messages.ts"
import { type HistoryLimits, limitsOf, parseBytes, parseTier } from "./HistoryLimits.ts"

export interface Settings {
  /** Data folder: database, key file, install id. */
  readonly home: string
  readonly listenHost: string
  readonly listenPort: number
  /** Origin without path, or none when the service should be reached at its listen address. */
  readonly publicUrl: Option.Option<string>
  readonly adminPassword: Option.Option<Redacted.Redacted>
  /** Addresses whose forwarding headers are believed. */
  readonly trustedProxies: ReadonlyArray<string>
  readonly timezone: string
  /** Whether this machine is watched as the first node. */
  readonly localNode: boolean
  /** Days and bytes of each tier of history. */
  readonly history: HistoryLimits
  /** How long five-minute traffic facts are kept. */
  readonly trafficKeepMs: number
  /** Of notifications. */
  readonly language: Locale
}

/** The settings of this process. */
export class AppConfig extends Context.Tag("runtime/Config")<AppConfig, Settings>() {}

/** One row per setting; the README table is checked against it. */
export const catalogue = [
  ["WATCHPOST_HOME", "./data", "Data folder: database, encryption key, install id."],
  ["WATCHPOST_LISTEN", "127.0.0.1:8080", "Address and port to listen on; port 0 takes a free one."],
  ["WATCHPOST_PUBLIC_URL", "(listen address)", "Origin under which agents and browsers reach the service; no path."],
  ["WATCHPOST_ADMIN_PASSWORD", "(generated)", "Admin password, 8 to 1024 characters; kept only as a hash."],
  [
    "WATCHPOST_TRUSTED_PROXIES",
    "(none)",
    "Comma-separated addresses or CIDR ranges whose forwarding headers are believed."
  ],
  ["WATCHPOST_TIMEZONE", "(system)", "IANA time zone of the service."],
  ["WATCHPOST_LOCAL_NODE", "on", "`on`: this machine becomes the first node; `off`: it does not."],
  [
    "WATCHPOST_HISTORY_RAW",
    "24h",
    "How long reports are kept as they came; `24h, 3GB` gives the tier bytes of its own."
  ],
  ["WATCHPOST_HISTORY_MINUTE", "7d", "How long history by the minute is kept."],
  ["WATCHPOST_HISTORY_QUARTER", "45d", "How long history by the quarter-hour is kept."],
  ["WATCHPOST_HISTORY_HOUR", "400d", "How long history by the hour is kept."],
  ["WATCHPOST_HISTORY_BYTES", "10GB", "Bytes of all tiers together; the oldest goes first."],
  [
    "WATCHPOST_TRAFFIC_RETENTION_DAYS",
    "90",
    "Days that five-minute traffic facts are kept; months outlive them, and no fact goes before its month is written."
  ],
  ["WATCHPOST_LANGUAGE", "en", "Language of notifications: `en` or `zh`."]
] as const

const checked = <A, B>(self: Config.Config<A>, name: string, parse: (value: A) => Either.Either<B, string>) =>
  Config.mapOrFail(self, (value) =>
    Either.mapLeft(parse(value), (message) => ConfigError.InvalidData([], `${name} ${message}`))
  )

/** "host:port", "[v6]:port" or ":port". */
export const parseListen = (text: string): Either.Either<{ host: string; port: number }, string> => {
  const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text.trim())
  const port = Number(match?.[3])
  if (match === null || port > 65_535) return Either.left("must be host:port, such as 127.0.0.1:8080")
  return Either.right({ host: match[1] ?? (match[2] === "" ? "0.0.0.0" : (match[2] ?? "")), port })
}

/** An origin: scheme http or https, host, optional port, and nothing else. */
export const parsePublicUrl = (text: string): Either.Either<string, string> => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) return Either.left("must be an http or https URL")
  if (url.username !== "" || url.password !== "") return Either.left("must not carry a user name or password")
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "")
    return Either.left("must carry no path, query or fragment")
  return Either.right(url.origin)
}

const parseProxies = (text: string): Either.Either<ReadonlyArray<string>, string> => {
  const parts = text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
  const bad = parts.find((part) => !(part.includes("/") ? ipaddr.isValidCIDR(part) : ipaddr.isValid(part)))
  return bad === undefined
    ? Either.right(parts)
    : Either.left(`holds ${JSON.stringify(bad)}, which is no address or range`)
}

const parseTimezone = (text: string): Either.Either<string, string> => {
  try {
    return Either.right(new Intl.DateTimeFormat("en", { timeZone: text }).resolvedOptions().timeZone)
  } catch {
    return Either.left(`names no known time zone: ${JSON.stringify(text)}`)
  }
}

const parsePassword = (password: Redacted.Redacted): Either.Either<Redacted.Redacted, string> => {
  const length = Redacted.value(password).length
  return length >= 8 && length <= 1024 ? Either.right(password) : Either.left("must have 8 to 1024 characters")
}

const parseSwitch = (text: string): Either.Either<boolean, string> => {
  const word = text.trim().toLowerCase()
  return word === "on" || word === "off" ? Either.right(word === "on") : Either.left("must be `on` or `off`")
}

const parseLanguage = (text: string): Either.Either<Locale, string> => {
  const word = text.trim().toLowerCase()
  return Either.fromNullable(
    locales.find((locale) => locale === word),
    () => `must be one of ${locales.join(", ")}`
  )
}

/** Whole days, up to ten years, as with the tiers of history. */
const parseDays = (text: string): Either.Either<number, string> => {
  const days = /^\d{1,4}$/.test(text.trim()) ? Number(text) : 0
  return days >= 1 && days <= 3660
    ? Either.right(days * 86_400_000)
    : Either.left("must be a whole number of days from 1 to 3660")
}

/** An empty value counts as unset, so that `NAME=` in a unit file means the default. */
const text = (name: string) =>
  Config.string(name).pipe(Config.option, Config.map(Option.filter((value) => value.trim() !== "")))
const withDefault = (name: string, fallback: string) =>
  Config.map(
    text(name),
    Option.getOrElse(() => fallback)
  )
const optional = <B>(name: string, parse: (value: string) => Either.Either<B, string>) =>
  checked(text(name), name, (value) =>
    Option.isNone(value) ? Either.right(Option.none<B>()) : Either.map(parse(value.value), Option.some)
  )

const tier = (name: string, fallback: string) => checked(withDefault(name, fallback), name, parseTier)

export const settings: Config.Config<Settings> = Config.all({
  home: Config.map(withDefault("WATCHPOST_HOME", "./data"), (home) => (isAbsolute(home) ? home : resolve(home))),
  listen: checked(withDefault("WATCHPOST_LISTEN", "127.0.0.1:8080"), "WATCHPOST_LISTEN", parseListen),
  publicUrl: optional("WATCHPOST_PUBLIC_URL", parsePublicUrl),
  adminPassword: optional("WATCHPOST_ADMIN_PASSWORD", (value) => parsePassword(Redacted.make(value))),
  trustedProxies: checked(withDefault("WATCHPOST_TRUSTED_PROXIES", ""), "WATCHPOST_TRUSTED_PROXIES", parseProxies),
  timezone: checked(
    withDefault("WATCHPOST_TIMEZONE", new Intl.DateTimeFormat().resolvedOptions().timeZone),
    "WATCHPOST_TIMEZONE",
    parseTimezone
  ),
  localNode: checked(withDefault("WATCHPOST_LOCAL_NODE", "on"), "WATCHPOST_LOCAL_NODE", parseSwitch),
  tiers: Config.all({
    raw: tier("WATCHPOST_HISTORY_RAW", "24h"),
    minute: tier("WATCHPOST_HISTORY_MINUTE", "7d"),
    quarter: tier("WATCHPOST_HISTORY_QUARTER", "45d"),
    hour: tier("WATCHPOST_HISTORY_HOUR", "400d")
  }),
  trafficKeepMs: checked(
    withDefault("WATCHPOST_TRAFFIC_RETENTION_DAYS", "90"),
    "WATCHPOST_TRAFFIC_RETENTION_DAYS",
    parseDays
  ),
  language: checked(withDefault("WATCHPOST_LANGUAGE", "en"), "WATCHPOST_LANGUAGE", parseLanguage),
  historyBytes: checked(withDefault("WATCHPOST_HISTORY_BYTES", "10GB"), "WATCHPOST_HISTORY_BYTES", parseBytes)
}).pipe(
  Config.map(({ historyBytes, listen, tiers, ...rest }) => ({
    ...rest,
    listenHost: listen.host,
    listenPort: listen.port,
    history: limitsOf(tiers, historyBytes)
  }))
)

/** Reads the settings once; a bad one fails with a single line that names it. */
export const layer: Layer.Layer<AppConfig, ConfigError.ConfigError> = Layer.effect(
  AppConfig,
  Effect.suspend(() => settings)
)

/** What a child process of ours needs of our environment, and nothing that could be a secret. */
export const inheritedEnvironment = (): Record<string, string> =>
  Object.fromEntries(
    ["PATH", "SystemRoot", "TZ"].flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    })
  )
