import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Wire from "../../schema/Report.ts"
import * as WireStatic from "../../schema/Static.ts"
import { systemClock } from "../../src/agent/Clock.ts"
import { isComplete } from "../../src/agent/Collector.ts"
import { makeLinuxCollector, thisMachine } from "../../src/agent/linux/LinuxCollector.ts"
import { systemRoots } from "../../src/agent/linux/Tree.ts"

/** Every member whose name ends with _ratio, wherever it is. */
const ratios = (value: unknown): ReadonlyArray<unknown> => {
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => (key.endsWith("_ratio") ? [inner] : ratios(inner)))
}

const namesOf = (items: ReadonlyArray<{ readonly name: string }>) => items.map(({ name }) => name)
const isSortedAndUnique = (names: ReadonlyArray<string>): boolean =>
  names.every((name, index) => index === 0 || (names[index - 1] ?? "") < name)

const options = { intervalSeconds: 1, interfaces: null, smartCachePath: "/run/monitor-node/smart.json" }

describe.runIf(process.platform === "linux")("this machine", () => {
  it("is reported in the shape and within the bounds of the wire", async () => {
    const collector = makeLinuxCollector(options, thisMachine(systemRoots, systemClock))
    await collector.refresh()
    collector.sample()
    const sent: Wire.NodeReport = collector.sample()
    const report = Schema.decodeUnknownSync(Wire.NodeReport)(JSON.parse(JSON.stringify(sent)))

    const { disk, network, processes, raid, system, thermal } = report.metrics
    for (const list of [disk.physical, disk.logical, disk.filesystems, disk.base_io, network, raid.arrays]) {
      expect(Array.isArray(list)).toBe(true)
    }
    expect(disk.smart?.devices).toBeInstanceOf(Array)
    expect(thermal?.sensors).toBeInstanceOf(Array)
    for (const names of [namesOf(disk.physical), namesOf(network), disk.filesystems.map(({ path }) => path)]) {
      expect(isSortedAndUnique(names)).toBe(true)
    }
    const shares = ratios(report)
    expect(shares.length).toBeGreaterThan(3)
    for (const share of shares) {
      expect(share).toBeGreaterThanOrEqual(0)
      expect(share).toBeLessThanOrEqual(1)
    }
    expect(processes?.process_count).toBeGreaterThan(0)
    expect(system.uptime_seconds).toBeGreaterThan(0)
    expect(system.uptime).toMatch(/^\d+d \d+h \d+m$/)
  })

  it("is described completely and in the shape of the wire", async () => {
    const collector = makeLinuxCollector(options, thisMachine(systemRoots, systemClock))
    await collector.refresh()
    collector.sample()
    const sent: WireStatic.Static = collector.describe()
    expect(isComplete(collector.describe())).toBe(true)
    expect(() => Schema.decodeUnknownSync(WireStatic.Static)(JSON.parse(JSON.stringify(sent)))).not.toThrow()
  })

  it("is sampled in a few milliseconds, so that a report is never late", () => {
    const collector = makeLinuxCollector(options, thisMachine(systemRoots, systemClock))
    collector.sample()
    const rounds = 20
    const startMs = performance.now()
    for (let n = 0; n < rounds; n++) collector.sample()
    expect((performance.now() - startMs) / rounds).toBeLessThan(100)
  })
})
