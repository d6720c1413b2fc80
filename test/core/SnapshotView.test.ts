// A node's snapshot: the contract's example, what is omitted, what guests never see, and that it decodes.
import { Either, Schema } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { NodeReport } from "../../schema/Report.ts"
import { Snapshot } from "../../schema/Snapshot.ts"
import type { Static } from "../../schema/Static.ts"
import { instant, osFamily, snapshotOf, snapshotText, staleAfterSec } from "../../src/core/SnapshotView.ts"
import { reports, statics } from "../support/ArbitraryReports.ts"
import {
  exampleSnapshots,
  fullReport,
  fullStatic,
  nextReport,
  raidArray,
  reportWith,
  sensor,
  setAt,
  smallReport,
  smartDevice,
  staticWith,
  thermal,
  titled,
  travelled,
  viewOf
} from "../support/Reports.ts"

const snapshot = (report: NodeReport, body?: Static, guest = true): Snapshot =>
  snapshotOf(viewOf(report, body === undefined ? {} : { statics: body }), titled(), guest)
const isSnapshot = Schema.decodeUnknownEither(Snapshot)

/** Report and Static of the node that the contract shows as an example. */
const exampleReport = (): NodeReport =>
  reportWith(({ metrics }) => {
    const root = metrics.disk.filesystems.map((fs) => ({ ...fs, used: 4e10, free: 6e10 }))
    metrics.disk = {
      ...metrics.disk,
      filesystems: root,
      base_io: metrics.disk.base_io.map((device) => ({ ...device, kind: "physical" })),
      smart: {
        status: "ok",
        updated_at: "2031-03-04T05:00:00Z",
        ttl_seconds: 600,
        devices: [
          {
            ...smartDevice("sda", { model: "EX-1", serial: "S1", temp_c: 34 }),
            ref: "disk:sda",
            exit_status: 0,
            health: "passed",
            power_on_hours: 1200
          }
        ]
      }
    }
    metrics.raid = { supported: true, available: true, arrays: [raidArray("md0", { status: "clean" })] }
    const cpu = { sensor_key: "coretemp_package", source: "hwmon", temp_c: 51.5, high_c: 80, critical_c: 100 }
    metrics.thermal = { ...thermal(sensor("Package", cpu)), updated_at: "2031-03-04T05:06:05.5Z" }
  }, nextReport())
const exampleStatic = (): Static => ({
  version: "0.2.3",
  timestamp: "2031-03-04T05:00:00Z",
  report_interval_seconds: 3,
  cpu: { info: { model_name: "Example CPU", cores_physical: 4, cores_logical: 8, sockets: 0 } },
  memory: { total: 8000000000, swap_total: 0 },
  disk: { filesystems: [{ path: "/", mountpoint: "/", total: 100000000000, fs_type: "ext4" }] },
  system: {
    hostname: "edge-a.internal",
    os: "linux",
    platform: "debian",
    platform_version: "13",
    kernel_version: "6.9.1",
    arch: "amd64"
  }
})

describe("the snapshot of the contract's example", () => {
  it("is the contract's example, for administrators with the serial number", () => {
    const [example] = exampleSnapshots()
    const view = viewOf(exampleReport(), { receivedAt: Date.UTC(2031, 2, 4, 5, 6, 7, 999), statics: exampleStatic() })

    expect(travelled(snapshotOf(view, titled({ tags: ["eu"], displayOrder: 3 }), false))).toEqual(example)
  })
})

