// The columns of the live frame: equal lengths, whole numbers, -1 for unknown, and nothing of administrators for guests.
import { Schema } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { NodeId } from "../../schema/Ids.ts"
import { LiveFrame, LiveValues, Recent, Roster } from "../../schema/Live.ts"
import type { NodeReport } from "../../schema/Report.ts"
import {
  type Listed,
  recentOf,
  type RosterContext,
  rosterOf,
  rosterTrace,
  type Row,
  valuesOf
} from "../../src/core/LiveColumns.ts"
import { emptyState } from "../../src/core/NodeState.ts"
import { emptyView } from "../../src/core/NodeView.ts"
import { reportRows, reports, statics } from "../support/ArbitraryReports.ts"
import {
  arrivalOf,
  baseIo,
  filesystem,
  fullReport,
  fullStatic,
  nic,
  receivedAt,
  reportWith,
  setAt,
  smallReport,
  take,
  travelled,
  viewOf
} from "../support/Reports.ts"

const listed = (id: number, over: Partial<Listed> = {}): Listed => ({
  id,
  name: `node-${id}`,
  tags: [],
  displayOrder: 0,
  guestVisible: true,
  groupIds: [1],
  ...over
})
const groupNames = new Map([
  [1, "Default"],
  [2, "Storage"],
  [3, "Hidden"]
])
const contextOf = (guest: boolean): RosterContext => ({
  guest,
  groupNames,
  isOutdated: (version) => version !== "9.9.9"
})
const silent = (id: number, over: Partial<Listed> = {}): Row => ({
  record: listed(id, over),
  view: emptyView(NodeId.make(id))
})
const rowOf = (report: NodeReport, over: Partial<Listed> = {}): Row => ({
  record: listed(7, over),
  view: viewOf(report)
})
const valuesOfOne = (report: NodeReport) => {
  const { row, ...columns } = valuesOf([rowOf(report)], null)
  expect(row).toBeNull()
  return Object.fromEntries(Object.entries(columns).map(([name, column]) => [name, column[0]]))
}

const rows: fc.Arbitrary<ReadonlyArray<Row>> = fc.array(
  fc.oneof(
    { weight: 1, arbitrary: fc.constant(silent(3)) },
    {
      weight: 4,
      arbitrary: fc
        .tuple(reports, fc.option(statics, { nil: undefined }), fc.boolean())
        .map(([report, body, guestVisible]) => ({
          record: listed(7, { guestVisible, groupIds: [1, 2], tags: ["eu"] }),
          view: viewOf(report, body === undefined ? {} : { statics: body })
        }))
    }
  ),
  { maxLength: 4 }
)
const strictly = { onExcessProperty: "error" } as const

describe("a live frame", () => {
  it("has columns of equal length and decodes as its schema says, whatever nodes report", () => {
    fc.assert(
      fc.property(rows, fc.boolean(), (all, guest) => {
        const roster = rosterOf(all, contextOf(guest))
        const values = valuesOf(all, null)
        const frame = { seq: 1, now: receivedAt, viewer: guest ? "guest" : "admin", poll_ms: 3000, roster, values }
        const decoded = Schema.decodeUnknownSync(LiveFrame)(travelled(frame), strictly)
        const { group_names, ...columns } = decoded.roster as Roster
        const { row, ...figures } = decoded.values

        expect(row).toBeNull()
        for (const column of [...Object.values(columns), ...Object.values(figures)]) {
          expect(column).toHaveLength(all.length)
        }
        expect(Object.keys(group_names).length).toBeLessThanOrEqual(2)
      }),
      { numRuns: 200 }
    )
  })

  it("gives chosen rows the same values as all rows have at their places", () => {
    fc.assert(
      fc.property(rows, fc.array(fc.nat(3), { maxLength: 4 }), (all, wanted) => {
        const chosen = wanted.filter((i) => i < all.length)
        const whole = valuesOf(all, null)
        const part = Schema.decodeUnknownSync(LiveValues)(travelled(valuesOf(all, chosen)))

        expect(part.row).toEqual(chosen)
        expect(part.received_at).toEqual(chosen.map((i) => whole.received_at[i]))
        expect(travelled(part.disk)).toEqual(travelled(chosen.map((i) => whole.disk[i])))
      })
    )
  })
})

