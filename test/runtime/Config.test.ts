// Every setting with its default, good and bad values, and the one line that the real program says when it cannot start.
import { ConfigError, ConfigProvider, Effect, Either, Option, Redacted } from "effect"
import fc from "fast-check"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { join, resolve } from "node:path"
import { afterAll, describe, expect, it, vi } from "vitest"
import { catalogue, parseListen, parsePublicUrl, type Settings, settings } from "../../runtime/Config.ts"
import { databaseOf, type Environment, killAll, makeHome, removeHomes, run, start } from "../support/Program.ts"

const read = (env: Environment) =>
  Effect.runSync(
    Effect.either(Effect.withConfigProvider(settings, ConfigProvider.fromMap(new Map(Object.entries(env)))))
  )
const good = (env: Environment): Settings => Either.getOrThrow(read(env))
const messageOf = (error: ConfigError.ConfigError): string =>
  error._op === "And" || error._op === "Or" ? messageOf(error.left) : error.message
const bad = (name: string, value: string): string =>
  Either.match(read({ [name]: value }), { onLeft: messageOf, onRight: () => "taken" })

const day = 86_400_000
/** The default history but for some tiers. */
const historyWith = (over: Partial<Settings["history"]>): Partial<Settings> => ({
  history: { ...good({}).history, ...over }
})

// Each test has programs and homes of its own, so two of them share the machine.
vi.setConfig({ maxConcurrency: 2 })

afterAll(async () => {
  await killAll()
  removeHomes()
})

