// Owns the proof that no notification is lost: crashes between any two steps, a real file, a receiver that counts.
import { describe, expect, it } from "@effect/vitest"
import { type Context, Effect, Layer } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { layer as retentionLayer, AlertRetention } from "../../../runtime/alert/AlertRetention.ts"
import { Dispatcher } from "../../../runtime/alert/Dispatcher.ts"
import { Journal } from "../../../runtime/Journal.ts"
import type { OutboxRow } from "../../../src/store/alert/AlertWrites.ts"
import { OutboxStore } from "../../../src/store/alert/Outbox.ts"
import type { JournalStore } from "../../../src/store/Journal.ts"
import { changeOf, outboxOf, settleOf, start, stepOf } from "../../store/alert/Support.ts"
import { run } from "../../store/Support.ts"
import { turns, until } from "../../support/Engine.ts"
import { addChannel, dispatching, epoch, makeSink, pass, rows, settled, transient } from "./Dispatching.ts"

const crashes = Number(process.env["WATCHPOST_CRASHES"] ?? 100)
const seed = Number(process.env["WATCHPOST_CRASH_SEED"] ?? Math.floor(Math.random() * 1e9))

/** Numbers in [0, 1) that are the same for the same seed. */
const randomFrom = (state: number) => () => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state / 4_294_967_296
}

type Store = Context.Tag.Service<typeof JournalStore>

/** Stops everything at one of its steps, from which on nothing reaches the disk or the receiver. */
const makeFate = () => {
  const fate = {
    stepsLeft: Infinity,
    isDead: false,
    /** True when this step is the one at which it dies, or when it is dead. */
    step: (): boolean => {
      fate.isDead ||= fate.stepsLeft-- <= 0
      return fate.isDead
    },
    wrap: (store: Store): Store => ({
      ...store,
      write: (batch) => {
        if (fate.step()) throw new Error("crashed before the commit")
        store.write(batch)
        if (fate.step()) throw new Error("crashed behind the commit")
      },
      probe: () => {
        throw new Error("crashed")
      }
    })
  }
  return fate
}

const keyOf = (row: { readonly eventId: number; readonly transition: string; readonly channelId: number }) =>
  `${row.eventId}:${row.transition}:${row.channelId}`

/** Opens and closes at random; what was told to be on the disk is kept. */
const makeActors = (chance: () => number) => {
  const open = new Set<number>()
  let eventId = 0
  return {
    promised: new Set<string>(),
    /** The next transition, to both channels. */
    step: function () {
      const isClose = open.size > 0 && chance() < 0.45
      const id = isClose ? ([...open][Math.floor(chance() * open.size)] as number) : ++eventId
      if (isClose) open.delete(id)
      else open.add(id)
      const transition = isClose ? ("closed" as const) : ("opened" as const)
      const outbox: ReadonlyArray<OutboxRow> = [1, 2].map((channelId) =>
        outboxOf(id, { channelId, transition, notBeforeAt: epoch })
      )
      return { write: stepOf([changeOf(id, transition)], outbox), keys: outbox.map(keyOf) }
    }
  }
}

