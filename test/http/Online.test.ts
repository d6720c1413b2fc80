// Online rates over a real socket, and both reads of history through seals, restarts and a database in trouble.
import Database from "better-sqlite3"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { OnlineRange } from "../../schema/History.ts"
import { onlineBuckets, onlineSteps } from "../../schema/HistoryTerms.ts"
import { databaseOf, makeHome, removeHomes } from "../support/Program.ts"
import {
  addNode,
  codeOf,
  type Headers,
  type MadeNode,
  push,
  reportOf,
  type Service,
  signIn,
  startService
} from "../support/Service.ts"
import {
  apartMs,
  ask,
  assertAligned,
  factors,
  historyAt,
  hour,
  onlineAt,
  type Params,
  pathOf,
  reportTimes,
  sendAll,
  statics
} from "./HistoryNode.ts"

const halfHour = hour / 2
const ranges: ReadonlyArray<readonly [asked: string, range: OnlineRange]> = [
  ["24h", "24h"],
  ["7d", "7d"],
  ["7days", "7d"]
]

let service: Service
let admin: Headers
afterAll(removeHomes)

/** How far the service's clock is ahead. */
let shiftMs = 0
const advance = (to: Service, ms: number): void => {
  shiftMs += ms
  to.advance(ms)
}

describe("the online rate", () => {
  beforeAll(async () => {
    service = await startService()
    // Past a whole half hour, which this service takes for an outage of its own.
    advance(service, 2 * halfHour - (Date.now() % halfHour) + 500)
    admin = await signIn(service)
  })
  afterAll(() => service.stop())

  it.each([...ranges])("of %s is %s in 48 complete buckets, aligned, in both spellings", async (asked, range) => {
    const node = await addNode(service, admin)
    const path = pathOf("online", { server_id: node.id, range: asked })
    const found = await onlineAt(service, admin, { server_id: node.id, range: asked })
    const stepMs = onlineSteps[range] * 1000
    const sinceEnd = Date.now() + shiftMs - (Date.parse(String(found.points.at(-1)?.ts)) + stepMs)

    expect(Object.keys(found)).toEqual(["server_id", "range", "step_sec", "points"])
    expect([found.server_id, found.range, found.step_sec]).toEqual([node.id, range, onlineSteps[range]])
    expect(found.points.length).toBe(onlineBuckets)
    assertAligned(found.points, stepMs)
    expect([sinceEnd >= 0, sinceEnd < stepMs]).toEqual([true, true])
    expect((await ask(service, path.replace("online?", "online/?"), admin)).json).toEqual(found)
  })

  it.each([...ranges])(
    "of %s is 0 with status 2 before a node was added, whatever this service did then",
    async (range) => {
      const node = await addNode(service, admin, { is_guest_visible: true })
      await push(service, "metrics", node.secret, reportOf())
      const { points } = await onlineAt(service, {}, { server_id: node.id, range })

      expect(points.filter(({ rate, received, status }) => rate !== 0 || received !== 0 || status !== 2)).toEqual([])
      // Otherwise no outage would be among them.
      if (range === "24h") expect(points.at(-1)?.expected).toBe(0)
    }
  )

  it("counts a report once its bucket is over", async () => {
    const node = await addNode(service, admin)
    await sendAll(service, node)
    shiftMs += (factors.length - 1) * apartMs
    const before = await onlineAt(service, admin, { server_id: node.id })
    advance(service, halfHour)
    admin = await signIn(service)
    const { points } = await onlineAt(service, admin, { server_id: node.id })
    const last = points.at(-1)

    expect(before.points.every(({ received }) => received === 0)).toBe(true)
    expect(points.slice(0, -1)).toEqual(before.points.slice(1))
    expect(last?.received).toBe(factors.length)
    expect(Number(last?.rate)).toBeGreaterThan(0)
  })

  it("is what was received of what the interval of Static promises, and may pass 1", async () => {
    const home = makeHome()
    const first = await startService({ home })
    const aheadMs = halfHour - (Date.now() % halfHour) + 500
    first.advance(aheadMs)
    const boss = await signIn(first)
    const nodes: Array<MadeNode> = []
    // 30 are promised within half an hour.
    const counts = [30, 29, 45, 0]
    for (const count of counts) {
      const node = await addNode(first, boss)
      nodes.push(node)
      await push(first, "static", node.secret, { ...statics, report_interval_seconds: 60 })
      for (let i = 0; i < count; i++) await push(first, "metrics", node.secret, reportOf())
    }
    await first.stop()
    // As if service and nodes had always been there.
    const database = new Database(databaseOf(home))
    database.exec("UPDATE nodes SET created_at = 0; DELETE FROM service_runs")
    database.exec(`INSERT INTO service_runs (started_at, alive_until) VALUES (0, ${Date.now() + 10 * hour})`)
    database.close()
    const second = await startService({ home })
    second.advance(aheadMs + halfHour)
    const again = await signIn(second)
    const last = []
    for (const { id } of nodes) last.push((await onlineAt(second, again, { server_id: id })).points.at(-1))
    await second.stop()

    expect(last.map((point) => [point?.expected, point?.received, point?.rate, point?.status])).toEqual([
      [30, 30, 1, 0],
      [30, 29, 29 / 30, 2],
      [30, 45, 1.5, 0],
      [30, 0, 0, 2]
    ])
  })
})

