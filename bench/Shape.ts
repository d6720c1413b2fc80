// The text of one report with markers in the places that change, found again by their digits.
import { hostnameOf } from "./Fleet.ts"

/** Digits behind the point of a ratio. */
export const ratioDigits = 4
export const timeMarker = "2001-01-01T00:00:00.000Z"
export const uptimeMarker = "99d 23h 59m"

/** Fields that change with every report, and their digits; 0 is a ratio. */
export const fields = {
  usage: 0,
  load1: 0,
  cpuUser: 7,
  cpuIdle: 8,
  memUsed: 10,
  memAvailable: 10,
  memRatio: 0,
  diskRead: 12,
  diskWrite: 12,
  diskReadRate: 7,
  diskWriteRate: 7,
  diskIops: 3,
  diskUtil: 0,
  fsUsed: 11,
  recv: 12,
  sent: 12,
  recvPackets: 10,
  sentPackets: 10,
  recvRate: 7,
  sentRate: 7,
  recv2: 12,
  sent2: 12,
  uptimeSec: 7,
  processes: 3,
  tcp: 3,
  stallCpu: 0,
  stallTotal: 9,
  temp1: 2,
  temp2: 2
} as const
export type Field = keyof typeof fields
export const fieldNames = Object.keys(fields) as Array<Field>

/** A number that is nowhere else in the text; no leading zero, as JSON demands. */
const markerOf = (width: number, serial: number): number => {
  if (width === 0) return (9001 + serial * 2) / 10 ** ratioDigits
  return 9 * 10 ** (width - 1) + (width === 2 ? serial % 10 : serial)
}
export const markers = Object.fromEntries(fieldNames.map((name, i) => [name, markerOf(fields[name], i)])) as Readonly<
  Record<Field, number>
>
const m = markers

const cpu = {
  usage_ratio: m.usage,
  load1: m.load1,
  load5: 0.42,
  load15: 0.37,
  times: { user: m.cpuUser, system: 235.34, idle: m.cpuIdle, iowait: 9.83, steal: 2.1 }
}

const memory = {
  used: m.memUsed,
  available: m.memAvailable,
  buffers: 12_431_360,
  cached: 819_802_112,
  used_ratio: m.memRatio,
  swap_used: 0,
  swap_free: 0,
  swap_used_ratio: 0
}

const disk = {
  physical: [
    {
      name: "vda",
      device_path: "/dev/vda",
      ref: "disk:vda",
      read_bytes: m.diskRead,
      write_bytes: m.diskWrite,
      read_rate_bytes_per_sec: m.diskReadRate,
      write_rate_bytes_per_sec: m.diskWriteRate,
      read_iops: 7,
      write_iops: 12,
      iops: m.diskIops,
      util_ratio: m.diskUtil,
      queue_length: 0.003,
      wait_ms: 0.5,
      service_ms: 0.2
    }
  ],
  logical: [],
  filesystems: [
    {
      path: "/",
      device: "/dev/vda",
      mountpoint: "/",
      used: m.fsUsed,
      free: 84_571_430_912,
      used_ratio: 0.1352,
      inodes_used: 436_159,
      inodes_free: 16_341_057,
      inodes_used_ratio: 0.026
    }
  ],
  base_io: [],
  smart: { status: "no_tool", devices: [] }
}

const eth0 = {
  name: "eth0",
  bytes_recv: m.recv,
  bytes_sent: m.sent,
  packets_recv: m.recvPackets,
  packets_sent: m.sentPackets,
  err_in: 0,
  err_out: 0,
  drop_in: 0,
  drop_out: 0,
  recv_rate_bytes_per_sec: m.recvRate,
  sent_rate_bytes_per_sec: m.sentRate,
  recv_rate_packets_per_sec: 812,
  sent_rate_packets_per_sec: 764
}
const eth1 = {
  ...eth0,
  name: "eth1",
  bytes_recv: m.recv2,
  bytes_sent: m.sent2,
  packets_recv: 70_412,
  packets_sent: 60_317,
  recv_rate_bytes_per_sec: 1024,
  sent_rate_bytes_per_sec: 768
}

const calm = { avg10: 0, avg60: 0, avg300: 0, total: 0 }
const pressure = {
  cpu: { status: "ok", some: { ...calm, avg10: m.stallCpu, total: m.stallTotal }, full: calm },
  memory: { status: "ok", some: calm, full: calm },
  io: { status: "ok", some: calm, full: calm }
}

const sensor = (name: string, temp: number) => ({
  kind: "cpu",
  name,
  sensor_key: `coretemp/${name}`,
  source: "hwmon",
  status: "ok",
  temp_c: temp,
  high_c: 80,
  critical_c: 100
})

/** The report of a small virtual server, as the project's own agent fills it, with one or two interfaces. */
export const reportText = (nics: 1 | 2): string =>
  JSON.stringify({
    version: "0.1.0",
    hostname: hostnameOf(0),
    timestamp: timeMarker,
    metrics: {
      cpu,
      memory,
      disk,
      network: nics === 2 ? [eth0, eth1] : [eth0],
      system: { alive: true, uptime_seconds: m.uptimeSec, uptime: uptimeMarker },
      processes: { process_count: m.processes },
      connections: { tcp_count: m.tcp, udp_count: 4 },
      pressure,
      raid: { supported: true, available: false, arrays: [] },
      thermal: {
        status: "ok",
        updated_at: timeMarker,
        sensors: [sensor("Core 0", m.temp1), sensor("Core 1", m.temp2)]
      }
    }
  })
