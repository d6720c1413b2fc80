// The traffic ledger of one node: an open bucket per interface, and the facts that a report completes.
import { advance, bucketMs, bucketsPerPair, type Fact, factOf, isBlank, opened, type OpenBucket } from "./Bucket.ts"
import type { Counters } from "./Counter.ts"
import type { WideCounters } from "./Details.ts"
import { type Layout, Nic, nicSize } from "./Layout.ts"
import type { Origin } from "./Origin.ts"

/** Interfaces that are not in the last report but may come back; a report has at most 256. */
export const vanishedMax = 64
/** Facts that one report may complete, some 0.3 s of a commit: 45 days of silence of five interfaces. */
const factsMax = 65_536
/** A day is spread for every interface, however many there are. */
const bucketsMin = 288

/** A fact that will not change any more, with the interface it is about. */
export interface ClosedFact {
  readonly iface: string
  /** Receive time of the first report that had the interface, milliseconds. */
  readonly firstSeenAt: number
  readonly fact: Fact
}

/** A fact as far as it got. */
export interface OpenFact extends ClosedFact {
  /** The bucket is over by the clock, and nothing that is on its way can add to it but the next report. */
  readonly hasEnded: boolean
}

interface Entry {
  readonly firstSeenAt: number
  readonly open: OpenBucket
}

/** Plain and mutable; owned by the node's state. */
export interface Ledger {
  readonly entries: Map<string, Entry>
  /** Interfaces that were dropped because too many others vanished after them. */
  dropped: number
  /** End of the last bucket that was closed by dropping: a name that comes back must not begin within it again. */
  droppedUntil: number
}

export const emptyLedger = (): Ledger => ({ entries: new Map(), dropped: 0, droppedUntil: 0 })

/** Written for every interface and read before the call returns. */
const reading: Counters = {
  hostname: "",
  bootAt: 0,
  reportedAt: 0,
  uptimeSec: 0,
  receivedAt: 0,
  recv: 0,
  sent: 0
}

const takeOrigin = (origin: Origin): void => {
  reading.hostname = origin.hostname
  reading.bootAt = origin.bootAt
  reading.reportedAt = origin.reportedAt
  reading.uptimeSec = origin.uptimeSec
  reading.receivedAt = origin.receivedAt
}

/** An applied report as the ledger looks at it. */
export interface Reported {
  readonly origin: Origin
  readonly layout: Layout
  readonly vector: Float64Array
  /** Exact digits of counters that the vector cannot hold. */
  readonly wide: WideCounters | null
  /** Longest distance of two reports that is no gap, milliseconds. */
  readonly limitMs: number
}

/** Counts every interface of an applied report; gives the facts that are complete with it, undefined for none. */
export const record = (
  ledger: Ledger,
  { layout, limitMs, origin, vector, wide }: Reported
): ReadonlyArray<ClosedFact> | undefined => {
  const { entries } = ledger
  const { nics, nicsAt } = layout
  const bucketsMax = Math.max(bucketsMin, Math.min(bucketsPerPair, Math.floor(factsMax / nics.length)))
  let closed: Array<ClosedFact> | undefined
  takeOrigin(origin)
  for (let i = 0; i < nics.length; i++) {
    const iface = nics[i] as string
    const at = nicsAt + i * nicSize
    // Read from JSON, it has a prototype, and names are a stranger's text.
    const digits = wide !== null && Object.hasOwn(wide, iface) ? wide[iface] : undefined
    reading.recv = digits?.[0] ?? (vector[at + Nic.recv] as number)
    reading.sent = digits?.[1] ?? (vector[at + Nic.sent] as number)
    const entry = entries.get(iface)
    if (entry === undefined) {
      begin(ledger, iface)
      continue
    }
    const facts = advance(entry.open, reading, limitMs, bucketsMax)
    if (facts.length === 0) continue
    closed ??= []
    for (const fact of facts) closed.push({ iface, firstSeenAt: entry.firstSeenAt, fact })
  }
  return entries.size > nics.length + vanishedMax ? dropVanished(ledger, nics, closed) : closed
}

const begin = (ledger: Ledger, iface: string): void => {
  const open = opened(reading)
  // What passes before the bucket begins is booked in it all the same, uncovered.
  open.start = Math.max(open.start, ledger.droppedUntil)
  ledger.entries.set(iface, { firstSeenAt: reading.receivedAt, open })
}

