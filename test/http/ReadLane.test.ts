// The fast lane of history: an administrator cannot tell it from the API's own way, and nobody else gets onto it.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { HistoryAgg, HistoryMetric } from "../../schema/History.ts"
import { historyPath, paramsOf } from "../../runtime/http/ReadLane.ts"
import {
  addNode,
  type Answer,
  type Headers,
  type MadeNode,
  push,
  type Service,
  signIn,
  startService
} from "../support/Service.ts"
import { ask as askAt, sendAll, statics, table, unknown } from "./HistoryNode.ts"

let service: Service
let admin: Headers
let node: MadeNode

beforeAll(async () => {
  service = await startService()
  admin = await signIn(service)
  node = await addNode(service, admin, { name: "seen", is_guest_visible: true })
  expect((await push(service, "static", node.secret, statics)).status).toBe(200)
  await sendAll(service, node)
})
afterAll(() => service.stop())

/** The lane takes the very path; the API also answers the one with a slash at its end. */
const bothWays = async (query: string, headers: Headers = admin): Promise<readonly [Answer, Answer]> => [
  await askAt(service, `${historyPath}?${query}`, headers),
  await askAt(service, `${historyPath}/?${query}`, headers)
]
/** Platform and lane spell the names of headers in their own ways. */
const tookLane = ({ rawHeaders }: Answer): boolean => rawHeaders.includes("Cache-Control")
const told = ({ headers, status, text }: Answer) => ({ status, headers: { ...headers, date: undefined }, text })
const stretch = { from: "2026-01-01T00:00:00Z", to: "2027-02-01T00:00:00Z" }
const queryOf = (params: Readonly<Record<string, string | number>>): string =>
  Object.entries(params)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&")

describe("an administrator's read", () => {
  it("is answered by the lane as by the API, byte for byte, whatever the metric, device and aggregate", async () => {
    for (const metric of HistoryMetric.literals) {
      const device = table[metric][1]
      for (const agg of HistoryAgg.literals) {
        const params = { server_id: node.id, metric, agg, ...stretch, ...(device === undefined ? {} : { device }) }
        const [short, long] = await bothWays(queryOf(params))
        expect([metric, tookLane(short), tookLane(long)]).toEqual([metric, true, false])
        expect(told(short)).toEqual(told(long))
        expect([metric, (short.json as { points: ReadonlyArray<unknown> }).points.length > 0]).toEqual([metric, true])
      }
    }
  })

  it("of a device with letters of any script says its length in bytes", async () => {
    const [short, long] = await bothWays(
      queryOf({ server_id: node.id, metric: "disk.used", device: 'лента "ö" 盘', ...stretch })
    )

    expect(tookLane(short)).toBe(true)
    expect(told(short)).toEqual(told(long))
    expect(Number(short.headers["content-length"])).toBe(Buffer.byteLength(short.text))
    expect(short.json).toMatchObject({ device: 'лента "ö" 盘' })
  })

  it("that is refused is refused by the API, in its words", async () => {
    const usual = { server_id: node.id, metric: "cpu.usage_ratio", range: "1h" }
    const queries = [
      queryOf({ ...usual, server_id: unknown }),
      queryOf({ ...usual, metric: "cpu" }),
      queryOf({ ...usual, range: "2h" }),
      queryOf({ ...usual, agg: "sum" }),
      `${queryOf(usual)}&range=24h`,
      `${queryOf(usual)}&server_id=${node.id}`,
      ""
    ]
    for (const query of queries) {
      const [short, long] = await bothWays(query)
      expect([query, tookLane(short), short.status]).toEqual([
        query,
        false,
        query.includes(String(unknown)) ? 404 : 400
      ])
      expect(told(short)).toEqual(told(long))
    }
  })
})

describe("anybody else's read", () => {
  const query = () => queryOf({ server_id: node.id, metric: "cpu.usage_ratio", ...stretch })

  it("goes the API's way, without a token, with a wrong one, and with one that is over", async () => {
    const over = await signIn(service)
    expect(tookLane((await bothWays(query(), over))[0])).toBe(true)
    expect((await service.call("DELETE", "/api/auth/sessions", admin)).status).toBeLessThan(300)
    for (const headers of [{}, { authorization: "Bearer nonsense" }, over]) {
      const [short, long] = await bothWays(query(), headers)
      expect([tookLane(short), short.status]).toEqual([false, 403])
      expect(told(short)).toEqual(told(long))
    }
    admin = await signIn(service)
  })

  it("of another method is none of the lane's", async () => {
    const answer = await service.call("POST", `${historyPath}?${query()}`, admin)

    expect([answer.status, tookLane(answer)]).toEqual([405, false])
  })
})

describe("parameters", () => {
  it("are those of the contract, decoded; others are not looked at", () => {
    expect(paramsOf("server_id=1&metric=disk.used&device=%2Fvar+log%C3%A4&__proto__=x&x=1&x=2")).toEqual({
      server_id: "1",
      metric: "disk.used",
      device: "/var logä"
    })
  })

  it("given twice, even alike or empty, and fragments are left to the API", () => {
    for (const query of ["range=1h&range=1h", "agg=&agg=", "range=1h#", "range=1h#&agg=max"])
      expect([query, paramsOf(query)]).toEqual([query, undefined])
  })
})
