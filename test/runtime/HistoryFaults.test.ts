// The disk goes away at every storage call of sealing, folding, trimming and retention: nothing lost, nothing doubled.
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import Sqlite from "better-sqlite3"
import { copyFileSync } from "node:fs"
import { Compactor } from "../../runtime/Compactor.ts"
import type { HistoryLimits } from "../../runtime/HistoryLimits.ts"
import { HistoryStore } from "../../src/store/History.ts"
import { epoch, type Handle, killedCopy, onDisk } from "../support/Engine.ts"
import { asked, elapse, expected, inHistory, type Remembered, tell, written } from "../support/History.ts"
import { defaultLimits } from "../support/Limits.ts"
import { Hands, ManualClock } from "../support/ManualClock.ts"

const minute = 60_000
const hour = 60 * minute
const ids = [1, 2]
/** Raw chunks go soon, so that every run drops some. */
const limits: HistoryLimits = { ...defaultLimits, raw: { keepMs: hour, maxBytes: 1e9 } }
/** How many of the calls are made to fail: all of them when asked for, else a few dozen spread over all. */
const failing = Number(process.env["WATCHPOST_FAULTS"] ?? 40)

/** Counts the calls that write history, or begin or end a transaction, and fails from the n-th on. */
const makeGuard = () => {
  const state = {
    calls: 0,
    failAt: Number.POSITIVE_INFINITY,
    isArmed: false,
    isDead: false,
    died: () => undefined as void
  }
  const counts = /history_|DELETE FROM journal|checkpoints|^BEGIN|^COMMIT/
  const call = (sql: string): void => {
    if (!state.isArmed) return
    if (counts.test(sql)) state.calls++
    if (state.calls < state.failAt) return
    if (!state.isDead) {
      state.isDead = true
      state.died()
    }
    throw new Sqlite.SqliteError("disk I/O error", "SQLITE_IOERR")
  }
  const kept = new WeakMap<Handle, Handle>()
  const bound = (target: object, name: string | symbol): unknown => {
    const value: unknown = Reflect.get(target, name, target)
    return typeof value === "function" ? value.bind(target) : value
  }
  const statement = (sql: string, inner: object) =>
    new Proxy(inner, {
      get: (target, name) => {
        const value = bound(target, name)
        if (typeof value !== "function" || !["run", "get", "all"].includes(String(name))) return value
        return (...args: ReadonlyArray<unknown>) => {
          call(sql)
          return value(...args)
        }
      }
    })
  const guard = (handle: Handle): Handle => {
    let proxy = kept.get(handle)
    if (proxy === undefined) {
      proxy = new Proxy(handle, {
        get: (target, name) =>
          name === "prepare" ? (sql: string) => statement(sql, target.prepare(sql)) : bound(target, name)
      })
      kept.set(handle, proxy)
    }
    return proxy
  }
  return { state, guard }
}

const reports = (memory: Array<Remembered>, count: number, everyMs: number) =>
  Effect.gen(function* () {
    const clock = yield* Hands
    for (let n = 0; n < count; n++) {
      for (const id of ids) waiting.push(yield* tell(id, { cpu: ((n * 37 + id) % 100) / 100 }, memory))
      if (n % 20 === 19 || n === count - 1) {
        yield* written
        settleAll()
      }
      clock.advance(everyMs)
    }
  })
/** Reports whose answers are not looked at yet. */
const waiting: Array<Effect.Effect.Success<ReturnType<typeof tell>>> = []
const settleAll = (...found: Parameters<(typeof waiting)[number]>) => {
  for (const settle of waiting.splice(0)) settle(...found)
}

/** Tells which reports are in the journal of a file that nobody uses. What was committed may not be acknowledged yet. */
const journalOf = (filename: string) => {
  const db = new Sqlite(filename, { readonly: true })
  const rows = db.prepare("SELECT node_id AS id, received_at AS at FROM journal").all() as Array<{
    id: number
    at: number
  }>
  db.close()
  const keys = new Set(rows.map(({ at, id }) => `${id} ${at}`))
  return (id: number, at: number) => keys.has(`${id} ${at}`)
}

