// Which answer the bytes of a report get: every rule of the contract, by status, and the bounds.
import { describe, expect, it } from "vitest"
import { type Reading, readReport, readStatic } from "../../src/core/Reading.ts"
import {
  fullReport,
  fullReportText,
  fullStatic,
  fullStaticText,
  nextReportText,
  nic,
  physical,
  setAt,
  smallReport,
  smallReportText,
  volume
} from "../support/Reports.ts"

const reading = (path: string, to: unknown): Reading<unknown> => {
  const report = fullReport()
  setAt(report, path, to)
  return readReport(JSON.stringify(report))
}
const readingStatic = (path: string, to: unknown): Reading<unknown> => {
  const body = fullStatic()
  setAt(body, path, to)
  return readStatic(JSON.stringify(body))
}
const refused = (_tag: "Undecodable" | "Meaningless", message: string) => ({ _tag, message })
const many = <A>(count: number, one: (i: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, i) => one(i))

describe("a report that says nonsense", () => {
  const raid = "metrics.raid.arrays"
  it.each([
    ["version", undefined, "version is required"],
    ["version", "", "version must be a strict version such as 1.2.3"],
    ["version", "v1.2.3", "version must be a strict version such as 1.2.3"],
    ["version", "1.2", "version must be a strict version such as 1.2.3"],
    ["version", "1.02.3", "version must be a strict version such as 1.2.3"],
    ["version", " 1.2.3", "version must be a strict version such as 1.2.3"],
    ["version", "1.2.3-", "version must be a strict version such as 1.2.3"],
    ["version", "1.2.3-01", "version must be a strict version such as 1.2.3"],
    ["hostname", undefined, "hostname is required"],
    ["hostname", " \t", "hostname must not be blank"],
    ["timestamp", undefined, "timestamp is required"],
    ["timestamp", "0001-01-01T00:00:00Z", "timestamp must not be the zero time"],
    ["timestamp", "0001-01-01t00:00:00z", "timestamp must not be the zero time"],
    ["timestamp", "0001-01-01T02:00:00+02:00", "timestamp must not be the zero time"],
    ["metrics", undefined, "metrics is required"],
    ["metrics", null, "metrics is required"],
    ["metrics.disk", null, "metrics.disk is required"],
    ["metrics.system", undefined, "metrics.system is required"],
    ["metrics.raid", undefined, "metrics.raid is required"],
    ["metrics.system.uptime", undefined, "metrics.system.uptime is required"],
    ["metrics.system.uptime", "  ", "metrics.system.uptime must not be blank"]
  ])("is refused with 422 when %s is %j", (path, to, message) => {
    expect(reading(path, to)).toEqual(refused("Meaningless", message))
  })

  it.each(["disk.physical", "disk.logical", "disk.filesystems", "disk.base_io", "network", "raid.arrays"])(
    "is refused with 422 when %s is missing or null",
    (path) => {
      const message = `metrics.${path} is required`

      expect(reading(`metrics.${path}`, undefined)).toEqual(refused("Meaningless", message))
      expect(reading(`metrics.${path}`, null)).toEqual(refused("Meaningless", message))
    }
  )

  it.each([
    "disk.physical[0].name",
    "disk.logical[0].name",
    "disk.logical[0].kind",
    "disk.filesystems[2].path",
    "disk.base_io[0].name",
    "disk.base_io[0].kind",
    "network[1].name"
  ])("is refused with 422 when %s is missing, null or blank", (path) => {
    expect(reading(`metrics.${path}`, undefined)).toEqual(refused("Meaningless", `metrics.${path} is required`))
    expect(reading(`metrics.${path}`, null)).toEqual(refused("Meaningless", `metrics.${path} is required`))
    expect(reading(`metrics.${path}`, "  ")).toEqual(refused("Meaningless", `metrics.${path} must not be blank`))
  })

  it.each([
    ["disk.physical", [physical("sda"), physical(" sda ")], "name"],
    ["disk.logical", [volume("md0", { kind: "raid_md" }), volume("md0", { kind: " raid_md" })], "kind and name"],
    ["disk.base_io", many(9, (i) => ({ kind: "raid", name: `md${i % 8}` })), "name"],
    ["network", [nic("eth0"), nic("eth1"), nic("eth0 ")], "name"]
  ])("is refused with 422 when two elements of %s share a name", (path, items, what) => {
    expect(reading(`metrics.${path}`, items)).toEqual(
      refused("Meaningless", `metrics.${path} must not repeat a ${what}`)
    )
  })

  it.each([
    ["hostname", "h".repeat(257), "hostname must be at most 256 characters"],
    ["metrics.network", many(257, (i) => nic(`eth${i}`)), "metrics.network must hold at most 256 elements"],
    [
      "metrics.disk.physical",
      many(513, (i) => physical(`sd${i}`)),
      "metrics.disk.physical must hold at most 512 elements"
    ],
    ["metrics.disk.logical", many(513, (i) => volume(`v${i}`)), "metrics.disk.logical must hold at most 512 elements"],
    [
      "metrics.disk.filesystems",
      many(513, (i) => ({ path: `/${i}` })),
      "metrics.disk.filesystems must hold at most 512 elements"
    ],
    [
      "metrics.network[0].recv_rate_bytes_per_sec",
      1e31,
      "metrics.network[0].recv_rate_bytes_per_sec must be between -1e+30 and 1e+30"
    ],
    ["metrics.cpu.load1", -1e31, "metrics.cpu.load1 must be between -1e+30 and 1e+30"]
  ])("is refused with 422 when %s is past its bound", (path, to, message) => {
    expect(reading(path, to)).toEqual(refused("Meaningless", message))
  })

  it("is told of too many elements before any comparison of them", () => {
    expect(
      reading(
        "metrics.network",
        many(257, () => nic("eth0"))
      )
    ).toEqual(refused("Meaningless", "metrics.network must hold at most 256 elements"))
  })

  it("is refused with 422 for more RAID arrays than a node can have, though bad ones are forgiven", () => {
    const arrays = many(513, (i) => ({ name: `md${i}`, status: "active", health: "healthy", members: [] }))

    expect(reading(raid, arrays)).toEqual(refused("Meaningless", `${raid} must hold at most 512 elements`))
    expect(reading(raid, [...arrays.slice(1), null])).toMatchObject({ _tag: "Read" })
  })
})

