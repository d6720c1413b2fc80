// Which date a zone's clocks show, and when each date begins there.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { dateOfDay, dayAt, dayOfDate, daysIn, firstDayOf, isZone, monthOf, startOfDayMs } from "../../src/core/Zone.ts"

const zones = Intl.supportedValuesOf("timeZone")
const hourMs = 3_600_000
const dayMs = 24 * hourMs
const firstDay = dayOfDate("1990-01-01")
const lastDay = dayOfDate("2060-12-31")

const iso = (ms: number): string => new Date(ms).toISOString()
const begin = (zone: string, date: string): string => iso(startOfDayMs(zone, dayOfDate(date)))

/** The date by another road: the fields of the date as they are formatted, no offset read and nothing computed. */
const shownIn = (zone: string): ((ms: number) => string) => {
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, year: "numeric", month: "2-digit", day: "2-digit" })
  return (ms) => format.format(ms)
}

/** What is wrong with a day's start, so that a loop over millions of days makes no expectation for each. */
const faultOf = (zone: string, shown: (ms: number) => string, day: number): string | undefined => {
  const date = dateOfDay(day)
  const startMs = startOfDayMs(zone, day)
  if (shown(startMs) < date) return `${zone} ${date} has not begun at ${iso(startMs)}`
  const early = [1, hourMs, 25 * hourMs].find((byMs) => shown(startMs - byMs) >= date)
  return early === undefined ? undefined : `${zone} ${date} was there ${early} ms before ${iso(startMs)}`
}

describe("what is no zone", () => {
  it.each(["", " ", "+01:00", "Mars/Olympus", "UTC ", "Europe/Berlin\0", "A".repeat(10_000)])(
    "has no days: %j",
    (name) => {
      expect(isZone(name)).toBe(false)
      expect(() => startOfDayMs(name === "+01:00" ? "none" : name, 0)).toThrow(RangeError)
      expect(() => dayAt(name === "+01:00" ? "none" : name, 0)).toThrow(RangeError)
    }
  )
})

describe("a zone", () => {
  it("is known by its name, its older names, and in any spelling of their letters", () => {
    const names = [...zones, "UTC", "Etc/GMT+12", "US/Pacific", "europe/berlin"]

    expect(names.filter((name) => !isZone(name))).toEqual([])
  })

  it("is still right after more zones were asked for than are kept", () => {
    const before = zones.map((zone) => startOfDayMs(zone, 20_000))

    expect(zones.map((zone) => startOfDayMs(zone, 20_000))).toEqual(before)
    expect(new Set(before).size).toBeGreaterThan(30)
  })
})

