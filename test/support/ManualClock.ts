// A clock that tests move by hand, at no cost: hours of reports pass in a moment. The TestClock takes 10 ms per move.
import { Clock, Context, Duration, Effect } from "effect"

interface Sleeper {
  readonly until: number
  readonly wake: () => void
}

export class ManualClock implements Clock.Clock {
  readonly [Clock.ClockTypeId]: Clock.ClockTypeId = Clock.ClockTypeId
  private readonly sleepers = new Set<Sleeper>()
  now: number

  constructor(now: number) {
    this.now = now
  }

  unsafeCurrentTimeMillis(): number {
    return this.now
  }
  unsafeCurrentTimeNanos(): bigint {
    return BigInt(this.now) * 1_000_000n
  }
  readonly currentTimeMillis = Effect.sync(() => this.now)
  readonly currentTimeNanos = Effect.sync(() => this.unsafeCurrentTimeNanos())

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    return Effect.async<void>((resume) => {
      const sleeper = { until: this.now + Duration.toMillis(duration), wake: () => resume(Effect.void) }
      this.sleepers.add(sleeper)
      return Effect.sync(() => void this.sleepers.delete(sleeper))
    })
  }

  /** Moves on and wakes who is due; their fibers run when the caller gives way. */
  advance(ms: number): void {
    this.now += ms
    for (const sleeper of Array.from(this.sleepers)) {
      if (sleeper.until > this.now) continue
      this.sleepers.delete(sleeper)
      sleeper.wake()
    }
  }

  /** Sets the clock without waking anybody early: sleeps last as long as they were meant to. */
  set(now: number): void {
    const shift = now - this.now
    this.now = now
    for (const sleeper of Array.from(this.sleepers)) {
      this.sleepers.delete(sleeper)
      this.sleepers.add({ ...sleeper, until: sleeper.until + shift })
    }
  }
}

/** The clock of the test that runs. */
export class Hands extends Context.Tag("test/Hands")<Hands, ManualClock>() {}
