// Whether the service can be trusted right now: it says so itself, before anybody is blamed.
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Readiness } from "../../runtime/Readiness.ts"
import { full } from "../support/Disk.ts"
import { epoch, inEngine, makeFaults, pass, send, until } from "../support/Engine.ts"

describe("readiness", () => {
  it.effect(
    "Invariant 9: the service doubts itself first: a disk that does not answer turns it unready, not its nodes",
    () => {
      const faults = makeFaults()
      return inEngine(
        Effect.gen(function* () {
          const { reason, startedAt } = yield* Readiness
          const push = (seconds: number) => send(1, { at: epoch + seconds * 1000 })
          expect([reason(), startedAt]).toEqual([undefined, new Date(epoch).toISOString()])

          faults.fault = full()
          expect((yield* push(3))._tag).toBe("Refused")
          expect(reason()).toMatch(/disk/)
          expect((yield* push(6))._tag).toBe("Refused")

          faults.fault = undefined
          yield* pass(6000)
          yield* until("the journal writes again", () => reason() === undefined)
          expect((yield* push(9))._tag).toBe("Acknowledged")
        }).pipe(Effect.provide(Readiness.layer)),
        faults
      )
    }
  )
})
