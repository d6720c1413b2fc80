// The port through which notifications leave: what is told, how telling can fail, and who tells.
import { Context, Data, type Effect } from "effect"
import type { Channel } from "../../src/core/alert/Channel.ts"

/** What a channel is to tell. */
export interface Note {
  readonly title: string
  readonly body: string
  readonly transition: "opened" | "closed" | "test"
  /** Milliseconds since 1970. */
  readonly sentAtMs: number
  /** event_id, transition, dedupe_key, rule_id, server_id, close_reason: those that exist (contract, webhook). */
  readonly meta: Readonly<Record<string, string>>
}

export type SinkReason =
  | "timeout"
  | "refused_address"
  | "dns"
  | "connect"
  | "tls"
  | "auth"
  | "rejected"
  | "rate_limited"
  | "server_error"
  | "not_logged_in"
  | "invalid_session"
  | "config"
  | "unknown"

/** A delivery that failed; `kind` says whether another attempt can help. */
export class SinkError extends Data.TaggedError("SinkError")<{
  readonly kind: "transient" | "permanent" | "rate_limited"
  readonly reason: SinkReason
  /** The wait the other side asked for. */
  readonly retryAfterMs?: number
  /** For the administrator's eyes: our own words, never the remote's, never a secret. */
  readonly message: string
}> {}

export class Sinks extends Context.Tag("runtime/alert/Sinks")<
  Sinks,
  {
    /** Delivers within its own deadlines; interruptible. */
    readonly deliver: (channel: Channel, note: Note) => Effect.Effect<void, SinkError>
    /** Drops what is kept for a channel (connections, clients). */
    readonly forget: (channelId: number) => Effect.Effect<void>
  }
>() {}
