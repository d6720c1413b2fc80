// Every number of a report lands where the snapshot finds it again.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { NodeReport } from "../../schema/Report.ts"
import {
  Fs,
  fsSize,
  Heat,
  heatSize,
  Host,
  Io,
  ioSize,
  Nic,
  nicSize,
  Volume,
  volumeSize
} from "../../src/core/Layout.ts"
import { flatten as flattenInto } from "../../src/core/Flatten.ts"
import { counted } from "../../src/core/NetTotals.ts"
import { snapshotOf } from "../../src/core/SnapshotView.ts"
import { reports } from "../support/ArbitraryReports.ts"
import {
  flattened,
  fullReport,
  layoutIn,
  nic,
  reportWith,
  sensor,
  smallReport,
  thermal,
  titled,
  viewOf
} from "../support/Reports.ts"

type Maybe = number | null | undefined
const num = (value: Maybe): number => value ?? 0
const sum = (values: ReadonlyArray<number>): number => values.reduce((a, b) => a + b, 0)
const isHot = (value: Maybe): value is number => value !== undefined && value !== null && value > 0

type Io5 = NodeReport["metrics"]["disk"]["base_io"][number]
const ratesOf = (device: Io5) => ({
  read_bps: num(device.read_rate_bytes_per_sec),
  write_bps: num(device.write_rate_bytes_per_sec),
  read_iops: num(device.read_iops),
  write_iops: num(device.write_iops),
  iops: device.iops ?? num(device.read_iops) + num(device.write_iops)
})

/** The parts of a snapshot that are figures, straight from the report as the contract describes them. */
const expectedCpuAndMemory = ({ metrics: { cpu, memory } }: NodeReport) => ({
  cpu: {
    usage_ratio: num(cpu?.usage_ratio),
    load: { l1: num(cpu?.load1), l5: num(cpu?.load5), l15: num(cpu?.load15) },
    sockets: 1
  },
  memory: {
    total_bytes: num(memory?.total),
    used_bytes: num(memory?.used),
    available_bytes: num(memory?.available),
    buffers_bytes: num(memory?.buffers),
    cached_bytes: num(memory?.cached),
    used_ratio: num(memory?.used_ratio),
    swap_total_bytes: num(memory?.swap_total),
    swap_used_bytes: num(memory?.swap_used)
  }
})
const expectedNetwork = ({ metrics: { network } }: NodeReport) => {
  const interfaces = network.map((one) => ({
    name: one.name.trim(),
    bytes_recv: num(one.bytes_recv),
    bytes_sent: num(one.bytes_sent),
    recv_bps: num(one.recv_rate_bytes_per_sec),
    sent_bps: num(one.sent_rate_bytes_per_sec)
  }))
  const flags = counted(interfaces.map(({ name }) => name))
  const added = interfaces.filter((_, i) => flags[i])
  return {
    total: {
      bytes_recv: sum(added.map((one) => one.bytes_recv)),
      bytes_sent: sum(added.map((one) => one.bytes_sent)),
      recv_bps: sum(added.map((one) => one.recv_bps)),
      sent_bps: sum(added.map((one) => one.sent_bps))
    },
    ...(interfaces.length === 0 ? {} : { by_interface: interfaces })
  }
}
const expectedSensors = ({ metrics }: NodeReport) =>
  metrics.thermal?.sensors.flatMap((one) =>
    isHot(one.temp_c)
      ? {
          kind: one.kind.trim(),
          name: one.name.trim(),
          sensor_key: one.sensor_key.trim(),
          source: one.source.trim(),
          status: one.status.trim(),
          temp_c: one.temp_c,
          ...(isHot(one.high_c) ? { high_c: one.high_c } : {}),
          ...(isHot(one.critical_c) ? { critical_c: one.critical_c } : {})
        }
      : []
  )
const expectedByDevice = ({ metrics }: NodeReport) =>
  Object.fromEntries(metrics.disk.base_io.map((one) => [one.ref?.trim() || one.name.trim(), ratesOf(one)]))

