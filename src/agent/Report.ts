// The wire shapes this agent sends: NodeReport and Static, with every field it always fills.

/** Counters and rates of one block device. Bytes are totals since boot, rates are whole numbers, times milliseconds. */
export interface DeviceIo {
  readonly read_bytes: number
  readonly write_bytes: number
  readonly read_rate_bytes_per_sec: number
  readonly write_rate_bytes_per_sec: number
  readonly read_iops: number
  readonly write_iops: number
  readonly iops: number
  readonly util_ratio: number
  readonly queue_length: number
  readonly wait_ms: number
  readonly service_ms: number
}

export interface DeviceIdentity {
  readonly name: string
  readonly device_path?: string
  readonly ref?: string
}

export interface PhysicalDisk extends DeviceIdentity, DeviceIo {}

export interface LogicalVolume extends DeviceIdentity {
  readonly kind: string
  readonly used: number
  readonly free: number
  readonly used_ratio: number
  readonly health?: string
}

export interface Filesystem {
  readonly path: string
  readonly device?: string
  readonly mountpoint?: string
  readonly used: number
  readonly free: number
  readonly used_ratio: number
  readonly inodes_used: number
  readonly inodes_free: number
  readonly inodes_used_ratio: number
}

/** The six optional members are left out when they are 0. */
export interface BaseIo extends DeviceIdentity {
  readonly kind: "raid" | "logical" | "physical"
  readonly read_bytes?: number
  readonly write_bytes?: number
  readonly read_rate_bytes_per_sec: number
  readonly write_rate_bytes_per_sec: number
  readonly read_iops: number
  readonly write_iops: number
  readonly iops: number
  readonly util_ratio?: number
  readonly queue_length?: number
  readonly wait_ms?: number
  readonly service_ms?: number
}

export interface FailingAttribute {
  readonly id?: number
  readonly name: string
  readonly when_failed: string
}

export interface SmartDevice {
  readonly name: string
  readonly source: string
  readonly status: string
  readonly ref?: string
  readonly device_path?: string
  readonly device_type?: string
  readonly protocol?: string
  readonly model?: string
  readonly serial?: string
  readonly wwn?: string
  readonly exit_status?: number
  readonly health?: "passed" | "failed"
  readonly temp_c?: number
  readonly power_on_hours?: number
  readonly lifetime_used_percent?: number
  readonly critical_warning?: number
  readonly failing_attrs?: ReadonlyArray<FailingAttribute>
}

export interface Smart {
  readonly status: string
  readonly updated_at?: string
  readonly ttl_seconds?: number
  readonly devices: ReadonlyArray<SmartDevice>
}

export interface NetworkInterface {
  readonly name: string
  readonly bytes_recv: number
  readonly bytes_sent: number
  readonly packets_recv: number
  readonly packets_sent: number
  readonly err_in: number
  readonly err_out: number
  readonly drop_in: number
  readonly drop_out: number
  readonly recv_rate_bytes_per_sec: number
  readonly sent_rate_bytes_per_sec: number
  readonly recv_rate_packets_per_sec: number
  readonly sent_rate_packets_per_sec: number
}

export interface CpuMetrics {
  readonly usage_ratio: number
  readonly load1: number
  readonly load5: number
  readonly load15: number
  readonly times: {
    readonly user: number
    readonly system: number
    readonly idle: number
    readonly iowait: number
    readonly steal: number
  }
}

export interface MemoryMetrics {
  readonly used: number
  readonly available: number
  readonly buffers: number
  readonly cached: number
  readonly used_ratio: number
  readonly swap_used: number
  readonly swap_free: number
  readonly swap_used_ratio: number
}

/** Percentages over 10, 60 and 300 s, and the total stall time in microseconds. */
export interface Stall {
  readonly avg10: number
  readonly avg60: number
  readonly avg300: number
  readonly total: number
}

export interface ResourcePressure {
  readonly status: string
  readonly some?: Stall
  readonly full?: Stall
}