/** What the fleet does while the disk may go: reports, seals, folds, drops and trims. */
const life = (memory: Array<Remembered>) =>
  Effect.gen(function* () {
    yield* reports(memory, 60, 5000)
    yield* (yield* Compactor).drain
    yield* elapse(45_000, 1000)
    yield* reports(memory, 40, 30_000)
    yield* (yield* Compactor).drain
    yield* elapse(45_000, 1000)
  })

const agrees = (memory: ReadonlyArray<Remembered>) =>
  Effect.gen(function* () {
    for (const id of ids) {
      for (const [range, agg] of [
        ["30m", "last"],
        ["12h", "avg"],
        ["24h", "max"],
        ["1w", "min"]
      ] as const) {
        const { from, points, step_sec, to } = yield* asked(id, "cpu.usage_ratio", { range, agg })
        const stepMs = step_sec * 1000
        const fromMs = Math.ceil(Date.parse(from) / stepMs) * stepMs
        const toMs = Date.parse(to) + 1000
        expect(
          points.filter(({ ts }) => Date.parse(ts) >= fromMs),
          range
        ).toEqual(expected(memory, id, (told) => told.cpu, { agg, fromMs, toMs, stepMs }))
      }
    }
  })

describe("a disk that goes away", { timeout: 600_000 }, () => {
  it.effect("at any call of sealing, folding, trimming or retention costs nothing that was acknowledged", () =>
    onDisk((base) =>
      Effect.gen(function* () {
        const past: Array<Remembered> = []
        const clock = new ManualClock(epoch)
        yield* inHistory(reports(past, 180, minute), { filename: base, nodes: 2, clock, limits })
        const startedAt = clock.now

        /** One life on a copy of the past, dying at a call, and what the next start makes of it. */
        const attempt = (failAt: number) =>
          Effect.gen(function* () {
            const filename = `${base}.${failAt}`
            copyFileSync(base, filename)
            const memory = [...past]
            const { guard, state } = makeGuard()
            const own = new ManualClock(startedAt)
            let left = filename
            yield* inHistory(
              Effect.gen(function* () {
                state.failAt = failAt
                state.isArmed = true
                const death = new Promise<void>((resolve) => {
                  // The files as they are in the middle of the call: what a kill would leave.
                  state.died = () => {
                    left = killedCopy(filename)
                    resolve()
                  }
                })
                yield* Effect.raceFirst(
                  Effect.catchAllDefect(life(memory), (defect) => (state.isDead ? Effect.void : Effect.die(defect))),
                  Effect.promise(() => death)
                )
                if (!state.isDead) left = killedCopy(filename)
                settleAll(journalOf(left))
                // A report of the same moment would be taken for the one that was told last.
                own.advance(1000)
                state.isArmed = state.isDead
              }),
              { filename, nodes: 2, clock: own, limits, guard }
            )
            yield* inHistory(
              Effect.gen(function* () {
                yield* agrees(memory)
                yield* reports(memory, 30, 10_000)
                yield* (yield* Compactor).drain
                yield* elapse(30_000, 1000)
                yield* agrees(memory)
                const sizes = (yield* HistoryStore).sizes()
                expect(sizes.find(({ tier }) => tier === "minute")?.chunks).toBeGreaterThan(0)
              }),
              { filename: left, nodes: 2, clock: own, limits }
            )
            return state.calls
          })

        const calls = yield* attempt(Number.MAX_SAFE_INTEGER)
        expect(calls).toBeGreaterThan(100)
        const stride = Math.max(1, Math.floor(calls / failing))
        for (let failAt = 1; failAt <= calls; failAt += stride) yield* attempt(failAt)
      })
    )
  )
})