describe("a setting", () => {
  it.each([
    ["WATCHPOST_LISTEN", "8080"],
    ["WATCHPOST_LISTEN", "localhost"],
    ["WATCHPOST_LISTEN", "127.0.0.1:65536"],
    ["WATCHPOST_LISTEN", "127.0.0.1:-1"],
    ["WATCHPOST_LISTEN", "127.0.0.1:80a"],
    ["WATCHPOST_LISTEN", "::1:8080"],
    ["WATCHPOST_PUBLIC_URL", "example.org"],
    ["WATCHPOST_PUBLIC_URL", "ftp://example.org"],
    ["WATCHPOST_PUBLIC_URL", "javascript:alert(1)"],
    ["WATCHPOST_PUBLIC_URL", "https://example.org/watchpost"],
    ["WATCHPOST_PUBLIC_URL", "https://example.org/?a=1"],
    ["WATCHPOST_PUBLIC_URL", "https://example.org/#a"],
    ["WATCHPOST_PUBLIC_URL", "https://user:word@example.org"],
    ["WATCHPOST_ADMIN_PASSWORD", "seven77"],
    ["WATCHPOST_ADMIN_PASSWORD", "x".repeat(1025)],
    ["WATCHPOST_TRUSTED_PROXIES", "proxy.example.org"],
    ["WATCHPOST_TRUSTED_PROXIES", "10.0.0.0/33"],
    ["WATCHPOST_TRUSTED_PROXIES", "10.0.0.1, 10.0.0.0/8, ::1/129"],
    ["WATCHPOST_TIMEZONE", "Mars/Olympus_Mons"],
    ["WATCHPOST_TIMEZONE", "+25:00"],
    ["WATCHPOST_LANGUAGE", "fr"],
    ["WATCHPOST_LOCAL_NODE", "yes"],
    ["WATCHPOST_LOCAL_NODE", "1"],
    ["WATCHPOST_HISTORY_RAW", "24"],
    ["WATCHPOST_HISTORY_RAW", "59m"],
    ["WATCHPOST_HISTORY_RAW", "24h, 9MB"],
    ["WATCHPOST_HISTORY_RAW", "24h, 3GB, 1GB"],
    ["WATCHPOST_HISTORY_MINUTE", "0d"],
    ["WATCHPOST_HISTORY_MINUTE", "3661d"],
    ["WATCHPOST_HISTORY_QUARTER", "-45d"],
    ["WATCHPOST_HISTORY_HOUR", "forever"],
    ["WATCHPOST_HISTORY_HOUR", "3GB"],
    ["WATCHPOST_HISTORY_BYTES", "10"],
    ["WATCHPOST_HISTORY_BYTES", "9MB"],
    ["WATCHPOST_HISTORY_BYTES", "10GiB"],
    ["WATCHPOST_HISTORY_BYTES", "2000TB"],
    ["WATCHPOST_TRAFFIC_RETENTION_DAYS", "0"],
    ["WATCHPOST_TRAFFIC_RETENTION_DAYS", "90d"],
    ["WATCHPOST_TRAFFIC_RETENTION_DAYS", "1.5"],
    ["WATCHPOST_TRAFFIC_RETENTION_DAYS", "-90"]
  ])("%s cannot be %j, and the message names it in one line", (name, value) => {
    const message = bad(name, value)

    expect(message).toMatch(new RegExp(`^${name} (must|holds|names) `))
    expect(message).not.toContain("\n")
  })

  it("that is a password is in no message", () => {
    expect(bad("WATCHPOST_ADMIN_PASSWORD", "pass-wd")).not.toContain("pass-wd")
    expect(String(good({ WATCHPOST_ADMIN_PASSWORD: "my secret password" }).adminPassword)).not.toContain("my secret")
  })

  it("that is absent or blank has its default", () => {
    const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone
    const blank = Object.fromEntries(catalogue.map(([name]) => [name, " "]))

    for (const env of [{}, blank]) {
      expect(good(env)).toEqual({
        home: resolve("data"),
        listenHost: "127.0.0.1",
        listenPort: 8080,
        publicUrl: Option.none(),
        adminPassword: Option.none(),
        trustedProxies: [],
        timezone: zone,
        localNode: true,
        history: {
          raw: { keepMs: day, maxBytes: 2.7e9 },
          minute: { keepMs: 7 * day, maxBytes: 3.4e9 },
          quarter: { keepMs: 45 * day, maxBytes: 1.3e9 },
          hour: { keepMs: 400 * day, maxBytes: 2.6e9 }
        },
        trafficKeepMs: 90 * day,
        language: "en"
      })
    }
  })

  it("has the default that the catalogue tells", () => {
    const fallback = new Map(catalogue.map(([name, value]) => [name as string, value as string]))
    const written = [...fallback].filter(([, value]) => !value.startsWith("("))

    expect(good(Object.fromEntries(written))).toEqual(good({}))
    expect([written.length, fallback.size]).toEqual([10, 14])
  })

  it.each<[string, string, Partial<Settings>]>([
    ["WATCHPOST_HOME", "/var/lib/watchpost", { home: "/var/lib/watchpost" }],
    ["WATCHPOST_HOME", "elsewhere", { home: resolve("elsewhere") }],
    ["WATCHPOST_LISTEN", "0.0.0.0:0", { listenHost: "0.0.0.0", listenPort: 0 }],
    ["WATCHPOST_LISTEN", ":9090", { listenHost: "0.0.0.0", listenPort: 9090 }],
    ["WATCHPOST_LISTEN", " [::1]:65535 ", { listenHost: "::1", listenPort: 65_535 }],
    ["WATCHPOST_LISTEN", "host.example.org:80", { listenHost: "host.example.org", listenPort: 80 }],
    ["WATCHPOST_PUBLIC_URL", "https://Example.org", { publicUrl: Option.some("https://example.org") }],
    ["WATCHPOST_PUBLIC_URL", "http://192.0.2.1:8080/", { publicUrl: Option.some("http://192.0.2.1:8080") }],
    ["WATCHPOST_TRUSTED_PROXIES", "10.0.0.1", { trustedProxies: ["10.0.0.1"] }],
    [
      "WATCHPOST_TRUSTED_PROXIES",
      " 10.0.0.0/8 ,, ::1 ,fd00::/8",
      { trustedProxies: ["10.0.0.0/8", "::1", "fd00::/8"] }
    ],
    ["WATCHPOST_TIMEZONE", "Asia/Shanghai", { timezone: "Asia/Shanghai" }],
    ["WATCHPOST_TIMEZONE", "UTC", { timezone: "UTC" }],
    ["WATCHPOST_LANGUAGE", " ZH ", { language: "zh" }],
    ["WATCHPOST_LOCAL_NODE", "OFF", { localNode: false }],
    ["WATCHPOST_LOCAL_NODE", " on ", { localNode: true }],
    ["WATCHPOST_TRAFFIC_RETENTION_DAYS", "400", { trafficKeepMs: 400 * day }],
    ["WATCHPOST_HISTORY_RAW", "48h", historyWith({ raw: { keepMs: 2 * day, maxBytes: 2.7e9 } })],
    [
      "WATCHPOST_HISTORY_RAW",
      " 1D ,  2.7 gb ",
      historyWith({ raw: { keepMs: day, maxBytes: 2.7e9 }, minute: { keepMs: 7 * day, maxBytes: 3.4e9 } })
    ],
    ["WATCHPOST_HISTORY_MINUTE", "1h", historyWith({ minute: { keepMs: day / 24, maxBytes: 3.4e9 } })],
    ["WATCHPOST_HISTORY_QUARTER", "90d, 1300MB", historyWith({ quarter: { keepMs: 90 * day, maxBytes: 1.3e9 } })],
    ["WATCHPOST_HISTORY_HOUR", "3660d", historyWith({ hour: { keepMs: 3660 * day, maxBytes: 2.6e9 } })],
    [
      "WATCHPOST_HISTORY_BYTES",
      "1.5TB",
      {
        history: {
          raw: { keepMs: day, maxBytes: 4.05e11 },
          minute: { keepMs: 7 * day, maxBytes: 5.1e11 },
          quarter: { keepMs: 45 * day, maxBytes: 1.95e11 },
          hour: { keepMs: 400 * day, maxBytes: 3.9e11 }
        }
      }
    ]
  ])("%s may be %j", (name, value, expected) => {
    expect(good({ [name]: value })).toMatchObject(expected)
  })

  it.each(["12345678", "x".repeat(1024), "  spaces around stay  ", "ünïcödé-密码-密码"])(
    "password may be %j",
    (value) => {
      expect(Option.map(good({ WATCHPOST_ADMIN_PASSWORD: value }).adminPassword, Redacted.value)).toEqual(
        Option.some(value)
      )
    }
  )

  it("never throws, whatever text it is", () => {
    fc.assert(
      fc.property(fc.constantFrom(...catalogue.map(([name]) => name)), fc.string({ unit: "binary" }), (name, value) => {
        const result = read({ [name]: value })
        if (Either.isLeft(result)) expect(messageOf(result.left)).toContain(name)
      }),
      { numRuns: 500 }
    )
  })

  it("for the address takes what it prints, and an origin is left as it is", () => {
    fc.assert(
      fc.property(fc.ipV6(), fc.ipV4(), fc.integer({ min: 0, max: 65_535 }), (six, four, port) => {
        expect(parseListen(`[${six}]:${port}`)).toEqual(Either.right({ host: six, port }))
        expect(parseListen(`${four}:${port}`)).toEqual(Either.right({ host: four, port }))
        const origin = new URL(`http://[${six}]:${port}`).origin
        expect(parsePublicUrl(origin)).toEqual(Either.right(origin))
      })
    )
  })
})

