// /api/statistics settings, access and calendar over a real socket: every refusal, then what reads and writes do.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { TrafficSettings } from "../../runtime/TrafficSettings.ts"
import { makeHome, removeHomes } from "../support/Program.ts"
import {
  type Answer,
  codeOf,
  type Headers,
  json,
  member,
  proper,
  type Service,
  signIn,
  startService
} from "../support/Service.ts"

const path = "/api/statistics/traffic/settings"
const calendarPath = "/api/statistics/traffic/calendar"
const defaults = {
  guest_access_mode: "disabled",
  usage_mode: "lite",
  cycle_mode: "calendar_month",
  billing_start_day: 1,
  billing_anchor_date: "",
  billing_timezone: "UTC",
  direction_mode: "out"
}
const ours = {
  guest_access_mode: "by_node",
  usage_mode: "billing",
  cycle_mode: "vendor_compatible",
  billing_start_day: 31,
  billing_anchor_date: "2026-01-31",
  billing_timezone: "Asia/Tokyo",
  direction_mode: "max"
}

let service: Service
let admin: Headers

beforeAll(async () => {
  service = await startService()
  admin = await signIn(service)
})
beforeEach(async () => expect((await send({ ...defaults, billing_timezone: "" })).status).toBe(204))
afterAll(async () => {
  await service.stop()
  removeHomes()
})

const send = async (body: unknown, at = path): Promise<Answer> =>
  proper(await service.call("PATCH", at, { ...admin, ...json }, typeof body === "string" ? body : JSON.stringify(body)))
const get = async (at: string, headers: Headers = {}): Promise<Answer> => proper(await service.call("GET", at, headers))
const read = async (): Promise<unknown> => (await get(path)).json
const calendar = async (query: Readonly<Record<string, string>>): Promise<Answer> =>
  get(`${calendarPath}?${new URLSearchParams(query).toString()}`)

/** Runs while a table is out of the way. */
const withoutSettings = async <A>(call: () => Promise<A>): Promise<A> => {
  await service.exec("ALTER TABLE settings RENAME TO settings_away")
  try {
    return await call()
  } finally {
    await service.exec("ALTER TABLE settings_away RENAME TO settings")
  }
}

describe("a change of the traffic settings is refused", () => {
  it("to strangers, whatever else is wrong with it", async () => {
    for (const at of [path, `${path}/`]) {
      for (const [type, body] of [
        ["application/json", JSON.stringify(ours)],
        ["application/json", "{"],
        ["application/json", "{}"],
        ["text/plain", "x"]
      ] as const) {
        for (const headers of [{}, { authorization: "Bearer nonsense" }]) {
          const answer = proper(await service.call("PATCH", at, { ...headers, "content-type": type }, body))
          expect([at, type, body, codeOf(answer)]).toEqual([at, type, body, "401 unauthorized"])
        }
      }
    }
    expect(await read()).toEqual(defaults)
  })

  const rows: ReadonlyArray<readonly [code: string, body: unknown]> = [
    ["400 invalid_request", ""],
    ["400 invalid_request", "{"],
    ["400 invalid_request", "[]"],
    ["400 invalid_request", "null"],
    ["400 invalid_request", '{"usage_mode":"lite"} {}'],
    ["400 invalid_request", { usage_mode: 1 }],
    ["400 invalid_request", { billing_start_day: "5" }],
    ["400 invalid_request", { billing_start_day: 1.5 }],
    ["400 invalid_request", '{"billing_start_day":1e999}'],
    ["400 invalid_request", { billing_timezone: ["UTC"] }],
    ["400 invalid_request", { usage_mode: "full", direction_mode: {} }],
    ["400 no_fields", {}],
    ["400 no_fields", { mode: "calendar_month", timezone: "UTC" }],
    ["400 no_fields", { usage_mode: null, billing_start_day: null }],
    ["400 invalid_fields", { ...ours, guest_access_mode: "everyone" }],
    ["400 invalid_fields", { ...ours, usage_mode: "full" }],
    ["400 invalid_fields", { ...ours, cycle_mode: "default" }],
    ["400 invalid_fields", { ...ours, billing_start_day: 32 }],
    ["400 invalid_fields", { billing_start_day: 0 }],
    ["400 invalid_fields", { ...ours, billing_timezone: "Mars/Olympus" }],
    ["400 invalid_fields", { ...ours, billing_anchor_date: "2026-02-30" }],
    ["400 invalid_fields", { ...ours, direction_mode: "in" }]
  ]

  it("with the code of the contract, a short message, and without any part of it done", async () => {
    for (const [code, body] of rows) {
      const answer = await send(body)
      expect([body, codeOf(answer)]).toEqual([body, code])
      expect(answer.text.length).toBeLessThan(500)
    }
    expect(await read()).toEqual(defaults)
  })

  it("by the name of the member that is wrong", async () => {
    const wrong = { ...ours, billing_start_day: 32, billing_anchor_date: "x", billing_timezone: "x" }
    for (const [name, value] of Object.entries(wrong)) {
      const bad = typeof value === "number" ? value : "x"
      const body = { cycle_mode: "vendor_compatible", [name]: bad }
      expect(member((await send(body)).json, "message").split(" ")[0]).toBe(name)
    }
  })

  it("with 415 for another type and 413 past a body of 1 MiB", async () => {
    const text = await service.call("PATCH", path, { ...admin, "content-type": "text/plain" }, "{}")

    expect(codeOf(proper(text))).toBe("415 unsupported_media_type")
    expect(codeOf(await send(" ".repeat(1_048_577)))).toBe("413 body_too_large")
  })

  it("with 503 while the database fails, and reads go on with what was in force", async () => {
    const [refused, settings, access] = await withoutSettings(() =>
      Promise.all([send(ours), get(path), get("/api/statistics/access")])
    )

    expect([codeOf(refused), settings.json, codeOf(access)]).toEqual(["503 db_error", defaults, "503 db_error"])
    expect(await read()).toEqual(defaults)
  })
})

