// A seeded fleet that moves a little with every tick, in the shapes of the front reads.
import type { LiveFrame, LiveValues, Recent, Roster } from "../../schema/Live.ts"
import type { Snapshot } from "../../schema/Snapshot.ts"

export interface FakeNode {
  readonly id: number
  title: string
  readonly os: string
  readonly platform: string
  readonly arch: string
  tags: Array<string>
  groups: Array<number>
  readonly cores: number
  readonly memoryTotal: number
  readonly version: string
  readonly isOutdated: boolean
  isGuestVisible: boolean
  fault: string
  secret: string
  isP95On: boolean
  /** A cycle of its own; empty follows the settings for all nodes. */
  cycle: { mode?: string; startDay?: number; anchorDate?: string; zone?: string }
  direction: string
  /** 0 until the first report. */
  receivedAtMs: number
  /** Reports no more. */
  isSilent: boolean
  changedSeq: number
  cpu: number
  mem: number
  disk: number
  recv: number
  sent: number
}

type Viewer = LiveFrame["viewer"]

export const staleAfterSec = 14
const gib = 1024 ** 3

/** Small, fast and seeded: the same fleet in every run. */
const generator = (seed: number) => (): number => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}

const places = ["fra", "ams", "tyo", "sgp", "nyc", "sjc", "syd", "gru"] as const
const roles = ["edge", "web", "db", "cache", "build", "mail", "queue"] as const
const systems = [
  ["linux", "debian", "amd64"],
  ["linux", "ubuntu", "amd64"],
  ["linux", "alpine", "arm64"],
  ["linux", "rocky", "amd64"],
  ["windows", "Windows Server 2025", "amd64"],
  ["darwin", "macOS", "arm64"]
] as const

/** Titles that try to break out of text, of the row or of the reading direction. */
export const hostileTitles = [
  "<img src=x onerror=alert(1)>",
  "<script>alert(document.domain)</script>",
  "\u202Egnp.exe\u202C harmless \u2066\u2069",
  `very-long-${"x".repeat(246)}`,
  "👩‍👩‍👧‍👦 família 🚀 ".repeat(6),
  "数据库主节点-东京-生产环境-超长名称-".repeat(5),
  "مراقبة الخادم الرئيسي",
  '"><svg/onload=confirm`1`>',
  "{{constructor.constructor('alert(1)')()}}",
  "javascript:alert(1)"
] as const

export class FakeFleet {
  readonly nodes: Array<FakeNode> = []
  readonly groupNames = new Map([
    [1, "default"],
    [2, "Europe"],
    [3, "Asia"]
  ])
  seq = 1
  rosterSeq = 1
  readonly #random: () => number
  #nextId = 1

