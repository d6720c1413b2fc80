// Tells notes through Telegram accounts of people, and keeps their clients connected for a while.
import { Cause, Context, Data, Duration, Effect, Layer, Option, RcMap, type Scope } from "effect"
import { createHash } from "node:crypto"
import type { TelegramUserConfig } from "../../src/core/alert/Channel.ts"
import { type Note, SinkError } from "./Sink.ts"
import type { TelegramClientLike, TelegramFactory } from "./TelegramClient.ts"
import { faultOf, telegramError } from "./TelegramFault.ts"
import { plainText } from "./TelegramText.ts"

/** Of one delivery or ping, connecting included. */
const deadlineMs = 15_000
const connectMs = 12_000
const closeMs = 3_000
/** A connected client costs a few hundred kilobytes and Telegram's patience; alerts of one incident share it. */
const idleMs = 300_000
/** Each is a login by hand of a real account; more channels than this at a time wait for an idle one to close. */
const clientsMax = 16

export interface Ping {
  readonly valid: boolean
  readonly reason?: "not_logged_in" | "invalid_session"
}

/** A Telegram account channel, as far as deliveries need it. */
export interface UserChannel {
  readonly id: number
  readonly config: TelegramUserConfig
}

export class TelegramUsers extends Context.Tag("runtime/alert/TelegramUsers")<
  TelegramUsers,
  {
    readonly deliver: (channel: UserChannel, note: Note) => Effect.Effect<void, SinkError>
    /** Whether the stored login still holds; fails when that cannot be found out now. */
    readonly ping: (channel: UserChannel) => Effect.Effect<Ping, SinkError>
    readonly forget: (channelId: number) => Effect.Effect<void>
  }
>() {}

/** Whatever decides who is logged in is in the key, so a changed configuration never meets an old client. */
interface ClientKey {
  readonly channelId: number
  readonly apiId: number
  readonly apiHash: string
  readonly session: string
}

const keyOf = ({ config, id }: UserChannel): ClientKey =>
  Data.struct({ channelId: id, apiId: config.apiId, apiHash: config.apiHash, session: config.session })

export const make = (factory: TelegramFactory) =>
  Effect.gen(function* () {
    const clients = yield* RcMap.make({
      lookup: (key: ClientKey) => connected(factory, key),
      idleTimeToLive: Duration.millis(idleMs),
      capacity: clientsMax
    })
    const use = <A>(channel: UserChannel, act: (client: TelegramClientLike) => Promise<A>) => {
      const key = keyOf(channel)
      return RcMap.get(clients, key).pipe(
        Effect.catchTag("ExceededCapacityException", () => Effect.fail(tooMany())),
        Effect.flatMap((client) => Effect.tryPromise({ try: () => act(client), catch: telegramError })),
        Effect.scoped,
        Effect.timeoutFail({ duration: Duration.millis(deadlineMs), onTimeout: tooLate }),
        // Also a client that never connected stays in the map until its idle time is over, and would answer for it.
        Effect.onError((cause) => (isWait(cause) ? Effect.void : RcMap.invalidate(clients, key)))
      )
    }
    return TelegramUsers.of({
      deliver: (channel, note) =>
        channel.config.session === ""
          ? Effect.fail(notLoggedIn())
          : use(channel, (client) => tell(client, channel, note)),
      ping: (channel) =>
        channel.config.session === ""
          ? Effect.succeed<Ping>({ valid: false, reason: "not_logged_in" })
          : use(channel, (client) => client.self()).pipe(
              Effect.as<Ping>({ valid: true }),
              Effect.catchIf(
                (error) => error.reason === "invalid_session",
                () => Effect.succeed<Ping>({ valid: false, reason: "invalid_session" })
              )
            ),
      forget: (channelId) =>
        RcMap.keys(clients).pipe(
          Effect.map((keys) => Array.from(keys).filter((key) => key.channelId === channelId)),
          Effect.flatMap(Effect.forEach((key) => RcMap.invalidate(clients, key), { discard: true }))
        )
    })
  })

export const layer = (factory: TelegramFactory) => Layer.scoped(TelegramUsers, make(factory))

/** A client of the account, connected, closed with the scope. */
export const connected = (
  factory: TelegramFactory,
  account: Parameters<TelegramFactory>[0]
): Effect.Effect<TelegramClientLike, SinkError, Scope.Scope> =>
  Effect.gen(function* () {
    const client = yield* Effect.acquireRelease(
      Effect.tryPromise({ try: () => factory(account), catch: telegramError }),
      closed
    )
    yield* Effect.tryPromise({ try: () => client.connect(), catch: telegramError }).pipe(
      Effect.timeoutFail({ duration: Duration.millis(connectMs), onTimeout: tooLate })
    )
    return client
  })

const closed = (client: TelegramClientLike) =>
  Effect.tryPromise(() => client.close()).pipe(
    Effect.interruptible,
    Effect.timeoutOption(Duration.millis(closeMs)),
    Effect.catchAll(() => Effect.logDebug("a Telegram client did not close in order"))
  )

/** Telegram's own answer came through, so the connection is as good as before. */
const isWait = (cause: Cause.Cause<SinkError>): boolean =>
  Option.exists(Cause.failureOption(cause), ({ kind }) => kind === "rate_limited")

const tell = async (client: TelegramClientLike, { config }: UserChannel, note: Note): Promise<void> => {
  try {
    await client.send(config.chatId, plainText(note), messageIdOf(note))
  } catch (cause) {
    // Telegram has the message already: an earlier attempt arrived and its answer did not.
    if (faultOf(cause).name !== "RANDOM_ID_DUPLICATE") throw cause
  }
}

/** 63 bits of the dedupe key's digest, or of the moment of a test: the same note has the same id at each attempt. */
const messageIdOf = (note: Note): bigint => {
  const text = note.meta["dedupe_key"] ?? `test:${note.sentAtMs}`
  return BigInt.asUintN(63, createHash("sha256").update(text).digest().readBigUInt64BE())
}

const notLoggedIn = () =>
  new SinkError({ kind: "permanent", reason: "not_logged_in", message: "nobody has logged in to the Telegram account" })

const tooLate = () =>
  new SinkError({ kind: "transient", reason: "timeout", message: "Telegram did not answer in time" })

const tooMany = () =>
  new SinkError({ kind: "transient", reason: "connect", message: "too many Telegram accounts are in use at a time" })
