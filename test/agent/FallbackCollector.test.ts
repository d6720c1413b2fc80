import type { CpuInfo } from "node:os"
import { describe, expect, it } from "vitest"
import { isComplete } from "../../src/agent/Collector.ts"
import { makeFallbackCollector, type OsCalls } from "../../src/agent/FallbackCollector.ts"
import { makeTestClock, statFs } from "./support/Machine.ts"

const options = { intervalSeconds: 3, interfaces: null, smartCachePath: "/none" }

const callsWith = (state: { user: number; idle: number }): OsCalls => ({
  cpus: (): Array<CpuInfo> => [
    { model: "Example", speed: 3200, times: { user: state.user, nice: 0, sys: 0, idle: state.idle, irq: 0 } }
  ],
  loadavg: () => [1, 2, 3],
  totalmem: () => 1000,
  freemem: () => 250,
  uptime: () => 3661.5,
  hostname: () => "box",
  release: () => "23.1.0",
  version: () => "Windows Example"
})

describe("makeFallbackCollector", () => {
  it("leaves the system volume out when it cannot be measured", async () => {
    const failing = () => Promise.reject(new Error("EIO"))
    const collector = makeFallbackCollector(
      options,
      makeTestClock(),
      "darwin",
      "arm64",
      callsWith({ user: 0, idle: 0 }),
      failing
    )
    await collector.refresh()
    expect(collector.sample().metrics.disk.filesystems).toEqual([])
  })

  it("says honestly what it cannot tell", () => {
    const { metrics } = makeFallbackCollector(options, makeTestClock(), "darwin", "arm64").sample()
    expect(metrics.disk.smart).toEqual({ status: "unsupported", devices: [] })
    expect(metrics.thermal).toEqual({ status: "unsupported", sensors: [] })
    expect(metrics.raid).toEqual({ supported: false, available: false, arrays: [] })
    expect(metrics.pressure.io).toEqual({ status: "unsupported" })
  })

  it("reports use between two samples, memory, load and uptime", async () => {
    const state = { user: 0, idle: 0 }
    const stat = () => Promise.resolve(statFs(100, 50, 50))
    const collector = makeFallbackCollector(options, makeTestClock(), "darwin", "arm64", callsWith(state), stat)
    await collector.refresh()
    collector.sample()
    state.user += 250
    state.idle += 750
    const { metrics } = collector.sample()
    expect(metrics.cpu).toMatchObject({ usage_ratio: 0.25, load1: 1, load15: 3 })
    expect(metrics.memory).toMatchObject({ used: 750, available: 250, used_ratio: 0.75 })
    expect(metrics.system).toEqual({ alive: true, uptime_seconds: 3661, uptime: "0d 1h 1m" })
    expect(metrics.disk.filesystems).toMatchObject([{ path: "/", used_ratio: 0.5 }])
    expect(isComplete(collector.describe())).toBe(true)
  })

  it("has no load average on Windows", () => {
    const collector = makeFallbackCollector(options, makeTestClock(), "win32", "x64", callsWith({ user: 0, idle: 0 }))
    expect(collector.sample().metrics.cpu).toMatchObject({ load1: -1, load5: -1, load15: -1 })
    expect(collector.describe().system).toMatchObject({ os: "windows", platform: "Windows Example", arch: "amd64" })
  })
})