describe("a day", () => {
  it.each([
    ["America/Santiago", "2026-09-06", "2026-09-06T04:00:00.000Z"],
    ["America/Havana", "2026-03-08", "2026-03-08T05:00:00.000Z"],
    ["America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00.000Z"],
    ["Asia/Beirut", "2026-03-29", "2026-03-28T22:00:00.000Z"],
    ["Africa/Cairo", "2026-04-24", "2026-04-23T22:00:00.000Z"]
  ])("whose midnight is missing begins right after it: %s %s", (zone, date, expected) => {
    expect(begin(zone, date)).toBe(expected)
    expect(dateOfDay(dayAt(zone, Date.parse(expected)))).toBe(date)
    expect(dateOfDay(dayAt(zone, Date.parse(expected) - 1))).toBe(dateOfDay(dayOfDate(date) - 1))
  })

  it.each([
    ["America/Havana", "2026-11-01", "2026-11-01T04:00:00.000Z"],
    ["America/St_Johns", "2006-10-29", "2006-10-29T02:30:00.000Z"],
    ["America/Juneau", "1867-10-19", "1867-10-18T08:57:41.000Z"]
  ])("whose midnight comes twice begins with the first: %s %s", (zone, date, expected) => {
    expect(begin(zone, date)).toBe(expected)
  })

  it("shows the date before once more where clocks go back over midnight", () => {
    const date = (text: string): string => dateOfDay(dayAt("America/St_Johns", Date.parse(text)))

    expect(date("2006-10-29T02:30:59.999Z")).toBe("2006-10-29")
    expect(date("2006-10-29T02:31:00Z")).toBe("2006-10-28")
    expect(date("2006-10-29T03:30:00Z")).toBe("2006-10-29")
  })

  it.each([
    ["Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00.000Z"],
    ["Pacific/Fakaofo", "2011-12-30", "2011-12-30T11:00:00.000Z"],
    ["Pacific/Kwajalein", "1993-08-21", "1993-08-21T12:00:00.000Z"],
    ["Pacific/Kiritimati", "1994-12-31", "1994-12-31T10:00:00.000Z"]
  ])("that a zone left out begins when the next one does: %s %s", (zone, date, expected) => {
    const day = dayOfDate(date)

    expect(begin(zone, date)).toBe(expected)
    expect(iso(startOfDayMs(zone, day + 1))).toBe(expected)
    expect(dayAt(zone, Date.parse(expected))).toBe(day + 1)
    expect(dayAt(zone, Date.parse(expected) - 1)).toBe(day - 1)
  })

  it.each([
    ["UTC", "2026-01-01", "2026-01-01T00:00:00.000Z"],
    ["Asia/Kathmandu", "2026-01-01", "2025-12-31T18:15:00.000Z"],
    ["Pacific/Kiritimati", "2026-01-01", "2025-12-31T10:00:00.000Z"],
    ["Etc/GMT+12", "2026-01-01", "2026-01-01T12:00:00.000Z"],
    ["Africa/Monrovia", "1960-06-01", "1960-06-01T00:44:30.000Z"],
    ["Europe/Berlin", "2059-07-01", "2059-06-30T22:00:00.000Z"]
  ])("begins at its midnight: %s %s", (zone, date, expected) => {
    expect(begin(zone, date)).toBe(expected)
  })

  it(
    "begins when its zone first shows it, on the days around every change of clocks of every zone",
    { timeout: 60_000 },
    () => {
      const faults: Array<string> = []
      let judged = 0
      for (const zone of zones) {
        const shown = shownIn(zone)
        let offsetMs = startOfDayMs(zone, firstDay) - firstDay * dayMs
        for (let day = firstDay; day <= lastDay; day += 7) {
          const weekMs = startOfDayMs(zone, day + 7) - (day + 7) * dayMs
          for (let near = day; weekMs !== offsetMs && near <= day + 7; near++) {
            const fault = faultOf(zone, shown, near)
            if (fault !== undefined) faults.push(fault)
            judged++
          }
          offsetMs = weekMs
        }
      }

      expect(faults.slice(0, 10)).toEqual([])
      expect(judged).toBeGreaterThan(50_000)
    }
  )

  it("begins when its zone first shows it, in any zone at any time", () => {
    const day = fc.integer({ min: firstDay, max: lastDay })

    fc.assert(
      fc.property(fc.constantFrom(...zones), day, (zone, day) => {
        expect(faultOf(zone, shownIn(zone), day)).toBeUndefined()
        expect(startOfDayMs(zone, day)).toBeLessThanOrEqual(startOfDayMs(zone, day + 1))
      }),
      { numRuns: 1000 }
    )
  })

  it("is the date that its zone shows, in any zone at any instant", () => {
    const instant = fc.integer({ min: firstDay * dayMs, max: lastDay * dayMs })

    fc.assert(
      fc.property(fc.constantFrom(...zones), instant, (zone, ms) => {
        expect(dateOfDay(dayAt(zone, ms))).toBe(shownIn(zone)(ms))
        expect(startOfDayMs(zone, dayAt(zone, ms))).toBeLessThanOrEqual(ms)
      }),
      { numRuns: 1000 }
    )
  })
})

describe("the calendar", () => {
  it("counts days as the dates of UTC do, from the year 1 to 9999", () => {
    const day = fc.integer({ min: dayOfDate("0001-01-01"), max: dayOfDate("9999-12-31") })

    fc.assert(
      fc.property(day, (day) => {
        const date = new Date(day * dayMs)

        expect(dayOfDate(dateOfDay(day))).toBe(day)
        expect(monthOf(day)).toBe(12 * date.getUTCFullYear() + date.getUTCMonth())
        expect(day - firstDayOf(monthOf(day))).toBe(date.getUTCDate() - 1)
      }),
      { numRuns: 5000 }
    )
  })

  it.each([
    [1900, 28],
    [2000, 29],
    [2026, 28],
    [2028, 29],
    [2100, 28]
  ])("gives February %d %d days", (year, days) => {
    expect(daysIn(12 * year + 1)).toBe(days)
  })
})
