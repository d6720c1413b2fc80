// Which billing cycle an instant belongs to, and that the cycles of a configuration tile the time line.
import { readFileSync } from "node:fs"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { Cycle, CycleConfig } from "../../src/core/Cycle.ts"
import { boundaries, boundariesMax, cycleAt, daysOf, next, previous } from "../../src/core/Cycle.ts"
import { dateOfDay, dayAt, dayOfDate, startOfDayMs } from "../../src/core/Zone.ts"

interface Vector {
  readonly id: string
  readonly cycle_mode: CycleConfig["mode"]
  readonly billing_start_day: number
  readonly billing_anchor_date: string
  readonly billing_timezone: string
  readonly at: string
  readonly start: string
  readonly end: string
  readonly note: string
}

const vectors = JSON.parse(
  readFileSync(new URL("../vectors/cycles.json", import.meta.url), "utf8")
) as ReadonlyArray<Vector>

const dayMs = 86_400_000
const zones = Intl.supportedValuesOf("timeZone")
const iso = (ms: number): string => new Date(ms).toISOString().replace(".000Z", "Z")
const spanOf = ({ endMs, startMs }: Cycle): ReadonlyArray<string> => [iso(startMs), iso(endMs)]

const vendor = (startDay: number, anchorDate = "", zone = "UTC"): CycleConfig => ({
  mode: "vendor_compatible",
  startDay,
  anchorDate,
  zone
})
const clamp = (startDay: number, zone = "UTC"): CycleConfig => ({
  mode: "clamp_to_month_end",
  startDay,
  anchorDate: "",
  zone
})
const calendar = (zone: string): CycleConfig => ({ mode: "calendar_month", startDay: 1, anchorDate: "", zone })

const firstMs = Date.UTC(1990, 0, 1)
const lastMs = Date.UTC(2060, 11, 31)
const instants = fc.integer({ min: firstMs, max: lastMs })
const anchors = fc.oneof(
  fc.constant(""),
  fc.integer({ min: firstMs / dayMs, max: lastMs / dayMs }).map((day) => dateOfDay(day))
)
const configs: fc.Arbitrary<CycleConfig> = fc.record({
  mode: fc.constantFrom("calendar_month", "clamp_to_month_end", "vendor_compatible"),
  startDay: fc.integer({ min: 1, max: 31 }),
  anchorDate: anchors,
  zone: fc.constantFrom(...zones)
})

/** The rule read aloud, in UTC: each date is the one before plus a month, and whatever day that gives is kept. */
const chainOf = (startMs: number, endMs: number): ReadonlyArray<number> => {
  const chain: Array<number> = []
  for (let atMs = startMs; atMs < endMs;) {
    chain.push(atMs)
    const date = new Date(atMs)
    atMs = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate())
  }
  return chain
}
const yearlyChains = (day: number, endMs: number): ReadonlyArray<number> => {
  const years = Array.from({ length: 72 }, (_, place) => 1989 + place)
  return years.flatMap((year) => chainOf(Date.UTC(year - 1, 11, day), Math.min(Date.UTC(year, 11, day), endMs)))
}

