// What an actor tells of its ledger: facts handed on once they are on disk, and those that are still on their way.
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { FactSink } from "../../runtime/FactSink.ts"
import { Intake } from "../../runtime/Intake.ts"
import type { ClosedFact } from "../../src/core/Ledger.ts"
import { bucketMs } from "../../src/core/Bucket.ts"
import { actorOf, epoch, makeFaults, post } from "../support/Engine.ts"
import { written } from "../support/History.ts"
import { Hands } from "../support/ManualClock.ts"
import { arrive, inLedger, Life, Machine, onDiskOf, sumOf } from "../support/TrafficLife.ts"

const second = 1000

/** A report every minute, a byte a second. */
const life = ((): Life => {
  const life = new Life(epoch)
  const machine = new Machine(epoch - 86_400 * second)
  machine.add("eth0")
  for (let i = 0; i < 12; i++) {
    life.report(machine)
    life.now += 60 * second
    machine.pass("eth0", 60, 6)
  }
  return life
})()
const [bodies, crossing] = [life.bodies.slice(0, 5), life.bodies[5]]

/** Takes what is handed on, with whether it was on disk by then. */
const makeSink = () => {
  const taken: Array<readonly [number, ReadonlyArray<ClosedFact>]> = []
  return { taken, layer: Layer.succeed(FactSink, { take: (id, facts) => void taken.push([id, facts]) }) }
}

describe("an actor", () => {
  it.live("hands facts on after the commit that holds them, and none of a report that was refused", () => {
    const faults = makeFaults()
    const sink = makeSink()
    return inLedger(
      Effect.gen(function* () {
        for (const body of bodies) yield* arrive(1, body)
        expect(sink.taken).toEqual([])
        faults.fault = new Error("no more room")
        expect(yield* arrive(1, crossing as (typeof bodies)[number])).toBe("Refused")
        expect(sink.taken).toEqual([])
        expect(yield* onDiskOf(1)).toEqual({})
      }),
      faults
    ).pipe(Effect.provide(sink.layer))
  })

  it.live("tells of a fact that is on its way to the disk, so that no bucket is missing for a moment", () => {
    const sink = makeSink()
    return inLedger(
      Effect.gen(function* () {
        for (const body of bodies) yield* arrive(1, body)
        const clock = yield* Hands
        const actor = yield* actorOf(1)
        clock.set(epoch + bucketMs)
        expect(actor.openFacts(clock.now)).toMatchObject([{ hasEnded: true, fact: { start: epoch, inBytes: 240 } }])

        post(yield* Intake, 1, crossing?.text)
        const onTheWay = actor.openFacts(clock.now)
        expect(onTheWay).toMatchObject([
          { iface: "eth0", firstSeenAt: epoch, hasEnded: true, fact: { start: epoch, inBytes: 300, outBytes: 30 } },
          { iface: "eth0", hasEnded: false, fact: { start: epoch + bucketMs, inBytes: 0 } }
        ])
        expect([sink.taken, yield* onDiskOf(1)]).toEqual([[], {}])

        yield* written
        expect(actor.openFacts(clock.now)).toEqual(onTheWay.slice(1))
        expect(sink.taken).toEqual([[1, [{ iface: "eth0", firstSeenAt: epoch, fact: onTheWay[0]?.fact }]]])
        expect(sumOf((yield* onDiskOf(1))["eth0"] ?? [], "inBytes")).toBe(300)
      })
    ).pipe(Effect.provide(sink.layer))
  })

  it.live("has no ledger before the first report, and none to tell of after it stopped", () =>
    inLedger(
      Effect.gen(function* () {
        const actor = yield* actorOf(1)
        expect(actor.openFacts(epoch)).toEqual([])
        yield* arrive(1, bodies[0] as (typeof bodies)[number])
        expect(actor.openFacts(epoch)).toHaveLength(1)
        actor.stop()
        expect(actor.openFacts(epoch)).toEqual([])
      })
    )
  )
})