/** The longest unseen go first; what they counted becomes a fact. */
const dropVanished = (
  ledger: Ledger,
  nics: ReadonlyArray<string>,
  closed: Array<ClosedFact> = []
): ReadonlyArray<ClosedFact> | undefined => {
  const present = new Set(nics)
  const vanished = [...ledger.entries].filter(([iface]) => !present.has(iface))
  vanished.sort(([, a], [, b]) => a.open.receivedAt - b.open.receivedAt)
  for (const [iface, { firstSeenAt, open }] of vanished.slice(0, Math.max(0, vanished.length - vanishedMax))) {
    ledger.entries.delete(iface)
    ledger.dropped++
    if (isBlank(open)) continue
    ledger.droppedUntil = Math.max(ledger.droppedUntil, open.start + bucketMs)
    closed.push({ iface, firstSeenAt, fact: factOf(open) })
  }
  return closed.length === 0 ? undefined : closed
}

export const ended = (closed: ClosedFact): OpenFact => ({ ...closed, hasEnded: true })

/** Every interface's open bucket at `now`, also those about which nothing is known but the name. */
export const openFactsOf = (ledger: Ledger, now: number): ReadonlyArray<OpenFact> =>
  Array.from(ledger.entries, ([iface, { firstSeenAt, open }]) => ({
    iface,
    firstSeenAt,
    fact: factOf(open),
    hasEnded: open.start + bucketMs <= now
  }))

type PackedOrigin = readonly [
  hostname: string,
  bootAt: number,
  reportedAt: number,
  uptimeSec: number,
  receivedAt: number
]
type PackedEntry = readonly [
  iface: string,
  firstSeenAt: number,
  origin: number,
  recv: Counters["recv"],
  sent: Counters["sent"],
  start: number,
  ...totals: ReadonlyArray<number>
]

/** The stored form: lists without names, and an origin only once where interfaces come from one report. */
export interface PackedLedger {
  readonly dropped: number
  readonly droppedUntil: number
  readonly origins: ReadonlyArray<PackedOrigin>
  readonly entries: ReadonlyArray<PackedEntry>
}

const totalNames = [
  "inBytes",
  "outBytes",
  "coveredMs",
  "validMs",
  "validIn",
  "validOut",
  "gaps",
  "resets",
  "quarantined",
  "flags",
  "bestIn",
  "bestOut",
  "bestBoth"
] as const

export const packed = ({ dropped, droppedUntil, entries }: Ledger): PackedLedger => {
  const origins: Array<PackedOrigin> = []
  const list: Array<PackedEntry> = []
  for (const [iface, { firstSeenAt, open }] of entries) {
    const { bootAt, hostname, receivedAt, reportedAt, uptimeSec } = open
    const origin = origins.findIndex(
      (one) =>
        one[0] === hostname &&
        one[1] === bootAt &&
        one[2] === reportedAt &&
        one[3] === uptimeSec &&
        one[4] === receivedAt
    )
    if (origin < 0) origins.push([hostname, bootAt, reportedAt, uptimeSec, receivedAt])
    list.push([
      iface,
      firstSeenAt,
      origin < 0 ? origins.length - 1 : origin,
      open.recv,
      open.sent,
      open.start,
      ...totalNames.map((name) => open[name])
    ])
  }
  return { dropped, droppedUntil, origins, entries: list }
}

/** Throws a TypeError or a RangeError when it was not made by `packed`. */
export const unpacked = ({ dropped, droppedUntil, entries, origins }: PackedLedger): Ledger => {
  const ledger: Ledger = { entries: new Map(), dropped, droppedUntil }
  for (const [iface, firstSeenAt, index, recv, sent, start, ...totals] of entries) {
    const origin = origins[index]
    if (origin === undefined) throw new RangeError(`the ledger has no origin ${index}`)
    const [hostname, bootAt, reportedAt, uptimeSec, receivedAt] = origin
    const open = opened({ hostname, bootAt, reportedAt, uptimeSec, receivedAt, recv, sent })
    open.start = start
    for (let i = 0; i < totalNames.length; i++) open[totalNames[i] as (typeof totalNames)[number]] = totals[i] as number
    ledger.entries.set(iface, { firstSeenAt, open })
  }
  return ledger
}
