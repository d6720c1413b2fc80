// History over a real socket: who is refused what, on online reads too, then what each metric, range and device answers.
import { Schema } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { HistoryAnswer, HistoryMetric, OnlineAnswer } from "../../schema/History.ts"
import { deviceMetrics, type HistoryRange, historyRanges, onlineBuckets } from "../../schema/HistoryTerms.ts"
import type { Snapshot } from "../../schema/Snapshot.ts"
import type { SystemStatus } from "../../schema/System.ts"
import {
  addNode,
  type Answer,
  codeOf,
  type Headers,
  json,
  type MadeNode,
  member,
  push,
  type Service,
  signIn,
  startService
} from "../support/Service.ts"
import {
  apartMs,
  ask as askAt,
  assertAligned,
  factors,
  historyAt,
  hour,
  onlineAt,
  type Params,
  pathOf,
  reportTimes,
  sendAll,
  statics,
  table,
  unknown
} from "./HistoryNode.ts"

const metrics = HistoryMetric.literals

let service: Service
let admin: Headers
/** Visible and reporting, reporting but hidden, and one that guests could see until it was deleted. */
let seen: MadeNode
let hidden: MadeNode
let deleted: MadeNode

beforeAll(async () => {
  service = await startService()
  // Just behind the start of an hour: every report below falls into one step of every range but the finest two.
  service.advance(hour - (Date.now() % hour) + 500)
  admin = await signIn(service)
  seen = await addNode(service, admin, { name: "seen", is_guest_visible: true })
  hidden = await addNode(service, admin, { name: "hidden" })
  deleted = await addNode(service, admin, { name: "deleted", is_guest_visible: true })
  expect((await push(service, "static", seen.secret, statics)).status).toBe(200)
  await push(service, "metrics", hidden.secret, reportTimes(1))
  await push(service, "metrics", deleted.secret, reportTimes(1))
  await sendAll(service, seen)
  await service.call("DELETE", `/api/admin/nodes/${deleted.id}`, admin)
})
afterAll(() => service.stop())

const ask = (path: string, headers: Headers = admin): Promise<Answer> => askAt(service, path, headers)
const usual = (): Params => ({ server_id: seen.id, metric: "cpu.usage_ratio", range: "30m" })
const history = (params: Params, headers = admin): Promise<HistoryAnswer> =>
  historyAt(service, headers, { ...usual(), ...params })
const values = async (params: Params, headers = admin): Promise<ReadonlyArray<number | null>> =>
  (await history(params, headers)).points.map(({ value }) => value)
const online = (server_id: number, range: string, headers = admin): Promise<OnlineAnswer> =>
  onlineAt(service, headers, { server_id, range })
/** All that a client can tell two answers apart by, but for the time. */
const told = ({ headers, status, text }: Answer): string => {
  const { date: _, ...rest } = headers
  return JSON.stringify([status, rest, text])
}
const setMode = async (mode: "disabled" | "by_node"): Promise<void> => {
  const body = JSON.stringify({ history_guest_access_mode: mode })
  expect((await service.call("PATCH", "/api/admin/system/settings", { ...admin, ...json }, body)).status).toBe(204)
}

