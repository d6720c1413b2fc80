// Owns fast-check arbitraries of what agents send: any report and Static that must be accepted, and rows of one node's.
import fc from "fast-check"
import type { NodeReport, RaidArray, Sensor, SmartDevice } from "../../schema/Report.ts"
import type { Static } from "../../schema/Static.ts"
import { travelled } from "./Reports.ts"

/** Names that a stranger may choose to hurt: members of every object, padding, lone surrogates, our own marks. */
export const hostileNames: ReadonlyArray<string> = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  " padded ",
  "\ud800",
  "網卡",
  '"bytes_recv":"\u0001exact:9"',
  "\u0001exact:9",
  "\u00009007199254740993",
  "9007199254740993",
  "</script>"
]
const isNamed = (text: string): boolean => text.trim() !== ""
const usualNames = ["eth0", "eth1", "eth0.100", "bond0", "br0", "sda", "sdb", "nvme0n1", "md0", "/", "/srv", "cpu"]

/** Any text that may stand where a name is required. */
export const names: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...usualNames) },
  { weight: 1, arbitrary: fc.constantFrom(...hostileNames) },
  { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 20, unit: "binary" }).filter(isNamed) }
)
const texts = fc.oneof(names, fc.constantFrom("", "  ", "ok", "healthy"), fc.string({ maxLength: 20 }))
/** Unsigned 64-bit counters as JSON.parse gives them: the largest is the double below 2^64. */
export const counts: fc.Arbitrary<number> = fc.oneof(
  { weight: 4, arbitrary: fc.maxSafeNat() },
  { weight: 1, arbitrary: fc.constantFrom(0, 2 ** 53, 2 ** 53 + 2, 2 ** 63, 2 ** 64 - 2048) }
)
const realMax = 1e30
/** Measured numbers; nothing bounds ratios, and loads may be negative. */
export const reals: fc.Arbitrary<number> = fc.oneof(
  { weight: 4, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) },
  { weight: 1, arbitrary: fc.constantFrom(-1, 0, 3, 1e9, -realMax, realMax) },
  { weight: 1, arbitrary: fc.double({ min: -realMax, max: realMax, noNaN: true }) }
)
const whole = fc.oneof(fc.integer(), fc.constantFrom(Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER))

/** Given, null or missing: agents and other senders do all three. */
const maybe = <A>(given: fc.Arbitrary<A>): fc.Arbitrary<A | null | undefined> =>
  fc.oneof(
    { weight: 6, arbitrary: given },
    { weight: 1, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.constant(undefined) }
  )
const some = <A>(item: fc.Arbitrary<A>) => fc.array(item, { maxLength: 3 })
const distinct = <A>(item: fc.Arbitrary<A>, selector: (item: A) => string) =>
  fc.uniqueArray(item, { maxLength: 4, selector })
const trimmedName = (item: { readonly name: string }): string => item.name.trim()

const deviceParts = { name: names, device_path: maybe(texts), ref: maybe(texts) }
const ioParts = {
  read_bytes: maybe(counts),
  write_bytes: maybe(counts),
  read_rate_bytes_per_sec: maybe(reals),
  write_rate_bytes_per_sec: maybe(reals),
  iops: maybe(reals),
  read_iops: maybe(reals),
  write_iops: maybe(reals),
  util_ratio: maybe(reals),
  wait_ms: maybe(reals)
}
const capacity = { used: maybe(counts), free: maybe(counts), used_ratio: maybe(reals), total: maybe(counts) }
const disks = fc.record({
  physical: distinct(fc.record({ ...deviceParts, ...ioParts }), trimmedName),
  logical: distinct(
    fc.record({ kind: names, ...deviceParts, ...capacity, health: maybe(texts) }),
    (one) => `${one.kind.trim()}\0${one.name.trim()}`
  ),
  filesystems: some(
    fc.record({ path: names, device: maybe(texts), mountpoint: maybe(texts), fs_type: maybe(texts), ...capacity })
  ),
  base_io: distinct(fc.record({ kind: names, ...deviceParts, ...ioParts }), trimmedName)
})
const failing = fc.record({ id: maybe(whole), name: texts, when_failed: texts })
export const smartDevices: fc.Arbitrary<SmartDevice> = fc.record({
  ...deviceParts,
  source: names,
  status: names,
  device_type: maybe(fc.constantFrom("sat", "nvme", "scsi", "virtual")),
  protocol: maybe(fc.constantFrom("ATA", "NVMe", "SCSI", "")),
  model: maybe(texts),
  serial: maybe(texts),
  wwn: maybe(texts),
  exit_status: maybe(whole),
  temp_c: maybe(fc.oneof(reals, fc.constantFrom(36, 0, -4))),
  failing_attrs: maybe(some(failing))
})
const smarts = fc.record({
  status: names,
  updated_at: maybe(texts),
  ttl_seconds: maybe(whole),
  devices: some(smartDevices)
})
const heats = maybe(fc.oneof(fc.constantFrom(50, 61.5, 0, -3), reals))
export const sensors: fc.Arbitrary<Sensor> = fc.record({
  kind: fc.constantFrom("cpu", " CPU ", "gpu", "unknown"),
  name: names,
  sensor_key: names,
  source: names,
  status: names,
  temp_c: heats,
  high_c: heats,
  critical_c: heats
})
const instants = fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }).map((at) => at.toISOString())
const thermals = fc.record({ status: names, updated_at: maybe(fc.oneof(instants, texts)), sensors: some(sensors) })
const stalls = fc.record({ avg10: maybe(reals), avg60: maybe(reals), avg300: maybe(reals), total: maybe(counts) })
const resources = fc.record({ status: maybe(texts), some: maybe(stalls), full: maybe(stalls) })
const pressures = fc.record({ cpu: maybe(resources), memory: maybe(resources), io: maybe(resources) })
export const raidArrays: fc.Arbitrary<RaidArray> = fc.record({
  name: names,
  status: names,
  active: maybe(whole),
  working: maybe(whole),
  failed: maybe(whole),
  health: names,
  members: some(fc.record({ name: names, state: names })),
  sync_status: maybe(texts),
  sync_progress: maybe(texts)
})
const raids = fc.record({
  supported: maybe(fc.boolean()),
  available: maybe(fc.boolean()),
  arrays: some(raidArrays)
})
const nics = fc.record({
  name: names,
  bytes_recv: maybe(counts),
  bytes_sent: maybe(counts),
  recv_rate_bytes_per_sec: maybe(reals),
  sent_rate_bytes_per_sec: maybe(reals),
  packets_recv: maybe(counts),
  drop_in: maybe(counts)
})
const memories = fc.record({ used: maybe(counts), used_ratio: maybe(reals), total: maybe(counts) })
const times = fc.record({ user: maybe(reals), steal: maybe(reals) })
const cpus = fc.record({ usage_ratio: maybe(reals), load1: maybe(reals), times: maybe(times) })

