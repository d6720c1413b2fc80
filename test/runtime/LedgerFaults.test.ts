// The service dies at every statement of a commit: a row and its facts are on disk together or not at all.
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import Sqlite from "better-sqlite3"
import { bucketMs } from "../../src/core/Bucket.ts"
import { Database } from "../../src/store/Sql.ts"
import { epoch, type Handle, killedCopy, onDisk } from "../support/Engine.ts"
import { ManualClock } from "../support/ManualClock.ts"
import { allFactsOf, type Arriving, arrive, inLedger, Life, Machine, sumOf } from "../support/TrafficLife.ts"

const second = 1000
/** How many of the statements that are not of the ledger fail: all of them when asked for, else a few spread over all. */
const failing = Number(process.env["WATCHPOST_FAULTS"] ?? 12)

/** Reports around a border and a gap, with a checkpoint among them: a checkpoint is taken every 32 reports. */
const written = ((): Life => {
  const life = new Life(epoch + bucketMs - 100 * second)
  const machine = new Machine(epoch - 86_400 * second)
  machine.add("eth0")
  machine.add("eth1", { recv: 2n ** 55n })
  for (let i = 0; i < 36; i++) {
    life.now += i === 30 ? 2 * bucketMs : 10 * second
    machine.pass("eth0", 1000 + i, 10)
    machine.pass("eth1", 7 * i, 2_000_000)
    life.report(machine)
  }
  return life
})()

/** Fails every statement from the n-th on, and tells of the first; the files then are what a kill would leave. */
const makeGuard = (failAt: number, died: () => void) => {
  const state = { calls: 0, ofTraffic: [] as Array<number>, isArmed: false, isDead: false }
  const kept = new WeakMap<Handle, Handle>()
  const call = (sql: string): void => {
    if (!state.isArmed) return
    state.calls++
    if (sql.includes("traffic_")) state.ofTraffic.push(state.calls)
    if (state.calls < failAt) return
    if (!state.isDead) {
      state.isDead = true
      died()
    }
    throw new Sqlite.SqliteError("disk I/O error", "SQLITE_IOERR")
  }
  const bound = (target: object, name: string | symbol): unknown => {
    const value: unknown = Reflect.get(target, name, target)
    return typeof value === "function" ? value.bind(target) : value
  }
  const statement = <A extends object>(sql: string, inner: A): A =>
    new Proxy(inner, {
      get: (target, name) => {
        const value = bound(target, name)
        if (typeof value !== "function") return value
        if (name === "pluck") return () => statement(sql, value() as A)
        if (!["run", "get", "all"].includes(String(name))) return value
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
  return { guard, state }
}

/** The whole life, the agent repeating what nobody acknowledged, over a death at a statement. */
const attempt = (base: string, failAt: number) =>
  Effect.gen(function* () {
    const file = `${base}.${failAt}`
    const clock = new ManualClock(epoch)
    let left = file
    const { guard, state } = makeGuard(failAt, () => {
      left = killedCopy(file)
    })
    const done = yield* inLedger(
      Effect.gen(function* () {
        state.isArmed = true
        for (let i = 0; i < written.bodies.length; i++) {
          const answer = yield* arrive(1, written.bodies[i] as Arriving)
          if (!state.isDead) expect(answer).toBe("Acknowledged")
          if (state.isDead) return answer === "Acknowledged" ? i + 1 : i
        }
        state.isArmed = false
        return written.bodies.length
      }),
      { filename: file, clock, guard }
    )
    const facts = yield* inLedger(
      Effect.gen(function* () {
        for (const body of written.bodies.slice(done)) expect(yield* arrive(1, body)).toBe("Acknowledged")
        const { handle } = yield* Database
        const count = handle().prepare("SELECT count(*) FROM traffic_facts").pluck().get()
        expect(handle().prepare("SELECT facts FROM traffic_sizes").pluck().get()).toBe(count)
        return yield* allFactsOf(1)
      }),
      { filename: left, clock }
    )
    return { calls: state.calls, ofTraffic: state.ofTraffic, facts }
  })

describe("a death in the middle of a commit", { timeout: 240_000 }, () => {
  it.live("at any of its statements leaves a ledger that comes to the same facts", () =>
    onDisk((base) =>
      Effect.gen(function* () {
        const { calls, facts: whole, ofTraffic } = yield* attempt(base, Number.MAX_SAFE_INTEGER)
        expect(calls).toBeGreaterThan(written.bodies.length * 3)
        const { in: inBytes, out: outBytes } = written.truth.get("eth0") ?? { in: 0, out: 0 }
        expect([sumOf(whole["eth0"] ?? [], "inBytes"), sumOf(whole["eth0"] ?? [], "outBytes")]).toEqual([
          inBytes,
          outBytes
        ])
        expect(whole["eth1"]?.length).toBeGreaterThan(3)
        const stride = Math.max(1, Math.floor(calls / failing))
        const others = Array.from({ length: calls }, (_, i) => i + 1).filter((at) => at % stride === 0)
        expect(ofTraffic.length).toBeGreaterThan(10)
        for (const failAt of new Set([...ofTraffic, ...others])) {
          expect((yield* attempt(base, failAt)).facts, `statement ${failAt}`).toEqual(whole)
        }
      })
    )
  )
})