describe("the traffic settings", () => {
  it("are the defaults before anything was set, with the zone of the service, for everyone and never cached", async () => {
    const tokyo = await startService({ timezone: "Asia/Tokyo" })
    for (const at of [path, `${path}/`]) {
      for (const headers of [{}, { authorization: "Bearer nonsense" }, await signIn(tokyo)]) {
        const answer = proper(await tokyo.call("GET", at, headers))
        expect(answer.headers["cache-control"]).toBe("no-store")
        expect([answer.status, answer.json]).toEqual([200, { ...defaults, billing_timezone: "Asia/Tokyo" }])
      }
    }
    await tokyo.stop()
  })

  it("are changed in any subset, at once for every read, and settled as a whole", async () => {
    const done = await send(ours, `${path}/`)
    expect([done.status, done.text, done.headers["cache-control"]]).toEqual([204, "", "no-store"])
    expect(await read()).toEqual(ours)

    expect((await send({ billing_start_day: 5, usage_mode: "", other: 1, direction_mode: null })).status).toBe(204)
    expect(await read()).toEqual({ ...ours, usage_mode: "lite" })
    expect((await send({ cycle_mode: "clamp_to_month_end", billing_start_day: 30 })).status).toBe(204)
    expect(await read()).toMatchObject({ billing_start_day: 30, billing_anchor_date: "" })
    expect((await send({ billing_anchor_date: "nonsense", cycle_mode: "calendar_month" })).status).toBe(204)
    expect(await read()).toMatchObject({ cycle_mode: "calendar_month", billing_start_day: 1, billing_anchor_date: "" })
    expect((await send({ billing_timezone: "" })).status).toBe(204)
    expect(await read()).toMatchObject({ billing_timezone: "UTC" })
  })

  it("take the date of an anchor that is a time in the zone of the same change", async () => {
    await send({ ...ours, billing_anchor_date: "2026-01-30T16:00:00Z" })

    expect(await read()).toEqual(ours)
  })

  it("reach the rest of the service as one revision for each change that makes a difference", async () => {
    const traffic = await service.inside(TrafficSettings)
    const before = traffic.revision()
    await send(ours)
    await send(ours)

    expect(traffic.revision()).toBe(before + 1)
    expect(traffic.current().cycle).toEqual({
      mode: "vendor_compatible",
      startDay: 31,
      anchorDate: "2026-01-31",
      zone: "Asia/Tokyo"
    })
  })

  it("are the same after a restart", async () => {
    const home = makeHome()
    const first = await startService({ home })
    await first.call("PATCH", path, { ...(await signIn(first)), ...json }, JSON.stringify(ours))
    await first.stop()
    const second = await startService({ home })
    const told = await second.call("GET", path)
    await second.stop()

    expect(told.json).toEqual(ours)
  })
})