/** Every report that must be accepted, from bare to full, with hostile names among the usual ones. */
export const reports: fc.Arbitrary<NodeReport> = fc
  .record({
    version: fc.constantFrom("0.2.1", "0.2.2", "1.0.0-rc.1", "1.0.0+build.7"),
    hostname: names,
    timestamp: instants,
    metrics: fc.record({
      cpu: maybe(cpus),
      memory: maybe(memories),
      disk: fc.tuple(disks, maybe(smarts)).map(([disk, found]) => ({ ...disk, smart: found })),
      network: distinct(nics, trimmedName),
      system: fc.record({ alive: maybe(fc.boolean()), uptime_seconds: maybe(counts), uptime: names }),
      processes: maybe(fc.record({ process_count: maybe(whole) })),
      connections: maybe(fc.record({ tcp_count: maybe(whole), udp_count: maybe(whole) })),
      raid: raids,
      thermal: maybe(thermals),
      pressure: maybe(pressures)
    })
  })
  .map(travelled)

/** Sections of one report, each taken from one of the bases: what changes alone in the life of a node. */
const recombined = (bases: ReadonlyArray<NodeReport>, picks: ReadonlyArray<number>): NodeReport => {
  const base = (section: number): NodeReport => bases[(picks[section] as number) % bases.length] as NodeReport
  const [host, disk, heat, net, raid, system, rest] = [0, 1, 2, 3, 4, 5, 6].map((section) => base(section).metrics)
  return travelled({
    ...base(7),
    metrics: {
      ...(rest as NodeReport["metrics"]),
      cpu: host?.cpu,
      disk: { ...(disk as NodeReport["metrics"]).disk, smart: base(8).metrics.disk.smart },
      network: (net as NodeReport["metrics"]).network,
      raid: (raid as NodeReport["metrics"]).raid,
      system: (system as NodeReport["metrics"]).system,
      thermal: heat?.thermal
    }
  })
}

/** Reports of one node in a row: mostly the same devices and words, now and then something else. */
export const reportRows: fc.Arbitrary<ReadonlyArray<NodeReport>> = fc
  .tuple(
    fc.array(reports, { minLength: 2, maxLength: 3 }),
    fc.array(fc.array(fc.nat(2), { minLength: 9, maxLength: 9 }), { minLength: 1, maxLength: 12 })
  )
  .map(([bases, rows]) => rows.map((picks) => recombined(bases, picks)))

/** Statics that must be accepted. */
export const statics: fc.Arbitrary<Static> = fc
  .record({
    version: fc.constantFrom("0.2.1", "0.2.2", "2.0.0"),
    timestamp: instants,
    report_interval_seconds: fc.oneof(fc.integer({ min: 1, max: 600 }), fc.constant(Number.MAX_SAFE_INTEGER)),
    cpu: maybe(
      fc.record({
        info: maybe(fc.record({ model_name: maybe(texts), sockets: maybe(whole), cores_logical: maybe(whole) }))
      })
    ),
    memory: maybe(fc.record({ total: maybe(counts), swap_total: maybe(counts) })),
    disk: maybe(
      fc.record({
        physical: maybe(some(fc.record(deviceParts))),
        logical: maybe(
          some(
            fc.record({
              kind: names,
              ...deviceParts,
              total: maybe(counts),
              mountpoint: maybe(texts),
              fs_type: maybe(texts),
              mountpoints: maybe(fc.dictionary(names, fc.record({ fs_type: maybe(texts) }), { maxKeys: 2 }))
            })
          )
        ),
        filesystems: maybe(
          some(fc.record({ path: names, mountpoint: maybe(texts), total: maybe(counts), fs_type: maybe(texts) }))
        )
      })
    ),
    system: fc.record({
      hostname: names,
      os: fc.oneof(fc.constantFrom("linux", "windows", "darwin"), names),
      platform: names,
      platform_version: names,
      kernel_version: names,
      arch: names
    })
  })
  .map(travelled)