describe("every snapshot", () => {
  const views = fc.tuple(reports, fc.option(statics, { nil: undefined }), fc.boolean())

  it("decodes as its schema says, for guests and administrators, and holds no null", () => {
    fc.assert(
      fc.property(views, ([report, body, guest]) => {
        const view = viewOf(report, body === undefined ? {} : { statics: body })
        const text = snapshotText(view, titled({ tags: ["a"], displayOrder: -1 }), guest)
        const decoded = isSnapshot(JSON.parse(text), { onExcessProperty: "error" })

        expect(Either.isRight(decoded), Either.isLeft(decoded) ? String(decoded.left) : "").toBe(true)
        expect(text).not.toMatch(/:null\b|[[,]null\b/)
      }),
      { numRuns: 400 }
    )
  })

  it("tells nobody hostname and address, and guests no serial number or WWN", () => {
    fc.assert(
      fc.property(views, ([report, body, guest]) => {
        const hidden = { ...report, hostname: "HIDDEN-host" }
        const devices = [smartDevice("sda", { serial: "HIDDEN-serial", wwn: "HIDDEN-wwn" })]
        setAt(hidden, "metrics.disk.smart", { status: "ok", devices })
        const told =
          body === undefined ? fullStatic() : { ...body, system: { ...body.system, hostname: "HIDDEN-host" } }
        const view = viewOf(hidden, { statics: told, arrival: { ip: "203.0.113.77", wide: null, dropped: ["HIDDEN"] } })
        const text = snapshotText(view, titled(), guest)

        expect(text).not.toContain("203.0.113.77")
        expect(text.match(/HIDDEN-\w+/g)).toEqual(guest ? null : ["HIDDEN-serial", "HIDDEN-wwn"])
      }),
      { numRuns: 100 }
    )
  })

  it("is nearly as small as its report when that is the smallest", () => {
    expect(travelled(snapshot(smallReport()))).toEqual({
      node: { id: "7", title: "edge-a", search_text: ["edge-a"] },
      observation: {
        received_at: "2026-06-14T08:21:34Z",
        observed_at: "2026-06-14T08:21:33Z",
        sent_at: "2026-06-14T08:21:33Z",
        stale_after_sec: 14
      },
      system: { os_family: "unknown", platform: "", platform_version: "", kernel_version: "", uptime_text: "0d 0h 0m" },
      cpu: { usage_ratio: 0, load: { l1: 0, l5: 0, l15: 0 }, sockets: 1 },
      memory: {
        total_bytes: 0,
        used_bytes: 0,
        available_bytes: 0,
        buffers_bytes: 0,
        cached_bytes: 0,
        used_ratio: 0,
        swap_total_bytes: 0,
        swap_used_bytes: 0
      },
      disk: { mounts: [], io: { total: { read_bps: 0, write_bps: 0, read_iops: 0, write_iops: 0, iops: 0 } } },
      network: { total: { bytes_recv: 0, bytes_sent: 0, recv_bps: 0, sent_bps: 0 } },
      processes: { count: 0 },
      connections: { tcp: 0, udp: 0 }
    })
  })
})

describe("a snapshot omits", () => {
  it.each<[string, string, (body: ReturnType<typeof fullStatic>) => void]>([
    ["the architecture when it is unknown", "system.arch", (body) => (body.system.arch = "")],
    ["the model when it is empty", "cpu.model_name", (body) => setAt(body, "cpu.info.model_name", "")],
    ["physical cores when they are 0", "cpu.cores_physical", (body) => setAt(body, "cpu.info.cores_physical", 0)],
    ["logical cores when they are null", "cpu.cores_logical", (body) => setAt(body, "cpu.info.cores_logical", null)]
  ])("%s", (_, path, edit) => {
    expect(snapshot(fullReport(), fullStatic())).toHaveProperty(path)
    expect(snapshot(fullReport(), staticWith(edit))).not.toHaveProperty(path)
  })

  it("order 0 and no tags", () => {
    const view = viewOf(fullReport())

    expect(snapshotOf(view, titled({ displayOrder: 0, tags: [] }), true).node).toStrictEqual({
      id: "7",
      title: "edge-a",
      search_text: ["edge-a"]
    })
    expect(snapshotOf(view, titled({ displayOrder: 2, tags: ["x"] }), true).node).toMatchObject({
      order: 2,
      tags: ["x"]
    })
  })

  it.each([
    ["raid", { arrays: [] }],
    ["raid", { supported: false, available: null, arrays: [] }],
    ["thermal", null],
    ["pressure", null],
    ["pressure", { cpu: { status: "unsupported" }, memory: { status: "unsupported" }, io: { status: "unsupported" } }]
  ])("%s when the report has %j", (piece, to) => {
    const report = fullReport()
    setAt(report, `metrics.${piece}`, to)

    expect(snapshot(report)).not.toHaveProperty(piece)
  })

  it.each([{ supported: true, arrays: [] }, { available: true, arrays: [] }, { arrays: [raidArray("md0")] }])(
    "raid not when something of it is there: %j",
    (raid) => {
      const report = fullReport()
      setAt(report, "metrics.raid", raid)

      expect(snapshot(report)).toHaveProperty("raid")
    }
  )

  it("sensors without a temperature above zero, and limits at or below zero", () => {
    const sensors = [
      sensor("cold", { temp_c: 0 }),
      sensor("hot", { temp_c: 61, high_c: 0, critical_c: -1 }),
      sensor("frozen", { temp_c: -5 }),
      sensor("dead", { temp_c: null })
    ]
    const report = reportWith(({ metrics }) => (metrics.thermal = thermal(...sensors)))

    expect(snapshot(report).thermal).toStrictEqual({
      status: "ok",
      sensors: [{ kind: "cpu", name: "hot", sensor_key: "hot", source: "gopsutil", status: "ok", temp_c: 61 }]
    })
  })

  it("a time of the sensors that is none", () => {
    const report = reportWith(({ metrics }) => (metrics.thermal = { ...thermal(), updated_at: "never" }))

    expect(snapshot(report).thermal).toStrictEqual({ status: "ok", sensors: [] })
  })
})

describe("totals of memory", () => {
  it("come from Static, unless the report tells them", () => {
    const told = reportWith(({ metrics }) => Object.assign(metrics.memory ?? {}, { total: 5, swap_total: 6 }))

    expect(snapshot(fullReport(), fullStatic()).memory).toMatchObject({
      total_bytes: 16686182400,
      swap_total_bytes: 2147479552
    })
    expect(snapshot(told, fullStatic()).memory).toMatchObject({ total_bytes: 5, swap_total_bytes: 6 })
    expect(snapshot(fullReport()).memory).toMatchObject({ total_bytes: 0, swap_total_bytes: 0 })
  })
})

describe("texts and times", () => {
  it("hold each word to search for once, without blanks", () => {
    const body = staticWith(({ system }) => Object.assign(system, { os: "linux", platform: " debian ", arch: "amd64" }))
    const title = titled({ name: "linux", tags: ["eu", "debian", " "] })

    expect(snapshotOf(viewOf(fullReport(), { statics: body }), title, true).node.search_text).toEqual([
      "linux",
      "debian",
      "amd64",
      "eu"
    ])
  })

  it.each([
    ["linux", "linux"],
    ["Windows Server", "windows"],
    ["darwin", "darwin"],
    ["macOS", "darwin"],
    ["GNU/Linux", "linux"],
    ["freebsd", "unknown"],
    ["", "unknown"]
  ])("tell the family of %j as %s", (os, family) => {
    expect(osFamily(os)).toBe(family)
  })

  it("show the agent's uptime text, or one made from the seconds", () => {
    const report = (uptime: string) =>
      reportWith(({ metrics }) => (metrics.system = { alive: true, uptime_seconds: 273_900, uptime }))

    expect(snapshot(report("up 3 days")).system.uptime_text).toBe("up 3 days")
    expect(snapshot(report("3d 4h 5m")).system.uptime_text).toBe("3d 4h 5m")
  })

  it.each([
    [undefined, 14],
    [3, 14],
    [4, 16],
    [60, 240],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]
  ])("with an interval of %s s a node is stale after %i s", (interval, stale) => {
    const body = staticWith((draft) => (draft.report_interval_seconds = interval ?? 3))
    const view = viewOf(fullReport(), interval === undefined ? {} : { statics: body })

    expect(staleAfterSec(view)).toBe(stale)
  })

  it("are cut to whole seconds and stay RFC 3339 to the last moment of the calendar", () => {
    expect(instant(Date.UTC(2026, 5, 14, 8, 21, 33, 999))).toBe("2026-06-14T08:21:33Z")
    const early = reportWith((report) => (report.timestamp = "0000-01-01T00:00:00+23:59"))
    const late = reportWith((report) => (report.timestamp = "9999-12-31T23:59:59-23:59"))

    expect(snapshot(early).observation.observed_at).toBe("0000-01-01T00:00:00Z")
    expect(snapshot(late).observation.observed_at).toBe("9999-12-31T23:59:59Z")
  })
})