describe("a cycle", () => {
  it("is not given for what is no zone", () => {
    expect(() => cycleAt(calendar("Mars/Olympus"), 0)).toThrow(RangeError)
  })

  it("has all its vectors", () => {
    expect(vectors.map(({ id }) => id)).toEqual(
      expect.arrayContaining([
        ...Array.from({ length: 36 }, (_, k) => `C${String(k + 1).padStart(2, "0")}`),
        "X1",
        "X8"
      ])
    )
  })

  it.each(vectors)("is right in $id: $note", (vector) => {
    const config: CycleConfig = {
      mode: vector.cycle_mode,
      startDay: vector.billing_start_day,
      anchorDate: vector.billing_anchor_date,
      zone: vector.billing_timezone
    }

    expect(spanOf(cycleAt(config, Date.parse(vector.at)))).toEqual([vector.start, vector.end])
  })

  it.each([
    ["C01", { ...calendar("UTC"), startDay: 15 }, 1],
    ["C11", clamp(31), 31],
    ["C24", vendor(31), 31],
    ["C31", vendor(1, "2026-01-31"), 31],
    ["C34", vendor(1, "2026-05-31"), 31]
  ])("names the day that it goes by, as in %s", (_, config, day) => {
    expect(cycleAt(config, Date.parse("2026-03-15T00:00:00Z")).effectiveDay).toBe(day)
  })

  it.each([
    ["X3", vendor(31), "2027-01-01T00:00:00Z", "2026-12-31T00:00:00Z", "2027-01-31T00:00:00Z"],
    ["X6", clamp(8, "America/Havana"), "2026-03-20T00:00:00Z", "2026-03-08T05:00:00Z", "2026-04-08T04:00:00Z"],
    ["X7", calendar("America/Havana"), "2026-11-20T00:00:00Z", "2026-11-01T04:00:00Z", "2026-12-01T05:00:00Z"],
    [
      "a date left out",
      clamp(30, "Pacific/Apia"),
      "2011-12-30T10:00:00Z",
      "2011-12-30T10:00:00Z",
      "2012-01-29T10:00:00Z"
    ],
    [
      "an ancient anchor",
      vendor(1, "0001-01-31"),
      "2026-05-05T00:00:00Z",
      "2026-05-03T00:00:00Z",
      "2026-06-03T00:00:00Z"
    ],
    [
      "an anchor far ahead",
      vendor(1, "9999-12-31"),
      "2026-02-05T00:00:00Z",
      "2026-01-31T00:00:00Z",
      "2026-03-03T00:00:00Z"
    ]
  ])("is right in %s", (_, config, at, start, end) => {
    expect(spanOf(cycleAt(config, Date.parse(at)))).toEqual([start, end])
  })

  it("is the same after the zone's days were forgotten and computed anew", () => {
    const config = vendor(31, "", "Asia/Beirut")
    const before = cycleAt(config, firstMs)
    for (let day = 0; day < 2000; day++) startOfDayMs("Asia/Beirut", day)

    expect(cycleAt(config, firstMs)).toEqual(before)
  })
})

describe("the cycles before", () => {
  it.each([
    [calendar("America/New_York"), "2026-04-10", ["2026-05-01", "2026-04-01", "2026-03-01", "2026-02-01"]],
    [clamp(31), "2026-03-15", ["2026-03-31", "2026-02-28", "2026-01-31", "2025-12-31", "2025-11-30"]],
    [clamp(31), "2028-03-30", ["2028-03-31", "2028-02-29", "2028-01-31", "2027-12-31"]],
    [vendor(31), "2026-04-10", ["2026-05-03", "2026-04-03", "2026-03-03", "2026-01-31", "2025-12-31"]],
    [vendor(1, "2026-01-30"), "2026-02-15", ["2026-03-02", "2026-01-30", "2025-12-30", "2025-12-02", "2025-11-02"]],
    [vendor(1, "2026-03-31"), "2026-04-15", ["2026-05-01", "2026-03-31", "2026-03-03", "2026-01-31"]],
    [vendor(1, "2026-05-31"), "2026-06-15", ["2026-07-01", "2026-05-31", "2026-05-03", "2026-04-03"]]
  ])("%j at %s go back to %j", (config, at, dates) => {
    let cycle = cycleAt(config, Date.parse(at))
    const seen = [cycle.endMs, cycle.startMs]
    while (seen.length < dates.length) {
      cycle = previous(config, cycle)
      seen.push(cycle.startMs)
    }

    expect(seen.map((ms) => dateOfDay(dayAt(config.zone, ms)))).toEqual(dates)
  })
})

