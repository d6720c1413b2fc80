// Whatever happens to a service and its disk, events, states and notifications on that disk never contradict each other.
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import fc from "fast-check"
import { AlertSilences } from "../../../src/store/alert/Silences.ts"
import { run } from "../../store/Support.ts"
import { full } from "../../support/Disk.ts"
import { killedCopy, makeFaults, onDisk } from "../../support/Engine.ts"
import {
  addChannel,
  changed,
  Clocks,
  grace,
  inAlerting,
  makeClocks,
  mount,
  passing,
  setRule,
  tell
} from "./Alerting.ts"

const nodes = [1, 2, 3]
const node = fc.constantFrom(...nodes)

const op = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("report"), node, cpu: fc.constantFrom(0.1, 0.95) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("time"), ms: fc.constantFrom(500, 3000, 15_000, 40_000) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("disk"), isFull: fc.boolean(), node, load: fc.constantFrom(0.1, 0.95) })
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("rule"),
      durationSec: fc.constantFrom(0, 10),
      cooldownMin: fc.constantFrom(0, 1)
    })
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("mount"), node, rule: fc.constantFrom(1, -1), isOn: fc.boolean() })
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("silence"), node, forMs: fc.constantFrom(5000, 60_000) }) }
)
type Op = typeof op extends fc.Arbitrary<infer A> ? A : never

/** Lives of the service, each ended by a kill. */
const lives = fc.array(fc.array(op, { minLength: 5, maxLength: 25 }), { minLength: 1, maxLength: 3 })

let generation = 1

const act = (one: Op, faults: ReturnType<typeof makeFaults>) =>
  Effect.gen(function* () {
    if ("cpu" in one) return void (yield* Effect.zipRight(passing(1000), tell(one.node, { cpu: one.cpu })))
    if ("ms" in one) {
      faults.fault = undefined
      return yield* passing(one.ms)
    }
    if ("isFull" in one) {
      // A report on a full disk, which is free again after a while, or only after some more has happened.
      faults.fault = full()
      yield* Effect.zipRight(passing(1000), tell(one.node, { cpu: one.load }))
      if (one.isFull) return
      faults.fault = undefined
      return yield* passing(5000)
    }
    // What administrators set does not go through the journal, so it works while that is closed.
    if ("durationSec" in one) return yield* setRule({ ...one, generation: ++generation })
    if ("isOn" in one) return yield* mount(one.isOn, [one.rule], [one.node])
    const { wall } = yield* Clocks
    yield* (yield* AlertSilences).create({
      scope: "node",
      targetId: one.node,
      untilMs: wall.now + one.forMs,
      comment: ""
    })
    yield* changed
  })

const listOf = (sql: string) =>
  Effect.map(run(sql), (rows) => rows.map((row) => Object.values(row as Record<string, unknown>).join(" ")))

/** Every list is of what must not be. */
const contradictions = Effect.gen(function* () {
  const firing = yield* listOf(
    `SELECT value ->> 'eventId' AS id FROM alert_states, json_each(body) WHERE value ->> '_tag' = 'Firing' ORDER BY id`
  )
  const open = yield* listOf("SELECT id FROM alert_events WHERE closed_at IS NULL ORDER BY id")
  return {
    openButNotFiring: open.filter((id) => !firing.includes(id)),
    firingButNotOpen: firing.filter((id) => !open.includes(id)),
    openTwice: yield* listOf(
      "SELECT rule_id, node_id FROM alert_events WHERE closed_at IS NULL GROUP BY rule_id, node_id HAVING count(*) > 1"
    ),
    withoutEvent: yield* listOf("SELECT id FROM alert_outbox WHERE event_id NOT IN (SELECT id FROM alert_events)"),
    toldThoughMuted: yield* listOf(
      "SELECT o.id FROM alert_outbox o JOIN alert_events e ON e.id = o.event_id WHERE e.is_muted = 1"
    ),
    untold: yield* listOf(
      `SELECT e.id FROM alert_events e WHERE e.is_muted = 0
         AND (SELECT count(*) FROM alert_outbox WHERE event_id = e.id AND transition = 'opened') <> 1`
    ),
    endsUntold: yield* listOf(
      `SELECT e.id FROM alert_events e WHERE e.is_muted = 0
         AND (SELECT count(*) FROM alert_outbox WHERE event_id = e.id AND transition = 'closed') <> (e.closed_at IS NOT NULL)`
    ),
    endsBeforeBeginnings: yield* listOf("SELECT id FROM alert_events WHERE closed_at < first_at")
  }
})
const none = {
  openButNotFiring: [],
  firingButNotOpen: [],
  openTwice: [],
  withoutEvent: [],
  toldThoughMuted: [],
  untold: [],
  endsUntold: [],
  endsBeforeBeginnings: []
}

const live = (filename: string, ops: ReadonlyArray<Op>, clocks: ReturnType<typeof makeClocks>, isFirst: boolean) => {
  const faults = makeFaults()
  return inAlerting(
    Effect.gen(function* () {
      if (isFirst) {
        yield* addChannel()
        yield* mount(true, [1], nodes)
      }
      yield* grace
      for (const one of ops) {
        yield* act(one, faults)
        expect(yield* contradictions).toEqual(none)
      }
      return { opened: (yield* listOf("SELECT id FROM alert_events")).length, left: killedCopy(filename, "left") }
    }),
    { filename, clocks, nodes: nodes.length, ...faults }
  )
}

describe("alerts on disk", { timeout: 120_000 }, () => {
  it("never contradict each other through reports, silence, settings, a failing disk and kills", async () => {
    let opened = 0
    await fc.assert(
      fc.asyncProperty(lives, (all) =>
        Effect.runPromise(
          onDisk((file) =>
            Effect.gen(function* () {
              const clocks = makeClocks()
              let filename = file
              for (const [i, ops] of all.entries()) {
                const life = yield* live(filename, ops, clocks, i === 0)
                opened += life.opened
                filename = life.left
              }
            })
          )
        )
      ),
      { numRuns: 12 }
    )
    expect(opened).toBeGreaterThan(12)
  })
})