describe("a wrong parameter", () => {
  const wrong: ReadonlyArray<readonly [name: string, what: "history" | "online", change: Params, more?: string]> = [
    ...["", " ", "0", "-1", "1.5", "0x1", "1e3", "one", "9".repeat(16), "1,2", "\u0000"].flatMap((server_id) => [
      ["server_id", "history", { server_id }] as const,
      ["server_id", "online", { server_id }] as const
    ]),
    ["server_id", "history", { server_id: undefined }],
    ["server_id", "online", { server_id: undefined }],
    ["server_id", "history", {}, "&server_id=2"],
    ...["", "cpu", "CPU.USAGE_RATIO", "toString", "__proto__", "pressure.cpu.full_avg10", "disk"].map(
      (metric) => ["metric", "history", { metric }] as const
    ),
    ["metric", "history", { metric: undefined }],
    ["metric", "history", {}, "&metric=mem.used"],
    ...["", "2h", "7d", "7days", "30M", "custom", "toString"].map((range) => ["range", "history", { range }] as const),
    ["range", "history", { range: undefined }],
    ["range", "history", { from: 1 }],
    ["range", "history", { to: 1 }],
    ...["", "7", "30d", "24H", "1w", "toString"].map((range) => ["range", "online", { range }] as const),
    ["range", "online", { range: undefined }],
    ["range", "online", {}, "&range=7d"],
    ...["sum", "AVG", "avg,max", "toString"].map((agg) => ["agg", "history", { agg }] as const),
    ...deviceMetrics.flatMap((metric) => [
      ["device", "history", { metric }] as const,
      ["device", "history", { metric, device: " " }] as const
    ]),
    ["device", "history", { metric: "disk.used", device: "a" }, "&device=b"],
    ["from", "history", { range: undefined, to: 1 }],
    ...["", "soon", "-1", "2031-02-30T00:00:00Z", "2031-03-04"].map(
      (from) => ["from", "history", { range: undefined, from }] as const
    ),
    ["from", "history", { range: undefined, from: 5, to: 5 }],
    ["from", "history", { range: undefined, from: 0 }],
    ["to", "history", { range: undefined, from: 1, to: "later" }]
  ]
  /** A good request with one thing changed. */
  const changed = (what: "history" | "online", change: Params, id: number): string =>
    pathOf(what, {
      ...usual(),
      server_id: id,
      ...(what === "online" ? { metric: undefined, range: "24h" } : {}),
      ...change
    })

  it("is refused by its name, to whomever and of whichever node", async () => {
    for (const [name, what, change, more = ""] of wrong) {
      for (const id of [seen.id, hidden.id, deleted.id, unknown]) {
        const path = changed(what, change, id) + more
        const answers: Array<Answer> = []
        for (const headers of [admin, {}, { authorization: "Bearer nonsense" }]) answers.push(await ask(path, headers))
        expect([path, new Set(answers.map(told)).size]).toEqual([path, 1])
        const [first] = answers as [Answer]
        expect([path, codeOf(first)]).toEqual([path, "400 invalid_request"])
        expect([path, member(first.json, "message").split(/[ :.]/)[0]]).toEqual([path, name])
      }
    }
  })
})

describe("a guest", () => {
  /** Nobody is signed in by these. */
  const guests: ReadonlyArray<Headers> = [
    {},
    { authorization: "" },
    { authorization: "Bearer" },
    { authorization: "Bearer nonsense" },
    { authorization: "Basic nonsense" }
  ]
  const asked = (id: number) => [
    pathOf("history", { ...usual(), server_id: id }),
    pathOf("history", { server_id: id, metric: "disk.used", device: "md0", from: 0, to: 1000 }),
    pathOf("online", { server_id: id, range: "24h" }),
    pathOf("online", { server_id: id, range: "7d" })
  ]

  it("is refused hidden, deleted and unknown nodes in the same bytes, and history of the visible too by default", async () => {
    for (const mode of ["disabled", "by_node"] as const) {
      await setMode(mode)
      const shut = [hidden.id, deleted.id, unknown, 999_999_999_999_999]
      for (const [i, path] of asked(seen.id).entries()) {
        const isShut = mode === "disabled" && path.includes("/history?")
        const paths = shut.map((id) => String(asked(id)[i]))
        const answers: Array<Answer> = []
        for (const one of isShut ? [...paths, path] : paths) {
          for (const headers of guests) answers.push(await ask(one, headers))
        }
        expect([path, mode, ...new Set(answers.map(codeOf))]).toEqual([path, mode, "403 forbidden"])
        expect([path, mode, new Set(answers.map(told)).size]).toEqual([path, mode, 1])
      }
    }
    await setMode("disabled")
  })

  it("reads the history of visible nodes as soon as the mode is by_node, and none once it is not", async () => {
    const path = pathOf("history", usual())
    const wanted = await values({})
    expect(wanted).toEqual(factors.map((n) => 0.125 * n))
    for (const round of [1, 2]) {
      await setMode("by_node")
      for (const headers of guests) expect([round, await values({}, headers)]).toEqual([round, wanted])
      await setMode("disabled")
      for (const headers of guests) expect([round, codeOf(await ask(path, headers))]).toEqual([round, "403 forbidden"])
    }
  })

  it("reads the online rate of visible nodes in either mode", async () => {
    for (const mode of ["by_node", "disabled"] as const) {
      await setMode(mode)
      for (const headers of guests) {
        expect((await online(seen.id, "24h", headers)).points).toEqual((await online(seen.id, "24h")).points)
      }
    }
  })

  it("loses a node on both at once when it is hidden, and whoever asks loses it when it is deleted", async () => {
    await setMode("by_node")
    const node = await addNode(service, admin, { is_guest_visible: true })
    await push(service, "metrics", node.secret, reportTimes(1))
    const of = async (headers: Headers): Promise<ReadonlyArray<number | string>> => {
      const answers: Array<Answer> = []
      for (const path of asked(node.id)) answers.push(await ask(path, headers))
      return [...new Set(answers.map((answer) => (answer.status === 200 ? 200 : codeOf(answer))))]
    }
    const path = `/api/admin/nodes/${node.id}`

    expect([await of({}), await of(admin)]).toEqual([[200], [200]])
    await service.call("PATCH", path, { ...admin, ...json }, '{"is_guest_visible":false}')
    expect([await of({}), await of(admin)]).toEqual([["403 forbidden"], [200]])
    await service.call("DELETE", path, admin)
    expect([await of({}), await of(admin)]).toEqual([["403 forbidden"], ["404 not_found"]])
    await setMode("disabled")
  })
})

