// /api/auth and the bearer over a real socket: codes, order of checks, cookies, csrf, revocation.
import { describe, expect } from "@effect/vitest"
import { Clock, Effect, Option } from "effect"
import { broken, mended, rightPassword, wrongPassword } from "../auth/Support.ts"
import { bearerOf, code, type Headers, login, pageOf, send, test, who } from "./AuthServer.ts"

describe("login", () => {
  test(
    "answers every wrong body with its own code, persistence before password",
    Effect.gen(function* () {
      const rows: ReadonlyArray<readonly [unknown, string]> = [
        ["", "400 invalid_json"],
        ["{", "400 invalid_json"],
        ["[]", "400 invalid_json"],
        ["null", "400 invalid_json"],
        [`{"password":"x","persistence":"session"} {}`, "400 invalid_json"],
        [{ password: 5, persistence: "session" }, "400 invalid_json"],
        [{ password: "x", persistence: true }, "400 invalid_json"],
        [{ password: rightPassword }, "400 invalid_persistence"],
        [{ password: rightPassword, persistence: null }, "400 invalid_persistence"],
        [{ password: wrongPassword, persistence: "forever" }, "400 invalid_persistence"],
        [{ password: wrongPassword, persistence: "session" }, "401 unauthorized"],
        [{ password: "", persistence: "session" }, "401 unauthorized"],
        [{ persistence: "session" }, "401 unauthorized"]
      ]

      for (const [body, expected] of rows) {
        const answer = yield* login(body)
        expect([body, code(answer)]).toEqual([body, expected])
        expect(Object.keys(answer.body).toSorted()).toEqual(["code", "message"])
        expect(answer.cookies).toEqual({})
        expect(answer.text).not.toContain(rightPassword)
      }
    })
  )

  test(
    "limits failures before it looks at the body, with all four headers, and lets another network in",
    Effect.gen(function* () {
      const from = (address: string) => ({ "x-forwarded-for": address })
      for (let i = 0; i < 5; i++) {
        const wrong = yield* login({ password: wrongPassword, persistence: "session" }, from("198.51.100.1"))
        expect(code(wrong)).toBe("401 unauthorized")
      }

      for (const body of ["{", { password: rightPassword, persistence: "session" }]) {
        const limited = yield* login(body, from("198.51.100.77"))
        expect(code(limited)).toBe("429 rate_limited")
        expect(limited.headers["x-ratelimit-limit"]).toBe("5")
        expect(limited.headers["x-ratelimit-remaining"]).toBe("0")
        const waitSec = Number(limited.headers["retry-after"])
        expect(waitSec).toBeGreaterThan(0)
        expect(waitSec).toBeLessThanOrEqual(120)
        const resetSec = Number(limited.headers["x-ratelimit-reset"])
        expect(Math.abs(resetSec - (yield* Clock.currentTimeMillis) / 1000 - waitSec)).toBeLessThan(5)
      }
      const elsewhere = yield* login(undefined, from("198.51.101.1"))
      expect(elsewhere.status).toBe(200)
      expect(elsewhere.headers["retry-after"]).toBeUndefined()
    }),
    { trustedProxies: ["127.0.0.1"] }
  )

  test(
    "grants a token, an expiry in whole seconds and the value of the csrf cookie",
    Effect.gen(function* () {
      const answer = yield* login({ username: "admin", password: rightPassword, persistence: " Persistent\t" })

      expect(answer.status).toBe(200)
      expect(Object.keys(answer.body).toSorted()).toEqual(["access_token", "csrf_token", "expires_at"])
      expect(answer.body["csrf_token"]).toBe(answer.cookies["csrf"]?.value)
      expect(answer.body["csrf_token"]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(answer.body["expires_at"]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      const leftMs = Date.parse(String(answer.body["expires_at"])) - (yield* Clock.currentTimeMillis)
      expect(leftMs).toBeGreaterThan(14 * 60_000)
      expect(leftMs).toBeLessThanOrEqual(15 * 60_000)
      expect(yield* who(bearerOf(answer))).toBe("Admin")
    })
  )

  test(
    "keeps cookies for fourteen days, or for the browser session, and never lets scripts read the refresh token",
    Effect.gen(function* () {
      const kept = yield* login()
      const session = yield* login({ password: rightPassword, persistence: "SESSION" })

      const expires = kept.cookies["refresh"]?.attributes.find((attribute) => attribute.startsWith("Expires=")) ?? ""
      expect(Math.abs(Date.parse(expires.slice(8)) - (yield* Clock.currentTimeMillis) - 14 * 86_400_000)).toBeLessThan(
        60_000
      )
      const common = [expires, "Max-Age=1209600"]
      expect(kept.cookies["refresh"]?.attributes).toEqual(
        [...common, "HttpOnly", "Path=/api/auth", "SameSite=Strict"].toSorted()
      )
      expect(kept.cookies["csrf"]?.attributes).toEqual([...common, "Path=/", "SameSite=Strict"].toSorted())
      expect(session.cookies["refresh"]?.attributes).toEqual(["HttpOnly", "Path=/api/auth", "SameSite=Strict"])
      expect(session.cookies["csrf"]?.attributes).toEqual(["Path=/", "SameSite=Strict"])
      const again = yield* send("POST", "/api/auth/refresh", pageOf(session))
      expect(again.cookies["csrf"]?.attributes).toEqual(["Path=/", "SameSite=Strict"])
    })
  )

  test(
    "marks cookies Secure when a trusted proxy says https",
    Effect.gen(function* () {
      const answer = yield* login(undefined, { "x-forwarded-proto": "https" })

      expect(answer.cookies["refresh"]?.attributes).toContain("Secure")
      expect(answer.cookies["csrf"]?.attributes).toContain("Secure")
    }),
    { trustedProxies: ["127.0.0.0/8"] }
  )

  test(
    "does not believe https from anybody else",
    Effect.gen(function* () {
      const answer = yield* login(undefined, { "x-forwarded-proto": "https" })

      expect(answer.cookies["refresh"]?.attributes).not.toContain("Secure")
    })
  )
})

describe("csrf", () => {
  test(
    "refuses refresh and logout without the pair, with a foreign one, or from another site, and harms nothing",
    Effect.gen(function* () {
      const page = pageOf(yield* login())
      const { cookie = "", "x-csrf-token": token = "" } = page
      const refresh = cookie.split("; ")[0] ?? ""
      const refused: ReadonlyArray<Headers> = [
        { cookie },
        { cookie, "x-csrf-token": "" },
        { cookie, "x-csrf-token": `${token}x` },
        { cookie: refresh, "x-csrf-token": token },
        { cookie: `${refresh}; csrf=`, "x-csrf-token": "" },
        { cookie: `csrf=${token}`, "x-csrf-token": token },
        { ...page, origin: "https://evil.example" },
        { ...page, origin: "null" },
        { ...page, host: "own.example", origin: "http://own.example.evil.example" },
        { ...page, "sec-fetch-site": "cross-site" },
        { ...page, "sec-fetch-site": "same-site" }
      ]

      for (const path of ["/api/auth/refresh", "/api/auth/logout"]) {
        for (const headers of refused) {
          const answer = yield* send("POST", path, headers)
          expect([headers, code(answer)]).toEqual([headers, "401 unauthorized"])
          expect(answer.cookies).toEqual({})
        }
      }
      expect((yield* send("POST", "/api/auth/refresh", page)).status).toBe(200)
    })
  )

  test(
    "lets the own page through, by its host, by the public address, or by what the browser vouches for",
    Effect.gen(function* () {
      const accepted: ReadonlyArray<Headers> = [
        { host: "own.example:8080", origin: "http://own.example:8080" },
        { host: "own.example:443", origin: "https://own.example" },
        { host: "127.0.0.1:8080", origin: "https://public.example" },
        { host: "127.0.0.1:8080", origin: "https://renamed.example", "sec-fetch-site": "same-origin" },
        { host: "127.0.0.1:8080", origin: "https://proxied.example", "x-forwarded-host": "proxied.example" },
        { "sec-fetch-site": "none" }
      ]
      let page = pageOf(yield* login())

      for (const headers of accepted) {
        const answer = yield* send("POST", "/api/auth/refresh", { ...page, ...headers })
        expect([headers, answer.status]).toEqual([headers, 200])
        page = pageOf(answer)
      }
    }),
    { publicUrl: Option.some("https://public.example"), trustedProxies: ["127.0.0.1"] }
  )
})

describe("refresh and logout", () => {
  test(
    "rotate, then end the session of any token of the family and clear both cookies",
    Effect.gen(function* () {
      const first = yield* login()
      const second = yield* send("POST", "/api/auth/refresh/", pageOf(first))
      expect(second.status).toBe(200)
      expect(second.cookies["refresh"]?.value).not.toBe(first.cookies["refresh"]?.value)
      expect(second.cookies["csrf"]?.value).not.toBe(first.cookies["csrf"]?.value)
      expect(yield* who(bearerOf(first))).toBe("Admin")

      const out = yield* send("POST", "/api/auth/logout", pageOf(first))

      expect([out.status, out.text]).toEqual([204, ""])
      for (const [name, path] of [
        ["refresh", "/api/auth"],
        ["csrf", "/"]
      ] as const) {
        expect(out.cookies[name]?.value).toBe("")
        expect(out.cookies[name]?.attributes).toEqual(
          expect.arrayContaining(["Max-Age=0", "Expires=Thu, 01 Jan 1970 00:00:00 GMT", `Path=${path}`])
        )
      }
      expect(yield* who(bearerOf(second))).toBe("Guest")
      expect(code(yield* send("POST", "/api/auth/refresh", pageOf(second)))).toBe("401 unauthorized")
      expect((yield* send("POST", "/api/auth/logout", pageOf(second))).status).toBe(204)
    })
  )

  test(
    "answer an outage of the store with 503, after which the same cookies still work",
    Effect.gen(function* () {
      const page = yield* login()
      yield* broken
      const calls = [
        yield* login(),
        yield* send("POST", "/api/auth/refresh", pageOf(page)),
        yield* send("GET", "/api/auth/sessions", bearerOf(page)),
        yield* send("DELETE", "/api/auth/sessions/other", bearerOf(page)),
        yield* send("POST", "/api/auth/logout", pageOf(page))
      ]

      for (const answer of calls) {
        expect(code(answer)).toBe("503 auth_unavailable")
        expect(answer.cookies).toEqual({})
        expect(answer.text).not.toMatch(/sqlite|sql|table/i)
      }
      yield* mended
      expect((yield* send("POST", "/api/auth/refresh", pageOf(page))).status).toBe(200)
    })
  )
})

describe("bearer", () => {
  test(
    "is required by session endpoints and makes a guest elsewhere, whatever is wrong with it",
    Effect.gen(function* () {
      const answer = yield* login()
      const token = String(answer.body["access_token"])
      const refresh = answer.cookies["refresh"]?.value ?? ""
      const wrong = [
        undefined,
        "",
        "Bearer",
        `Basic ${token}`,
        `Bearer  ${token} x`,
        token,
        `Bearer${token}`,
        `bearer: ${token}`
      ]
      wrong.push(`Bearer ${token}x`, `Bearer ${refresh}`, `Bearer ${token},Bearer ${token}`, `Xxxxxx ${token}`)

      for (const authorization of wrong) {
        const headers: Headers = authorization === undefined ? {} : { authorization }
        expect([authorization, yield* who(headers)]).toEqual([authorization, "Guest"])
        for (const [method, path] of [
          ["GET", "/api/auth/sessions"],
          ["DELETE", "/api/auth/sessions"],
          ["DELETE", "/api/auth/sessions/current"],
          ["DELETE", "/api/auth/sessions/x"]
        ] as const) {
          expect([authorization, code(yield* send(method, path, headers))]).toEqual([authorization, "401 unauthorized"])
        }
      }
      for (const authorization of [`Bearer ${token}`, `bearer ${token}`, `BEARER   ${token}`]) {
        expect(yield* who({ authorization })).toBe("Admin")
      }
    })
  )
})

describe("sessions", () => {
  test(
    "are listed with the caller's own marked, and end one by one or all together",
    Effect.gen(function* () {
      const [mine, other] = [yield* login({ password: rightPassword, persistence: "session" }), yield* login()]
      const listed = yield* send("GET", "/api/auth/sessions/", bearerOf(mine))
      const sessions = listed.body["sessions"] as ReadonlyArray<Record<string, unknown>>

      expect(sessions.map(({ current, session_only }) => [current, session_only]).toSorted()).toEqual([
        [false, false],
        [true, true]
      ])
      expect(sessions[0]?.["expires_at"]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      const idOf = (current: boolean) => String(sessions.find((row) => row["current"] === current)?.["id"])

      expect(code(yield* send("DELETE", "/api/auth/sessions/%20", bearerOf(mine)))).toBe("400 invalid_session")
      for (const sid of ["never-made", "x".repeat(100)]) {
        expect((yield* send("DELETE", `/api/auth/sessions/${sid}`, bearerOf(mine))).status).toBe(204)
      }
      const foreign = yield* send("DELETE", `/api/auth/sessions/${idOf(false)}`, bearerOf(mine))
      expect([foreign.status, foreign.cookies]).toEqual([204, {}])
      expect(yield* who(bearerOf(other))).toBe("Guest")
      expect(yield* who(bearerOf(mine))).toBe("Admin")
      const own = yield* send("DELETE", `/api/auth/sessions/${idOf(true)}`, bearerOf(mine))
      expect([own.status, own.cookies["refresh"]?.value]).toEqual([204, ""])
      expect(yield* who(bearerOf(mine))).toBe("Guest")
    })
  )

  test(
    "end at once for every token of the caller, or of everybody",
    Effect.gen(function* () {
      const [one, two, three] = [yield* login(), yield* login(), yield* login()]

      const current = yield* send("DELETE", "/api/auth/sessions/current", bearerOf(one))
      expect([current.status, current.cookies["csrf"]?.value]).toEqual([204, ""])
      expect([yield* who(bearerOf(one)), yield* who(bearerOf(two))]).toEqual(["Guest", "Admin"])
      const all = yield* send("DELETE", "/api/auth/sessions", bearerOf(two))
      expect([all.status, all.cookies["csrf"]?.value]).toEqual([204, ""])
      expect([yield* who(bearerOf(two)), yield* who(bearerOf(three))]).toEqual(["Guest", "Guest"])
      expect(code(yield* send("POST", "/api/auth/refresh", pageOf(three)))).toBe("401 unauthorized")
    })
  )
})
