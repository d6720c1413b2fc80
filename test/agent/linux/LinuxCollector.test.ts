import { afterEach, describe, expect, it } from "vitest"
import type { CollectorOptions } from "../../../src/agent/Collector.ts"
import { makeLinuxCollector } from "../../../src/agent/linux/LinuxCollector.ts"
import { diskLine, type Files, type Machine, makeMachine, makeTestClock, netLine, statFs } from "../support/Machine.ts"

let machine: Machine | null = null
afterEach(() => machine?.destroy())

const files: Files = {
  "proc/stat": "cpu  100 0 100 800 0 0 0 0 0 0\n",
  "proc/loadavg": "1.42 1.17 0.98 2/410 12345\n",
  "proc/meminfo": "MemTotal: 1000 kB\nMemAvailable: 600 kB\nSwapTotal: 0 kB\n",
  "proc/uptime": "1040413.12 99.0\n",
  "proc/diskstats":
    diskLine("sda", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]) + diskLine("sda1", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
  "proc/net/dev": netLine("eth0", 1000, 1000) + netLine("lo", 5, 5),
  "proc/net/sockstat": "TCP: inuse 3 orphan 0 tw 1 alloc 3 mem 0\nUDP: inuse 2 mem 0\n",
  "proc/self/mountinfo": "27 1 8:1 / / rw - ext4 /dev/sda1 rw\n28 27 0:5 / /run rw - tmpfs tmpfs rw\n",
  "proc/pressure/cpu": "some avg10=1.00 avg60=0.00 avg300=0.00 total=5\n",
  "proc/sys/kernel/hostname": "edge-07\n",
  "proc/sys/kernel/osrelease": "6.1.0-37-amd64\n",
  "proc/cpuinfo": "processor\t: 0\nmodel name\t: Example\nphysical id\t: 0\ncore id\t: 0\n",
  "proc/1/comm": "init",
  "proc/17/comm": "sshd",
  "sys/block/sda/dev": "8:0",
  "sys/block/sda/size": "2000",
  "sys/block/sda/device": null,
  "sys/block/sda/sda1/partition": "1",
  "sys/block/sda/sda1/dev": "8:1",
  "sys/class/net/eth0/flags": "0x1003",
  "sys/class/net/eth0/device": null,
  "sys/class/net/lo/flags": "0x9",
  "etc/os-release": 'ID=debian\nVERSION_ID="12"\n',
  "etc/debian_version": "12.11\n"
}

const collect = (more: Files = {}, options: Partial<CollectorOptions> = {}) => {
  const made = makeMachine({ ...files, ...more })
  machine = made
  const clock = makeTestClock()
  const collector = makeLinuxCollector(
    { intervalSeconds: 3, interfaces: null, smartCachePath: `${made.root}/smart.json`, ...options },
    {
      roots: made.roots,
      clock,
      statfs: () => Promise.resolve(statFs(100, 50, 45)),
      addressed: () => new Set(["eth0"]),
      arch: "x64"
    }
  )
  return { made, clock, collector }
}