describe("an administrator", () => {
  it("hears that unknown and deleted nodes are not found, and reads hidden ones in either mode", async () => {
    for (const id of [unknown, deleted.id]) {
      expect(codeOf(await ask(pathOf("history", { ...usual(), server_id: id })))).toBe("404 not_found")
      expect(codeOf(await ask(pathOf("online", { server_id: id, range: "7d" })))).toBe("404 not_found")
    }
    for (const mode of ["by_node", "disabled"] as const) {
      await setMode(mode)
      expect(await values({ server_id: hidden.id })).toEqual([0.125])
      expect((await online(hidden.id, "24h")).points.length).toBe(onlineBuckets)
    }
  })
})

const stepMsOf = (range: HistoryRange): number => historyRanges[range].stepSec * 1000
const ranges = Object.keys(historyRanges) as ReadonlyArray<HistoryRange>
/** What three reports of one step come to. */
const folded = { avg: (1 + 4 + 2) / 3, max: 4, min: 1, last: 2 } as const

describe("history", () => {
  it.each([...metrics])(
    "tells %s on every range, in every aggregate, in both spellings of the path",
    async (metric) => {
      const [value, device] = table[metric]
      for (const range of ranges) {
        for (const agg of [undefined, "avg", "max", "min", "last"] as const) {
          const path = pathOf("history", { ...usual(), metric, range, agg, device })
          const spellings = [await ask(path), await ask(path.replace("history?", "history/?"))]
          for (const { json: body, status, text } of spellings) {
            expect([path, status, text.endsWith("}\n")]).toEqual([path, 200, true])
            const found = Schema.decodeUnknownSync(HistoryAnswer)(body, { onExcessProperty: "error" })
            const { points, ...rest } = found
            const isFine = historyRanges[range].stepSec < 60
            const wanted = isFine ? factors : [folded[agg ?? "avg"]]

            assertAligned(points, stepMsOf(range))
            expect(points.length, path).toBe(wanted.length)
            for (const [i, n] of wanted.entries()) expect(points[i]?.value, path).toBeCloseTo(value * n, 5)
            expect(Date.parse(rest.to) - Date.parse(rest.from)).toBe(historyRanges[range].spanMs)
            expect(rest).toEqual({
              server_id: seen.id,
              metric,
              range,
              agg: agg ?? "avg",
              step_sec: historyRanges[range].stepSec,
              ...(device === undefined ? {} : { device }),
              from: rest.from,
              to: rest.to,
              missing: []
            })
          }
        }
      }
    }
  )

  it("tells a report in the finest range right after its 200, while it is nowhere but in the journal", async () => {
    const node = await addNode(service, admin)
    for (const [i, usage_ratio] of [0.5, 0.25, 0.75].entries()) {
      const before = await values({ server_id: node.id })
      if (i > 0) service.advance(apartMs)
      await push(service, "metrics", node.secret, reportTimes(usage_ratio * 8))
      expect(await values({ server_id: node.id })).toEqual([...before, usage_ratio])
    }
    expect(await service.value(`SELECT count(*) FROM history_raw WHERE node_id = ${node.id}`)).toBe(0)
  })

  it("knows a device by its name, ref, path and mount point, also the one that Static alone tells", async () => {
    const names: ReadonlyArray<readonly [HistoryMetric, number, ReadonlyArray<string>]> = [
      ["disk.read_bps", 100, ["md0", "raid:md0", "/dev/md0", " md0 ", "/srv"]],
      ["disk.util_ratio", 0.015625, ["md0", "raid:md0", "/dev/md0"]],
      ["disk.used", 3000, ["md0", "raid:md0", "/dev/md0", "/srv", " /srv\t"]],
      ["disk.used_ratio", 0.1875, ["md0", "raid:md0", "/srv"]],
      ["disk.used", 5000, ["/", "/host", "/dev/sda1"]],
      ["disk.inodes_used_ratio", 0.2, ["/", "/host"]],
      ["disk.temp_c", 12, ["sda", "disk:sda", "/dev/sda"]],
      ["net.recv_bps", 100, ["eth0"]],
      ["net.recv_bps", 7, ["eth1", " eth1"]],
      ["net.sent_bps", 208, ["", " "]],
      ["cpu.load1", 0.5, ["nothing", ""]]
    ]
    for (const [metric, value, devices] of names) {
      for (const device of devices) {
        const found = (await history({ metric, device, range: "30d" })).points.map((point) => point.value)
        expect([metric, device, found.length]).toEqual([metric, device, 1])
        expect(found[0], `${metric} ${device}`).toBeCloseTo((value * 7) / 3, 5)
      }
    }
  })

  it("knows every label that the front page shows as a device or a mount", async () => {
    const list = await service.call("GET", `/api/front/metrics?ids=${seen.id}`, admin)
    const [shown] = list.json as ReadonlyArray<Snapshot>
    const { io, mounts, temperature_devices: heated } = (shown as Snapshot).disk
    const asked: ReadonlyArray<readonly [string, HistoryMetric]> = [
      ...mounts.map(({ mountpoint }) => [String(mountpoint), "disk.used"] as const),
      ...Object.keys(io.by_device ?? {}).map((device) => [device, "disk.iops"] as const),
      ...(heated ?? []).map((device) => [device, "disk.temp_c"] as const),
      ...(shown?.network.by_interface ?? []).map(({ name }) => [name, "net.sent_bps"] as const)
    ]
    expect(new Set(asked.map(([, metric]) => metric)).size).toBe(4)
    for (const [device, metric] of asked)
      expect([device, (await values({ metric, device })).length]).toEqual([device, 3])
  })

  it("has no points of a device that is unknown, nor of one asked by another metric", async () => {
    for (const device of [
      "sdz",
      "MD0",
      "md",
      "__proto__",
      "toString",
      "raid_md",
      "'; --",
      "\u0000",
      "é",
      "x".repeat(2000)
    ]) {
      for (const metric of [...deviceMetrics, "net.recv_bps"]) {
        expect(await history({ metric, device })).toMatchObject({ points: [], device: device.trim() })
      }
    }
    expect(await values({ metric: "disk.temp_c", device: "md0" })).toEqual([])
    expect(await values({ metric: "disk.inodes_used_ratio", device: "md0" })).toEqual([])
  })

  it("of a node that has not reported is empty", async () => {
    const node = await addNode(service, admin)
    for (const metric of metrics) expect(await values({ server_id: node.id, metric, device: "md0" })).toEqual([])
  })

  it("takes a stretch of its own, as times or as unix seconds, with a step of at most 2,000 points", async () => {
    const ends = async (from: number, to: number) => {
      const times = await history({
        range: undefined,
        from: new Date(from).toISOString(),
        to: new Date(to).toISOString()
      })
      const seconds = await history({ range: "custom", from: from / 1000, to: to / 1000 })
      expect(seconds).toEqual(times)
      return times
    }
    const at = Date.parse((await history({ range: "30d" })).points[0]?.ts ?? "")
    const near = await ends(at, at + hour)
    const far = await ends(at - 400 * 24 * hour, at + hour)

    expect([near.range, near.step_sec, near.points.map(({ value }) => value)]).toEqual([
      "custom",
      3,
      [0.125, 0.5, 0.25]
    ])
    expect(far.points.map(({ value }) => value)).toEqual([(0.125 * 7) / 3])
    expect((401 * 24 * 3600) / far.step_sec).toBeLessThan(2000)
    expect((await ends(at - hour, at)).points).toEqual([])
  })
})

describe("the service's status", () => {
  it("tells that a thread gave the answers, to the fast lane and to guests alike, and that none was refused", async () => {
    await setMode("by_node")
    const status = async () =>
      ((await service.call("GET", "/api/admin/system/status", admin)).json as SystemStatus).history
    const before = await status()
    await history({})
    await history({}, {})
    await online(seen.id, "24h", {})

    expect(await status()).toMatchObject({
      answered_by_thread: before.answered_by_thread + 3,
      answered_on_loop: 0,
      questions_refused: 0
    })
  })
})