describe("a report flattened and read again", () => {
  it("shows the cpu, memory, network, processes and connections that it told", () => {
    fc.assert(
      fc.property(reports, (report) => {
        const snapshot = snapshotOf(viewOf(report), titled(), false)
        const { connections, processes } = report.metrics

        expect(snapshot).toMatchObject(expectedCpuAndMemory(report))
        expect(snapshot.network).toEqual(expectedNetwork(report))
        expect(snapshot.processes.count).toBe(num(processes?.process_count))
        expect(snapshot.connections).toEqual({ tcp: num(connections?.tcp_count), udp: num(connections?.udp_count) })
      }),
      { numRuns: 300 }
    )
  })

  it("shows the rates of each base device and the temperature of each sensor", () => {
    fc.assert(
      fc.property(reports, (report) => {
        const { disk, thermal: heat } = snapshotOf(viewOf(report), titled(), false)

        expect(disk.io.by_device ?? {}).toEqual(expectedByDevice(report))
        expect(heat?.sensors).toEqual(expectedSensors(report))
      }),
      { numRuns: 300 }
    )
  })

  it("shows the stalls that it told, and none that it did not", () => {
    fc.assert(
      fc.property(reports, (report) => {
        const { pressure } = snapshotOf(viewOf(report), titled(), false)
        for (const name of ["cpu", "memory", "io"] as const) {
          for (const group of ["some", "full"] as const) {
            const told = report.metrics.pressure?.[name]?.[group]
            const expected =
              told === undefined || told === null || (told.avg10 ?? null) === null
                ? undefined
                : { avg10: told.avg10, avg60: num(told.avg60), avg300: num(told.avg300), total: num(told.total) }

            expect(pressure?.[name]?.[group]).toEqual(expected)
          }
        }
      })
    )
  })
})

/** Field on the wire behind each place of a block; what is missing is 0. */
const nicFields = {
  [Nic.recv]: "bytes_recv",
  [Nic.sent]: "bytes_sent",
  [Nic.recvRate]: "recv_rate_bytes_per_sec",
  [Nic.sentRate]: "sent_rate_bytes_per_sec",
  [Nic.packetsRecv]: "packets_recv",
  [Nic.packetsSent]: "packets_sent",
  [Nic.packetsRecvRate]: "recv_rate_packets_per_sec",
  [Nic.packetsSentRate]: "sent_rate_packets_per_sec",
  [Nic.errIn]: "err_in",
  [Nic.errOut]: "err_out",
  [Nic.dropIn]: "drop_in",
  [Nic.dropOut]: "drop_out"
} as const
const ioFields = {
  [Io.readBytes]: "read_bytes",
  [Io.writeBytes]: "write_bytes",
  [Io.readRate]: "read_rate_bytes_per_sec",
  [Io.writeRate]: "write_rate_bytes_per_sec",
  [Io.readIops]: "read_iops",
  [Io.writeIops]: "write_iops",
  [Io.util]: "util_ratio",
  [Io.queue]: "queue_length",
  [Io.waitMs]: "wait_ms",
  [Io.serviceMs]: "service_ms"
} as const
const volumeFields = { [Volume.used]: "used", [Volume.free]: "free", [Volume.usedRatio]: "used_ratio" } as const
const fsFields = {
  [Fs.used]: "used",
  [Fs.free]: "free",
  [Fs.usedRatio]: "used_ratio",
  [Fs.inodesUsed]: "inodes_used",
  [Fs.inodesFree]: "inodes_free",
  [Fs.inodesRatio]: "inodes_used_ratio"
} as const

const expectBlock = (
  vector: Float64Array,
  at: number,
  fields: Readonly<Record<number, string>>,
  items: ReadonlyArray<object>,
  size: number
): void => {
  items.forEach((item, i) => {
    for (const [place, field] of Object.entries(fields)) {
      const told = (item as Readonly<Record<string, Maybe>>)[field]

      expect(vector[at + i * size + Number(place)], field).toBe(num(told))
    }
  })
}