describe("a body that cannot be decoded as a report", () => {
  it.each([
    ["timestamp", "yesterday", "timestamp must be an RFC 3339 time"],
    ["timestamp", "2026-06-14 08:21:33Z", "timestamp must be an RFC 3339 time"],
    ["timestamp", "2026-06-14T08:21:33", "timestamp must be an RFC 3339 time"],
    ["timestamp", "2026-13-14T08:21:33Z", "timestamp must be an RFC 3339 time"],
    ["timestamp", 1781425293, "timestamp must be text"],
    ["version", 1, "version must be text"],
    ["hostname", ["h"], "hostname must be text"],
    ["metrics", [], "metrics must be an object"],
    ["metrics", "x", "metrics must be an object"],
    ["metrics.cpu", 1, "metrics.cpu must be an object"],
    ["metrics.cpu.load1", "1.4", "metrics.cpu.load1 must be a number"],
    ["metrics.cpu.usage_ratio", "NaN", "metrics.cpu.usage_ratio must be a number"],
    ["metrics.memory.used", -1, "metrics.memory.used must be an unsigned 64-bit integer"],
    ["metrics.memory.used", 0.5, "metrics.memory.used must be an unsigned 64-bit integer"],
    ["metrics.memory.total", 2 ** 65, "metrics.memory.total must be an unsigned 64-bit integer"],
    ["metrics.memory.total", 1e31, "metrics.memory.total must be an unsigned 64-bit integer"],
    ["metrics.processes.process_count", 1e31, "metrics.processes.process_count must be an integer"],
    ["metrics.network", {}, "metrics.network must be an array"],
    ["metrics.network[1]", null, "metrics.network[1] must not be null"],
    ["metrics.network[1]", [], "metrics.network[1] must be an object"],
    ["metrics.network[0].drop_in", true, "metrics.network[0].drop_in must be a number"],
    [
      "metrics.disk.filesystems[0].inodes_used",
      1.5,
      "metrics.disk.filesystems[0].inodes_used must be an unsigned 64-bit integer"
    ],
    ["metrics.system.alive", "yes", "metrics.system.alive must be true or false"],
    ["metrics.processes.process_count", 1.5, "metrics.processes.process_count must be an integer"],
    ["metrics.connections.tcp_count", 2 ** 53, "metrics.connections.tcp_count must be an integer"],
    ["metrics.raid.supported", 1, "metrics.raid.supported must be true or false"],
    ["metrics.raid.arrays", {}, "metrics.raid.arrays must be an array"]
  ])("is refused with 400 when %s is %j", (path, to, message) => {
    expect(reading(path, to)).toEqual(refused("Undecodable", message))
  })

  it.each(["", " ", "{", '{"version":', fullReportText.slice(0, -3), `${fullReportText}{}`, `\uFEFF${fullReportText}`])(
    "is refused with 400 when it is not one JSON value: %#",
    (text) => {
      expect(readReport(text)).toEqual(refused("Undecodable", "the body must be one JSON value"))
      expect(readStatic(text)).toEqual(refused("Undecodable", "the body must be one JSON value"))
    }
  )

  it.each(["null", "1", '"text"', "[]", "[{}]", "true"])("is refused with 400 when it is %s", (text) => {
    expect(readReport(text)).toEqual(refused("Undecodable", "the body must be an object"))
    expect(readStatic(text)).toEqual(refused("Undecodable", "the body must be an object"))
  })

  it("is told by the first thing wrong, in the order of the members", () => {
    const report = fullReport()
    setAt(report, "hostname", "")
    setAt(report, "metrics.network[0].bytes_recv", -1)

    expect(readReport(JSON.stringify(report))).toEqual(refused("Meaningless", "hostname must not be blank"))
  })
})

