// A machine's life with everything that happens to counters, clocks and services: no byte invented, none lost silently.
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { bucketMs } from "../../src/core/Bucket.ts"
import { Flag } from "../../src/core/Counter.ts"
import { JournalStore } from "../../src/store/Journal.ts"
import { Database } from "../../src/store/Sql.ts"
import { actorOf, epoch, killedCopy, makeFaults, onDisk } from "../support/Engine.ts"
import { elapse } from "../support/History.ts"
import { Hands, ManualClock } from "../support/ManualClock.ts"
import {
  allFactsOf,
  type Arriving,
  arrive,
  type Facts,
  inLedger,
  Life,
  Machine,
  sumOf
} from "../support/TrafficLife.ts"

const second = 1000
const minute = 60 * second
const hour = 60 * minute

const randomFrom = (state: number) => () => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
  return (state >>> 0) / 4_294_967_296
}
const random = randomFrom(7)
const bytes = (most: number): number => Math.floor(random() * most)

/** Reports every `everyMs` for a while, every interface with traffic of its own. */
const reports = (
  life: Life,
  machine: Machine,
  forMs: number,
  { everyMs = 15 * second, names = [] as Array<string> } = {}
) => {
  for (let gone = 0; gone < forMs; gone += everyMs) {
    life.now += everyMs
    for (const name of machine.ifaces.keys()) machine.pass(name, bytes(1e6), bytes(1e5))
    life.report(machine, names.length === 0 ? {} : { names })
  }
}

const calm = (life: Life, machine: Machine): void => {
  machine.add("eth0", { recv: 5_000_000n })
  machine.add("ppp0", { bits: 32, recv: 4_000_000_000n, sent: 1000n })
  // Past 2^53, where a double rounds.
  machine.add("wide0", { recv: 10n ** 19n + 1n, sent: 2n ** 60n + 3n })
  machine.add("wg0")
  reports(life, machine, 12 * minute)
}

const faulty = (life: Life, machine: Machine): void => {
  // A reboot of a minute and a half.
  for (const name of machine.ifaces.keys()) machine.pass(name, 777, 77)
  life.now += 20 * second
  life.reboot(machine)
  life.now += 70 * second
  machine.pass("eth0", 4444, 44)
  reports(life, machine, 6 * minute)
  // A 32-bit counter wraps, which cannot be told from another interface.
  machine.pass("ppp0", 2_500_000_000, 0)
  reports(life, machine, minute)
  machine.pass("ppp0", 2_500_000_000, 0)
  reports(life, machine, 6 * minute)
  // A network card is replaced.
  machine.add("eth1", { recv: 900_000_000n })
  reports(life, machine, 3 * minute)
  machine.add("eth1", { recv: 10n })
  reports(life, machine, 4 * minute)
}

const clocks = (life: Life, machine: Machine): void => {
  machine.aheadMs = hour
  reports(life, machine, 4 * minute)
  machine.aheadMs = -2 * hour
  reports(life, machine, 4 * minute)
  machine.aheadMs = 0
  reports(life, machine, 2 * minute)
  life.serviceAheadMs = 20 * minute
  reports(life, machine, 6 * minute)
  life.serviceAheadMs = 0
  reports(life, machine, 30 * minute)
}

const pushes = (life: Life, machine: Machine): void => {
  // The agent is restarted: silent for a while, counters go on.
  machine.pass("eth0", 123_456, 12_345)
  life.now += 45 * second
  reports(life, machine, minute)
  life.repeat(1)
  reports(life, machine, minute)
  life.now += 2 * second
  life.repeat(3)
  reports(life, machine, minute)
  // wg0 is down for a while; what passes meanwhile is found when it is up again.
  reports(life, machine, 8 * minute, { names: ["eth0", "ppp0", "wide0", "eth1"] })
  reports(life, machine, 2 * minute)
}

const rivals = (life: Life, machine: Machine): void => {
  const clone = new Machine(machine.bootedAt - 10 * 24 * hour, "clone")
  clone.add("eth0", { recv: 77_000_000_000n })
  life.now += 10 * second
  life.report(clone)
  for (let i = 0; i < 20; i++) {
    life.now += 5 * second
    machine.pass("eth0", bytes(1e6), 5)
    // The one that came last is in place; the other is heard and not applied.
    life.report(machine, { applies: false })
    life.now += 5 * second
    clone.pass("eth0", bytes(1e6), 7)
    life.report(clone)
  }
  // The clone is gone; the first is taken again once nobody contradicts for a minute.
  life.now += 2 * minute
  reports(life, machine, 3 * minute)
}

