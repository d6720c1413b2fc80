// The admin password: its argon2id hash, its replacement from the environment, and a check that cannot be flooded.
import { hash, verify } from "@node-rs/argon2"
import { Clock, Context, Effect, Layer, Option, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { AuthUnavailable, RateLimited, type StorageUnavailable } from "../../schema/Errors.ts"
import { SessionStore } from "../store/Sessions.ts"
import * as Gate from "./Gate.ts"

/** What surrounds a check, in the same turn: `admitted` may still refuse it, `judged` records its outcome. */
export interface Turn<E> {
  readonly admitted: Effect.Effect<void, E>
  readonly judged: (right: boolean) => Effect.Effect<void>
}

export class Password extends Context.Tag("auth/Password")<
  Password,
  {
    /**
     * True when this is the admin password; costs the same for every wrong one. A whole queue fails with
     * RateLimited at once, a broken hash or a stuck turn with AuthUnavailable.
     */
    readonly check: <E>(
      password: Redacted.Redacted,
      turn: Turn<E>
    ) => Effect.Effect<boolean, E | RateLimited | AuthUnavailable>
    /** The password that this start made up because there was none; shown once, kept nowhere. */
    readonly generated: Option.Option<Redacted.Redacted>
  }
>() {}

/** OWASP's first choice, 19 MiB and two passes; 9 to 60 ms on one core. The variant is argon2id by default. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
/** Two at once leave two of libuv's four threads to the file system; 32 waiting are through within about a second. */
const size: Gate.GateSize = { permits: 2, waitingMax: 32, waitMs: 10_000 }
/** UTF-8; longer ones are wrong without being hashed, at the price of the empty one. */
const passwordBytesMax = 4096

/** No i, l, o, u: 32 letters and digits that survive being read aloud; 24 of them hold 120 bits. */
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
const groups = 6
const groupLength = 4

const generate = (): Redacted.Redacted => {
  const letters = Array.from(randomBytes(groups * groupLength), (byte) => alphabet[byte % alphabet.length])
  const parts = Array.from({ length: groups }, (_, i) => letters.slice(i * groupLength, (i + 1) * groupLength).join(""))
  return Redacted.make(parts.join("-"))
}

const broken = () => new AuthUnavailable({ message: "passwords cannot be checked at the moment" })

const hashOf = (password: Redacted.Redacted): Effect.Effect<string, AuthUnavailable> =>
  Effect.tryPromise({ try: () => hash(Redacted.value(password), cost), catch: broken })

const matches = (stored: string, password: Redacted.Redacted): Effect.Effect<boolean, AuthUnavailable> =>
  Effect.suspend(() => {
    const text = Redacted.value(password)
    const fits = Buffer.byteLength(text) <= passwordBytesMax
    return Effect.tryPromise({
      try: async () => (await verify(stored, fits ? text : "")) && fits && text !== "",
      catch: broken
    })
  })

interface Settled {
  readonly stored: string
  readonly generated: Option.Option<Redacted.Redacted>
}

/** Brings the stored hash in line with the environment; a changed password ends every session. */
const settle = Effect.fnUntraced(function* (configured: Option.Option<Redacted.Redacted>) {
  const store = yield* SessionStore
  const existing = yield* store.adminHash
  if (Option.isSome(existing)) {
    // A hash that cannot be read counts as another password, so that the environment is the way out.
    const unchanged =
      Option.isNone(configured) ||
      (yield* matches(existing.value, configured.value).pipe(Effect.orElseSucceed(() => false)))
    if (unchanged) return { stored: existing.value, generated: Option.none() } satisfies Settled
  }
  const password = Option.getOrElse(configured, generate)
  const stored = yield* hashOf(password)
  yield* store.replaceAdminHash(stored, yield* Clock.currentTimeMillis)
  if (Option.isSome(existing)) yield* Effect.logInfo("the admin password was replaced; every session is revoked")
  return { stored, generated: Option.isNone(configured) ? Option.some(password) : Option.none() } satisfies Settled
})

const make = Effect.fnUntraced(function* (configured: Option.Option<Redacted.Redacted>) {
  const { stored, generated } = yield* settle(configured)
  const gate = yield* Gate.make(size)
  return Password.of({
    generated,
    check: (password, { admitted, judged }) =>
      gate.enter(
        admitted.pipe(
          Effect.zipRight(matches(stored, password)),
          Effect.tap((right) => judged(right))
        ),
        {
          full: () => new RateLimited({ message: "too many logins at once, try again in a moment" }),
          late: broken
        }
      )
  })
})

/** Built from the password of the environment, if there is one. */
export const layer = (
  configured: Option.Option<Redacted.Redacted>
): Layer.Layer<Password, StorageUnavailable | AuthUnavailable, SessionStore> => Layer.effect(Password, make(configured))
