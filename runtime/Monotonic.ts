// A clock that is never set: for spans that a change of the machine's time must neither stretch nor cut.
import { Context } from "effect"

export class Monotonic extends Context.Reference<Monotonic>()("runtime/Monotonic", {
  defaultValue: (): { /** Milliseconds from any origin. */ readonly now: () => number } => ({
    now: () => performance.now()
  })
}) {}
