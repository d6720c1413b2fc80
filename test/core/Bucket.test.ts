// Five-minute facts: the contract's vectors, exact sums, and totals that stay within the truth whatever happens.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  advance,
  bucketAt,
  bucketMs,
  type Fact,
  factOf,
  gapLimitMs,
  isSample,
  opened,
  ratesOf
} from "../../src/core/Bucket.ts"
import { type Counters, Flag } from "../../src/core/Counter.ts"
import { emptyOrigin, judge, originOf } from "../../src/core/Origin.ts"

const start = Date.UTC(2026, 5, 14)
const second = 1000
const day = 86_400 * second
const limitMs = gapLimitMs(3 * second)

interface Machine {
  readonly bootedAt?: number
  readonly receivedAt?: number
}
const reading = (
  at: number,
  recv: number,
  sent: number,
  { bootedAt = start - day, receivedAt = at }: Machine = {}
): Counters => ({ ...originOf("edge", at, Math.floor((at - bootedAt) / second), receivedAt), recv, sent })

/** All facts that these readings come to; the last one is of the bucket that is still open. */
const counted = (readings: ReadonlyArray<Counters>, limit = limitMs): ReadonlyArray<Fact> => {
  const [first, ...rest] = readings
  const open = opened(first as Counters)
  const closed = rest.flatMap((next) => [...advance(open, next, limit)])
  return [...closed, factOf(open)]
}
const sum = (facts: ReadonlyArray<Fact>, side: "inBytes" | "outBytes"): number =>
  facts.reduce((total, fact) => total + fact[side], 0)

/** Bucket, bytes in/out, covered time, and the rates of a sample or the reason for none. */
const rowOf = (fact: Fact): string => {
  const rates = ratesOf(fact)
  const reason = fact.gaps > 0 ? `gap ${fact.gaps}` : fact.resets > 0 ? `reset ${fact.resets}` : "-"
  const bucket = new Date(fact.start).toISOString().slice(11, 16)
  const rest = isSample(fact) ? `at ${rates.in}/${rates.out}` : reason
  return `${bucket} ${fact.inBytes}/${fact.outBytes} ${fact.coveredMs / second} s ${rest}`
}
const readingsOf = (sent: string): ReadonlyArray<Counters> =>
  sent.split(/,\s+/).map((text) => {
    const [time = "", recv, out] = text.split(/[ /]/)
    return reading(Date.parse(`2026-06-14T${time}Z`), Number(recv), Number(out))
  })

/** Readings as `hh:mm:ss in/out` and rows as `rowOf` writes them. */
const vectors: ReadonlyArray<readonly [name: string, sent: string, ...rows: ReadonlyArray<string>]> = [
  ["T1", "00:04:58 5/9, 00:05:01 1005/509", "00:00 667/333 2 s -", "00:05 333/167 1 s -"],
  ["T2", "00:04:00 0/0, 00:09:00 300/600", "00:00 60/120 60 s -", "00:05 240/480 240 s -"],
  [
    "T3",
    "00:02:30 0/0, 00:14:30 7200/1441",
    "00:00 1500/300 150 s gap 1",
    "00:05 3000/601 300 s -",
    "00:10 2700/540 270 s -"
  ],
  ["T4", "00:00:00 0/0, 00:05:01 301/602", "00:00 300/600 300 s gap 1", "00:05 1/2 1 s -"],
  [
    "T5",
    `00:00:00 1000/5000, 00:01:00 7000/5600, 00:02:00 13000/6200, 00:03:00 13000/6200,
     00:04:00 43000/9200, 00:05:00 49000/9800, 00:06:00 55000/10400`,
    "00:00 48000/4800 300 s at 160/16",
    "00:05 6000/600 60 s -"
  ],
  [
    "T6",
    `00:00:00 100000/200000, 00:01:00 160000/260000, 00:02:00 500/900, 00:03:00 6500/6900,
     00:04:00 12500/12900, 00:05:00 18500/18900, 00:10:00 48500/48900`,
    "00:00 78000/78000 240 s reset 1",
    "00:05 30000/30000 300 s at 100/100"
  ],
  [
    "T7",
    "00:00:00 0/0, 00:05:00 30000/60000, 00:17:00 102000/204000, 00:20:00 120000/240000",
    "00:00 30000/60000 300 s at 100/200",
    "00:05 30000/60000 300 s gap 1",
    "00:10 30000/60000 300 s -",
    "00:15 30000/60000 300 s -"
  ],
  [
    "T8",
    "00:01:00 0/0, 00:05:00 24000/48000, 00:10:00 54000/108000",
    "00:00 24000/48000 240 s -",
    "00:05 30000/60000 300 s at 100/200"
  ],
  ["T9", "00:00:00 7/9, 00:05:00 7/9", "00:00 0/0 300 s at 0/0"]
]

