// The online rate of a node: 48 aligned buckets, what was promised in each, and what this service's outages take away.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { OnlineRange } from "../../schema/History.ts"
import { onlineBuckets, onlineSteps } from "../../schema/HistoryTerms.ts"
import {
  isoSeconds,
  type OnlineFacts,
  onlinePoints,
  onlineRangeOf,
  onlineSpan,
  receivedIn,
  type Span
} from "../../src/core/Online.ts"

const ranges: ReadonlyArray<OnlineRange> = ["24h", "7d"]
const now = Date.UTC(2031, 2, 4, 5, 6, 7, 890)
const halfHour = 1_800_000
const span = onlineSpan("24h", now)
const at = (bucket: number, ms = 0): number => span.fromMs + bucket * halfHour + ms

const always: Span = { fromMs: 0, toMs: now }
/** A service that always ran and an old node that reports every 3 s and has sent `count` in each bucket. */
const factsOf = (count: number, over: Partial<OnlineFacts> = {}): OnlineFacts => ({
  received: new Float64Array(onlineBuckets).fill(count),
  runs: [always],
  intervalMs: 3000,
  createdMs: 0,
  ...over
})
const point = (bucket: number, facts: OnlineFacts) => onlinePoints("24h", span, facts)[bucket]

describe("a range", () => {
  it.each([undefined, "", "7", "1h", "24H", "7 d", "30d", "toString"])("cannot be %j", (text) => {
    expect(onlineRangeOf(text)).toBeUndefined()
  })

  it.each([
    ["24h", "24h"],
    ["7d", "7d"],
    ["7days", "7d"],
    [" 7days ", "7d"]
  ])("may be %j, which is %s", (text, range) => {
    expect(onlineRangeOf(text)).toBe(range)
  })
})

describe("the span of an answer", () => {
  it.each(ranges)("of %s is 48 complete buckets, aligned, up to the one that is not over", (range) => {
    const stepMs = onlineSteps[range] * 1000
    fc.assert(
      fc.property(fc.integer({ min: 9 * 86_400_000, max: Date.UTC(2200, 0) }), (time) => {
        const { fromMs, toMs } = onlineSpan(range, time)

        expect(fromMs % stepMs).toBe(0)
        expect(toMs - fromMs).toBe(48 * stepMs)
        expect(toMs).toBeLessThanOrEqual(time)
        expect(time - toMs).toBeLessThan(stepMs)
      })
    )
  })

  it("moves on at the very end of a bucket", () => {
    expect(onlineSpan("24h", span.toMs)).toEqual(span)
    expect(onlineSpan("24h", span.toMs - 1)).toEqual({ fromMs: span.fromMs - halfHour, toMs: span.toMs - halfHour })
  })

  it("is 24 hours and 7 days long", () => {
    expect(ranges.map((range) => [onlineSteps[range], onlineSteps[range] * onlineBuckets])).toEqual([
      [1800, 86_400],
      [12_600, 7 * 86_400]
    ])
  })
})

describe("received reports", () => {
  it("count in the bucket of their time, and nowhere from before the span or from its end on", () => {
    const { add, counts } = receivedIn(span)
    for (const ms of [-1, 48 * halfHour, 49 * halfHour, -halfHour]) add(span.fromMs + ms, 1000)
    expect([...counts]).toEqual(Array.from({ length: 48 }, () => 0))

    add(at(0), 1)
    add(at(0, halfHour - 1), 20)
    add(at(1), 300)
    add(at(48, -1), 4000)
    expect([counts[0], counts[1], counts[47]]).toEqual([21, 300, 4000])
  })

  it("are counted once each, whatever their times", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: span.fromMs - halfHour, max: span.toMs + halfHour })), (times) => {
        const { add, counts } = receivedIn(span)
        for (const time of times) add(time, 2)

        counts.forEach((count, i) => {
          expect(count).toBe(2 * times.filter((time) => time >= at(i) && time < at(i + 1)).length)
        })
      })
    )
  })
})

describe("the points", () => {
  it.each(ranges)("of %s are 48, ascending by the step, at the starts of the buckets", (range) => {
    const { fromMs } = onlineSpan(range, now)
    const points = onlinePoints(range, { fromMs, toMs: now }, factsOf(600))

    expect(points.map(({ ts }) => Date.parse(ts))).toEqual(
      Array.from({ length: 48 }, (_, i) => fromMs + i * onlineSteps[range] * 1000)
    )
    expect(points.every(({ ts }) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:00Z$/.test(ts))).toBe(true)
  })

  it.each<[number, 0 | 1 | 2]>([
    [0, 2],
    [593, 2],
    [594, 1],
    [596, 1],
    [597, 0],
    [600, 0]
  ])("with %d of 600 reports have status %d", (received, status) => {
    expect(point(3, factsOf(received))).toEqual({
      ts: isoSeconds(at(3)),
      status,
      rate: received / 600,
      received,
      expected: 600
    })
  })

  it("have their status exactly at the thresholds, for every number that has them", () => {
    // 99.5 % and 99 % of 200 n are whole.
    for (let n = 1; n <= 63; n++) {
      const intervalMs = halfHour / (200 * n)
      const statuses = [199 * n, 199 * n - 1, 198 * n, 198 * n - 1].map((received) => {
        const { expected, status } = point(0, factsOf(received, { intervalMs })) ?? { expected: 0, status: 9 }
        expect(expected).toBe(200 * n)
        return status
      })
      expect(statuses).toEqual([0, 1, 1, 2])
    }
  })

  it("pass 1 when more was received than was promised", () => {
    expect(point(0, factsOf(900))).toMatchObject({ status: 0, rate: 1.5, received: 900, expected: 600 })
  })

  it.each([
    [7000, 258],
    [1000, 1800],
    [1_799_999, 2],
    [1_800_000, 1],
    [86_400_000, 1]
  ])("round up what an interval of %d ms promises to %d", (intervalMs, expected) => {
    expect(point(0, factsOf(1, { intervalMs }))?.expected).toBe(expected)
  })
})