describe("a report that is accepted", () => {
  it.each([
    ["the full example", fullReportText],
    ["the smallest one", smallReportText],
    ["that of the next agent", nextReportText]
  ])("is %s", (_, text) => {
    expect(readReport(text)).toEqual({ _tag: "Read", value: JSON.parse(text), wide: null, dropped: [], lost: 0 })
  })

  it.each([
    ["metrics.cpu.usage_ratio", 3],
    ["metrics.cpu.usage_ratio", -0.5],
    ["metrics.cpu.load1", -1],
    ["metrics.cpu", null],
    ["metrics.memory", undefined],
    ["metrics.memory.used", null],
    ["metrics.network[0].err_in", undefined],
    ["metrics.disk.smart", null],
    ["metrics.thermal", undefined],
    ["metrics.pressure", null],
    ["metrics.system.alive", undefined],
    ["metrics.raid.supported", null],
    ["metrics.memory.used", 2 ** 64 - 2048],
    ["hostname", "h".repeat(256)],
    ["timestamp", "2026-06-14T10:21:33.418227961+02:00"],
    ["timestamp", "2026-06-14t08:21:33z"],
    ["metrics.network", many(256, (i) => nic(`eth${i}`))],
    ["metrics.disk.physical", many(512, (i) => physical(`sd${i}`))],
    ["metrics.disk.filesystems", [{ path: "/" }, { path: "/" }]],
    ["metrics.disk.logical", [volume("md0", { kind: "raid_md" }), volume("md0", { kind: "lvm_vg" })]],
    ["sent_at", "ignored"],
    ["metrics.network[0].colour", { deep: [1] }],
    ["metrics.wireless", []]
  ])("may have %s as %j", (path, to) => {
    expect(reading(path, to)).toMatchObject({ _tag: "Read", dropped: [], lost: 0 })
  })
})

