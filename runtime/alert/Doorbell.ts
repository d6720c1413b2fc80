// Wakes one fiber that waits for work: a ring that comes while it works is not lost.
import { Effect } from "effect"

export class Doorbell {
  private isRung = false
  private wake: (() => void) | undefined

  /** From any synchronous caller. */
  ring(): void {
    this.isRung = true
    this.wake?.()
  }

  /** Suspends until it rings, or has rung since the last wait, and at most so long, milliseconds. */
  wait(mostMs: number): Effect.Effect<void> {
    const rung = Effect.async<void>((resume) => {
      if (this.isRung) resume(Effect.void)
      else this.wake = () => resume(Effect.void)
      return Effect.sync(() => {
        this.wake = undefined
      })
    })
    return rung.pipe(
      Effect.timeoutOption(mostMs),
      Effect.zipRight(
        Effect.sync(() => {
          this.wake = undefined
          this.isRung = false
        })
      )
    )
  }
}
