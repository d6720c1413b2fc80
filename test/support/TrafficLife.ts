// Machines whose every byte is known, the reports of their lives, and the ledger that a service makes of them.
import { Effect } from "effect"
import { Intake } from "../../runtime/Intake.ts"
import type { NodeActor } from "../../runtime/NodeActor.ts"
import { NodeId } from "../../schema/Ids.ts"
import type { Fact } from "../../src/core/Bucket.ts"
import * as Traffic from "../../src/store/Traffic.ts"
import {
  actorOf,
  type Answer,
  engine,
  type EngineOptions,
  epoch,
  post,
  postStatic,
  reportOf,
  staticOf
} from "./Engine.ts"
import { Hands, ManualClock } from "./ManualClock.ts"

/** One body as it reaches the service. */
export interface Arriving {
  /** By the clock of the service, milliseconds. */
  readonly at: number
  readonly text: string
  readonly isStatic: boolean
  /** Whether the service should take its figures. */
  readonly applies: boolean
}

interface Counting {
  recv: bigint
  sent: bigint
  readonly bits: 32 | 64
  /** Bytes since the last applied report of the interface; undefined before the first. */
  pending: { in: number; out: number } | undefined
  /** The counters do not continue, and nothing shows why: what is pending cannot be known. */
  isSpoilt: boolean
}

/** What the ledger can know of an interface, and what it cannot. */
export interface Truth {
  in: number
  out: number
  lost: number
}

/** A machine with its own clock and counters. Interfaces are named by whoever passes bytes. */
export class Machine {
  hostname: string
  bootedAt: number
  /** How far its clock is ahead of the true time. */
  aheadMs = 0
  readonly ifaces = new Map<string, Counting>()

  constructor(bootedAt: number, hostname = "host") {
    this.bootedAt = bootedAt
    this.hostname = hostname
  }

  add(name: string, { bits = 64, recv = 0n, sent = 0n }: { bits?: 32 | 64; recv?: bigint; sent?: bigint } = {}): void {
    const known = this.ifaces.get(name)
    this.ifaces.set(name, { recv, sent, bits, pending: known?.pending, isSpoilt: known !== undefined })
  }

  pass(name: string, inBytes: number, outBytes: number): void {
    const counting = this.ifaces.get(name) as Counting
    const top = 1n << BigInt(counting.bits)
    counting.recv += BigInt(inBytes)
    counting.sent += BigInt(outBytes)
    if (counting.recv >= top || counting.sent >= top) counting.isSpoilt = true
    counting.recv %= top
    counting.sent %= top
    if (counting.pending === undefined) return
    counting.pending.in += inBytes
    counting.pending.out += outBytes
  }

  body(now: number, names: ReadonlyArray<string>): string {
    const report = reportOf({ at: now + this.aheadMs, bootAt: 0, hostname: this.hostname })
    const metrics = {
      ...report.metrics,
      system: { ...report.metrics.system, uptime_seconds: Math.floor((now - this.bootedAt) / 1000) },
      network: names.map((name) => {
        const { recv, sent } = this.ifaces.get(name) as Counting
        return { name, bytes_recv: `@${recv}@`, bytes_sent: `@${sent}@` }
      })
    }
    // JSON of our own making would round what is past 2^53.
    return JSON.stringify({ ...report, metrics }).replace(/"@(\d+)@"/g, "$1")
  }
}

/** Writes a life down as bodies, and beside it the truth. */
export class Life {
  /** True time; both sides' clocks start with it. */
  now: number
  serviceAheadMs = 0
  readonly bodies: Array<Arriving> = []
  readonly truth = new Map<string, Truth>()
  /** Who had the interface in the last applied report with it. */
  private readonly owners = new Map<string, Machine>()

  constructor(now: number) {
    this.now = now
  }

  private truthOf(name: string): Truth {
    let truth = this.truth.get(name)
    if (truth === undefined) this.truth.set(name, (truth = { in: 0, out: 0, lost: 0 }))
    return truth
  }