/** What is asked of a node before and after: one series of each kind. */
const asked: ReadonlyArray<Params> = [
  {},
  { range: "1h", agg: "max" },
  { metric: "net.recv_bps", device: "eth1" },
  { metric: "disk.used", device: "/srv" },
  { metric: "disk.temp_c", device: "sda" },
  { metric: "pressure.io.full_avg300", agg: "last" }
]
const allOf = async (at: Service, headers: Headers, id: number) => {
  const points = []
  for (const params of asked) points.push((await historyAt(at, headers, { server_id: id, ...params })).points)
  const rate = await onlineAt(at, headers, { server_id: id })
  return { points, received: rate.points.map(({ received, ts }) => [ts, received]) }
}
const sealed = (at: Service): Promise<unknown> => at.value("SELECT count(*) FROM history_raw")

describe("a restart", () => {
  it("changes no point, neither of reports that wait in the journal nor of those in chunks", async () => {
    const home = makeHome()
    // The reports fall into the last minute of a bucket, which is over when they are looked for.
    let aheadMs = 2 * halfHour - (Date.now() % halfHour) - 60_000
    const first = await startService({ home })
    first.advance(aheadMs)
    let boss = await signIn(first)
    const node = await addNode(first, boss)
    await push(first, "static", node.secret, statics)
    await sendAll(first, node)
    first.advance(60_000)
    aheadMs += (factors.length - 1) * apartMs + 60_000
    const before = await allOf(first, boss, node.id)
    expect(before.received.at(-1)?.[1]).toBe(factors.length)
    expect(before.points.map(({ length }) => length)).toEqual(asked.map(() => factors.length))
    await first.stop()

    const second = await startService({ home })
    second.advance(aheadMs)
    boss = await signIn(second)
    expect(await allOf(second, boss, node.id)).toEqual(before)
    second.advance(10 * 60_000)
    aheadMs += 10 * 60_000
    await expect.poll(() => sealed(second), { timeout: 8000 }).not.toBe(0)
    expect(await allOf(second, boss, node.id)).toEqual(before)
    await second.stop()

    const third = await startService({ home })
    third.advance(aheadMs)
    boss = await signIn(third)
    expect(await allOf(third, boss, node.id)).toEqual(before)
    await third.exec("UPDATE history_raw SET bytes = zeroblob(length(bytes))")
    await third.stop()

    // Chunks that were read a moment ago need not be read again, so a new service looks at what is on the disk.
    const fourth = await startService({ home })
    fourth.advance(aheadMs)
    boss = await signIn(fourth)
    const { missing, points } = await historyAt(fourth, boss, { server_id: node.id })
    expect([points.length, missing.length > 0]).toEqual([0, true])
    await fourth.stop()
  }, 20_000)
})

describe("a database in trouble", () => {
  it("is 503 on both reads, named in the log, and no trouble once it is over", async () => {
    const troubled = await startService()
    const boss = await signIn(troubled)
    const node = await addNode(troubled, boss, { is_guest_visible: true })
    await push(troubled, "metrics", node.secret, reportTimes(1))
    const paths = [
      pathOf("history", { server_id: node.id, metric: "cpu.load1", range: "30m" }),
      pathOf("online", { server_id: node.id, range: "24h" })
    ]
    const all = async (headers: Headers) => {
      const answers = []
      for (const path of paths) answers.push(await ask(troubled, path, headers))
      return answers.map((answer) => (answer.status === 200 ? "200" : codeOf(answer)))
    }
    await troubled.exec("ALTER TABLE history_minute RENAME TO away")
    await troubled.exec("ALTER TABLE history_raw RENAME TO raw_away")
    expect(await all(boss)).toEqual(["503 service_unavailable", "503 service_unavailable"])
    expect(troubled.logs.filter((line) => line.includes("history cannot be read")).length).toBe(2)
    await troubled.exec("ALTER TABLE away RENAME TO history_minute")
    await troubled.exec("ALTER TABLE raw_away RENAME TO history_raw")
    await troubled.exec("ALTER TABLE settings RENAME TO away")
    // Only what guests may read of history is a setting.
    expect([await all({}), await all(boss)]).toEqual([
      ["503 service_unavailable", "200"],
      ["200", "200"]
    ])
    await troubled.exec("ALTER TABLE away RENAME TO settings")
    expect([await all({}), await all(boss)]).toEqual([
      ["403 forbidden", "200"],
      ["200", "200"]
    ])
    await troubled.stop()
  })
})
