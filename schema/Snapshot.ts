// A node as the front page reads it (GET /api/front/metrics), every optional member omitted when unknown.
import { Schema } from "effect"

const { Int, Number: Num, String: Str, Array: Arr, Struct } = Schema
const opt = Schema.optional

export const IoRates = Struct({ read_bps: Num, write_bps: Num, read_iops: Num, write_iops: Num, iops: Num })
export type IoRates = typeof IoRates.Type

export const SmartView = Struct({
  status: Str,
  updated_at: opt(Str),
  ttl_seconds: opt(Int),
  devices: Arr(
    Struct({
      name: Str,
      source: Str,
      status: Str,
      ref: opt(Str),
      device_path: opt(Str),
      device_type: opt(Str),
      protocol: opt(Str),
      model: opt(Str),
      serial: opt(Str),
      wwn: opt(Str),
      exit_status: opt(Int),
      health: opt(Str),
      temp_c: opt(Num),
      power_on_hours: opt(Num),
      lifetime_used_percent: opt(Num),
      critical_warning: opt(Int),
      failing_attrs: opt(Arr(Struct({ id: opt(Int), name: Str, when_failed: Str })))
    })
  )
})
export type SmartView = typeof SmartView.Type

export const ThermalView = Struct({
  status: Str,
  updated_at: opt(Str),
  sensors: Arr(
    Struct({
      kind: Str,
      name: Str,
      sensor_key: Str,
      source: Str,
      status: Str,
      temp_c: opt(Num),
      high_c: opt(Num),
      critical_c: opt(Num)
    })
  )
})
export type ThermalView = typeof ThermalView.Type

const Stall = Struct({ avg10: Num, avg60: Num, avg300: Num, total: Num })
const Resource = Struct({ some: opt(Stall), full: opt(Stall) })
export const PressureView = Struct({ cpu: opt(Resource), memory: opt(Resource), io: opt(Resource) })
export type PressureView = typeof PressureView.Type

export const RaidView = Struct({
  supported: Schema.Boolean,
  available: Schema.Boolean,
  arrays: Arr(
    Struct({
      name: Str,
      status: Str,
      health: Str,
      active: Int,
      working: Int,
      failed: Int,
      members: Arr(Struct({ name: Str, state: Str })),
      sync_status: opt(Str),
      sync_progress: opt(Str)
    })
  )
})
export type RaidView = typeof RaidView.Type

export const Snapshot = Struct({
  node: Struct({
    id: Str,
    order: opt(Int),
    title: Str,
    search_text: opt(Arr(Str)),
    tags: opt(Arr(Str))
  }),
  observation: Struct({
    received_at: opt(Str),
    observed_at: Str,
    sent_at: opt(Str),
    stale_after_sec: Int
  }),
  system: Struct({
    os_family: Schema.Literal("windows", "linux", "darwin", "unknown"),
    platform: Str,
    platform_version: Str,
    kernel_version: Str,
    arch: opt(Str),
    uptime_text: Str
  }),
  cpu: Struct({
    usage_ratio: Num,
    load: Struct({ l1: Num, l5: Num, l15: Num }),
    model_name: opt(Str),
    cores_physical: opt(Int),
    cores_logical: opt(Int),
    sockets: Int
  }),
  memory: Struct({
    total_bytes: Num,
    used_bytes: Num,
    available_bytes: Num,
    buffers_bytes: Num,
    cached_bytes: Num,
    used_ratio: Num,
    swap_total_bytes: Num,
    swap_used_bytes: Num
  }),
  disk: Struct({
    mounts: Arr(Struct({ mountpoint: Str, fs_type: Str, total_bytes: Num, used_bytes: Num, used_ratio: Num })),
    io: Struct({ total: IoRates, by_device: opt(Schema.Record({ key: Str, value: IoRates })) }),
    temperature_devices: opt(Arr(Str)),
    smart: opt(SmartView)
  }),
  network: Struct({
    total: Struct({ bytes_recv: Num, bytes_sent: Num, recv_bps: Num, sent_bps: Num }),
    by_interface: opt(Arr(Struct({ name: Str, bytes_recv: Num, bytes_sent: Num, recv_bps: Num, sent_bps: Num })))
  }),
  processes: Struct({ count: Int }),
  connections: Struct({ tcp: Int, udp: Int }),
  raid: opt(RaidView),
  thermal: opt(ThermalView),
  pressure: opt(PressureView)
}).annotations({ identifier: "Snapshot", description: "A node as the front page reads it." })
export type Snapshot = typeof Snapshot.Type