describe("the vendor's cycles", () => {
  it("are the chains of every year, each cut where the next begins", () => {
    for (let day = 1; day <= 31; day++) {
      const expected = yearlyChains(day, Infinity).filter((ms) => ms > firstMs && ms <= lastMs)

      for (const [place, ms] of expected.entries()) {
        expect(cycleAt(vendor(day), ms).startMs).toBe(ms)
        if (place > 0) expect(cycleAt(vendor(day), ms - 1).startMs).toBe(expected[place - 1])
      }
    }
  })

  it("are one chain from the anchor on, and the yearly chains before it", () => {
    fc.assert(
      fc.property(fc.integer({ min: firstMs / dayMs, max: lastMs / dayMs }), instants, (day, ms) => {
        const anchorMs = day * dayMs
        const dayOfMonth = new Date(anchorMs).getUTCDate()
        const chain = ms < anchorMs ? yearlyChains(dayOfMonth, anchorMs) : chainOf(anchorMs, ms + 1)
        const cycle = cycleAt(vendor(1, dateOfDay(day)), ms)

        expect(iso(cycle.startMs)).toBe(iso(Math.max(...chain.filter((startMs) => startMs <= ms))))
        if (ms < anchorMs) expect(cycle.endMs).toBeLessThanOrEqual(anchorMs)
      }),
      { numRuns: 1000 }
    )
  })
})

describe("the cycles of any configuration in any zone", () => {
  it("hold the instant, touch their neighbours, and lead back from them", () => {
    fc.assert(
      fc.property(configs, instants, (config, ms) => {
        const cycle = cycleAt(config, ms)
        const after = next(config, cycle)
        const before = previous(config, cycle)

        expect(cycle.startMs <= ms && ms < cycle.endMs).toBe(true)
        expect([before.endMs, after.startMs]).toEqual([cycle.startMs, cycle.endMs])
        expect([next(config, before), previous(config, after)]).toEqual([cycle, cycle])
        expect([cycleAt(config, cycle.startMs), cycleAt(config, cycle.endMs - 1)]).toEqual([cycle, cycle])
      }),
      { numRuns: 4000 }
    )
  })

  it("last from 28 to 31 days and what a change of clocks adds or takes", () => {
    fc.assert(
      fc.property(configs, instants, (config, ms) => {
        const { endMs, startMs } = cycleAt(config, ms)
        const days = (endMs - startMs) / dayMs

        // A zone that left a date out took a whole day.
        expect(days).toBeGreaterThan(26.8)
        expect(days).toBeLessThan(31.2)
      }),
      { numRuns: 2000 }
    )
  })

  it("begin at the first instant of the date that their mode gives", () => {
    const modes = fc.constantFrom("calendar_month" as const, "clamp_to_month_end" as const)

    fc.assert(
      fc.property(configs, modes, instants, (config, mode, ms) => {
        const { startMs } = cycleAt({ ...config, mode }, ms)
        const [year = 0, month = 0, day = 0] = dateOfDay(dayAt(config.zone, startMs)).split("-").map(Number)
        const wanted =
          mode === "calendar_month" ? 1 : Math.min(config.startDay, new Date(Date.UTC(year, month, 0)).getUTCDate())
        // Where the date wanted was left out, the cycle begins with the one after it.
        const existing = dayAt(
          config.zone,
          startOfDayMs(config.zone, dayOfDate(dateOfDay(Date.UTC(year, month - 1, wanted) / dayMs)))
        )

        expect(dateOfDay(existing)).toBe([year, month, day].map((part) => String(part).padStart(2, "0")).join("-"))
        expect(startOfDayMs(config.zone, existing)).toBe(startMs)
      }),
      { numRuns: 2000 }
    )
  })

  it("are tiled by their days, each beginning at its first instant", () => {
    fc.assert(
      fc.property(configs, instants, (config, ms) => {
        const cycle = cycleAt(config, ms)
        const days = daysOf(cycle, config.zone)
        const edges = days.flatMap(({ endMs, startMs }) => [startMs, endMs])

        expect([edges[0], edges.at(-1)]).toEqual([cycle.startMs, cycle.endMs])
        for (const [place, day] of days.entries()) {
          expect(day.startMs).toBe(startOfDayMs(config.zone, dayOfDate(day.date)))
          expect(day.endMs).toBe(days[place + 1]?.startMs ?? cycle.endMs)
          expect(day.endMs).toBeGreaterThan(day.startMs)
          expect(dateOfDay(dayAt(config.zone, day.startMs))).toBe(day.date)
        }
      }),
      { numRuns: 1000 }
    )
  })
})

