// Where committed facts are handed on: whoever keeps figures of them listens here.
import { Context, Effect, Layer } from "effect"
import { FactSink, type TakeFacts } from "./FactSink.ts"

export class TrafficFeed extends Context.Tag("runtime/TrafficFeed")<
  TrafficFeed,
  {
    /** For as long as the service runs: the listeners are its fixed fibers. */
    readonly listen: (listener: TakeFacts) => void
  }
>() {
  /** Must be there before the actors are. */
  static readonly layer = Layer.effectContext(
    Effect.sync(() => {
      const listeners: Array<TakeFacts> = []
      const take: TakeFacts = (nodeId, facts) => {
        for (const listener of listeners) listener(nodeId, facts)
      }
      return Context.make(TrafficFeed, { listen: (listener) => void listeners.push(listener) }).pipe(
        Context.add(FactSink, { take })
      )
    })
  )
}
