// What the tests of history and online reads send, ask and expect: reports that say each metric, and checked answers.
import { Schema } from "effect"
import assert from "node:assert/strict"
import { HistoryAnswer, type HistoryMetric, OnlineAnswer } from "../../schema/History.ts"
import {
  type Answer,
  type Headers,
  type MadeNode,
  proper,
  push,
  reportOf,
  type Service,
  staticOf
} from "../support/Service.ts"

export const hour = 3_600_000
/** An id that no node has. */
export const unknown = 987_654

/** Reports are this many times what one of 1 would be: first, largest and last differ. */
export const factors = [1, 4, 2] as const
export const apartMs = 7000

/** What a report of 1 says of each metric, and the device that says it. */
export const table: Readonly<Record<HistoryMetric, readonly [value: number, device?: string]>> = {
  "cpu.usage_ratio": [0.125],
  "cpu.load1": [0.5],
  "cpu.load5": [0.25],
  "cpu.load15": [0.75],
  "cpu.temp_c": [15],
  "mem.used": [1000],
  "mem.used_ratio": [0.0625],
  "swap.used_ratio": [0.03125],
  "proc.count": [10],
  "net.recv_bps": [107],
  "net.sent_bps": [208],
  "conn.tcp": [20],
  "conn.udp": [30],
  "thermal.max_temp_c": [25],
  "pressure.cpu.some_avg10": [1.5],
  "pressure.cpu.some_avg60": [2.5],
  "pressure.cpu.some_avg300": [3.5],
  "pressure.memory.some_avg10": [4.5],
  "pressure.memory.some_avg60": [5.5],
  "pressure.memory.some_avg300": [6.5],
  "pressure.memory.full_avg10": [7.5],
  "pressure.memory.full_avg60": [8.5],
  "pressure.memory.full_avg300": [9.5],
  "pressure.io.some_avg10": [10.5],
  "pressure.io.some_avg60": [11.5],
  "pressure.io.some_avg300": [12.5],
  "pressure.io.full_avg10": [13.5],
  "pressure.io.full_avg60": [14.5],
  "pressure.io.full_avg300": [15.5],
  "disk.read_bps": [100, "raid:md0"],
  "disk.write_bps": [200, "raid:md0"],
  "disk.read_iops": [3, "raid:md0"],
  "disk.write_iops": [4, "raid:md0"],
  "disk.iops": [7, "raid:md0"],
  "disk.util_ratio": [0.015625, "raid:md0"],
  "disk.used": [3000, "md0"],
  "disk.used_ratio": [0.1875, "md0"],
  "disk.inodes_used_ratio": [0.2, "/"],
  "disk.temp_c": [12, "sda"]
}

const stall = (n: number, base: number) => ({
  avg10: base * n,
  avg60: (base + 1) * n,
  avg300: (base + 2) * n,
  total: 1
})
const sensor = (kind: string, temp_c: number) => ({
  kind,
  name: kind,
  sensor_key: kind,
  source: "kernel",
  status: "ok",
  temp_c
})

/** The root alone says where it is mounted. */
const disksTimes = (n: number) => ({
  physical: [{ name: "sda", ref: "disk:sda", device_path: "/dev/sda" }],
  logical: [
    {
      kind: "raid_md",
      name: "md0",
      ref: "raid:md0",
      device_path: "/dev/md0",
      used: 3000 * n,
      free: 9,
      used_ratio: 0.1875 * n
    }
  ],
  filesystems: [
    {
      path: "/host",
      mountpoint: "/",
      device: "/dev/sda1",
      used: 5000 * n,
      free: 9,
      used_ratio: 0.25 * n,
      inodes_used_ratio: 0.2 * n
    }
  ],
  base_io: [
    {
      kind: "raid",
      name: "md0",
      ref: "raid:md0",
      device_path: "/dev/md0",
      read_rate_bytes_per_sec: 100 * n,
      write_rate_bytes_per_sec: 200 * n,
      read_iops: 3 * n,
      write_iops: 4 * n,
      iops: 7 * n,
      util_ratio: 0.015625 * n
    }
  ],
  smart: {
    status: "ok",
    devices: [
      {
        name: "sda",
        ref: "disk:sda",
        device_path: "/dev/sda",
        source: "smartctl",
        status: "ok",
        protocol: "ATA",
        temp_c: 12 * n
      }
    ]
  }
})

