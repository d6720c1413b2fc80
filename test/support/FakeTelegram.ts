// A stand-in for Telegram accounts: clients that connect to nothing, answer by a script and remember what they were asked.
import type { TelegramAccount, TelegramClientLike, TelegramFactory } from "../../runtime/alert/TelegramClient.ts"

/** An error in the form of Telegram's library. */
export const rpcError = (errorMessage: string, code = 400): Error =>
  Object.assign(new Error(`canary ${errorMessage}`), { errorMessage, code })

export const floodWait = (seconds: number): Error =>
  Object.assign(new Error("canary"), { errorMessage: `A wait of ${seconds} seconds`, code: 420, seconds })

export interface Sent {
  readonly target: string
  readonly text: string
  readonly id: bigint
}

export class FakeTelegram {
  readonly accounts: Array<TelegramAccount> = []
  readonly sent: Array<Sent> = []
  openClients = 0
  /** What the next calls do instead of answering well; a call takes the first of its row. */
  readonly script: Partial<Record<keyof TelegramClientLike, Array<() => Promise<never>>>> = {}
  code = "12345"
  password: string | undefined = undefined

  fail(call: keyof TelegramClientLike, error: Error, times = 1): void {
    this.script[call] = [
      ...(this.script[call] ?? []),
      ...Array<() => Promise<never>>(times).fill(() => Promise.reject(error))
    ]
  }

  hang(call: keyof TelegramClientLike): void {
    this.script[call] = [...(this.script[call] ?? []), () => new Promise<never>(() => undefined)]
  }

  private async scripted(call: keyof TelegramClientLike): Promise<void> {
    await this.script[call]?.shift()?.()
  }

  readonly factory: TelegramFactory = (account) => {
    this.accounts.push(account)
    this.openClients += 1
    let isOpen = true
    return Promise.resolve({
      connect: () => this.scripted("connect"),
      requestCode: async () => {
        await this.scripted("requestCode")
        return { codeHash: "hash", timeoutSec: 120 }
      },
      signIn: async (_phone, codeHash, code) => {
        await this.scripted("signIn")
        if (codeHash !== "hash" || code !== this.code) throw rpcError("PHONE_CODE_INVALID")
        if (this.password !== undefined) throw rpcError("SESSION_PASSWORD_NEEDED", 401)
      },
      signInWithPassword: async (password) => {
        await this.scripted("signInWithPassword")
        if (password !== this.password) throw rpcError("PASSWORD_HASH_INVALID")
      },
      self: async () => {
        await this.scripted("self")
        return { username: "me" }
      },
      send: async (target, text, id) => {
        await this.scripted("send")
        this.sent.push({ target, text, id })
      },
      session: () => "canary-session",
      close: async () => {
        if (isOpen) this.openClients -= 1
        isOpen = false
        await this.scripted("close")
      }
    })
  }
}