export interface Pressure {
  readonly cpu: ResourcePressure
  readonly memory: ResourcePressure
  readonly io: ResourcePressure
}

export interface RaidArray {
  readonly name: string
  readonly status: string
  readonly active: number
  readonly working: number
  readonly failed: number
  readonly health: "healthy" | "degraded" | "unknown"
  readonly members: ReadonlyArray<{ readonly name: string; readonly state: "up" | "down" | "unknown" }>
  readonly sync_status?: string
  readonly sync_progress?: string
}

export interface Raid {
  readonly supported: boolean
  readonly available: boolean
  readonly arrays: ReadonlyArray<RaidArray>
}

export interface Sensor {
  readonly kind: string
  readonly name: string
  readonly sensor_key: string
  readonly source: string
  readonly status: string
  readonly temp_c?: number
  readonly high_c?: number
  readonly critical_c?: number
}

export interface Thermal {
  readonly status: string
  readonly updated_at?: string
  readonly sensors: ReadonlyArray<Sensor>
}

export interface DiskMetrics {
  readonly physical: ReadonlyArray<PhysicalDisk>
  readonly logical: ReadonlyArray<LogicalVolume>
  readonly filesystems: ReadonlyArray<Filesystem>
  readonly base_io: ReadonlyArray<BaseIo>
  readonly smart: Smart
}

export interface Metrics {
  readonly cpu: CpuMetrics
  readonly memory: MemoryMetrics
  readonly disk: DiskMetrics
  readonly network: ReadonlyArray<NetworkInterface>
  readonly system: { readonly alive: true; readonly uptime_seconds: number; readonly uptime: string }
  readonly processes: { readonly process_count: number }
  readonly connections: { readonly tcp_count: number; readonly udp_count: number }
  readonly pressure: Pressure
  readonly raid: Raid
  readonly thermal: Thermal
}

/** One sample; `timestamp` is the time of the sample, not of the send. */
export interface NodeReport {
  readonly version: string
  readonly hostname: string
  readonly timestamp: string
  readonly metrics: Metrics
}

export interface CpuInfo {
  readonly model_name: string
  readonly vendor_id: string
  readonly sockets: number
  readonly cores_physical: number
  readonly cores_logical: number
  readonly frequency_mhz: number
}

export interface StaticVolume extends DeviceIdentity {
  readonly kind: string
  readonly total?: number
  readonly mountpoint?: string
  readonly fs_type?: string
  readonly devices?: ReadonlyArray<string>
}

export interface StaticFilesystem {
  readonly path: string
  readonly device?: string
  readonly mountpoint?: string
  readonly total: number
  readonly fs_type: string
  readonly inodes_total: number
}

export interface StaticBaseIo extends DeviceIdentity {
  readonly kind: "raid" | "logical"
  readonly role: "primary" | "secondary"
}

export interface StaticArray {
  readonly name: string
  readonly level: string
  readonly devices: number
  readonly members: ReadonlyArray<{ readonly name: string }>
}

export interface SystemInfo {
  readonly hostname: string
  readonly os: string
  readonly platform: string
  readonly platform_version: string
  readonly kernel_version: string
  readonly arch: string
}

/** What the node is; `timestamp` is the time of building. */
export interface Static {
  readonly version: string
  readonly timestamp: string
  readonly report_interval_seconds: number
  readonly cpu: { readonly info: CpuInfo }
  readonly memory: { readonly total: number; readonly swap_total: number }
  readonly disk: {
    readonly physical: ReadonlyArray<DeviceIdentity>
    readonly logical: ReadonlyArray<StaticVolume>
    readonly filesystems: ReadonlyArray<StaticFilesystem>
    readonly base_io: ReadonlyArray<StaticBaseIo>
  }
  readonly system: SystemInfo
  readonly raid: {
    readonly supported: boolean
    readonly available: boolean
    readonly arrays: ReadonlyArray<StaticArray>
  }
}