const rare = (life: Life, machine: Machine): void => {
  machine.pass("eth0", 3_600_000, 360_000)
  life.now += hour
  reports(life, machine, 2 * minute)
  // A Static says that reports come every 200 s: 400 s are no gap then.
  life.announce(200)
  reports(life, machine, 40 * minute, { everyMs: 400 * second })
  life.announce(3)
  reports(life, machine, 7 * minute)
}

const written = ((): Life => {
  const life = new Life(epoch + 40 * second)
  const machine = new Machine(epoch - 30 * 24 * hour)
  for (const chapter of [calm, faulty, clocks, pushes, rivals, rare]) chapter(life, machine)
  return life
})()

/** Every body, acknowledged, and whether its figures were taken. */
const lived = (bodies: ReadonlyArray<Arriving>, after: (index: number) => Effect.Effect<void> = () => Effect.void) =>
  Effect.gen(function* () {
    for (let i = 0; i < bodies.length; i++) {
      expect(yield* arrive(1, bodies[i] as Arriving)).toBe("Acknowledged")
      yield* after(i)
    }
  })

const isTrue = (facts: Facts): void => {
  for (const [name, truth] of written.truth) {
    const found = facts[name] ?? []
    expect([sumOf(found, "inBytes"), sumOf(found, "outBytes")], name).toEqual([truth.in, truth.out])
    expect(sumOf(found, "resets") > 0, name).toBe(truth.lost > 0)
    const starts = found.map(({ start }) => start)
    expect(starts, name).toEqual([...new Set(starts)].sort((a, b) => a - b))
  }
}

/** What a node without a break makes of its life. */
const undisturbed = (bodies = written.bodies) => inLedger(Effect.zipRight(lived(bodies), allFactsOf(1)))

/** The same, with the service killed after some of the answers and started again on what that left. */
const killed = (isKilled: (index: number) => boolean) =>
  onDisk((base) =>
    Effect.gen(function* () {
      let file = base
      let [from, kills] = [0, 0]
      const clock = new ManualClock(epoch)
      for (let i = 0; i < written.bodies.length; i++) {
        if (!isKilled(i) && i < written.bodies.length - 1) continue
        const before = file
        const [left, open] = yield* inLedger(
          Effect.gen(function* () {
            yield* lived(written.bodies.slice(from, i + 1))
            return [killedCopy(before, `${i}`), (yield* actorOf(1)).openFacts(clock.now)] as const
          }),
          { filename: before, clock }
        )
        ;[file, from, kills] = [left, i + 1, kills + 1]
        const again = yield* inLedger(
          Effect.map(actorOf(1), (actor) => actor.openFacts(clock.now)),
          {
            filename: killedCopy(left, "look"),
            clock
          }
        )
        // State after replay is the state before, bucket for bucket.
        expect(again).toEqual(open)
      }
      return { facts: yield* inLedger(allFactsOf(1), { filename: file, clock }), kills }
    })
  )