describe("a five-minute fact", () => {
  it.each(vectors)("of vector %s is the contract's", (_, sent, ...rows) => {
    const facts = counted(readingsOf(sent))
    const isOpenBlank = facts.at(-1)?.coveredMs === 0

    expect((isOpenBlank ? facts.slice(0, -1) : facts).map(rowOf)).toEqual(rows)
  })

  it("is no sample for a part of a gap, a reset, a quarantined jump or a second below 270", () => {
    const good: Fact = { ...factOf(opened(reading(start, 0, 0))), coveredMs: 270_000, validMs: 270_000 }

    expect(isSample(good)).toBe(true)
    expect(isSample({ ...good, validMs: 269_999, coveredMs: 269_999 })).toBe(false)
    expect(isSample({ ...good, coveredMs: 280_000 })).toBe(false)
    expect(isSample({ ...good, gaps: 1 })).toBe(false)
    expect(isSample({ ...good, resets: 1 })).toBe(false)
    expect(isSample({ ...good, quarantined: 1 })).toBe(false)
    expect(ratesOf({ ...good, validMs: 0 })).toEqual({ in: 0, out: 0, both: 0 })
  })

  it("holds the best rate of single pairs, of both directions in one and the same pair", () => {
    const at = (seconds: number): number => start + seconds * second
    const sent = [reading(at(0), 0, 0), reading(at(3), 300, 30), reading(at(6), 390, 930), reading(at(9), 400, 940)]

    expect(counted(sent)[0]).toMatchObject({ bestIn: 100, bestOut: 300, bestBoth: 330 })
    expect(counted([...sent, reading(at(320), 1e9, 1e9)])[0]).toMatchObject({
      bestIn: 100,
      bestOut: 300,
      bestBoth: 330
    })
  })

  it("takes reports that were held up and come all at once for no burst", () => {
    const held = start + 30 * second
    const at = (seconds: number): Counters =>
      reading(start + seconds * second, seconds * 100, 0, { receivedAt: held + seconds })
    const [fact] = counted([at(1), at(4), at(7), at(10)])

    expect(fact).toMatchObject({ bestIn: 100, inBytes: 900 })
  })

  it("names a reset with a known restart and books the new counters since the boot, not over the silence", () => {
    const bootedAt = start + 3 * 3600 * second
    const after = reading(bootedAt + 60 * second, 500, 70, { bootedAt })
    const facts = counted([reading(start, 9000, 9000), reading(start + 60 * second, 9600, 9060), after])

    expect(facts.map(rowOf)).toEqual(["00:00 600/60 60 s -", "03:00 500/70 0 s reset 1"])
    expect(facts[1]?.flags).toBe(Flag.reset | Flag.lowerBound)
  })

  it("counts a jump that no link carries without booking it, and goes on from there", () => {
    const at = (seconds: number, recv: number): Counters => reading(start + seconds * second, recv, 0)
    const [fact] = counted([at(0, 0), at(3, 300), at(6, 4e15), at(9, 900), at(12, 1200)])

    expect(fact).toMatchObject({ inBytes: 600, quarantined: 1, resets: 1, coveredMs: 6000 })
  })

  it("judges a gap by three report intervals where these are longer than 300 s", () => {
    const pair = [reading(start, 0, 0), reading(start + 900 * second, 900, 0)]

    expect(gapLimitMs(100_001)).toBe(300_003)
    expect(gapLimitMs(99_999)).toBe(300_000)
    expect(counted(pair, gapLimitMs(300 * second)).map(({ gaps }) => gaps)).toEqual([0, 0, 0, 0])
    expect(counted(pair, gapLimitMs(299 * second)).map(({ gaps }) => gaps)).toEqual([1, 0, 0, 0])
  })

  it("never goes back to a closed bucket when our clock is set back, and loses no byte", () => {
    const step = (i: number, clockBackMs: number): Counters =>
      reading(start + i * 60 * second, i * 600, i, { receivedAt: start + i * 60 * second - clockBackMs })
    const facts = counted([0, 1, 2, 3, 4, 5, 6, 7, 8].map((i) => step(i, i < 6 ? 0 : 240 * second)))
    const starts = facts.map((fact) => fact.start)

    expect(starts).toEqual([...new Set(starts)].sort((a, b) => a - b))
    expect(sum(facts, "inBytes")).toBe(4800)
    expect(facts.at(-1)).toMatchObject({ gaps: 1, inBytes: 1800, outBytes: 3, coveredMs: 0 })
    expect(facts.filter(isSample).map(rowOf)).toEqual(["00:00 3000/5 300 s at 10/0.016666666666666666"])
  })

  it("counts a reset in the open bucket when our clock was set back before it", () => {
    const back = reading(start + 400 * second, 5, 5, { receivedAt: start + 100 * second })
    const facts = counted([reading(start, 0, 0), reading(start + 310 * second, 310, 0), back])

    expect(facts.map(rowOf)).toEqual(["00:00 300/0 300 s gap 1", "00:05 10/0 10 s reset 1"])
  })

  it("fills at most 45 days of buckets after a long silence and leaves the older share where it was", () => {
    const facts = counted([reading(start, 0, 0), reading(start + 90 * day, 90 * 86_400, 0)])

    expect(facts.length).toBe(45 * 288 + 2)
    expect(facts[0]).toMatchObject({ start, inBytes: 45 * 86_400, coveredMs: bucketMs, gaps: 1 })
    expect(facts[1]).toMatchObject({ start: start + 45 * day, inBytes: 300, gaps: 0 })
    expect(sum(facts, "inBytes")).toBe(90 * 86_400)
  })
})