describe("the outbox", () => {
  it.effect(
    "loses nothing, repeats at most what was under way, and tells no end before its beginning, whenever it crashes",
    () => {
      const chance = randomFrom(seed)
      const folder = mkdtempSync(join(tmpdir(), "watchpost-outbox-"))
      const filename = join(folder, "test.db")
      const actors = makeActors(chance)
      /** Keys by channel, in the order of their arrival, with repeats. */
      const received = new Map<number, Array<string>>([
        [1, []],
        [2, []]
      ])
      let isPeaceful = false
      let repeated = 0
      const life = (index: number) => {
        const fate = makeFate()
        const told: Array<{ readonly channelId: number; readonly key: string }> = []
        const sink = makeSink((channel, note) =>
          Effect.suspend(() => {
            if (fate.step()) return Effect.never
            if (!isPeaceful && chance() < 0.1) return Effect.fail(transient)
            const key = `${note.meta["event_id"]}:${note.transition}:${channel.id}`
            const known = received.get(channel.id) as Array<string>
            if (known.includes(key)) repeated++
            known.push(key)
            told.push({ channelId: channel.id, key })
            return fate.step() ? Effect.never : Effect.void
          })
        )
        const body = Effect.gen(function* () {
          const journal = yield* Journal
          const dispatcher = yield* Dispatcher
          if (index === 0) yield* Effect.zipRight(addChannel(), addChannel())
          if (!isPeaceful) fate.stepsLeft = Math.floor(chance() * 30)
          for (let n = isPeaceful ? 0 : 1 + Math.floor(chance() * 3); n > 0 && !fate.isDead; n--) {
            const { keys, write } = actors.step()
            journal.offer(write, (committed) => {
              if (committed) for (const key of keys) actors.promised.add(key)
              if (!fate.isDead) dispatcher.ring([1, 2])
            })
            yield* turns(Math.floor(chance() * 4))
          }
          yield* settled(sink)
          if (isPeaceful) yield* pass(sink, 30_000, 5000)
          else if (!fate.isDead && chance() < 0.3) yield* pass(sink, 2000, 2000)
          fate.isDead = true
          const sent = new Set((yield* rows).filter(({ state }) => state === "sent").map(keyOf))
          // Told, and not known to be: the one delivery that was under way.
          for (const channelId of [1, 2]) {
            const open = told.filter((one) => one.channelId === channelId && !sent.has(one.key))
            expect(open.length, `seed ${seed}, crash ${index}, channel ${channelId}`).toBeLessThanOrEqual(1)
          }
        })
        return dispatching(sink, body, { filename, wrap: fate.wrap })
      }
      const story = Effect.gen(function* () {
        for (let index = 0; index < crashes; index++) yield* life(index)
        isPeaceful = true
        yield* life(crashes)
        const stored = yield* dispatching(makeSink(), rows, { filename })
        process.stdout.write(
          `outbox: seed ${seed}, ${crashes} crashes, ${stored.length} notifications, ${repeated} repeated\n`
        )
        const arrived = new Set([...received.values()].flat())
        expect([...actors.promised].filter((key) => !arrived.has(key))).toEqual([])
        expect(stored.map(keyOf).filter((key) => !arrived.has(key))).toEqual([])
        expect(stored.filter(({ state }) => state !== "sent")).toEqual([])
        expect([...actors.promised].filter((key) => !stored.some((row) => keyOf(row) === key))).toEqual([])
        expect(stored.length).toBeGreaterThan(crashes)
        for (const keys of received.values()) {
          const early = keys.filter((key, at) => {
            const opened = key.replace("closed", "opened")
            const isStored = stored.some((row) => keyOf(row) === opened)
            return key.includes("closed") && isStored && keys.indexOf(opened) > at
          })
          expect(early).toEqual([])
        }
      })
      return Effect.ensuring(
        story,
        Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
      )
    },
    20_000 + crashes * 200
  )

  it.effect("sends nothing twice for the sake of a disk that is full for a while", () => {
    const fault = { error: undefined as Error | undefined }
    const wrap = (store: Store): Store => ({
      ...store,
      write: (batch) => {
        if (fault.error !== undefined) throw fault.error
        store.write(batch)
      },
      probe: () => {
        if (fault.error !== undefined) throw fault.error
      }
    })
    const sink = makeSink(() =>
      Effect.sync(() => {
        fault.error ??= Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" })
      })
    )
    return dispatching(
      sink,
      Effect.gen(function* () {
        const journal = yield* Journal
        yield* addChannel()
        journal.offer(stepOf([], [outboxOf(1), outboxOf(2)]), () => undefined)
        yield* journal.flushed
        const dispatcher = yield* Dispatcher
        dispatcher.ring([1])
        yield* until("the failed commit", () => journal.closed() !== undefined)
        yield* pass(sink, 20_000, 2000)
        expect(sink.arrived.length).toBe(1)
        expect((yield* rows).map(({ state }) => state)).toEqual(["pending", "pending"])
        expect((yield* Effect.flip(dispatcher.resend(1, epoch))).code).toBe("db_error")
        sink.answer = () => Effect.void
        fault.error = undefined
        yield* pass(sink, 20_000, 2000)

        expect((yield* rows).map(({ state }) => state)).toEqual(["sent", "sent"])
        expect(sink.arrived.map(({ note }) => note.meta["event_id"])).toEqual(["1", "2"])
      }),
      { wrap }
    )
  })

  it.effect("tells nobody of what is committed, but not on the disk yet", () => {
    const held: Array<() => void> = []
    let isHeld = false
    const wrap = (store: Store): Store => ({
      ...store,
      sync: (done) => void (isHeld ? held.push(() => store.sync(done)) : store.sync(done))
    })
    const sink = makeSink()
    return dispatching(
      sink,
      Effect.gen(function* () {
        yield* addChannel()
        const dispatcher = yield* Dispatcher
        isHeld = true
        let isCommitted = false
        ;(yield* Journal).offer(stepOf([], [outboxOf(1)]), (committed) => {
          isCommitted = committed
          dispatcher.ring([1])
        })
        yield* until("the sync", () => held.length === 1)
        yield* turns(20)
        expect([isCommitted, sink.attempts.length]).toEqual([true, 0])
        isHeld = false
        for (const goOn of held) goOn()
        yield* until("the delivery", () => sink.arrived.length === 1)
      }),
      { wrap }
    )
  })

  it.effect("lets go what ended 90 days ago, and nothing else", () => {
    const sink = makeSink()
    const dayMs = 86_400_000
    return dispatching(
      sink,
      Effect.gen(function* () {
        const journal = yield* Journal
        const store = yield* OutboxStore
        const closed = (id: number, ms: number) => changeOf(id, "closed", { atMs: start + ms })
        journal.offer(
          stepOf(
            [1, 2, 3].map((id) => changeOf(id, "opened")),
            [outboxOf(1), outboxOf(2)]
          ),
          () => undefined
        )
        journal.offer(stepOf([closed(1, -90 * dayMs - 1), closed(2, -89 * dayMs)]), () => undefined)
        journal.offer(settleOf([1], "sent", { atMs: start - 91 * dayMs, attempt: null }), () => undefined)
        yield* journal.flushed
        const sweeping = Effect.flatMap(AlertRetention, ({ sweep }) => sweep).pipe(
          Effect.provide(Layer.fresh(retentionLayer)),
          Effect.fork
        )
        yield* Effect.zipRight(sweeping, pass(sink, 1000, 50))

        expect(yield* run("SELECT id FROM alert_events ORDER BY id")).toEqual([{ id: 2 }, { id: 3 }])
        expect(yield* run("SELECT event_id FROM alert_outbox")).toEqual([{ event_id: 2 }])
        expect(store.hasEnded(start - 90 * dayMs)).toBe(false)
      })
    )
  })
})