describe("the boundaries around an instant", () => {
  it("are none when none are asked for, and no more than a page could show", () => {
    expect(boundaries(clamp(1), 0, -1, "next")).toEqual([])
    expect(boundaries(clamp(1), 0, Number.NaN, "next")).toEqual([])
    expect(boundaries(clamp(1), 0, 1e9, "last")).toHaveLength(boundariesMax)
  })

  it("count one at the instant itself among the last", () => {
    const atMs = Date.parse("2026-03-31T00:00:00Z")

    expect(boundaries(clamp(31), atMs, 2, "last").map(iso)).toEqual(["2026-03-31T00:00:00Z", "2026-02-28T00:00:00Z"])
    expect(boundaries(clamp(31), atMs, 2, "next").map(iso)).toEqual(["2026-04-30T00:00:00Z", "2026-05-31T00:00:00Z"])
  })

  it("are the edges of the cycles one by one, nearest first", () => {
    fc.assert(
      fc.property(configs, instants, (config, ms) => {
        let forward = cycleAt(config, ms)
        let backward = forward
        const ends = boundaries(config, ms, 24, "next").map((boundaryMs) => {
          const endMs = forward.endMs
          forward = next(config, forward)
          return [boundaryMs, endMs]
        })
        const starts = boundaries(config, ms, 24, "last").map((boundaryMs) => {
          const { startMs } = backward
          backward = previous(config, backward)
          return [boundaryMs, startMs]
        })

        expect([...ends, ...starts].filter(([given, walked]) => given !== walked)).toEqual([])
        expect([ends.length, starts.length]).toEqual([24, 24])
      }),
      { numRuns: 300 }
    )
  })
})

describe("the days of a period", () => {
  it("are none when it is empty", () => {
    expect(daysOf({ startMs: 5, endMs: 5 }, "UTC")).toEqual([])
  })

  it("leave out the date that the zone left out", () => {
    const days = daysOf(cycleAt(calendar("Pacific/Apia"), Date.parse("2011-12-15T00:00:00Z")), "Pacific/Apia")

    expect(days.slice(-3).map(({ date }) => date)).toEqual(["2011-12-28", "2011-12-29", "2011-12-31"])
  })

  it("last 23 or 25 hours where the clocks change", () => {
    const hours = (at: string, date: string): number | undefined => {
      const days = daysOf(cycleAt(calendar("Europe/Berlin"), Date.parse(at)), "Europe/Berlin")
      return days.filter((day) => day.date === date).map(({ endMs, startMs }) => (endMs - startMs) / 3_600_000)[0]
    }

    expect(hours("2026-03-15T00:00:00Z", "2026-03-29")).toBe(23)
    expect(hours("2026-10-15T00:00:00Z", "2026-10-25")).toBe(25)
    expect(hours("2026-10-15T00:00:00Z", "2026-10-26")).toBe(24)
  })

  it("are cut to it at both ends", () => {
    const period = { startMs: Date.parse("2026-05-10T03:05:00Z"), endMs: Date.parse("2026-05-11T06:10:00Z") }

    expect(daysOf(period, "UTC")).toEqual([
      { date: "2026-05-10", startMs: period.startMs, endMs: Date.parse("2026-05-11T00:00:00Z") },
      { date: "2026-05-11", startMs: Date.parse("2026-05-11T00:00:00Z"), endMs: period.endMs }
    ])
  })

  it("belong to the new date from its first midnight on, though the clocks go back over it", () => {
    const period = { startMs: Date.parse("2006-10-29T03:00:00Z"), endMs: Date.parse("2006-10-29T12:00:00Z") }

    expect(daysOf(period, "America/St_Johns")).toEqual([{ date: "2006-10-29", ...period }])
  })
})