describe("bytes", () => {
  it("of any pair sum exactly over its buckets, each within a byte of its share of the time", () => {
    const bytes = fc.oneof(fc.nat(5000), fc.integer({ min: 0, max: 2 ** 39 }))
    fc.assert(
      fc.property(
        fc.nat(600_000),
        fc.integer({ min: 1, max: 5_000_000 }),
        bytes,
        bytes,
        (from, distance, ins, outs) => {
          const to = from + distance
          const facts = counted([reading(start + from, 7, 9), reading(start + to, 7 + ins, 9 + outs)])

          expect([sum(facts, "inBytes"), sum(facts, "outBytes")]).toEqual([ins, outs])
          for (const { coveredMs, inBytes, start: at } of facts) {
            const ms = Math.min(start + to, at + bucketMs) - Math.max(start + from, at)
            expect(coveredMs).toBe(ms)
            expect(Math.abs(inBytes - (ins * ms) / distance)).toBeLessThanOrEqual(1 + ins * 1e-15)
          }
        }
      ),
      { numRuns: 400 }
    )
  })

  it("never pass the truth and miss none of one boot, in any order, repeated or lost on the way", () => {
    const copies = fc.array(fc.integer({ min: 0, max: 60_000 }), { maxLength: 3 })
    const report = fc.record({ waitMs: fc.integer({ min: 500, max: 30_000 }), bytes: fc.nat(1_000_000), copies })
    const boot = fc.array(report, { minLength: 60, maxLength: 80 })
    fc.assert(
      fc.property(fc.array(boot, { minLength: 1, maxLength: 3 }), fc.boolean(), (boots, isJudged) => {
        const sent: Array<Counters> = []
        let truth = 0
        let at = start
        for (const reports of boots) {
          // Boots of four minutes at least: no report is held up for longer than a minute.
          const bootedAt = at + 20 * second
          at = bootedAt + 240 * second
          let recv = 0
          for (const { bytes, copies, waitMs } of reports) {
            at += waitMs
            recv += bytes
            truth += bytes
            sent.push(...copies.map((ms) => reading(at, recv, recv, { bootedAt, receivedAt: at + ms })))
          }
        }
        fc.pre(sent.length > 0)
        sent.sort((a, b) => a.receivedAt - b.receivedAt)
        const state = emptyOrigin()
        const applied = isJudged ? sent.filter((next) => judge(state, next) === "apply") : sent
        const facts = counted(applied)
        const total = sum(facts, "inBytes")

        expect(total).toBeLessThanOrEqual(truth)
        expect(sum(facts, "outBytes")).toBe(total)
        if (boots.length === 1) {
          const counters = applied.map(({ recv }) => recv as number)
          expect(total).toBe(Math.max(...counters) - (counters[0] as number))
        }
      }),
      { numRuns: 150 }
    )
  })

  it("stay within the truth less one interval through reboots, wraps and replaced interfaces, which are flagged", () => {
    const event = fc.constantFrom("none", "none", "none", "lost", "reboot", "replaced", "wrap")
    const step = fc.record({
      event,
      waitMs: fc.integer({ min: 1000, max: 400_000 }),
      recv: fc.integer({ min: 0, max: 2 ** 32 }),
      sent: fc.nat(1_000_000)
    })
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), (steps) => {
        let at = start
        let counter = { recv: 4_000_000_000, sent: 4_000_000_000 }
        let bootedAt = start - day
        let since = { recv: 0, sent: 0, isBroken: false, isRebooted: false }
        let last = reading(at, counter.recv, counter.sent, { bootedAt })
        const open = opened(last)
        const facts = new Map<number, Fact>()
        let truth = 0
        let floor = 0
        let flagged = 0
        for (const { event, recv, sent, waitMs } of steps) {
          at += waitMs
          since = { ...since, recv: since.recv + recv, sent: since.sent + sent }
          counter = { recv: counter.recv + recv, sent: counter.sent + sent }
          if (event === "wrap") counter = { recv: counter.recv % 2 ** 32, sent: counter.sent % 2 ** 32 }
          else if (event === "reboot" || event === "replaced") {
            // Half of the bytes went over the old counters, half over the new.
            counter = { recv: Math.floor(recv / 2), sent: Math.floor(sent / 2) }
            if (event === "reboot") {
              at += 20 * second
              bootedAt = at - second
              since.isRebooted = true
            }
          }
          since.isBroken ||= event !== "none" && event !== "lost"
          if (event === "lost") continue
          const next = reading(at, counter.recv, counter.sent, { bootedAt })
          const isBack = counter.recv < (last.recv as number) || counter.sent < (last.sent as number)
          if (isBack || since.isRebooted) flagged++
          truth += since.recv
          if (!since.isBroken) floor += since.recv
          for (const fact of advance(open, next, limitMs)) facts.set(fact.start, fact)
          facts.set(open.start, factOf(open))
          last = next
          since = { recv: 0, sent: 0, isBroken: false, isRebooted: false }
          const total = sum([...facts.values()], "inBytes")

          expect(total).toBeLessThanOrEqual(truth)
          expect(total).toBeGreaterThanOrEqual(floor)
        }
        const all = [...facts.values()]

        expect(all.reduce((count, { resets }) => count + resets, 0)).toBe(flagged)
        expect(all.filter((fact) => fact.resets > 0 && isSample(fact))).toEqual([])
        expect(all.every(({ start }) => start === bucketAt(start))).toBe(true)
      }),
      { numRuns: 200 }
    )
  })

  it("come out the same from a state that was stored and read back between any two reports", () => {
    const sent = Array.from({ length: 400 }, (_, i) => reading(start + i * 7001, i * i * 1000, i * 77))
    let stored = opened(sent[0] as Counters)
    const facts = sent.slice(1).flatMap((next) => {
      stored = JSON.parse(JSON.stringify(stored)) as typeof stored
      return [...advance(stored, next, limitMs)]
    })

    expect([...facts, factOf(stored)]).toEqual(counted(sent))
  })
})
