// Two readings of an interface: what may be booked, and how restarts, replacements and late reports are told apart.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  book,
  continuity,
  type Continuity,
  type Counters,
  type Exact,
  Flag,
  measuredMs
} from "../../src/core/Counter.ts"
import { originOf } from "../../src/core/Origin.ts"

const start = Date.UTC(2026, 5, 14)
const second = 1000
const day = 86_400 * second

interface Sent {
  readonly hostname?: string
  readonly bootedAt?: number
  /** How far the machine's clock is from the true time. */
  readonly clockMs?: number
  readonly delayMs?: number
  readonly recv?: Exact
  readonly sent?: Exact
}
const reading = (
  at: number,
  { bootedAt = start - day, clockMs = 0, delayMs = 0, hostname = "edge", recv = 0, sent = 0 }: Sent = {}
): Counters => ({
  ...originOf(hostname, at + clockMs, Math.floor((at - bootedAt) / second), at + delayMs),
  recv,
  sent
})
const at = start + 1000 * second
const later = (seconds: number): number => at + seconds * second
const booked = (
  kind: Exclude<Continuity, "late">,
  from: readonly [Exact, Exact],
  to: readonly [Exact, Exact],
  seconds = 3
) =>
  book(reading(at, { recv: from[0], sent: from[1] }), reading(later(seconds), { recv: to[0], sent: to[1] }), kind, {
    inBytes: -1,
    outBytes: -1,
    flags: -1
  })

describe("a reading after another", () => {
  const cases: ReadonlyArray<readonly [string, Continuity, Counters, Counters]> = [
    ["under another host name is of a replaced machine", "replaced", reading(at), reading(later(3), { hostname: "b" })],
    ["that is repeated is late", "late", reading(at), reading(at, { delayMs: 500 })],
    ["that is repeated an hour later is late", "late", reading(at), reading(at, { delayMs: 3600 * second })],
    ["that was measured before is late", "late", reading(at), reading(at - 6 * second, { delayMs: 7 * second })],
    [
      "of the boot before is late",
      "late",
      reading(at, { bootedAt: at - 20 * second }),
      reading(at - 50 * second, { delayMs: 55 * second })
    ],
    [
      "that is older for more than a minute is of a machine set back",
      "replaced",
      reading(at),
      reading(at - 6 * second, { delayMs: 100 * second })
    ],
    [
      "of an older boot for more than a minute is of another machine",
      "replaced",
      reading(at),
      reading(later(90), { bootedAt: start - 9 * day })
    ],
    [
      "of a boot that began long before the first is of another machine",
      "replaced",
      reading(at),
      reading(later(3), { bootedAt: start - day / 2 })
    ],
    ["in the same boot continues", "same", reading(at), reading(later(3))],
    ["within the same second of uptime continues", "same", reading(at), reading(at + 400)],
    ["a day later continues", "same", reading(at), reading(at + day)],
    ["with its clock set ahead continues", "same", reading(at), reading(later(3), { clockMs: 90 * second })],
    ["with its clock set back continues", "same", reading(at), reading(later(3), { clockMs: -3600 * second })],
    [
      "received after our clock was set back continues",
      "same",
      reading(at, { delayMs: 3600 * second }),
      reading(later(3))
    ],
    ["after a reboot is of a restart", "restarted", reading(at), reading(later(40), { bootedAt: later(30) })],
    [
      "after a reboot with a longer uptime is of a restart",
      "restarted",
      reading(at, { bootedAt: at - 100 * second }),
      reading(later(600), { bootedAt: later(200) })
    ],
    [
      "after a reboot without a battery for its clock is of a restart",
      "restarted",
      reading(at),
      reading(later(90), { bootedAt: later(60), clockMs: -61 * second - (at - start) - day + 1000 * second })
    ]
  ]

  it.each(cases)("%s", (_, expected, previous, current) => {
    expect(continuity(previous, current)).toBe(expected)
  })
})

