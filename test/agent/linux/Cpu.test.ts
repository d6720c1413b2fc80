import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { countCores, parseCpuinfo, parseLoadavg, parseStat, timesOf, usageRatio } from "../../../src/agent/linux/Cpu.ts"

const ticks = { user: 0, nice: 0, system: 0, idle: 0, iowait: 0, irq: 0, softirq: 0, steal: 0 }

describe("parseStat", () => {
  it("fails on text without a total line", () => {
    expect(() => parseStat("cpu0 1 2 3 4\n")).toThrow()
    expect(() => parseStat("")).toThrow()
  })

  it("reads the total of a machine with 256 processors", () => {
    const cores = Array.from({ length: 256 }, (_, n) => `cpu${n} 1 0 1 1 0 0 0 0 0 0`).join("\n")
    const parsed = parseStat(`cpu  256 1 300 90000 5 6 7 8 9 10\n${cores}\nintr 5 0 0\nctxt 1\n`)
    expect(parsed).toEqual({ user: 256, nice: 1, system: 300, idle: 90000, iowait: 5, irq: 6, softirq: 7, steal: 8 })
  })

  it("takes fields an old kernel does not have as 0", () => {
    expect(parseStat("cpu 1 2 3 4\n")).toMatchObject({ idle: 4, iowait: 0, steal: 0 })
  })
})

describe("usageRatio", () => {
  it("is 0 when nothing moved", () => {
    expect(usageRatio(ticks, ticks)).toBe(0)
  })

  it("counts waiting for disks as idle and stolen time as busy", () => {
    expect(usageRatio(ticks, { ...ticks, iowait: 50, idle: 25, steal: 25 })).toBe(0.25)
  })

  it("does not let an iowait that went backwards distort the share", () => {
    expect(usageRatio({ ...ticks, iowait: 100 }, { ...ticks, iowait: 40, user: 50, idle: 50 })).toBe(0.5)
  })

  it("stays within 0 and 1 whatever the counters do", () => {
    const anyTicks = fc.record({
      user: fc.nat(),
      nice: fc.nat(),
      system: fc.nat(),
      idle: fc.nat(),
      iowait: fc.nat(),
      irq: fc.nat(),
      softirq: fc.nat(),
      steal: fc.nat()
    })
    fc.assert(
      fc.property(anyTicks, anyTicks, (before, after) => {
        const ratio = usageRatio(before, after)
        expect(ratio).toBeGreaterThanOrEqual(0)
        expect(ratio).toBeLessThanOrEqual(1)
      })
    )
  })
})

describe("timesOf", () => {
  it("tells all time there was in five numbers of seconds", () => {
    const all = { user: 100, nice: 50, system: 200, idle: 1000, iowait: 30, irq: 10, softirq: 20, steal: 5 }
    expect(timesOf(all)).toEqual({ user: 1.5, system: 2.3, idle: 10, iowait: 0.3, steal: 0.05 })
  })
})

describe("parseLoadavg", () => {
  it("fails on text without three numbers", () => {
    expect(() => parseLoadavg("")).toThrow()
    expect(() => parseLoadavg("0.1 0.2")).toThrow()
    expect(() => parseLoadavg("a b c 1/2 3")).toThrow()
  })

  it("reads the three averages", () => {
    expect(parseLoadavg("1.42 1.17 0.98 2/410 12345\n")).toEqual({ load1: 1.42, load5: 1.17, load15: 0.98 })
  })
})

const x86 = [0, 1, 2, 3]
  .map(
    (n) =>
      `processor\t: ${n}\nvendor_id\t: GenuineIntel\nmodel name\t: Example CPU @ 3.10GHz\ncpu MHz\t\t: 2100.123\n` +
      `physical id\t: ${n >> 1}\ncore id\t\t: 0\nflags\t\t: fpu\n`
  )
  .join("\n")

describe("parseCpuinfo", () => {
  it("counts sockets, cores and threads of two processors with two threads each", () => {
    expect(parseCpuinfo(x86, [], null, null)).toEqual({
      model_name: "Example CPU @ 3.10GHz",
      vendor_id: "GenuineIntel",
      sockets: 2,
      cores_physical: 2,
      cores_logical: 4,
      frequency_mhz: 2100.123
    })
  })

  it("prefers the rated frequency", () => {
    expect(parseCpuinfo(x86, [], null, 3_100_000).frequency_mhz).toBe(3100)
  })

  it("takes cores from the topology and the model from the board where cpuinfo names neither", () => {
    const arm = [0, 1].map((n) => `processor\t: ${n}\nBogoMIPS\t: 108.00\nCPU implementer\t: 0x41\n`).join("\n")
    const topology = [
      { socket: "-1", core: "0" },
      { socket: "-1", core: "1" }
    ]
    expect(parseCpuinfo(`${arm}\nHardware\t: Board\n`, topology, "Example Board 4", null)).toEqual({
      model_name: "Example Board 4",
      vendor_id: "ARM",
      sockets: 1,
      cores_physical: 2,
      cores_logical: 2,
      frequency_mhz: 0
    })
  })

  it("counts every processor as a core when nobody tells cores", () => {
    expect(
      countCores([
        { socket: null, core: null },
        { socket: null, core: null }
      ])
    ).toEqual({ sockets: 1, cores: 2 })
  })
})
