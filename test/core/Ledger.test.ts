// The ledger of one node: bounded, whatever names come and go, without losing a byte, and the same after it travelled.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { bucketMs } from "../../src/core/Bucket.ts"
import type { WideCounters } from "../../src/core/Details.ts"
import { layoutOf, Nic, nicSize } from "../../src/core/Layout.ts"
import {
  type ClosedFact,
  emptyLedger,
  type Ledger,
  openFactsOf,
  packed,
  record,
  unpacked,
  vanishedMax
} from "../../src/core/Ledger.ts"
import { originOf } from "../../src/core/Origin.ts"

const start = 1_800_000_000_000
const second = 1000

type Counters = Readonly<Record<string, readonly [recv: number, sent: number]>>

/** A report with these interfaces, some seconds after the start. */
const tell = (ledger: Ledger, afterSec: number, counters: Counters, wide: WideCounters | null = null) => {
  const at = start + afterSec * second
  const nics = Object.keys(counters)
  const layout = layoutOf({ nics, physical: [], logical: [], filesystems: [], baseIo: [], sensors: [] })
  const vector = new Float64Array(layout.size)
  nics.forEach((name, i) => {
    vector[layout.nicsAt + i * nicSize + Nic.recv] = counters[name]?.[0] ?? 0
    vector[layout.nicsAt + i * nicSize + Nic.sent] = counters[name]?.[1] ?? 0
  })
  const origin = originOf("host", at, afterSec + 86_400, at)
  return record(ledger, { origin, layout, vector, wide, limitMs: 300_000 })
}
const travelled = (ledger: Ledger): Ledger => unpacked(JSON.parse(JSON.stringify(packed(ledger))) as never)

describe("a ledger", () => {
  it("knows nothing of an interface but its name until the second report", () => {
    const ledger = emptyLedger()
    expect(tell(ledger, 10, { eth0: [5, 6] })).toBeUndefined()
    expect(openFactsOf(ledger, start + 10 * second)).toMatchObject([
      { iface: "eth0", firstSeenAt: start + 10 * second, hasEnded: false, fact: { inBytes: 0, coveredMs: 0 } }
    ])
    expect(openFactsOf(ledger, start + bucketMs - 1)[0]?.hasEnded).toBe(false)
    expect(openFactsOf(ledger, start + bucketMs)[0]?.hasEnded).toBe(true)
  })

  it("holds the last report's interfaces and 64 others, and makes a fact of what the dropped ones counted", () => {
    const ledger = emptyLedger()
    const closed: Array<ClosedFact> = []
    // Containers: each has an interface of its own name for two reports.
    for (let n = 0; n < 500; n++) {
      for (const turn of [0, 1]) {
        const facts = tell(ledger, n * 2 + turn, { eth0: [n, n], [`veth${n}`]: [turn * 100, turn * 7] })
        closed.push(...(facts ?? []))
        expect(ledger.entries.size).toBeLessThanOrEqual(2 + vanishedMax)
      }
    }
    expect(ledger.dropped).toBe(500 - 1 - vanishedMax)
    const all = [...closed, ...openFactsOf(ledger, start)].filter(({ iface }) => iface !== "eth0")
    expect(all).toHaveLength(500)
    for (const { fact } of all) expect([fact.inBytes, fact.outBytes]).toEqual([100, 7])
    // The longest unseen went first.
    expect([...ledger.entries.keys()].slice(0, 2)).toEqual(["eth0", `veth${499 - vanishedMax}`])
  })

  it("does not begin a bucket again for a name that comes back after it was dropped", () => {
    const ledger = emptyLedger()
    tell(ledger, 0, { back: [0, 0] })
    const closed = [...(tell(ledger, 1, { back: [100, 0] }) ?? [])]
    for (let n = 0; n <= vanishedMax; n++) closed.push(...(tell(ledger, 2 + n, { [`veth${n}`]: [0, 0] }) ?? []))
    expect(ledger.dropped).toBe(1)
    for (const [afterSec, recv] of [
      [100, 1000],
      [200, 1300],
      [400, 1900],
      [700, 2800]
    ] as const) {
      closed.push(...(tell(ledger, afterSec, { back: [recv, 0] }) ?? []))
    }
    const own = [...closed, ...openFactsOf(ledger, start)].filter(({ iface }) => iface === "back")
    const starts = own.map(({ fact }) => fact.start)
    expect(new Set(starts).size).toBe(starts.length)
    // What passed while nobody remembered it is not known.
    expect(own.reduce((sum, { fact }) => sum + fact.inBytes, 0)).toBe(100 + (2800 - 1000))
  })

  it("counts exact digits by name, also when the name is one that every object has", () => {
    const ledger = emptyLedger()
    const counters = { constructor: [1, 1], __proto: [2 ** 60, 0] } as const
    // As the journal gives it back: an object with a prototype.
    const wide = (recv: string) => JSON.parse(`{"__proto":["${recv}","0"]}`) as WideCounters
    tell(ledger, 0, counters, wide("1152921504606846977"))
    tell(ledger, 3, { constructor: [4, 1], __proto: [2 ** 60, 0] } as const, wide("1152921504606846980"))
    expect(openFactsOf(ledger, start).map(({ fact, iface }) => [iface, fact.inBytes])).toEqual([
      ["constructor", 3],
      ["__proto", 3]
    ])
  })

  it("closes a bounded number of facts after the longest silence of the most interfaces, and keeps the sums", () => {
    const ledger = emptyLedger()
    const many = (bytes: number) =>
      Object.fromEntries(Array.from({ length: 256 }, (_, i) => [`if${i}`, [bytes, i] as const]))
    tell(ledger, 0, many(0))
    const closed = tell(ledger, 45 * 86_400, many(1e9)) ?? []
    expect(closed.length).toBeGreaterThan(256 * 288)
    expect(closed.length).toBeLessThan(256 * 300)
    const sums = new Map<string, number>()
    for (const { fact, iface } of [...closed, ...openFactsOf(ledger, start)]) {
      sums.set(iface, (sums.get(iface) ?? 0) + fact.inBytes)
    }
    expect([...sums.values()].every((sum) => sum === 1e9)).toBe(true)
  })

  it("is the same after it travelled as JSON at any moment, and goes on as the one that stayed", () => {
    const names = fc.constantFrom("eth0", "eth1", "ppp0", "wg0")
    const reports = fc.array(
      fc.record({
        afterSec: fc.nat(900).map((sec) => sec + 1),
        bytes: fc.dictionary(names, fc.tuple(fc.nat(1e9), fc.nat(1e9)))
      }),
      { maxLength: 30 }
    )
    let facts = 0
    fc.assert(
      fc.property(reports, fc.nat(30), (sent, at) => {
        const whole = emptyLedger()
        let again = emptyLedger()
        let now = 0
        for (const [i, { afterSec, bytes }] of sent.entries()) {
          now += afterSec
          if (i === at) again = travelled(again)
          const closed = tell(whole, now, bytes as Counters)
          expect(tell(again, now, bytes as Counters)).toEqual(closed)
          facts += closed?.length ?? 0
        }
        expect([...again.entries]).toEqual([...whole.entries])
        expect(packed(again)).toEqual(packed(whole))
      }),
      { numRuns: 200 }
    )
    // The property says nothing when nothing is closed.
    expect(facts).toBeGreaterThan(1000)
  })

  it("is refused when what was stored is not whole", () => {
    const ledger = emptyLedger()
    tell(ledger, 0, { eth0: [1, 1] })
    expect(() => unpacked({ ...packed(ledger), origins: [] })).toThrow("has no origin 0")
  })
})