/** A report `n` times that of the table. */
export const reportTimes = (n: number) =>
  reportOf(
    {},
    {
      cpu: { usage_ratio: 0.125 * n, load1: 0.5 * n, load5: 0.25 * n, load15: 0.75 * n },
      memory: { used: 1000 * n, used_ratio: 0.0625 * n, swap_used_ratio: 0.03125 * n },
      disk: disksTimes(n),
      network: [
        { name: "eth0", recv_rate_bytes_per_sec: 100 * n, sent_rate_bytes_per_sec: 200 * n },
        { name: "eth1", recv_rate_bytes_per_sec: 7 * n, sent_rate_bytes_per_sec: 8 * n }
      ],
      processes: { process_count: 10 * n },
      connections: { tcp_count: 20 * n, udp_count: 30 * n },
      thermal: { status: "ok", sensors: [sensor("cpu", 15 * n), sensor("acpi", 25 * n)] },
      pressure: {
        cpu: { some: stall(n, 1.5) },
        memory: { some: stall(n, 4.5), full: stall(n, 7.5) },
        io: { some: stall(n, 10.5), full: stall(n, 13.5) }
      }
    }
  )
/** Where the volume is mounted is told here alone. */
export const statics = staticOf({
  disk: { logical: [{ kind: "raid_md", name: "md0", ref: "raid:md0", total: 4000, mountpoint: "/srv" }] }
})

/** Sends the reports of all factors, each in its own time. */
export const sendAll = async (service: Service, { secret }: MadeNode): Promise<void> => {
  for (const [i, n] of factors.entries()) {
    if (i > 0) service.advance(apartMs)
    const answer = await push(service, "metrics", secret, reportTimes(n))
    if (answer.status !== 200) throw new Error(answer.text)
  }
}

export type Params = Readonly<Record<string, string | number | undefined>>
export const pathOf = (what: "history" | "online", params: Params): string => {
  const pairs = Object.entries(params).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]
  )
  return `/api/metrics/${what}?${pairs.join("&")}`
}

/** Any answer of the two reads, which nobody may keep. */
export const ask = async (service: Service, path: string, headers: Headers): Promise<Answer> => {
  const answer = proper(await service.call("GET", path, headers))
  assert.equal(answer.headers["cache-control"], "no-store", path)
  return answer
}

/** A history of one node: the CPU in the finest range unless the parameters say otherwise. */
export const historyAt = async (service: Service, headers: Headers, params: Params): Promise<HistoryAnswer> => {
  const path = pathOf("history", { metric: "cpu.usage_ratio", range: "30m", ...params })
  const { json, status, text } = await ask(service, path, headers)
  assert.equal(status, 200, `${path}: ${text}`)
  return Schema.decodeUnknownSync(HistoryAnswer)(json, { onExcessProperty: "error" })
}

export const onlineAt = async (service: Service, headers: Headers, params: Params): Promise<OnlineAnswer> => {
  const path = pathOf("online", { range: "24h", ...params })
  const { json, status, text } = await ask(service, path, headers)
  assert.equal(status, 200, `${path}: ${text}`)
  return Schema.decodeUnknownSync(OnlineAnswer)(json, { onExcessProperty: "error" })
}

/** Fails unless the times are whole seconds, ascending, each the start of a step. */
export const assertAligned = (points: ReadonlyArray<{ readonly ts: string }>, stepMs: number): void => {
  points.forEach(({ ts }, i) => {
    const at = Date.parse(ts)
    assert.match(ts, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    assert.equal(at % stepMs, 0, ts)
    if (i > 0) assert.ok(at > Date.parse(String(points[i - 1]?.ts)), ts)
  })
}
