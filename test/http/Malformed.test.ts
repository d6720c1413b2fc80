// Bodies that nobody should send: each gets the answer of the contract, none is stored, none costs memory or a 500.
import fc from "fast-check"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { gzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { contentsOf } from "../support/Contents.ts"
import {
  addNode,
  agentOf,
  type Answer,
  codeOf,
  type Headers,
  json,
  type MadeNode,
  reportOf,
  type Service,
  signIn,
  startService,
  staticOf
} from "../support/Service.ts"
import { alertRows, alertWrites } from "./AlertCalls.ts"

let service: Service
let admin: Headers
let node: MadeNode

beforeAll(async () => {
  service = await startService()
  admin = await signIn(service)
  node = await addNode(service, admin, { name: "edge-a", is_guest_visible: true })
  const config = { url: "https://example.org/x" }
  const channel = JSON.stringify({ name: "hook", type: "webhook", config, enabled: true })
  expect((await service.call("POST", "/api/admin/alerts/channels", { ...admin, ...json }, channel)).status).toBe(204)
})
afterAll(() => service.stop())

type Route = "metrics" | "static"
const agent = (): Headers => agentOf(node.secret)
const push = (route: Route, body: string | Buffer, headers = agent()): Promise<Answer> =>
  service.call("POST", `/api/node/${route}`, headers, body)
/** What reports have left on disk. */
const rows = (): Promise<unknown> =>
  service.value(`
    SELECT (SELECT count(*) || ':' || coalesce(max(seq), 0) FROM journal) || ' ' ||
      (SELECT count(*) || ':' || coalesce(max(received_at), 0) FROM node_statics)`)
const errors = (): ReadonlyArray<string> => service.logs.filter((line) => /level=(?:ERROR|FATAL)/.test(line))

const nested = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`
const text = (value: unknown): string => JSON.stringify(value)
/** A good report in which the text of one value is replaced by something that JSON.stringify would never write. */
const withRaw = (raw: string, whole: (mark: string) => unknown = (mark) => reportOf({ hostname: mark })): string =>
  text(whole("@@")).replace('"@@"', raw)
const inCpu = (raw: string): string => withRaw(raw, (mark) => reportOf({}, { cpu: { usage_ratio: mark } }))
const inNic = (raw: string): string =>
  withRaw(raw, (mark) => reportOf({}, { network: [{ name: "eth0", bytes_recv: mark, bytes_sent: 1 }] }))
const inDisk = (piece: object): string =>
  text(reportOf({}, { disk: { physical: [], logical: [], filesystems: [], base_io: [], ...piece } }))
const nics = (names: ReadonlyArray<string>): string => text(reportOf({}, { network: names.map((name) => ({ name })) }))

type Case = readonly [what: string, body: () => string | Buffer, expected: string]

const notJson: ReadonlyArray<Case> = [
  ["nothing", () => "", "400 invalid_request"],
  ["spaces", () => " \n ", "400 invalid_request"],
  ["a truncated report", () => text(reportOf()).slice(0, -1), "400 invalid_request"],
  ["half a report", () => text(reportOf()).slice(0, 200), "400 invalid_request"],
  ["two reports", () => text(reportOf()) + text(reportOf()), "400 invalid_request"],
  ["a report and a comma", () => `${text(reportOf())},`, "400 invalid_request"],
  ["a byte order mark", () => `\ufeff${text(reportOf())}`, "400 invalid_request"],
  ["UTF-16", () => Buffer.from(text(reportOf()), "utf16le"), "400 invalid_request"],
  ["gzip without saying so", () => gzipSync(text(reportOf())), "400 invalid_request"],
  ["a form", () => "version=1.0.0&hostname=x", "400 invalid_request"],
  ["a comment", () => `/* x */ ${text(reportOf())}`, "400 invalid_request"],
  ["a trailing comma", () => `${text(reportOf()).slice(0, -1)},}`, "400 invalid_request"],
  ["single quotes", () => text(reportOf()).replaceAll('"', "'"), "400 invalid_request"],
  ["a raw line feed in a string", () => withRaw('"a\nb"'), "400 invalid_request"],
  ["a raw NUL in a string", () => withRaw('"a\u0000b"'), "400 invalid_request"],
  ["a broken escape", () => withRaw('"\\u12"'), "400 invalid_request"],
  ["bytes that are no UTF-8 outside a string", () => Buffer.from([0xff, 0xfe, 0x7b, 0x7d]), "400 invalid_request"],
  ["a list nested 10,000 deep", () => nested(10_000), "400 invalid_request"],
  ["a list nested 500,000 deep", () => nested(500_000), "400 invalid_request"],
  ["an unclosed list 500,000 deep", () => "[".repeat(500_000), "400 invalid_request"]
]

const wrongReports: ReadonlyArray<Case> = [
  ["a list", () => "[]", "400 invalid_request"],
  ["null", () => "null", "400 invalid_request"],
  ["a string", () => '"x"', "400 invalid_request"],
  ["an empty object", () => "{}", "422 invalid_metrics"],
  ["everything under __proto__", () => `{"__proto__":${text(reportOf())}}`, "422 invalid_metrics"],
  ["metrics under __proto__", () => text(reportOf()).replace('"metrics"', '"__proto__"'), "422 invalid_metrics"],
  ["a nested host name", () => withRaw(nested(10_000)), "400 invalid_request"],
  ["1e309", () => inCpu("1e309"), "400 invalid_request"],
  ["-1e309", () => inCpu("-1e309"), "400 invalid_request"],
  ["NaN", () => inCpu("NaN"), "400 invalid_request"],
  ["Infinity", () => inCpu("Infinity"), "400 invalid_request"],
  ["the string NaN", () => inCpu('"NaN"'), "400 invalid_request"],
  ["a number as text", () => inCpu('"0.5"'), "400 invalid_request"],
  ["a hexadecimal number", () => inCpu("0x10"), "400 invalid_request"],
  ["a leading zero", () => inCpu("01"), "400 invalid_request"],
  ["a negative counter", () => inNic("-1"), "400 invalid_request"],
  ["a fraction of a byte", () => inNic("1.5"), "400 invalid_request"],
  ["a counter of 2^64", () => inNic("18446744073709551616"), "400 invalid_request"],
  ["a counter of forty digits", () => inNic("9".repeat(40)), "400 invalid_request"],
  ["a counter of 1e400", () => inNic("1e400"), "400 invalid_request"],
  ["an object where a list belongs", () => text(reportOf({}, { network: {} })), "400 invalid_request"],
  ["null where a list belongs", () => text(reportOf({}, { network: null })), "422 invalid_metrics"],
  ["null in a list", () => text(reportOf({}, { network: [null] })), "400 invalid_request"],
  ["two interfaces of one name", () => nics(["eth0", " eth0 "]), "422 invalid_metrics"],
  ["an interface without a name", () => nics([" "]), "422 invalid_metrics"],
  ["257 interfaces", () => nics(Array.from({ length: 257 }, (_, i) => `eth${i}`)), "422 invalid_metrics"],
  ["an interface name of 257 letters", () => nics(["x".repeat(257)]), "422 invalid_metrics"],
  [
    "513 disks",
    () => inDisk({ physical: Array.from({ length: 513 }, (_, i) => ({ name: `d${i}` })) }),
    "422 invalid_metrics"
  ],
  ["a time that is none", () => text(reportOf({ timestamp: "2026-13-45T99:99:99Z" })), "400 invalid_request"],
  ["a time as a number", () => text(reportOf({ timestamp: 1 })), "400 invalid_request"],
  ["no time", () => text(reportOf({ timestamp: null })), "422 invalid_metrics"]
]

/** Odd, but right: what is wrong with them is nothing, or concerns a piece that is dropped alone. */
const oddReports: ReadonlyArray<readonly [what: string, body: () => string | Buffer]> = [
  ["minus zero", () => inNic("-0")],
  ["the largest counter", () => inNic("18446744073709551615")],
  ["a duplicate key, of which the last counts", () => text(reportOf()).replace("{", '{"hostname":5,"hostname":[],')],
  [
    "__proto__, constructor and toString as members",
    () => text(reportOf()).replace("{", '{"__proto__":{"x":1},"constructor":5,"toString":5,')
  ],
  ["interfaces called __proto__ and constructor", () => nics(["__proto__", "constructor", "hasOwnProperty"])],
  ["a lone surrogate in a name", () => withRaw('"\\ud800"')],
  ["escaped control characters in a name", () => withRaw('"a\\u0000\\u001b[31m\\r\\nb"')],
  // An agent on an old code page: its name is read with replacement characters rather than never.
  ["bytes that are no UTF-8 in a name", () => Buffer.from(withRaw('"caf\u00e9\u00e9"'), "latin1")],
  ["an unknown member nested 10,000 deep", () => text(reportOf()).replace("{", `{"extra":${nested(10_000)},`)],
  ["a malformed SMART piece", () => inDisk({ smart: { status: 5, devices: "none" } })],
  ["a SMART piece nested 10,000 deep", () => inDisk({ smart: "@@" }).replace('"@@"', nested(10_000))],
  ["null for what is optional", () => text(reportOf({}, { cpu: null, memory: null, thermal: null, pressure: null }))]
]

describe("a report", () => {
  for (const [what, body, expected] of [...notJson, ...wrongReports]) {
    it(`that is ${what} is ${expected} and leaves nothing behind`, async () => {
      const before = await rows()
      const answer = await push("metrics", body())

      expect(codeOf(answer)).toBe(expected)
      expect(answer.text.length).toBeLessThan(700)
      expect(await rows()).toBe(before)
    })
  }

  for (const [what, body] of oddReports) {
    it(`that is odd, but right, is taken: ${what}`, async () => {
      const answer = await push("metrics", body())

      expect([answer.status, answer.text]).toEqual([200, '{"ok":true,"update":null}\n'])
      for (const path of ["metrics", "live", "groups", `recent?server_id=${node.id}`]) {
        expect((await service.call("GET", `/api/front/${path}`)).json).toBeDefined()
      }
      expect(Object.hasOwn(Object.prototype, "x")).toBe(false)
    })
  }

  it("of another type or encoding is 415, whatever it holds", async () => {
    const secret = { "x-node-secret": node.secret }
    const types: ReadonlyArray<Headers> = [
      {},
      { "content-type": "text/plain" },
      { "content-type": "text/json" },
      { "content-type": "application/x-www-form-urlencoded" },
      { "content-type": "multipart/form-data; boundary=x" },
      { "content-type": "application/json+x" },
      { "content-type": ";application/json" },
      { ...json, "content-encoding": "gzip" },
      { ...json, "content-encoding": "identity" }
    ]
    const before = await rows()
    for (const headers of types) {
      for (const body of [text(reportOf()), "{", gzipSync(text(reportOf()))]) {
        expect(codeOf(await push("metrics", body, { ...secret, ...headers }))).toBe("415 unsupported_media_type")
      }
    }
    expect(await rows()).toBe(before)
  })
})

describe("a Static", () => {
  const cases: ReadonlyArray<Case> = [
    ...notJson,
    ["an empty object", () => "{}", "422 invalid_static_payload"],
    ["everything under __proto__", () => `{"__proto__":${text(staticOf())}}`, "422 invalid_static_payload"],
    [
      "a nested host name",
      () => text(staticOf({}, { hostname: "@@" })).replace('"@@"', nested(10_000)),
      "400 invalid_request"
    ],
    [
      "an interval of 1e309",
      () => text(staticOf()).replace(/("report_interval_seconds":)3/, "$11e309"),
      "400 invalid_request"
    ],
    ["an interval of 1.5", () => text(staticOf({ report_interval_seconds: 1.5 })), "400 invalid_request"],
    ["a blank architecture", () => text(staticOf({}, { arch: "\t" })), "422 invalid_static_payload"]
  ]
  for (const [what, body, expected] of cases) {
    it(`that is ${what} is ${expected} and leaves nothing behind`, async () => {
      const before = await rows()
      expect(codeOf(await push("static", body()))).toBe(expected)
      expect(await rows()).toBe(before)
    })
  }
})

describe("an administrator's body", () => {
  const bodies: ReadonlyArray<readonly [string, string | Buffer]> = [
    ...notJson.map(([what, body]) => [what, body()] as const).filter(([what]) => !what.startsWith("bytes")),
    ["a list", "[]"],
    ["a number", "5"],
    [
      "a list nested in a member",
      `{${["name", "ids", "tags", "page_title", "cycle_mode"].map((one) => `"${one}":${nested(10_000)}`).join()}}`
    ],
    ["an object nested in a member", `{"name":${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)},"ids":5}`]
  ]

  it("is 400 with a short message, whatever is wrong with it, and changes nothing", { timeout: 60_000 }, async () => {
    const before = [await contentsOf(service), await alertRows(service)]
    for (const [method, path] of [
      ["POST", "/api/admin/groups"],
      ["PATCH", "/api/admin/groups/1"],
      ["PATCH", `/api/admin/nodes/${node.id}`],
      ["PUT", "/api/admin/nodes/display-order"],
      ["PATCH", "/api/admin/nodes/traffic-p95"],
      ["PATCH", "/api/statistics/traffic/settings"],
      ["PUT", "/api/admin/system/settings"],
      ["PATCH", "/api/admin/system/settings"],
      ...alertWrites.map(([method, path]) => [method, `/api/admin/alerts${path}`] as const),
      ["POST", "/api/auth/login"]
    ] as const) {
      for (const [what, body] of bodies) {
        const answer = await service.call(method, path, { ...admin, ...json }, body)
        expect([path, what, answer.status, answer.text.length < 500]).toEqual([path, what, 400, true])
        expect(Object.keys(answer.json as object)).toEqual(["code", "message"])
      }
    }
    expect([await contentsOf(service), await alertRows(service)]).toEqual(before)
  })

  it("sets nothing through the names of a prototype", async () => {
    for (const body of [
      '{"__proto__":{"name":"x"}}',
      '{"constructor":{"prototype":{"name":"x"}}}',
      '{"toString":"x"}'
    ]) {
      const answer = await service.call("PATCH", `/api/admin/nodes/${node.id}`, { ...admin, ...json }, body)
      expect(codeOf(answer)).toBe("400 no_fields")
    }
    expect("name" in {}).toBe(false)
  })
})

describe("anything at all", () => {
  const replaced = fc
    .tuple(fc.constantFrom<Route>("metrics", "static"), fc.nat(), fc.jsonValue({ maxDepth: 4 }))
    .map(([route, at, value]) => {
      const parts = text(route === "metrics" ? reportOf() : staticOf()).split(/(?<=[:[,])(?=["\d{[tf])/)
      parts[at % parts.length] = text(value)
      return [route, parts.join("")] as const
    })
  const flipped = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })).map(([at, byte]) => {
    const bytes = Buffer.from(text(reportOf()))
    bytes[at % bytes.length] = byte
    return ["metrics", bytes] as const
  })
  const cut = fc.nat().map((at) => ["metrics", text(reportOf()).slice(0, at % 900)] as const)
  const bytes = fc.uint8Array({ maxLength: 300 }).map((some) => ["static", Buffer.from(some)] as const)
  const anyJson = fc.json({ maxDepth: 5 }).map((some) => ["metrics", some] as const)
  const body = fc.oneof(replaced, flipped, cut, bytes, anyJson)

  setFlagsFromString("--expose-gc")
  const gc = runInNewContext("gc") as () => void
  const residentMb = async (): Promise<number> => {
    for (let i = 0; i < 3; i++) {
      gc()
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return process.memoryUsage.rss() / 1e6
  }

  const seen = new Map<number, number>()
  const attack = (numRuns: number): Promise<void> =>
    fc.assert(
      fc.asyncProperty(body, async ([route, sent]) => {
        const before = await rows()
        const { json: told, status } = await push(route, sent)
        expect([200, 400, 422]).toContain(status)
        seen.set(status, (seen.get(status) ?? 0) + 1)
        if (status === 200) return
        expect(Object.keys(told as object)).toEqual(["code", "message"])
        expect(await rows()).toBe(before)
      }),
      { numRuns }
    )

  it("is answered 200, 400 or 422, is stored only with 200, and costs no memory", { timeout: 60_000 }, async () => {
    await attack(1000)
    const before = await residentMb()
    await attack(3000)
    const after = await residentMb()

    // Otherwise the generators would miss their aim.
    expect([...seen.keys()].toSorted()).toEqual([200, 400, 422])
    expect(after - before).toBeLessThan(20)
  })

  it("as text, in a query, in a path or a header never ends in a 500", { timeout: 30_000 }, async () => {
    const text = fc.string({ unit: "binary", maxLength: 40 }).map(encodeURIComponent)
    const header = fc.string({ unit: fc.constantFrom(..."ab c\t;,=\"'(){}<>@:/\\é"), maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(text, header, fc.nat(16), async (some, value, which) => {
        const paths = ["front/metrics?limit=", "front/metrics?ids=", "front/live?since=", "front/recent?server_id="]
        const others = ["admin/nodes/", "auth/sessions/", "", "front/metrics?"]
        const figures = ["history?", "history?server_id=1&metric=", "online?server_id=1&range=", "online?", ""]
        const calendar = ["mode=vendor_compatible&anchor_date=", "at="].map(
          (one) => `statistics/traffic/calendar?${one}`
        )
        const traffic = ["summary?server_id=1&iface=", "monthly?server_id=1&iface=eth0&months="].map(
          (one) => `statistics/traffic/${one}`
        )
        const all = [...paths, ...others, ...figures.map((one) => `metrics/${one}`), ...calendar, ...traffic]
        const path = `/api/${all[which] ?? ""}${some}`
        const headers = { authorization: value, cookie: value, "if-none-match": value, "accept-encoding": value }
        const { status } = await service.call(which === 4 ? "PATCH" : "GET", path, headers)
        expect(status).toBeLessThan(500)
      }),
      { numRuns: 600 }
    )
  })

  it("as a parameter of history is an answer, or 400 with its name", { timeout: 30_000 }, async () => {
    const good = { server_id: String(node.id), metric: "disk.used", device: "/", agg: "max" }
    const parameters = ["server_id", "metric", "device", "agg", "range", "from", "to"] as const
    const names = fc.constantFrom(...parameters)
    const odd = fc.constantFrom("", " ", "1h", "-1", "0", "1", "9".repeat(11), "9".repeat(40), "2031-03-04T05:06:07Z")
    const examples: Array<[(typeof parameters)[number], string]> = [
      ["device", "/"],
      ["device", " "],
      ["range", "1h"],
      ["from", String(Math.floor(Date.now() / 1000) - 60)],
      ["to", "5"],
      ["server_id", "9".repeat(11)]
    ]
    const seen = new Set<string>()
    await fc.assert(
      fc.asyncProperty(names, fc.oneof(odd, fc.string({ unit: "binary", maxLength: 40 })), async (name, value) => {
        const stretch = name === "from" || name === "to" ? { from: "5" } : { range: "1h" }
        const query = new URLSearchParams({ ...good, ...stretch, [name]: value }).toString()
        const { json: told, status, text } = await service.call("GET", `/api/metrics/history?${query}`, admin)
        seen.add(`${name} ${status}`)
        if (status === 200) return
        // Only an id can be right and yet of nothing; a stretch is named by either of its ends.
        expect([query, status]).toEqual([
          query,
          name === "server_id" && /^\d{1,15}$/.test(value) && Number(value) > 0 ? 404 : 400
        ])
        if (status === 400)
          expect([query, text]).toEqual([query, expect.stringMatching(name === "to" ? /:"(?:from|to) / : `:"${name} `)])
        expect(Object.keys(told as object)).toEqual(["code", "message"])
      }),
      { numRuns: 600, examples }
    )
    const outcomes = ["device 200", "device 400", "range 200", "from 200", "to 400", "server_id 404"]
    expect([...seen]).toEqual(expect.arrayContaining(outcomes))
  })

  it("has left no error in the log", () => {
    expect(errors()).toEqual([])
  })
})