describe("the roster", () => {
  it("tells guests neither versions nor faults nor who is visible", () => {
    const row: Row = {
      record: listed(7),
      view: viewOf(fullReport(), { arrival: arrivalOf({ dropped: ["secret fault"] }) })
    }
    const guest = rosterOf([row], contextOf(true))

    for (const column of ["version", "outdated", "guest_visible", "fault"]) expect(guest).not.toHaveProperty(column)
    expect(JSON.stringify(guest)).not.toContain("secret fault")
    expect(JSON.stringify(guest)).not.toContain("0.2.2")
  })

  it("tells administrators of each node", () => {
    const faulty = viewOf(fullReport(), { arrival: arrivalOf({ dropped: ["x must be y"] }) })
    const all: ReadonlyArray<Row> = [
      { record: listed(7, { guestVisible: false }), view: faulty },
      { record: listed(8), view: { ...viewOf(fullReport()), version: "9.9.9" } },
      silent(9)
    ]

    expect(rosterOf(all, contextOf(false))).toMatchObject({
      id: [7, 8, 9],
      version: ["0.2.2", "9.9.9", ""],
      outdated: [1, 0, 1],
      guest_visible: [0, 1, 1],
      fault: ["dropped from the last report: x must be y", "", ""]
    })
  })

  it("shows what Static told, and what is known without it", () => {
    const all: ReadonlyArray<Row> = [
      { record: listed(7), view: viewOf(fullReport(), { statics: fullStatic() }) },
      silent(9)
    ]

    expect(rosterOf(all, contextOf(true))).toMatchObject({
      title: ["node-7", "node-9"],
      os: ["linux", "unknown"],
      platform: ["debian", ""],
      arch: ["amd64", ""],
      cores: [8, 0],
      memory_total: [16686182400, 0],
      stale_after_sec: [14, 14]
    })
  })

  it("names the groups of its rows and no other", () => {
    const all = [silent(1, { groupIds: [2] }), silent(2, { groupIds: [1, 2] }), silent(3, { groupIds: [] })]

    expect(rosterOf(all, contextOf(true)).group_names).toEqual({ 1: "Default", 2: "Storage" })
    expect(rosterOf(all, contextOf(true)).groups).toEqual([[2], [1, 2], []])
  })

  it("leaves a trace that changes with Static for all, with version and fault for administrators only", () => {
    const before = rowOf(fullReport())
    const upgraded: Row = { ...before, view: { ...before.view, version: "0.3.0" } }
    const faulty: Row = {
      ...before,
      view: { ...before.view, faults: viewOf(fullReport(), { arrival: arrivalOf({ dropped: ["x"] }) }).faults }
    }
    const told: Row = { ...before, view: viewOf(fullReport(), { statics: fullStatic() }) }

    for (const changed of [upgraded, faulty]) {
      expect(rosterTrace(changed, true)).toBe(rosterTrace(before, true))
      expect(rosterTrace(changed, false)).not.toBe(rosterTrace(before, false))
    }
    for (const guest of [true, false]) expect(rosterTrace(told, guest)).not.toBe(rosterTrace(before, guest))
  })
})