  constructor(count: number, nowMs: number, seed = 7) {
    this.#random = generator(seed)
    for (let i = 0; i < count; i++) {
      const node = this.add(`${this.#pick(places)}-${this.#pick(roles)}-${String(i + 1).padStart(2, "0")}`)
      node.isGuestVisible = i % 6 !== 5
      node.receivedAtMs = nowMs - Math.floor(this.#random() * 3000)
    }
  }

  /** A node that has not reported yet. */
  add(title: string): FakeNode {
    const id = this.#nextId++
    const [os, platform, arch] = this.#pick(systems)
    const node: FakeNode = {
      id,
      title,
      os,
      platform,
      arch,
      tags: id % 3 === 0 ? [] : [this.#pick(["prod", "staging", "lab"]), ...(id % 4 === 0 ? ["ssd", "critical"] : [])],
      groups: [1, ...(id % 2 === 0 ? [2] : id % 5 === 0 ? [3] : [])],
      cores: 2 ** (1 + (id % 5)),
      memoryTotal: 2 ** (1 + (id % 6)) * gib,
      version: id % 9 === 0 ? "0.1.9" : "0.3.1",
      isOutdated: id % 9 === 0,
      isGuestVisible: false,
      fault: id % 23 === 11 ? "Two agents report with this secret." : "",
      secret: `Secret${String(id).padStart(10, "0")}`,
      isP95On: id % 4 !== 3,
      cycle: {},
      direction: "default",
      receivedAtMs: 0,
      isSilent: false,
      changedSeq: this.seq,
      cpu: Math.floor(this.#random() ** 2 * 990),
      mem: 120 + Math.floor(this.#random() * 840),
      disk: id % 13 === 0 ? -1 : 80 + Math.floor(this.#random() * 880),
      recv: Math.floor(this.#random() ** 3 * 90_000_000),
      sent: Math.floor(this.#random() ** 3 * 40_000_000)
    }
    this.nodes.push(node)
    this.touchRoster()
    return node
  }

  touchRoster(): void {
    this.rosterSeq = ++this.seq
  }

  /** One report of every node that is not silent. */
  tick(nowMs: number): void {
    this.seq++
    for (const node of this.nodes) {
      if (node.isSilent || node.receivedAtMs === 0) continue
      node.receivedAtMs = nowMs - Math.floor(this.#random() * 400)
      node.cpu = this.#walk(node.cpu, 90, 995)
      node.mem = this.#walk(node.mem, 12, 990)
      node.recv = Math.floor(node.recv * (0.8 + this.#random() * 0.4))
      node.sent = Math.floor(node.sent * (0.8 + this.#random() * 0.4))
      node.changedSeq = this.seq
    }
  }

  visible(viewer: Viewer): ReadonlyArray<FakeNode> {
    return viewer === "admin" ? this.nodes : this.nodes.filter((node) => node.isGuestVisible && node.receivedAtMs > 0)
  }

  frame(viewer: Viewer, since: number | null, nowMs: number, pollMs: number): LiveFrame {
    const nodes = this.visible(viewer)
    const isPart = since !== null && since >= this.rosterSeq && since <= this.seq
    const rows = isPart
      ? nodes.flatMap((node, row) => (node.changedSeq > since ? [row] : []))
      : nodes.map((_, row) => row)
    const shown = rows.flatMap((row) => nodes[row] ?? [])
    return {
      seq: this.seq,
      now: nowMs,
      viewer,
      poll_ms: pollMs,
      roster: isPart ? null : this.#roster(nodes, viewer),
      values: { row: isPart ? rows : null, ...valuesOf(shown) }
    }
  }

  #roster(nodes: ReadonlyArray<FakeNode>, viewer: Viewer): Roster {
    const column = <A>(of: (node: FakeNode) => A): Array<A> => nodes.map(of)
    const used = new Set(nodes.flatMap((node) => node.groups))
    return {
      id: column((node) => node.id),
      title: column((node) => node.title),
      os: column((node) => node.os),
      platform: column((node) => node.platform),
      arch: column((node) => node.arch),
      tags: column((node) => [...node.tags]),
      groups: column((node) => [...node.groups]),
      stale_after_sec: column(() => staleAfterSec),
      cores: column((node) => node.cores),
      memory_total: column((node) => node.memoryTotal),
      group_names: Object.fromEntries(
        [...this.groupNames].filter(([id]) => used.has(id)).map(([id, name]) => [id, name])
      ),
      ...(viewer === "admin"
        ? {
            version: column((node) => node.version),
            outdated: column((node) => (node.isOutdated ? 1 : 0)),
            guest_visible: column((node) => (node.isGuestVisible ? 1 : 0)),
            fault: column((node) => node.fault)
          }
        : {})
    }
  }

  #pick<A>(list: ReadonlyArray<A>): A {
    return list[Math.floor(this.#random() * list.length)] as A
  }

  #walk(value: number, step: number, max: number): number {
    return Math.round(Math.min(max, Math.max(5, value + (this.#random() - 0.5) * step)))
  }
}

const valuesOf = (nodes: ReadonlyArray<FakeNode>): Omit<LiveValues, "row"> => {
  const column = (of: (node: FakeNode) => number): Array<number> =>
    nodes.map((node) => (node.receivedAtMs === 0 ? 0 : of(node)))
  return {
    received_at: column((node) => node.receivedAtMs),
    cpu: column((node) => node.cpu),
    load1: column((node) => (node.os === "windows" ? -1 : Math.round((node.cpu * node.cores) / 9))),
    mem: column((node) => node.mem),
    swap: column((node) => Math.floor(node.mem / 10)),
    disk: column((node) => node.disk),
    recv_bps: column((node) => node.recv),
    sent_bps: column((node) => node.sent),
    read_bps: column((node) => Math.floor(node.recv / 3)),
    write_bps: column((node) => Math.floor(node.sent / 2)),
    uptime_sec: column((node) => node.id * 98_765 + 4321),
    processes: column((node) => 80 + node.id),
    tcp: column((node) => 20 + node.id),
    udp: column(() => 4),
    temp: column((node) => (node.os === "linux" ? 420 + (node.id % 30) * 10 : -1))
  }
}

const seconds = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`

export const recentOf = (node: FakeNode, nowMs: number): Recent => {
  const random = generator(node.id)
  const at = Array.from({ length: 100 }, (_, i) => nowMs - (99 - i) * 6000)
  let cpu = node.cpu / 1000
  const walk = at.map(() => (cpu = Math.min(0.99, Math.max(0.02, cpu + (random() - 0.5) * 0.12))))
  return {
    server_id: node.id,
    at,
    cpu: walk,
    mem: at.map((_, i) => node.mem / 1000 + Math.sin(i / 18) / 40),
    recv_bps: walk.map((share) => share * (node.recv + 50_000)),
    sent_bps: walk.map((share, i) => (share + Math.sin(i / 7) / 9 + 0.1) * (node.sent + 20_000)),
    read_bps: walk.map((share) => share * 3_000_000 * random()),
    write_bps: walk.map((share) => share * 9_000_000 * random())
  }
}

const io = { read_bps: 1_200_000, write_bps: 5_400_000, read_iops: 31, write_iops: 210, iops: 241 }
const stall = { avg10: 1.4, avg60: 0.8, avg300: 0.2, total: 912_332 }

const smartOf = (node: FakeNode): Snapshot["disk"]["smart"] => ({
  status: "ok",
  updated_at: seconds(node.receivedAtMs - 60_000),
  devices: [
    {
      name: "nvme0n1",
      source: "smartctl",
      status: "ok",
      health: "passed",
      model: "EXA-NVME 1T",
      device_path: "/dev/nvme0n1",
      temp_c: 41,
      power_on_hours: 12_804,
      lifetime_used_percent: 7
    },
    {
      name: "sda",
      source: "smartctl",
      status: "ok",
      health: "failed",
      model: "EXA-HDD 4T",
      device_path: "/dev/sda",
      temp_c: 52,
      power_on_hours: 41_220,
      failing_attrs: [{ id: 5, name: "Reallocated_Sector_Ct", when_failed: "now" }]
    }
  ]
})

const diskOf = (node: FakeNode): Snapshot["disk"] => ({
  mounts: [
    { mountpoint: "/", fs_type: "ext4", total_bytes: 480 * gib, used_bytes: 211 * gib, used_ratio: 0.44 },
    { mountpoint: "/var/lib/data", fs_type: "xfs", total_bytes: 1900 * gib, used_bytes: 1790 * gib, used_ratio: 0.942 }
  ],
  io: {
    total: io,
    ...(node.os === "linux" ? { by_device: { "disk:nvme0n1": io, "disk:sda": { ...io, read_bps: 0, iops: 3 } } } : {})
  },
  ...(node.os === "linux" ? { smart: smartOf(node) } : {})
})

const linuxExtras: Pick<Snapshot, "raid" | "thermal" | "pressure"> = {
  raid: {
    supported: true,
    available: true,
    arrays: [
      {
        name: "md0",
        status: "active",
        health: "degraded",
        active: 1,
        working: 1,
        failed: 1,
        members: [
          { name: "sda1", state: "up" },
          { name: "sdb1", state: "failed" }
        ],
        sync_status: "recover",
        sync_progress: "37.2%"
      }
    ]
  },
  thermal: {
    status: "ok",
    sensors: [
      {
        kind: "cpu",
        name: "Package id 0",
        sensor_key: "coretemp_package",
        source: "hwmon",
        status: "ok",
        temp_c: 58.5,
        high_c: 80,
        critical_c: 100
      },
      { kind: "board", name: "Ambient", sensor_key: "ambient", source: "hwmon", status: "ok", temp_c: 31 }
    ]
  },
  pressure: {
    cpu: { some: stall },
    memory: { some: stall, full: { ...stall, avg10: 0 } },
    io: { some: { ...stall, avg10: 22.5 }, full: stall }
  }
}

const memoryOf = (node: FakeNode): Snapshot["memory"] => {
  const used = (node.mem / 1000) * node.memoryTotal
  return {
    total_bytes: node.memoryTotal,
    used_bytes: used,
    available_bytes: node.memoryTotal - used,
    buffers_bytes: node.memoryTotal / 90,
    cached_bytes: node.memoryTotal / 7,
    used_ratio: node.mem / 1000,
    swap_total_bytes: node.os === "linux" ? 4 * gib : 0,
    swap_used_bytes: node.os === "linux" ? gib / 3 : 0
  }
}

/** Full figures for Linux nodes; what Windows and macOS do not tell is absent. */
export const snapshotOf = (node: FakeNode): Snapshot => {
  const isLinux = node.os === "linux"
  const transfer = { bytes_recv: 8_120_443_120, bytes_sent: 991_203_880, recv_bps: node.recv, sent_bps: node.sent }
  return {
    node: { id: String(node.id), title: node.title, ...(node.tags.length > 0 ? { tags: [...node.tags] } : {}) },
    observation: {
      received_at: seconds(node.receivedAtMs),
      observed_at: seconds(node.receivedAtMs),
      stale_after_sec: staleAfterSec
    },
    system: {
      os_family: isLinux ? "linux" : node.os === "windows" ? "windows" : "darwin",
      platform: node.platform,
      platform_version: isLinux ? "13.2" : "",
      kernel_version: isLinux ? "6.12.41-amd64" : "",
      arch: node.arch,
      uptime_text: "41d 3h 12m"
    },
    cpu: {
      usage_ratio: node.cpu / 1000,
      load: { l1: 1.24, l5: 0.98, l15: 0.71 },
      model_name: "AMD EPYC 9354P 32-Core Processor",
      cores_physical: node.cores / 2,
      cores_logical: node.cores,
      sockets: 1
    },
    memory: memoryOf(node),
    disk: diskOf(node),
    network: { total: transfer, by_interface: [{ name: "eth0", ...transfer }] },
    processes: { count: 80 + node.id },
    connections: { tcp: 20 + node.id, udp: 4 },
    ...(isLinux ? linuxExtras : {})
  }
}
