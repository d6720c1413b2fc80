// The seam to Telegram accounts: what is asked of a client, and the real one, loaded when the first account needs it.
import type { Api, TelegramClient } from "telegram"

export interface TelegramAccount {
  readonly apiId: number
  readonly apiHash: string
  /** "" for an account that is about to log in. */
  readonly session: string
}

/** A client of one account. Every promise may reject with what the library throws; `faultOf` reads it. */
export interface TelegramClientLike {
  readonly connect: () => Promise<void>
  readonly requestCode: (phone: string) => Promise<{ readonly codeHash: string; readonly timeoutSec?: number }>
  readonly signIn: (phone: string, codeHash: string, code: string) => Promise<void>
  readonly signInWithPassword: (password: string) => Promise<void>
  /** Who is logged in; rejects where the session is none. */
  readonly self: () => Promise<{ readonly username: string }>
  /** A message told again with the same id is refused as a repetition. */
  readonly send: (target: string, text: string, messageId: bigint) => Promise<void>
  /** The login as text, to be given as `session` later. */
  readonly session: () => string
  readonly close: () => Promise<void>
}

export type TelegramFactory = (account: TelegramAccount) => Promise<TelegramClientLike>

/** How many dialogs are searched for a numeric chat (contract, channels). */
const dialogsMax = 200
/** A message on the way at each wait and retry holds its worker, so the library is allowed few of them. */
const retriesMax = 2
const connectTimeoutSec = 10

type Library = typeof import("telegram")

/** A GramJS client that says nothing, waits for nothing and reconnects only when it is asked to connect. */
export const gramClient: TelegramFactory = async (account) => {
  const { default: library } = await import("telegram")
  const { LogLevel, Logger } = (await import("telegram/extensions/Logger.js")).default
  const session = new library.sessions.StringSession(account.session)
  const client = new library.TelegramClient(session, account.apiId, account.apiHash, {
    baseLogger: new Logger(LogLevel.NONE),
    connectionRetries: retriesMax,
    requestRetries: retriesMax,
    reconnectRetries: retriesMax,
    autoReconnect: false,
    floodSleepThreshold: 0,
    timeout: connectTimeoutSec,
    deviceModel: "Watchpost",
    systemVersion: "server",
    appVersion: "1"
  })
  client.onError = () => Promise.resolve()
  return wrapped(library, client, account, () => session.save())
}

/** What we ask of a client in terms of the library's requests. */
export const wrapped = (
  library: Library,
  client: TelegramClient,
  account: TelegramAccount,
  save: () => string
): TelegramClientLike => {
  const { Api, helpers } = library
  let known: { readonly target: string; readonly peer: Api.TypeInputPeer } | undefined
  return {
    connect: async () => {
      if (!(await client.connect())) throw fault("CONNECTION_FAILED", -1)
    },
    requestCode: async (phoneNumber) => {
      const settings = new Api.CodeSettings({})
      const { apiHash, apiId } = account
      const sent = await client.invoke(new Api.auth.SendCode({ phoneNumber, apiId, apiHash, settings }))
      if (!(sent instanceof Api.auth.SentCode)) throw fault("UNEXPECTED_LOGIN", 400)
      return { codeHash: sent.phoneCodeHash, ...(sent.timeout === undefined ? {} : { timeoutSec: sent.timeout }) }
    },
    signIn: async (phoneNumber, phoneCodeHash, phoneCode) => {
      const answer = await client.invoke(new Api.auth.SignIn({ phoneNumber, phoneCodeHash, phoneCode }))
      if (answer instanceof Api.auth.AuthorizationSignUpRequired) throw fault("PHONE_NUMBER_UNOCCUPIED", 400)
    },
    signInWithPassword: async (text) => {
      const asked = await client.invoke(new Api.account.GetPassword())
      const password = await library.password.computeCheck(asked, text)
      await client.invoke(new Api.auth.CheckPassword({ password }))
    },
    self: async () => {
      const [me] = await client.invoke(new Api.users.GetUsers({ id: [new Api.InputUserSelf()] }))
      return { username: me instanceof Api.User ? (me.username ?? "") : "" }
    },
    send: async (target, message, messageId) => {
      if (known?.target !== target) known = { target, peer: await peerOf(library, client, target) }
      const randomId = helpers.returnBigInt(messageId.toString())
      await client.invoke(new Api.messages.SendMessage({ peer: known.peer, message, randomId, noWebpage: true }))
    },
    session: save,
    close: () => client.destroy()
  }
}

/** The chat a target names: `self`, a number (a leading -100 is left out), `@name` or another resolvable name. */
const peerOf = async (library: Library, client: TelegramClient, target: string): Promise<Api.TypeInputPeer> => {
  if (target === "self") return new library.Api.InputPeerSelf()
  const bare = bareId(target)
  if (bare === undefined) {
    return client.getInputEntity(target).catch((cause: unknown) => {
      // The library tells an unknown name by a text alone; everything else carries a code or has lost its connection.
      throw client.connected === true && !isCoded(cause) ? fault("TARGET_UNKNOWN", 400) : cause
    })
  }
  const dialogs = await client.getDialogs({ limit: dialogsMax })
  const found = dialogs.find(({ entity }) => entity?.id.toString() === bare)
  if (found === undefined) throw fault("TARGET_UNKNOWN", 400)
  return found.inputEntity
}

/** The number Telegram itself uses for a chat that is named by a number; undefined for names. */
export const bareId = (target: string): string | undefined => {
  if (!/^-?[0-9]+$/.test(target)) return undefined
  return target.startsWith("-100") && target.length > 4 ? target.slice(4) : target.replace("-", "")
}

const isCoded = (cause: unknown): boolean => typeof cause === "object" && cause !== null && "errorMessage" in cause

/** An error in the form of the library's own. */
const fault = (errorMessage: string, code: number): Error =>
  Object.assign(new Error(errorMessage), { errorMessage, code })
