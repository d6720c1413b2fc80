import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { isComplete, uptimeText } from "../../../src/agent/Collector.ts"
import { counterOf, perSecond, ratioOf, thousandthUp, wholeUp } from "../../../src/agent/Rate.ts"
import { parseMeminfo } from "../../../src/agent/linux/Memory.ts"
import { parsePressure } from "../../../src/agent/linux/Pressure.ts"
import { parseSockstat } from "../../../src/agent/linux/Sockets.ts"
import { parseOsRelease, parseUptime } from "../../../src/agent/linux/System.ts"

describe("rates", () => {
  it("never are negative, whatever the counters do", () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.double({ min: -1, max: 100, noNaN: true }), (before, after, seconds) => {
        const rate = perSecond(before, after, seconds)
        expect(rate).toBeGreaterThanOrEqual(0)
        if (after < before || seconds <= 0) expect(rate).toBe(0)
      })
    )
  })

  it("are rounded up, but exact values stay", () => {
    expect([wholeUp(0), wholeUp(0.001), wholeUp(4), wholeUp((0.1 + 0.2) * 10)]).toEqual([0, 1, 4, 3])
    expect([thousandthUp(0.11), thousandthUp(0.3281), thousandthUp(1.2)]).toEqual([0.11, 0.329, 1.2])
  })

  it("come from counters that cannot exceed 64 bits and never are NaN", () => {
    expect(counterOf("18446744073709551615")).toBeLessThan(2 ** 64)
    expect([counterOf("x"), counterOf(undefined), counterOf("-5"), counterOf("7")]).toEqual([0, 0, 0, 7])
  })

  it("as shares stay within 0 and 1", () => {
    expect([ratioOf(1, 0), ratioOf(3, 2), ratioOf(-1, 2), ratioOf(1, 4)]).toEqual([0, 1, 0, 0.25])
  })
})

describe("parseMeminfo", () => {
  it("fails without a total", () => {
    expect(() => parseMeminfo("MemFree: 5 kB\n")).toThrow()
  })

  it("reads a machine without swap", () => {
    const { metrics, swapTotal, total } = parseMeminfo(
      "MemTotal: 1000 kB\nMemFree: 200 kB\nMemAvailable: 600 kB\nBuffers: 50 kB\nCached: 300 kB\nSReclaimable: 25 kB\n" +
        "SwapTotal: 0 kB\nSwapFree: 0 kB\n"
    )
    expect(total).toBe(1000 * 1024)
    expect(swapTotal).toBe(0)
    expect(metrics).toEqual({
      used: 400 * 1024,
      available: 600 * 1024,
      buffers: 50 * 1024,
      cached: 325 * 1024,
      used_ratio: 0.4,
      swap_used: 0,
      swap_free: 0,
      swap_used_ratio: 0
    })
  })

  it("estimates what is available on a kernel that does not tell", () => {
    const text =
      "MemTotal: 1000 kB\nMemFree: 200 kB\nBuffers: 50 kB\nCached: 250 kB\nSwapTotal: 100 kB\nSwapFree: 75 kB\n"
    expect(parseMeminfo(text).metrics).toMatchObject({ used_ratio: 0.5, swap_used: 25 * 1024, swap_used_ratio: 0.25 })
  })
})

describe("parsePressure", () => {
  it("fails on text without a group", () => {
    expect(() => parsePressure("")).toThrow()
  })

  it("leaves out the group an older kernel does not have", () => {
    expect(parsePressure("some avg10=1.18 avg60=0.94 avg300=0.70 total=92118840221\n")).toEqual({
      status: "ok",
      some: { avg10: 1.18, avg60: 0.94, avg300: 0.7, total: 92118840221 }
    })
  })

  it("reads both groups", () => {
    const text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=100.00 avg60=0.50 avg300=0.00 total=2\n"
    expect(parsePressure(text).full).toEqual({ avg10: 100, avg60: 0.5, avg300: 0, total: 2 })
  })
})

describe("parseSockstat", () => {
  const v4 = "sockets: used 300\nTCP: inuse 12 orphan 1 tw 7 alloc 20 mem 3\nUDP: inuse 4 mem 1\nUDPLITE: inuse 9\n"

  it("counts both protocol versions and sockets in TIME_WAIT", () => {
    expect(parseSockstat(v4, "TCP6: inuse 5\nUDP6: inuse 2\nUDPLITE6: inuse 9\n")).toEqual({ tcp: 24, udp: 6 })
  })

  it("counts IPv4 alone where IPv6 is off", () => {
    expect(parseSockstat(v4, "")).toEqual({ tcp: 19, udp: 4 })
  })
})

describe("system texts", () => {
  it("fails on an empty uptime", () => {
    expect(() => parseUptime("")).toThrow()
    expect(() => parseUptime("never")).toThrow()
  })

  it("writes uptime in days, hours and minutes", () => {
    expect(uptimeText(parseUptime("1040413.99 999.0\n"))).toBe("12d 1h 0m")
    expect(uptimeText(59)).toBe("0d 0h 0m")
  })

  it("reads quoted and plain values of os-release", () => {
    const values = parseOsRelease(`ID=debian\nVERSION_ID="12"\nNAME='Example OS'\n# comment\nBROKEN\n`)
    expect([...values]).toEqual([
      ["ID", "debian"],
      ["VERSION_ID", "12"],
      ["NAME", "Example OS"]
    ])
  })
})

describe("isComplete", () => {
  const complete = {
    version: "0.3.0",
    timestamp: "2026-06-14T08:20:00Z",
    report_interval_seconds: 3,
    cpu: {
      info: { model_name: "", vendor_id: "", sockets: 1, cores_physical: 2, cores_logical: 4, frequency_mhz: 0 }
    },
    memory: { total: 1, swap_total: 0 },
    disk: { physical: [], logical: [], filesystems: [], base_io: [] },
    system: { hostname: "h", os: "linux", platform: "p", platform_version: "1", kernel_version: "6", arch: "amd64" },
    raid: { supported: true, available: false, arrays: [] }
  }

  it.each([
    ["a blank system text", { ...complete, system: { ...complete.system, platform_version: " " } }],
    ["no memory total", { ...complete, memory: { total: 0, swap_total: 0 } }],
    ["no physical cores on Linux", { ...complete, cpu: { info: { ...complete.cpu.info, cores_physical: 0 } } }],
    ["no logical cores", { ...complete, cpu: { info: { ...complete.cpu.info, cores_logical: 0 } } }]
  ])("refuses %s", (_, fixed) => {
    expect(isComplete(fixed)).toBe(false)
  })

  it("accepts a full description, and one without physical cores where no source tells them", () => {
    const mac = { ...complete.cpu.info, cores_physical: 0 }
    expect(isComplete(complete)).toBe(true)
    expect(isComplete({ ...complete, system: { ...complete.system, os: "darwin" }, cpu: { info: mac } })).toBe(true)
  })
})