describe("a Static", () => {
  const six = ["hostname", "os", "platform", "platform_version", "kernel_version", "arch"]
  it.each(six)("is refused with 422 when system.%s is missing, null or blank", (name) => {
    const path = `system.${name}`

    expect(readingStatic(path, undefined)).toEqual(refused("Meaningless", `${path} is required`))
    expect(readingStatic(path, null)).toEqual(refused("Meaningless", `${path} is required`))
    expect(readingStatic(path, " ")).toEqual(refused("Meaningless", `${path} must not be blank`))
  })

  it.each([
    ["version", "1.2.3.4", "version must be a strict version such as 1.2.3"],
    ["version", "  ", "version must be a strict version such as 1.2.3"],
    ["timestamp", "0001-01-01T00:00:00Z", "timestamp must not be the zero time"],
    ["report_interval_seconds", undefined, "report_interval_seconds is required"],
    ["report_interval_seconds", 0, "report_interval_seconds must be greater than 0"],
    ["report_interval_seconds", -3, "report_interval_seconds must be greater than 0"],
    ["system", undefined, "system is required"],
    [
      "disk.logical",
      many(513, (i) => ({ kind: "disk", name: `v${i}` })),
      "disk.logical must hold at most 512 elements"
    ],
    [
      "disk.logical[0].mountpoints",
      { "/srv": { fs_type: "x".repeat(257) } },
      "disk.logical[0].mountpoints./srv.fs_type must be at most 256 characters"
    ]
  ])("is refused with 422 when %s is %j", (path, to, message) => {
    expect(readingStatic(path, to)).toEqual(refused("Meaningless", message))
  })

  it.each([
    ["timestamp", "soon", "timestamp must be an RFC 3339 time"],
    ["report_interval_seconds", 1.5, "report_interval_seconds must be an integer"],
    ["report_interval_seconds", "3", "report_interval_seconds must be a number"],
    ["system", [], "system must be an object"],
    ["system.os", 1, "system.os must be text"],
    ["memory.total", -1, "memory.total must be an unsigned 64-bit integer"],
    ["cpu.info.sockets", 0.5, "cpu.info.sockets must be an integer"],
    ["disk.logical[0].mountpoints", { "/srv": null }, "disk.logical[0].mountpoints./srv must be an object"],
    ["disk.logical[0].devices", [null], "disk.logical[0].devices[0] must not be null"]
  ])("is refused with 400 when %s is %j", (path, to, message) => {
    expect(readingStatic(path, to)).toEqual(refused("Undecodable", message))
  })

  it("is kept as it stands", () => {
    const body = JSON.parse(fullStaticText) as unknown

    expect(readStatic(fullStaticText)).toEqual({ _tag: "Read", value: body, wide: null, dropped: [], lost: 0 })
  })

  it("is kept without members that nobody knows", () => {
    const body = fullStatic()
    setAt(body, "colour", "red")
    setAt(body, "disk.physical[0].colour", "red")
    setAt(body, "cpu.info.__proto__x", "red")

    expect(readStatic(JSON.stringify(body))).toEqual({
      _tag: "Read",
      value: fullStatic(),
      wide: null,
      dropped: [],
      lost: 0
    })
  })

  it("may lack everything but version, times and system", () => {
    const { report_interval_seconds, system, timestamp, version } = fullStatic()
    const text = JSON.stringify({ report_interval_seconds, system, timestamp, version, disk: { logical: null } })

    expect(readStatic(text)).toMatchObject({ _tag: "Read" })
  })
})

describe("the map of mount points that some senders add to a Static", () => {
  const path = "disk.logical[0].mountpoints"
  const message = `${path} must hold at most 512 paths of at most 256 characters`
  it("is refused with 422 when it holds too many paths, or one too long", () => {
    const paths = many(513, (i) => [`/${i}`, { fs_type: "ext4" }] as const)

    expect(readingStatic(path, Object.fromEntries(paths))).toEqual(refused("Meaningless", message))
    expect(readingStatic(path, { [`/${"x".repeat(256)}`]: {} })).toEqual(refused("Meaningless", message))
    expect(readingStatic(path, Object.fromEntries(paths.slice(1)))).toMatchObject({ _tag: "Read" })
  })
})

describe("the smallest report", () => {
  it("stays accepted when every optional piece is null", () => {
    const report = smallReport()
    for (const piece of ["cpu", "memory", "disk.smart", "processes", "connections", "thermal", "pressure"]) {
      setAt(report, `metrics.${piece}`, null)
    }

    expect(readReport(JSON.stringify(report))).toMatchObject({ _tag: "Read", dropped: [], lost: 0 })
  })
})
