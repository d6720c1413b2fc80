// NodeReport: one sample of a node, as agents send it every few seconds.
import { Schema } from "effect"
import { lenient } from "./Rule.ts"
import {
  deviceFields,
  Instant,
  Int,
  interfacesMax,
  kindAndNameOf,
  list,
  membersMax,
  Named,
  nameOf,
  Num,
  opt,
  sensorsMax,
  Text,
  Uint,
  unique,
  Version,
  volumeFields,
  volumesMax
} from "./Wire.ts"

const ioFields = {
  read_bytes: opt(Uint),
  write_bytes: opt(Uint),
  read_rate_bytes_per_sec: opt(Num),
  write_rate_bytes_per_sec: opt(Num),
  iops: opt(Num),
  read_iops: opt(Num),
  write_iops: opt(Num),
  util_ratio: opt(Num),
  queue_length: opt(Num),
  wait_ms: opt(Num),
  service_ms: opt(Num)
}

export const Physical = Schema.Struct({ ...deviceFields, ...ioFields })
export type Physical = typeof Physical.Type

export const Logical = Schema.Struct(volumeFields)
export type Logical = typeof Logical.Type

export const Filesystem = Schema.Struct({
  path: Named,
  device: opt(Text),
  mountpoint: opt(Text),
  used: opt(Uint),
  free: opt(Uint),
  used_ratio: opt(Num),
  inodes_used: opt(Uint),
  inodes_free: opt(Uint),
  inodes_used_ratio: opt(Num),
  total: opt(Uint),
  fs_type: opt(Text),
  inodes_total: opt(Uint)
})
export type Filesystem = typeof Filesystem.Type

export const BaseIo = Schema.Struct({ kind: Named, ...deviceFields, role: opt(Text), ...ioFields })
export type BaseIo = typeof BaseIo.Type

export const Interface = Schema.Struct({
  name: Named,
  bytes_recv: opt(Uint),
  bytes_sent: opt(Uint),
  recv_rate_bytes_per_sec: opt(Num),
  sent_rate_bytes_per_sec: opt(Num),
  packets_recv: opt(Uint),
  packets_sent: opt(Uint),
  recv_rate_packets_per_sec: opt(Num),
  sent_rate_packets_per_sec: opt(Num),
  err_in: opt(Uint),
  err_out: opt(Uint),
  drop_in: opt(Uint),
  drop_out: opt(Uint)
})
export type Interface = typeof Interface.Type

export const SmartDevice = Schema.Struct({
  name: Named,
  source: Named,
  status: Named,
  ref: opt(Text),
  device_path: opt(Text),
  device_type: opt(Text),
  protocol: opt(Text),
  model: opt(Text),
  serial: opt(Text),
  wwn: opt(Text),
  exit_status: opt(Int),
  health: opt(Text),
  temp_c: opt(Num),
  power_on_hours: opt(Num),
  lifetime_used_percent: opt(Num),
  critical_warning: opt(Int),
  failing_attrs: opt(list(Schema.Struct({ id: opt(Int), name: Text, when_failed: Text }), membersMax))
})
export type SmartDevice = typeof SmartDevice.Type

export const Smart = Schema.Struct({
  status: Named,
  updated_at: opt(Text),
  ttl_seconds: opt(Int),
  devices: lenient(list(SmartDevice, volumesMax))
})
export type Smart = typeof Smart.Type

export const Sensor = Schema.Struct({
  kind: Named,
  name: Named,
  sensor_key: Named,
  source: Named,
  status: Named,
  temp_c: opt(Num),
  high_c: opt(Num),
  critical_c: opt(Num)
})
export type Sensor = typeof Sensor.Type

export const Thermal = Schema.Struct({
  status: Named,
  updated_at: opt(Text),
  sensors: lenient(list(Sensor, sensorsMax))
})
export type Thermal = typeof Thermal.Type

const Stall = Schema.Struct({ avg10: opt(Num), avg60: opt(Num), avg300: opt(Num), total: opt(Uint) })
const Resource = Schema.Struct({ status: opt(Text), some: opt(Stall), full: opt(Stall) })
export const Pressure = Schema.Struct({
  cpu: opt(lenient(Resource)),
  memory: opt(lenient(Resource)),
  io: opt(lenient(Resource))
})
export type Pressure = typeof Pressure.Type

export const RaidArray = Schema.Struct({
  name: Named,
  status: Named,
  active: opt(Int),
  working: opt(Int),
  failed: opt(Int),
  health: Named,
  members: list(Schema.Struct({ name: Named, state: Named }), membersMax),
  sync_status: opt(Text),
  sync_progress: opt(Text)
})
export type RaidArray = typeof RaidArray.Type

export const Raid = Schema.Struct({
  supported: opt(Schema.Boolean),
  available: opt(Schema.Boolean),
  arrays: lenient(list(RaidArray, volumesMax))
})
export type Raid = typeof Raid.Type

const Cpu = Schema.Struct({
  usage_ratio: opt(Num),
  load1: opt(Num),
  load5: opt(Num),
  load15: opt(Num),
  times: opt(Schema.Struct({ user: opt(Num), system: opt(Num), idle: opt(Num), iowait: opt(Num), steal: opt(Num) }))
})
const Memory = Schema.Struct({
  used: opt(Uint),
  available: opt(Uint),
  buffers: opt(Uint),
  cached: opt(Uint),
  used_ratio: opt(Num),
  swap_used: opt(Uint),
  swap_free: opt(Uint),
  swap_used_ratio: opt(Num),
  total: opt(Uint),
  swap_total: opt(Uint)
})
const Disk = Schema.Struct({
  physical: unique(list(Physical, volumesMax), nameOf, "name"),
  logical: unique(list(Logical, volumesMax), kindAndNameOf, "kind and name"),
  filesystems: list(Filesystem, volumesMax),
  base_io: unique(list(BaseIo, volumesMax), nameOf, "name"),
  smart: opt(lenient(Smart))
})
const Metrics = Schema.Struct({
  cpu: opt(Cpu),
  memory: opt(Memory),
  disk: Disk,
  network: unique(list(Interface, interfacesMax), nameOf, "name"),
  system: Schema.Struct({ alive: opt(Schema.Boolean), uptime_seconds: opt(Uint), uptime: Named }),
  processes: opt(Schema.Struct({ process_count: opt(Int) })),
  connections: opt(Schema.Struct({ tcp_count: opt(Int), udp_count: opt(Int) })),
  raid: Raid,
  thermal: opt(lenient(Thermal)),
  pressure: opt(lenient(Pressure))
})

export const NodeReport = Schema.Struct({
  version: Version,
  hostname: Named,
  timestamp: Instant,
  metrics: Metrics
}).annotations({ identifier: "NodeReport", description: "One sample of a node, as its agent measured it." })
export type NodeReport = typeof NodeReport.Type