describe("a node that was added", () => {
  it("within a bucket promised nothing before, in earlier ones is without samples, in later ones promises all", () => {
    const points = onlinePoints("24h", span, factsOf(0, { createdMs: at(5, halfHour - 60_000) }))

    expect(points.map(({ expected }) => expected)).toEqual([
      600,
      600,
      600,
      600,
      600,
      20,
      ...Array.from({ length: 42 }, () => 600)
    ])
    expect(points.every(({ rate, status }) => rate === 0 && status === 2)).toBe(true)
  })

  it("within a bucket is wholly online when it sent all that it promised since", () => {
    expect(point(5, factsOf(20, { createdMs: at(5, halfHour - 60_000) }))).toMatchObject({ status: 0, rate: 1 })
  })

  it("at the border of two buckets promises all of the later one and is without samples in the earlier", () => {
    const points = onlinePoints("24h", span, factsOf(0, { createdMs: at(5) }))

    expect(points.map(({ expected }) => expected)).toEqual(Array.from({ length: 48 }, () => 600))
  })
})

describe("an outage of this service", () => {
  it("takes its part away from what a bucket promised", () => {
    const runs = [
      { fromMs: 0, toMs: at(2, 600_000) },
      { fromMs: at(2, 1_200_000), toMs: at(3, 300_000) },
      { fromMs: at(3, 301_000), toMs: now }
    ]
    const points = onlinePoints("24h", span, factsOf(400, { runs }))

    expect(points.slice(1, 5).map(({ expected }) => expected)).toEqual([600, 400, 600, 600])
    expect(points[2]).toMatchObject({ status: 0, rate: 1, received: 400 })
    expect(points[3]).toMatchObject({ status: 2, rate: 400 / 600 })
  })

  it("of a whole bucket and more promises nothing, so that nothing is missed in it", () => {
    const runs = [
      { fromMs: 0, toMs: at(2, halfHour / 2) },
      { fromMs: at(4, halfHour / 2), toMs: now }
    ]
    const points = onlinePoints("24h", span, factsOf(0, { runs }))

    expect(points.slice(1, 6).map(({ expected }) => expected)).toEqual([600, 300, 0, 300, 600])
    expect(points[3]).toMatchObject({ status: 0, rate: 1, received: 0 })
    expect(points[2]).toMatchObject({ status: 2, rate: 0 })
  })

  it("is no excuse before the first run: that time counts as any other", () => {
    for (const runs of [[], [{ fromMs: at(10, 500_000), toMs: now }], [{ fromMs: now - 1, toMs: now }]]) {
      const points = onlinePoints("24h", span, factsOf(0, { runs }))

      expect(points.map(({ expected }) => expected)).toEqual(Array.from({ length: 48 }, () => 600))
      expect(points.every(({ status }) => status === 2)).toBe(true)
    }
  })

  it("before a node was added within the same bucket changes nothing for it", () => {
    const runs = [
      { fromMs: 0, toMs: at(5) },
      { fromMs: at(5, 900_000), toMs: now }
    ]

    expect(point(5, factsOf(0, { runs, createdMs: at(5, 1_200_000) }))?.expected).toBe(200)
    expect(point(5, factsOf(0, { runs, createdMs: at(5, 300_000) }))?.expected).toBe(300)
  })

  it("leaves over all buckets just the time that the service ran", () => {
    const borders = fc
      .array(fc.integer({ min: span.fromMs, max: span.toMs }), { minLength: 2, maxLength: 12 })
      .map((times) => [...new Set(times)].sort((a, b) => a - b))
    fc.assert(
      fc.property(borders, (times) => {
        const runs: Array<Span> = [{ fromMs: 0, toMs: times[0] as number }]
        for (let i = 1; i + 1 < times.length; i += 2) {
          runs.push({ fromMs: times[i] as number, toMs: times[i + 1] as number })
        }
        const ran = runs.reduce((sum, run) => sum + Math.max(0, run.toMs - Math.max(run.fromMs, span.fromMs)), 0)
        const points = onlinePoints("24h", span, factsOf(0, { runs, intervalMs: 1 }))

        expect(points.reduce((sum, { expected }) => sum + expected, 0)).toBe(ran)
      })
    )
  })
})

describe("an instant on the wire", () => {
  it("is written in whole seconds of UTC, in whatever order instants are asked for", () => {
    const instant = fc.integer({ min: -1e13, max: 1e14 })
    fc.assert(
      fc.property(fc.array(fc.tuple(instant, fc.nat(172_800_000)), { maxLength: 20 }), (pairs) => {
        for (const ms of pairs.flatMap(([first, later]) => [first, first + later, first])) {
          expect(isoSeconds(ms)).toBe(`${new Date(ms).toISOString().slice(0, 19)}Z`)
        }
      })
    )
  })
})
