// One machine that reports: from a seed, with the noise of real ones, or as a real agent saw it, over and over.
import { readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import type { NodeReport } from "../../schema/Report.ts"
import { uptimeText } from "../../src/core/Details.ts"
import { realistic, rng } from "../../test/support/HistorySamples.ts"
import { reportIn } from "../Drive.ts"
import { intervalMs } from "../Fleet.ts"
import { isRecorded } from "./Nodes.ts"

export interface Machine {
  /** When its report with this number arrives, milliseconds after its first: on time but for a few. */
  readonly afterMs: (i: number) => number
  readonly report: (i: number, atMs: number) => NodeReport
}

/** Reports come this much earlier or later at most. */
const jitterMs = 60
/** Machines have been up for so long when they begin. */
const bootedSec = 1_000_000

const disks = ["sda", "sdb", "nvme0n1"] as const
const mounts = ["/", "/home", "/var/lib/data", "/srv"] as const
const nics = ["eth0", "eth1"] as const
const gigabyte = 1e9

const systemAt = (i: number) => {
  const uptime = bootedSec + Math.floor((i * intervalMs) / 1000)
  return { alive: true, uptime_seconds: uptime, uptime: uptimeText(uptime) }
}

/** Takes the columns of `realistic` in their order. */
const taker = (columns: ReadonlyArray<Float64Array>) => {
  let at = 0
  return () => {
    const column = columns[at++]
    if (column === undefined) throw new Error("the samples have fewer columns than the report takes")
    return column
  }
}
type Take = () => Float64Array
type Part<A> = (i: number) => A

const diskPart = (take: Take, name: string) => {
  const [readRate, reads, writeRate, writes, util] = [take(), take(), take(), take(), take()]
  return (i: number) => ({
    kind: "physical",
    name,
    device_path: `/dev/${name}`,
    ref: `disk:${name}`,
    read_rate_bytes_per_sec: readRate[i] as number,
    write_rate_bytes_per_sec: writeRate[i] as number,
    read_iops: reads[i] as number,
    write_iops: writes[i] as number,
    iops: (reads[i] as number) + (writes[i] as number),
    util_ratio: util[i] as number
  })
}

const filesystemPart = (take: Take, path: string) => {
  const [used, ratio, inodes] = [take(), take(), take()]
  return (i: number) => ({
    path,
    device: `/dev/mapper/vg-${path.length}`,
    mountpoint: path,
    used: used[i] as number,
    free: gigabyte,
    used_ratio: ratio[i] as number,
    inodes_used_ratio: inodes[i] as number
  })
}

const stallPart = (take: Take) => {
  const [avg10, avg60, avg300] = [take(), take(), take()]
  return (i: number) => ({ avg10: avg10[i] as number, avg60: avg60[i] as number, avg300: avg300[i] as number })
}

const nicPart = (take: Take, name: string) => {
  const [recv, sent] = [take(), take()]
  return (i: number) => ({
    name,
    bytes_recv: 1e11 + i * 10_000,
    bytes_sent: 1e10 + i * 9000,
    recv_rate_bytes_per_sec: recv[i] as number,
    sent_rate_bytes_per_sec: sent[i] as number
  })
}

const sensorPart = (take: Take, n: number) => {
  const heat = take()
  const name = `Core ${n}`
  return (i: number) => ({
    kind: "cpu",
    name,
    sensor_key: `coretemp/${name}`,
    source: "hwmon",
    status: "ok",
    temp_c: heat[i] as number
  })
}

const each = <A>(parts: ReadonlyArray<Part<A>>, i: number): Array<A> => parts.map((part) => part(i))

/** A server with two interfaces, three disks, four filesystems and four sensors: about seventy series. */
const generated = (seed: number, rows: number): Machine["report"] => {
  const { columns } = realistic(seed, rows)
  const take = taker(columns)
  const [usage, load1, load5, load15] = [take(), take(), take(), take()]
  const [memUsed, memRatio, swap] = [take(), take(), take()]
  const [processes, tcp, udp] = [take(), take(), take()]
  const network = nics.map((name) => nicPart(take, name))
  const baseIo = disks.map((name) => diskPart(take, name))
  const filesystems = mounts.map((path) => filesystemPart(take, path))
  const [cpuStall, memSome, memFull, ioSome, ioFull] = [1, 2, 3, 4, 5].map(() => stallPart(take)) as [
    ReturnType<typeof stallPart>,
    ReturnType<typeof stallPart>,
    ReturnType<typeof stallPart>,
    ReturnType<typeof stallPart>,
    ReturnType<typeof stallPart>
  ]
  const sensors = [0, 1, 2, 3].map((n) => sensorPart(take, n))
  return (i, atMs) => ({
    version: "0.1.0",
    hostname: `machine-${seed}`,
    timestamp: new Date(atMs).toISOString(),
    metrics: {
      cpu: { usage_ratio: usage[i], load1: load1[i], load5: load5[i], load15: load15[i] },
      memory: { used: memUsed[i], used_ratio: memRatio[i], swap_used_ratio: swap[i] },
      disk: { physical: [], logical: [], filesystems: each(filesystems, i), base_io: each(baseIo, i) },
      network: each(network, i),
      system: systemAt(i),
      processes: { process_count: processes[i] },
      connections: { tcp_count: tcp[i], udp_count: udp[i] },
      raid: { arrays: [] },
      thermal: { status: "ok", sensors: each(sensors, i) },
      pressure: {
        cpu: { some: cpuStall(i) },
        memory: { some: memSome(i), full: memFull(i) },
        io: { some: ioSome(i), full: ioFull(i) }
      }
    }
  })
}

/** The recorded reports of a file, checked as the service checks them. */
export const recordingIn = (file: string): ReadonlyArray<NodeReport> => {
  const lines = gunzipSync(readFileSync(file)).toString("utf8").trim().split("\n")
  return lines.map(reportIn)
}

/** Plays a recording in a circle, from a place of its own; only clock, uptime and counters go on. */
const replayed = (recording: ReadonlyArray<NodeReport>, from: number): Machine["report"] => {
  return (i, atMs) => {
    const said = recording[(from + i) % recording.length] as NodeReport
    const network = said.metrics.network.map((nic) => ({ ...nic, bytes_recv: 1e10 + i * 10_000 }))
    return {
      ...said,
      hostname: `recorded-${from}`,
      timestamp: new Date(atMs).toISOString(),
      metrics: { ...said.metrics, network, system: systemAt(i) }
    }
  }
}

/** The machine of one kind; it can send `rows` reports. */
export const machineOf = (kind: number, rows: number, recording: ReadonlyArray<NodeReport>): Machine => {
  const random = rng(kind + 1)
  const jitter = Int32Array.from({ length: rows }, () => Math.round((random() * 2 - 1) * jitterMs))
  const report = isRecorded(kind) ? replayed(recording, kind * 7) : generated(kind + 1, rows)
  const phaseMs = jitterMs + Math.floor(random() * (intervalMs - 2 * jitterMs))
  return { afterMs: (i) => phaseMs + i * intervalMs + (jitter[i] as number), report }
}