describe("makeLinuxCollector", () => {
  it("reports a machine of which nothing can be read, with every array present and honest words", async () => {
    const made = makeMachine({})
    machine = made
    const collector = makeLinuxCollector(
      { intervalSeconds: 3, interfaces: null, smartCachePath: "/none/smart.json" },
      {
        roots: made.roots,
        clock: makeTestClock(),
        statfs: () => Promise.reject(new Error("EIO")),
        addressed: () => new Set(),
        arch: "riscv64"
      }
    )
    await collector.refresh()
    const { metrics } = collector.sample()
    expect(metrics.cpu).toMatchObject({ usage_ratio: 0, load1: -1, load5: -1, load15: -1 })
    expect(metrics.disk).toEqual({
      physical: [],
      logical: [],
      filesystems: [],
      base_io: [],
      smart: { status: "no_cache", devices: [] }
    })
    expect(metrics.network).toEqual([])
    expect(metrics.pressure.cpu).toEqual({ status: "unsupported" })
    expect(metrics.raid).toEqual({ supported: true, available: false, arrays: [] })
    expect(collector.describe().system).toMatchObject({
      platform: "linux",
      platform_version: "unknown",
      arch: "riscv64"
    })
  })

  it("keeps the last value of one source that breaks, and goes on with the others", async () => {
    const { clock, collector, made } = collect()
    await collector.refresh()
    collector.sample()
    clock.pass(3000)
    made.remove("proc/meminfo")
    made.write({ "proc/loadavg": "9.00 8.00 7.00 1/1 1\n" })
    const { metrics } = collector.sample()
    expect(metrics.memory.used_ratio).toBe(0.4)
    expect(metrics.cpu.load1).toBe(9)
  })

  it("takes rates over monotonic time, rounded up, and 0 for a counter that went backwards", async () => {
    const { clock, collector, made } = collect()
    await collector.refresh()
    collector.sample()
    clock.pass(3000)
    made.write({
      "proc/stat": "cpu  150 0 100 950 0 0 0 0 0 0\n",
      "proc/diskstats": diskLine("sda", [10, 0, 100, 20, 5, 0, 0, 0, 0, 600, 900]),
      "proc/net/dev": netLine("eth0", 2000, 10)
    })
    const { metrics } = collector.sample()
    expect(metrics.cpu.usage_ratio).toBe(0.25)
    expect(metrics.disk.physical).toMatchObject([
      { name: "sda", read_rate_bytes_per_sec: 17067, read_iops: 4, iops: 5, util_ratio: 0.2, queue_length: 0.3 }
    ])
    expect(metrics.network).toMatchObject([{ name: "eth0", recv_rate_bytes_per_sec: 334, sent_rate_bytes_per_sec: 0 }])
  })

  it("does not report a burst after a source was gone for long", async () => {
    const { clock, collector, made } = collect()
    await collector.refresh()
    collector.sample()
    made.remove("proc/stat")
    for (let n = 0; n < 5; n++) {
      clock.pass(3000)
      expect(collector.sample().metrics.cpu.usage_ratio).toBe(0)
    }
    made.write({ "proc/stat": "cpu  900 0 100 950 0 0 0 0 0 0\n" })
    expect(collector.sample().metrics.cpu).toMatchObject({ usage_ratio: 0, times: { user: 9 } })
  })

  it("counts processes at every eighth sample", async () => {
    const { collector, made } = collect()
    const counts = [collector.sample().metrics.processes.process_count]
    made.write({ "proc/99/comm": "new" })
    for (let n = 0; n < 8; n++) counts.push(collector.sample().metrics.processes.process_count)
    expect(counts).toEqual([2, 2, 2, 2, 2, 2, 2, 2, 3])
  })

  it("reports exactly the interfaces named for it", () => {
    const { collector } = collect({}, { interfaces: ["lo"] })
    expect(collector.sample().metrics.network.map(({ name }) => name)).toEqual(["lo"])
  })

  it("reports and describes a plain machine", async () => {
    const { collector } = collect()
    await collector.refresh()
    const { hostname, metrics, timestamp } = collector.sample()
    expect([hostname, timestamp]).toEqual(["edge-07", "2026-06-14T08:20:00.000Z"])
    expect(metrics.disk.filesystems).toMatchObject([{ path: "/", device: "/dev/sda1", used: 50 * 4096 }])
    expect(metrics.disk.logical).toMatchObject([{ kind: "disk", name: "sda", used: 50 * 4096 }])
    expect(metrics.disk.base_io).toMatchObject([{ kind: "physical", name: "sda" }])
    expect(metrics.connections).toEqual({ tcp_count: 4, udp_count: 2 })
    expect(metrics.system.uptime).toBe("12d 1h 0m")
    expect(metrics.pressure).toMatchObject({ cpu: { status: "ok" }, io: { status: "unsupported" } })
    expect(collector.describe()).toEqual({
      version: "0.3.0",
      timestamp: "2026-06-14T08:20:00.000Z",
      report_interval_seconds: 3,
      cpu: {
        info: {
          model_name: "Example",
          vendor_id: "",
          sockets: 1,
          cores_physical: 1,
          cores_logical: 1,
          frequency_mhz: 0
        }
      },
      memory: { total: 1000 * 1024, swap_total: 0 },
      disk: {
        physical: [{ name: "sda", device_path: "/dev/sda", ref: "disk:sda" }],
        logical: [
          {
            kind: "disk",
            name: "sda",
            device_path: "/dev/sda",
            ref: "disk:sda",
            total: 409600,
            mountpoint: "/",
            fs_type: "ext4"
          }
        ],
        filesystems: [
          { path: "/", device: "/dev/sda1", mountpoint: "/", total: 409600, fs_type: "ext4", inodes_total: 1000 }
        ],
        base_io: []
      },
      system: {
        hostname: "edge-07",
        os: "linux",
        platform: "debian",
        platform_version: "12.11",
        kernel_version: "6.1.0-37-amd64",
        arch: "amd64"
      },
      raid: { supported: true, available: false, arrays: [] }
    })
  })
})