describe("the vector of a report", () => {
  it("holds every figure of every device at its place", () => {
    fc.assert(
      fc.property(reports, (report) => {
        const { disk, network } = report.metrics
        const layout = layoutIn(report)
        const vector = flattened(report, layout)

        expectBlock(vector, layout.nicsAt, nicFields, network, nicSize)
        expectBlock(vector, layout.physicalAt, ioFields, disk.physical, ioSize)
        expectBlock(vector, layout.logicalAt, volumeFields, disk.logical, volumeSize)
        expectBlock(vector, layout.filesystemsAt, fsFields, disk.filesystems, fsSize)
        expectBlock(vector, layout.baseIoAt, ioFields, disk.base_io, ioSize)
        disk.filesystems.forEach((fs, i) =>
          expect(vector[layout.filesystemsAt + i * fsSize + Fs.total]).toBe(fs.total ?? Number.NaN)
        )
        disk.logical.forEach((one, i) =>
          expect(vector[layout.logicalAt + i * volumeSize + Volume.total]).toBe(one.total ?? Number.NaN)
        )
      }),
      { numRuns: 200 }
    )
  })

  it("holds the host series of the contract's example", () => {
    const vector = flattened(fullReport())

    expect(vector[Host.reportedAt]).toBe(Date.UTC(2026, 5, 14, 8, 21, 33, 418))
    expect(vector.slice(Host.cpuUser, Host.cpuSteal + 1)).toEqual(
      Float64Array.of(184211.37, 60918.22, 3911840.61, 2204.9, 311.08)
    )
    expect(vector[Host.uptimeSec]).toBe(1_040_413)
    expect(vector[Host.alive]).toBe(1)
    expect(vector[Host.swapFree]).toBe(2_147_479_552)
    expect(vector[Host.cpuTemp]).toBe(58)
    expect(vector[Host.thermalAt]).toBe(Date.UTC(2026, 5, 14, 8, 21, 33, 101))
    expect([0, 3, 11, 20].map((i) => vector[Host.pressure + i])).toEqual([1.18, 92118840221, 410233, 0.2])
  })

  it("leaves nothing of an earlier report behind in reused memory", () => {
    fc.assert(
      fc.property(reports, (report) => {
        const layout = layoutIn(report)
        const clean = flattened(report, layout)
        const used = new Float64Array(layout.size).fill(777)
        flattenInto(used, layout, report)

        expect(used).toEqual(clean)
      })
    )
  })

  it("keeps absence visible where 0 would be a figure, and counts it as 0 elsewhere", () => {
    const vector = flattened(smallReport())

    for (const series of [Host.memTotal, Host.swapTotal, Host.cpuTemp, Host.thermalAt, Host.pressure]) {
      expect(vector[series]).toBeNaN()
    }
    for (const series of [Host.cpuUsage, Host.memUsed, Host.uptimeSec, Host.alive, Host.tcp, Host.netRecv]) {
      expect(vector[series]).toBe(0)
    }
  })
})

describe("the cpu temperature", () => {
  const cpuTemp = (...sensors: ReadonlyArray<ReturnType<typeof sensor>>): number | undefined =>
    flattened(reportWith(({ metrics }) => (metrics.thermal = thermal(...sensors))))[Host.cpuTemp]

  it("is the highest of the sensors of kind cpu that have one", () => {
    expect(cpuTemp(sensor("a", { temp_c: 41 }), sensor("b", { temp_c: 63.5 }), sensor("c", { temp_c: 50 }))).toBe(63.5)
    expect(cpuTemp(sensor("a", { temp_c: 0 }), sensor("b", { kind: " CPU ", temp_c: 12 }))).toBe(12)
    expect(cpuTemp(sensor("a", { temp_c: 30 }), sensor("g", { kind: "gpu", temp_c: 90 }))).toBe(30)
  })

  it("is absent when no cpu sensor is above zero", () => {
    expect(cpuTemp(sensor("a", { temp_c: 0 }), sensor("b", { temp_c: -5 }), sensor("c", { temp_c: null }))).toBeNaN()
    expect(cpuTemp(sensor("g", { kind: "gpu", temp_c: 90 }))).toBeNaN()
    expect(cpuTemp()).toBeNaN()
  })

  it("leaves the limits of a sensor without meaning out", () => {
    const report = reportWith(({ metrics }) => (metrics.thermal = thermal(sensor("a", { high_c: 0, critical_c: -1 }))))
    const layout = layoutIn(report)
    const vector = flattened(report, layout)

    expect(vector[layout.sensorsAt + Heat.temp]).toBe(50)
    expect(vector.slice(layout.sensorsAt + Heat.high, layout.sensorsAt + heatSize)).toEqual(
      Float64Array.of(Number.NaN, Number.NaN)
    )
  })
})

describe("network totals", () => {
  it("add members, not the bond, its VLAN or the bridge above it", () => {
    const report = reportWith(({ metrics }) => {
      metrics.network = ["bond0", "bond0.7", "br0", "eth0", "eth1"].map((name, i) => nic(name, { bytes_recv: 10 ** i }))
    })
    const vector = flattened(report)

    expect(vector[Host.netRecv]).toBe(11_000)
    expect(vector[Host.netSent]).toBe(4000)
    expect(vector[Host.netRecvRate]).toBe(60)
    expect(vector[Host.netSentRate]).toBe(80)
  })

  it("stay finite for the largest rates that a report may tell", () => {
    const report = reportWith(({ metrics }) => {
      metrics.network = Array.from({ length: 256 }, (_, i) => nic(`eth${i}`, { recv_rate_bytes_per_sec: 1e30 }))
    })

    expect(Math.fround(flattened(report)[Host.netRecvRate] as number)).toBeLessThan(Infinity)
  })
})