describe("the ledger of a life", { timeout: 120_000 }, () => {
  it.live("is the truth to the byte where it can be known, below it and flagged where not", () =>
    inLedger(
      Effect.gen(function* () {
        yield* lived(written.bodies)
        const facts = yield* allFactsOf(1)
        isTrue(facts)
        const lost = [...written.truth].filter(([, truth]) => truth.lost > 0).map(([name]) => name)
        expect(lost.sort()).toEqual(["eth0", "eth1", "ppp0", "wg0", "wide0"])

        const flags = (name: string) => (facts[name] ?? []).reduce((all, fact) => all | fact.flags, 0)
        expect(flags("eth0") & Flag.lowerBound).toBe(Flag.lowerBound)
        expect(flags("ppp0") & Flag.wrap32).toBe(Flag.wrap32)
        expect(flags("eth1") & Flag.lowerBound).toBe(0)
        // The hour of silence; the reports every 400 s of an agent that said so are none.
        expect(sumOf(facts["eth0"] ?? [], "gaps")).toBeGreaterThan(0)
        const applied = (yield* JournalStore).places(0, Number.MAX_SAFE_INTEGER, 1e6).length
        expect(applied).toBe(written.bodies.filter(({ applies, isStatic }) => applies && !isStatic).length)
      })
    )
  )

  it.live("counts no gap between reports as rare as their Static says, also after a restart that reads it last", () =>
    Effect.gen(function* () {
      const life = new Life(epoch)
      const machine = new Machine(epoch - hour)
      machine.add("eth0")
      life.report(machine)
      reports(life, machine, 20 * minute, { everyMs: 400 * second })
      const before = life.bodies.length
      life.announce(200)
      reports(life, machine, 40 * minute, { everyMs: 400 * second })
      const { gaps, copied } = yield* onDisk((filename) =>
        Effect.gen(function* () {
          const clock = new ManualClock(epoch)
          const facts = yield* inLedger(Effect.zipRight(lived(life.bodies), allFactsOf(1)), { filename, clock })
          const copied = yield* inLedger(allFactsOf(1), { filename, clock })
          expect(copied).toEqual(facts)
          return { gaps: sumOf(facts["eth0"] ?? [], "gaps"), copied }
        })
      )
      expect(gaps).toBe(before - 1)
      expect(sumOf(copied["eth0"] ?? [], "inBytes")).toBe(life.truth.get("eth0")?.in)
    })
  )

  it.live("is the same, fact for fact, however often the service is killed", () =>
    Effect.gen(function* () {
      const whole = yield* undisturbed()
      const { facts, kills } = yield* killed((index) => index % 41 === 17)
      expect(kills).toBeGreaterThan(10)
      expect(facts).toEqual(whole)
    })
  )

  it.live("is the same when the service is killed right before and right after the report that crosses a border", () =>
    Effect.gen(function* () {
      const whole = yield* undisturbed()
      const bucketOf = (index: number) => Math.floor((written.bodies[index]?.at ?? 0) / bucketMs)
      const crossings = written.bodies.map((_, i) => i).filter((i) => i > 0 && bucketOf(i) !== bucketOf(i - 1))
      const some = new Set(crossings.filter((_, i) => i % 4 === 0).flatMap((i) => [i - 1, i]))
      const { facts } = yield* killed((index) => some.has(index))
      expect(some.size).toBeGreaterThan(10)
      expect(facts).toEqual(whole)
    })
  )

  it.live("takes a refused report back: a full disk leaves no fact and no byte, and the next report has them", () => {
    const faults = makeFaults()
    return inLedger(
      Effect.gen(function* () {
        const clock = yield* Hands
        const half = Math.floor(written.bodies.length / 2)
        yield* lived(written.bodies.slice(0, 60))
        const before = yield* allFactsOf(1)
        const first = written.bodies[60] as Arriving
        faults.fault = Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" })
        // Far enough that the report would have closed a bucket.
        const late = { ...first, at: first.at + bucketMs }
        expect(yield* arrive(1, late)).toBe("Refused")
        faults.fault = undefined
        yield* elapse(minute, second)
        clock.set(first.at)
        expect((yield* actorOf(1)).status).toBe("running")
        expect(yield* allFactsOf(1)).toEqual(before)

        yield* lived(written.bodies.slice(60, half))
        expect(yield* allFactsOf(1)).toEqual(yield* undisturbed(written.bodies.slice(0, half)))
      }),
      faults
    )
  })

  it.live("takes a turn back that died of a defect, and counts its bytes with the next report", () => {
    const faults = makeFaults()
    return inLedger(
      Effect.gen(function* () {
        yield* lived(written.bodies.slice(0, 50))
        const before = yield* allFactsOf(1)
        const poisoned = written.bodies[50] as Arriving
        faults.poison = 0.99
        const text = poisoned.text.replace('"usage_ratio":0.25', '"usage_ratio":0.99')
        expect(text).not.toBe(poisoned.text)
        expect(yield* arrive(1, { ...poisoned, text })).toBe("Refused")
        const clock = yield* Hands
        const { now } = clock
        yield* elapse(minute, second)
        clock.set(now)
        expect(yield* allFactsOf(1)).toEqual(before)

        faults.poison = undefined
        yield* lived(written.bodies.slice(50, 90))
        expect(yield* allFactsOf(1)).toEqual(yield* undisturbed(written.bodies.slice(0, 90)))
      }),
      { step: faults.step }
    )
  })

  it.live("holds the same facts when every one of them is written once more", () =>
    inLedger(
      Effect.gen(function* () {
        yield* lived(written.bodies.slice(0, 120))
        const { handle } = yield* Database
        const rows = () => handle().prepare("SELECT * FROM traffic_facts ORDER BY iface_id, bucket").all()
        const before = rows()
        expect(before.length).toBeGreaterThan(10)
        const store = yield* JournalStore
        const actor = yield* actorOf(1)
        const facts = yield* allFactsOf(1)
        const closed = Object.entries(facts).flatMap(([iface, list]) =>
          list.slice(0, -1).map((fact) => ({ iface, firstSeenAt: 5, fact }))
        )
        const row = { kind: "row", nodeId: actor.id, receivedAt: 1, vector: Buffer.alloc(4), details: null } as const
        store.write([
          { ...row, seq: store.lastSeq() + 1, isApplied: false, checkpoint: null, facts: closed, alerts: null }
        ])
        expect(rows()).toEqual(before)
      })
    )
  )
})