  report(machine: Machine, { applies = true, names = [...machine.ifaces.keys()] } = {}): void {
    const text = machine.body(this.now, names)
    this.bodies.push({ at: this.now + this.serviceAheadMs, text, isStatic: false, applies })
    if (!applies) return
    for (const name of names) {
      const counting = machine.ifaces.get(name) as Counting
      const { isSpoilt, pending } = counting
      counting.pending = { in: 0, out: 0 }
      counting.isSpoilt = false
      const owner = this.owners.get(name)
      this.owners.set(name, machine)
      if (pending === undefined) continue
      const truth = this.truthOf(name)
      if (isSpoilt || owner !== machine) truth.lost += pending.in + pending.out
      else {
        truth.in += pending.in
        truth.out += pending.out
      }
    }
  }

  /** A body of before once more: pushed twice, or held up on its way. */
  repeat(back: number): void {
    const earlier = this.bodies.filter(({ isStatic }) => !isStatic).at(-back) as Arriving
    this.bodies.push({ ...earlier, at: this.now + this.serviceAheadMs, applies: false })
  }

  announce(intervalSec: number): void {
    const text = JSON.stringify({ ...staticOf({ at: this.now }), report_interval_seconds: intervalSec })
    this.bodies.push({ at: this.now + this.serviceAheadMs, text, isStatic: true, applies: true })
  }

  /** What passed since the last report is gone with the counters; what passes from now on is not. */
  reboot(machine: Machine): void {
    for (const [name, counting] of machine.ifaces) {
      const { pending } = counting
      if (pending !== undefined) this.truthOf(name).lost += pending.in + pending.out
      Object.assign(counting, { recv: 0n, sent: 0n, pending: pending && { in: 0, out: 0 } })
    }
    machine.bootedAt = this.now
  }
}

/** Runs the body in an engine whose ledger can be read, on a clock that is moved by hand. */
export const inLedger = <A, E, R>(
  body: Effect.Effect<A, E, R>,
  { clock = new ManualClock(epoch), ...options }: EngineOptions & { readonly clock?: ManualClock } = {}
) =>
  body.pipe(
    Effect.provide(Traffic.layer),
    Effect.provideService(Hands, clock),
    Effect.provide(engine(options)),
    Effect.withClock(clock)
  )

/** Hands a body over at its time and waits until the service answered. */
export const arrive = (id: number, { at, isStatic, text }: Arriving) =>
  Effect.gen(function* () {
    const clock = yield* Hands
    clock.set(at)
    const answers: Array<Answer> = (isStatic ? postStatic : post)(yield* Intake, id, isStatic ? JSON.parse(text) : text)
    while (answers.length === 0) yield* Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))
    return (answers[0] as Answer)._tag
  })

export type Facts = Readonly<Record<string, ReadonlyArray<Fact>>>

/** Facts on disk by interface, ascending. */
export const onDiskOf = (id: number) =>
  Effect.map(Traffic.TrafficStore, (store): Facts => {
    const ifaces = store.ifaces(NodeId.make(id))
    return Object.fromEntries(ifaces.map((iface) => [iface.name, store.facts(iface.id, 0, Number.MAX_SAFE_INTEGER)]))
  })

/** Open buckets of a running node, by interface. */
export const openOf = (actor: NodeActor, now: number): Facts =>
  Object.fromEntries(actor.openFacts(now).map(({ fact, iface }) => [iface, [fact]]))

/** Facts on disk and, behind them, the open ones. */
export const allFactsOf = (id: number) =>
  Effect.gen(function* () {
    const open = openOf(yield* actorOf(id), (yield* Hands).now)
    const closed = yield* onDiskOf(id)
    const names = [...new Set([...Object.keys(closed), ...Object.keys(open)])].sort()
    return Object.fromEntries(names.map((name) => [name, [...(closed[name] ?? []), ...(open[name] ?? [])]])) as Facts
  })

export const sumOf = (facts: ReadonlyArray<Fact>, part: "inBytes" | "outBytes" | "resets" | "gaps" | "coveredMs") =>
  facts.reduce((sum, fact) => sum + fact[part], 0)
