// The register of long-lived fibers: what each waits for, how often it was restarted and what it last died of.
import { Cause, Clock, Context, Effect, Layer, Schedule } from "effect"
import type { FiberStatus } from "../schema/System.ts"

/** Written by the fiber's owner, read by the status endpoint. */
export interface Watch {
  readonly name: string
  state: FiberStatus["state"]
  restarts: number
  lastError: string | null
  lastErrorAt: number | null
  readonly depth: () => number
  readonly depthMax: number
}

/** Longest error text kept: a status page is no log. */
const errorLengthMax = 300

export class FiberRegister extends Context.Tag("runtime/FiberStatus")<
  FiberRegister,
  {
    readonly register: (name: string, depth: () => number, depthMax: number) => Watch
    readonly list: () => ReadonlyArray<FiberStatus>
  }
>() {
  static readonly layer = Layer.sync(FiberRegister, () => {
    const watches = new Map<string, Watch>()
    return FiberRegister.of({
      register: (name, depth, depthMax) => {
        const watch: Watch = {
          name,
          state: "running",
          restarts: 0,
          lastError: null,
          lastErrorAt: null,
          depth,
          depthMax
        }
        watches.set(name, watch)
        return watch
      },
      list: () => [...watches.values()].map(statusOf)
    })
  })
}

export const statusOf = (watch: Watch): FiberStatus => ({
  name: watch.name,
  state: watch.state,
  depth: watch.depth(),
  depth_max: watch.depthMax,
  restarts: watch.restarts,
  last_error: watch.lastError,
  last_error_at: watch.lastErrorAt === null ? null : new Date(watch.lastErrorAt).toISOString()
})

/** Something went wrong in one of many pieces of work; the fiber goes on. */
export const noteTrouble = (watch: Watch, message: string, at: number): void => {
  watch.lastError = message.slice(0, errorLengthMax)
  watch.lastErrorAt = at
}

export const noteFailure = (watch: Watch, message: string, at: number): void => {
  watch.restarts++
  watch.state = "restarting"
  noteTrouble(watch, message, at)
}

/** Restarts of a fixed fiber: from 100 ms, capped at 10 s, jittered, forgotten after two quiet minutes. */
const restartPolicy = Schedule.exponential("100 millis").pipe(
  Schedule.union(Schedule.spaced("10 seconds")),
  Schedule.jittered,
  Schedule.resetAfter("2 minutes")
)

/**
 * Keeps a fixed fiber alive: a defect or failure is recorded and logged, then the loop starts again by the policy.
 * The result ends only by interruption.
 */
export const supervised = <R>(watch: Watch, loop: Effect.Effect<never, never, R>): Effect.Effect<never, never, R> =>
  Effect.suspend(() => {
    watch.state = "running"
    return loop
  }).pipe(
    Effect.sandbox,
    Effect.tapError((cause) =>
      Effect.gen(function* () {
        const message = Cause.pretty(cause).split("\n")[0] ?? "unknown"
        noteFailure(watch, message, yield* Clock.currentTimeMillis)
        yield* Effect.logError("a fiber failed and is restarted").pipe(
          Effect.annotateLogs({ fiber: watch.name, cause: message })
        )
      })
    ),
    Effect.retry(restartPolicy),
    Effect.orDie,
    Effect.ensuring(
      Effect.sync(() => {
        watch.state = "stopped"
      })
    )
  )
