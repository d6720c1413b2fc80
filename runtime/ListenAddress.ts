// Where the service can be reached from this machine; known once the listener is open.
import { Context } from "effect"

export class ListenAddress extends Context.Tag("runtime/ListenAddress")<
  ListenAddress,
  {
    readonly port: number
    /** Origin under which this machine reaches the service. */
    readonly localUrl: string
  }
>() {}