const oneLine = (text: string): string => {
  expect(text).toMatch(/^watchpost: [^\n]+\n$/)
  expect(text).not.toMatch(/ {4}at |\.mjs:\d|\.ts:\d|Die|Cause|_tag/)
  return text.slice("watchpost: ".length, -1)
}

/** The line with which the program gives up; fails the test when it says anything else, or does not give up. */
const complaint = async (home: string, env: Environment = {}): Promise<string> => {
  const { code, signal, stderr, stdout } = await run(home, env)
  expect([code, signal, stdout]).toEqual([1, null, ""])
  return oneLine(stderr)
}

describe.concurrent("the program", { timeout: 60_000 }, () => {
  it.each([
    ["WATCHPOST_LISTEN", "nonsense"],
    ["WATCHPOST_PUBLIC_URL", "ftp://x"],
    ["WATCHPOST_ADMIN_PASSWORD", "short"],
    ["WATCHPOST_TRUSTED_PROXIES", "10.0.0.0/8,xx"],
    ["WATCHPOST_TIMEZONE", "Mars/Olympus"],
    ["WATCHPOST_LOCAL_NODE", "maybe"],
    ["WATCHPOST_HISTORY_HOUR", "forever"],
    ["WATCHPOST_HISTORY_BYTES", "some"]
  ])("ends with one line about %s=%s", async (name, value) => {
    expect(await complaint(makeHome(), { [name]: value })).toMatch(new RegExp(`^${name} `))
  })

  it("ends with one line when two settings are wrong, about one of them", async () => {
    const line = await complaint(makeHome(), { WATCHPOST_LISTEN: "bad", WATCHPOST_LOCAL_NODE: "maybe" })
    expect(line).toMatch(/^WATCHPOST_(LISTEN|LOCAL_NODE) /)
  })

  it("ends with one line when the port is taken, and names it", async () => {
    const server = createServer()
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", () => listening()))
    const { port } = server.address() as AddressInfo
    const line = await complaint(makeHome(), { WATCHPOST_LISTEN: `127.0.0.1:${port}` })
    server.close()

    expect(line).toContain(`cannot listen on 127.0.0.1:${port}`)
    expect(line).toContain("EADDRINUSE")
  })

  it("ends with one line when its folder, its database or its key cannot be used, and harms none of them", async () => {
    const [plainFile, folder, letter, key, lost] = [makeHome(), makeHome(), makeHome(), makeHome(), makeHome()]
    const used = start(key)
    await used.url
    used.kill("SIGTERM")
    await used.ended
    writeFileSync(join(plainFile, "file"), "")
    mkdirSync(databaseOf(folder))
    writeFileSync(databaseOf(letter), "dear administrator, ".repeat(500))
    writeFileSync(join(key, "secret.key"), "too short")
    writeFileSync(join(lost, "secret.key"), readFileSync(join(key, "secret.key")))

    expect(await complaint(join(plainFile, "file"))).toContain("the data folder")
    expect(await complaint(folder)).toContain("EISDIR")
    expect(await complaint(letter)).toContain("it is not a SQLite database. Nothing was changed.")
    expect(await complaint(key)).toContain("32-byte key")
    expect(await complaint(lost)).toContain("the key beside it says that it was in use")
    expect(readFileSync(databaseOf(letter), "utf8")).toBe("dear administrator, ".repeat(500))
    expect(readFileSync(join(key, "secret.key"), "utf8")).toBe("too short")
  })

  it("prints the generated password once, at the first start, and it opens the door at the second as well", async () => {
    const home = makeHome()
    const login = async (url: string, password: string) =>
      (
        await fetch(`${url}/api/auth/login`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ password, persistence: "session" })
        })
      ).status
    const first = start(home)
    const firstUrl = await first.url
    const password = /shown only this once: (\S+)\n/.exec(await saidFully(first))?.[1] ?? ""
    expect(password).toMatch(/^[0-9a-z-]{20,}$/)
    expect(await login(firstUrl, password)).toBe(200)
    expect(await login(firstUrl, `${password}x`)).toBe(401)
    first.kill("SIGTERM")
    const { stdout } = await first.ended
    expect(stdout.split(password).length).toBe(2)

    const second = start(home)
    const secondUrl = await second.url
    const said = await saidFully(second)
    expect(said).not.toContain(password)
    expect(said).not.toContain("password")
    expect(await login(secondUrl, password)).toBe(200)
    second.kill("SIGTERM")
    await second.ended
  })
})

/** The greeting's last line is out. */
const saidFully = async ({ said }: ReturnType<typeof start>): Promise<string> => {
  for (let i = 0; i < 200 && !said().stdout.includes("To watch another machine"); i++) {
    await new Promise((later) => setTimeout(later, 10))
  }
  return said().stdout
}