describe("the access of guests", () => {
  const access = async () => (await get("/api/statistics/access/")).json

  it("is told to everyone, as it was set for history and for traffic", async () => {
    expect(await access()).toEqual({ history_guest_access_mode: "disabled", traffic_guest_access_mode: "disabled" })
    await send({ guest_access_mode: "by_node" })
    expect(await access()).toEqual({ history_guest_access_mode: "disabled", traffic_guest_access_mode: "by_node" })
    await send({ history_guest_access_mode: "by_node" }, "/api/admin/system/settings")
    await send({ guest_access_mode: "disabled" })
    expect(await access()).toEqual({ history_guest_access_mode: "by_node", traffic_guest_access_mode: "disabled" })
  })

  it("is unavailable, rather than open, while the mode of history cannot be read", async () => {
    await service.exec("UPDATE settings SET value = 'everything' WHERE name = 'history_guest_access_mode'")
    const answer = await get("/api/statistics/access")
    await service.exec("UPDATE settings SET value = 'disabled' WHERE name = 'history_guest_access_mode'")

    expect(codeOf(answer)).toBe("503 db_error")
  })
})

describe("the calendar", () => {
  const rows: ReadonlyArray<readonly [code: string, query: Readonly<Record<string, string>>]> = [
    ["400 invalid_fields mode", { mode: "weekly" }],
    ["400 invalid_fields mode", { mode: "default", start_day: "32" }],
    ["400 invalid_fields start_day", { start_day: "32" }],
    ["400 invalid_fields start_day", { start_day: "" }],
    ["400 invalid_fields anchor_date", { mode: "vendor_compatible", anchor_date: "soon" }],
    ["400 invalid_fields timezone", { timezone: "Mars/Olympus" }],
    ["400 invalid_fields at", { at: "soon" }]
  ]
  it("is refused with the name of the parameter that is wrong", async () => {
    for (const [code, query] of rows) {
      const answer = await calendar(query)
      expect([query, `${codeOf(answer)} ${member(answer.json, "message").split(" ")[0]}`]).toEqual([query, code])
    }
    expect(codeOf(await get(`${calendarPath}?mode=a&mode=b`))).toBe("400 invalid_request")
  })

  it("shows the cycles of settings before they are saved, and changes nothing", async () => {
    const answer = await calendar({
      mode: "vendor_compatible",
      anchor_date: "2026-01-30",
      timezone: "UTC",
      at: "2026-02-15T12:00:00Z"
    })
    expect([answer.status, answer.headers["cache-control"]]).toEqual([200, "no-store"])
    expect(answer.json).toMatchObject({
      config: { mode: "vendor_compatible", start_day: 30, anchor_date: "2026-01-30", timezone: "UTC" },
      at: "2026-02-15T12:00:00Z"
    })
    const { last, next } = answer.json as Record<"last" | "next", ReadonlyArray<unknown>>
    expect([last.length, next.length]).toEqual([24, 24])
    expect(last.slice(0, 2)).toEqual([
      { start: "2026-01-30T00:00:00Z", date: "2026-01-30" },
      { start: "2025-12-30T00:00:00Z", date: "2025-12-30" }
    ])
    expect(next[0]).toEqual({ start: "2026-03-02T00:00:00Z", date: "2026-03-02" })
    expect(await read()).toEqual(defaults)
  })

  it("is that of the saved settings where nothing is given, now by the service's clock, to guests as well", async () => {
    await send(ours)
    const asked = Date.now()
    const { json: told } = await get(`${calendarPath}/`)
    const { config, at, last, next } = told as {
      readonly config: unknown
      readonly at: string
      readonly last: ReadonlyArray<{ readonly start: string }>
      readonly next: ReadonlyArray<{ readonly start: string }>
    }

    expect(config).toEqual({
      mode: "vendor_compatible",
      start_day: 31,
      anchor_date: "2026-01-31",
      timezone: "Asia/Tokyo"
    })
    expect(Math.abs(Date.parse(at) - asked)).toBeLessThan(60_000)
    expect(String(last[0]?.start) <= at && at < String(next[0]?.start)).toBe(true)
  })
})