describe("quantised values", () => {
  it("are those of the contract's report in per mille, hundredths, tenths and bytes", () => {
    expect(valuesOfOne(fullReport())).toEqual({
      received_at: receivedAt,
      cpu: 237,
      load1: 142,
      mem: 313,
      swap: 0,
      disk: 591,
      recv_bps: 1843141,
      sent_bps: 2750232,
      read_bps: 0,
      write_bps: 24576,
      uptime_sec: 1040413,
      processes: 214,
      tcp: 318,
      udp: 27,
      temp: 580
    })
  })

  it("are -1 for a load, a temperature and a disk that are unknown", () => {
    const report = smallReport()
    setAt(report, "metrics.cpu", { load1: -1 })

    expect(valuesOfOne(report)).toMatchObject({ load1: -1, temp: -1, disk: -1, cpu: 0, mem: 0, uptime_sec: 0 })
    expect(valuesOfOne(smallReport()).load1).toBe(0)
  })

  it("are 0 and -1 for a node that never reported", () => {
    expect(valuesOf([silent(9)], null)).toMatchObject({
      received_at: [0],
      cpu: [0],
      load1: [-1],
      disk: [-1],
      temp: [-1],
      recv_bps: [0],
      read_bps: [0],
      uptime_sec: [0]
    })
  })

  it("show the fullest mount and the rates of the primary device", () => {
    const report = reportWith(({ metrics }) => {
      metrics.disk.filesystems = [filesystem("/", { used_ratio: 0.2 }), filesystem("/srv", { used_ratio: 0.987654 })]
      metrics.disk.base_io = [baseIo("md0", { kind: "raid" }), baseIo("md1", { kind: "raid" })]
    })

    expect(valuesOfOne(report)).toMatchObject({ disk: 988, read_bps: 10, write_bps: 20 })
  })

  it("stay whole numbers that a double holds exactly, whatever was measured", () => {
    const report = reportWith(({ metrics }) => {
      metrics.network = [nic("eth0", { recv_rate_bytes_per_sec: 1e30, sent_rate_bytes_per_sec: -1e30 })]
      metrics.system = { uptime_seconds: 2 ** 64 - 2048, uptime: "x" }
    })

    expect(valuesOfOne(report)).toMatchObject({
      recv_bps: Number.MAX_SAFE_INTEGER,
      sent_bps: Number.MIN_SAFE_INTEGER,
      uptime_sec: Number.MAX_SAFE_INTEGER
    })
  })
})

describe("the last minutes of a node", () => {
  const recently = (row: ReadonlyArray<NodeReport>): Recent => {
    const state = emptyState()
    row.forEach((report, i) => {
      const at = receivedAt + i * 3000
      const timed = { ...report, hostname: "edge", timestamp: new Date(at).toISOString() }
      setAt(timed, "metrics.system", { ...report.metrics.system, uptime_seconds: 1000 + i * 3 })
      take(state, timed, at)
    })
    const view = { ...emptyView(NodeId.make(7)), layout: state.layout, details: state.details }
    return Schema.decodeUnknownSync(Recent)(travelled(recentOf(view, state.window)), strictly)
  }

  it("decode as the schema says, one value per sample, times ascending, whatever was reported", () => {
    fc.assert(
      fc.property(reportRows, (row) => {
        const { server_id, at, ...series } = recently(row)

        expect(server_id).toBe(7)
        expect(at).toEqual(row.map((_, i) => receivedAt + i * 3000).slice(-at.length))
        for (const values of Object.values(series)) expect(values).toHaveLength(at.length)
      }),
      { numRuns: 200 }
    )
  })

  it("show the host series and the disk total that the snapshot shows", () => {
    const idle = reportWith(({ metrics }) => (metrics.cpu = { usage_ratio: 0.25 }))
    const recent = recently([fullReport(), idle])

    expect(recent.at).toEqual([receivedAt, receivedAt + 3000])
    expect(recent.cpu).toEqual([Math.fround(0.2374581939799331), 0.25])
    expect(recent.recv_bps).toEqual([1843141, 1843141])
    expect(recent.write_bps).toEqual([24576, 24576])
  })

  it("are empty for a node that never reported", () => {
    expect(recently([])).toEqual({
      server_id: 7,
      at: [],
      cpu: [],
      mem: [],
      recv_bps: [],
      sent_bps: [],
      read_bps: [],
      write_bps: []
    })
  })
})