describe("a pair of readings", () => {
  it.each<readonly [string, readonly [Exact, Exact], readonly [Exact, Exact]]>([
    ["both directions went back", [1000, 2000], [10, 20]],
    ["only received went back", [1000, 2000], [999, 9000]],
    ["only sent went back", [1000, 2000], [9000, 0]],
    ["digits past 2^53 went back", ["9007199254740993", 5], ["9007199254740992", 6]]
  ])("books nothing without a restart when %s", (_, from, to) => {
    expect(booked("same", from, to)).toEqual({ inBytes: 0, outBytes: 0, flags: Flag.reset })
  })

  it("books nothing for a replaced machine, even if its counters are higher", () => {
    expect(booked("replaced", [1000, 2000], [5000, 6000])).toEqual({ inBytes: 0, outBytes: 0, flags: Flag.reset })
  })

  it("quarantines both directions when one jumps past what a link carries", () => {
    const fits = 18 * 50_000_000_000

    expect(booked("same", [0, 0], [fits + 1, 5])).toEqual({ inBytes: 0, outBytes: 0, flags: Flag.quarantined })
    expect(booked("same", [0, 0], [fits, 5])).toEqual({ inBytes: fits, outBytes: 5, flags: 0 })
  })

  it("quarantines a jump that a double cannot hold, however long it took", () => {
    const twenty = 20 * 86_400

    expect(booked("same", [0, 0], ["9007199254740992", 0], twenty).flags).toBe(Flag.quarantined)
    expect(booked("same", [0, 0], [Number.MAX_SAFE_INTEGER, 0], twenty).inBytes).toBe(Number.MAX_SAFE_INTEGER)
  })

  it("quarantines a new counter that no link could have filled since the restart", () => {
    const flags = Flag.reset | Flag.quarantined

    expect(booked("restarted", ["18446744073709551615", 9], [1e15, 8])).toEqual({ inBytes: 0, outBytes: 0, flags })
  })

  it("says that a reset looks like a 32-bit wrap, and books nothing", () => {
    const flags = Flag.reset | Flag.wrap32

    expect(booked("same", [4_294_967_000, 7], [500, 8])).toEqual({ inBytes: 0, outBytes: 0, flags })
    expect(booked("same", [4_294_967_000, 4_294_960_000], [500, 8]).flags).toBe(flags)
    expect(booked("same", [4_294_967_000, 500], [500, 8]).flags).toBe(Flag.reset)
    expect(booked("same", [4_294_967_296, 7], [500, 8]).flags).toBe(Flag.reset)
  })

  it("books the new counters of both directions as a lower bound after a restart", () => {
    const flags = Flag.reset | Flag.lowerBound

    expect(booked("restarted", [1000, 2000], [400, 2500])).toEqual({ inBytes: 400, outBytes: 2500, flags })
  })

  it("books no more than the difference after a restart that the counters may have survived", () => {
    const flags = Flag.reset | Flag.lowerBound

    expect(booked("restarted", [1000, 2000], [1400, 2500])).toEqual({ inBytes: 400, outBytes: 500, flags })
  })

  it("gives a late burst of bytes the time that it was measured over", () => {
    const held = 55 * second
    const previous = reading(at, { delayMs: held })
    const current = reading(later(60), { delayMs: 0 })

    expect(current.receivedAt - previous.receivedAt).toBe(5000)
    expect(measuredMs(previous, current)).toBe(60_000)
    expect(measuredMs(previous, reading(later(60), { clockMs: -day }))).toBe(59_000)
    expect(measuredMs(current, previous)).toBe(0)
  })

  it("books exact differences on either side of 2^53 and across it", () => {
    const counter = fc.bigInt({ min: 2n ** 53n - 100_000n, max: 2n ** 53n + 100_000n })
    const exact = (value: bigint): Exact => (value < 2n ** 53n ? Number(value) : `${value}`)
    fc.assert(
      fc.property(counter, counter, counter, counter, (a, b, c, d) => {
        const { flags, inBytes, outBytes } = booked("same", [exact(a), exact(b)], [exact(c), exact(d)])

        if (c < a || d < b) expect([flags & Flag.reset, inBytes, outBytes]).toEqual([Flag.reset, 0, 0])
        else expect([flags, inBytes, outBytes]).toEqual([0, Number(c - a), Number(d - b)])
      }),
      { numRuns: 500 }
    )
  })
})
