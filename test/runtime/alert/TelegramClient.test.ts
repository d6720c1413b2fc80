// Owns the proof of which requests our client makes of Telegram's library.
import library from "telegram"
import gramLogger from "telegram/extensions/Logger.js"
import { describe, expect, it } from "vitest"
import { type TelegramClientLike, wrapped } from "../../../runtime/alert/TelegramClient.ts"
import { faultOf } from "../../../runtime/alert/TelegramFault.ts"

const { Api, TelegramClient, sessions } = library
const account = { apiId: 5, apiHash: "hash", session: "" }

interface Asked {
  readonly className: string
}

const userPeer = new Api.InputPeerChannel({
  channelId: library.helpers.returnBigInt(77),
  accessHash: library.helpers.returnBigInt(1)
})

/** The library's client with its line to Telegram cut and answered by the test. */
const clientWith = (answer: (request: Asked) => unknown, more: object = {}, isOnline = true) => {
  const asked: Array<Asked> = []
  const client = new TelegramClient(new sessions.StringSession(""), account.apiId, account.apiHash, {
    baseLogger: new gramLogger.Logger(gramLogger.LogLevel.NONE)
  })
  Object.defineProperty(client, "connected", { value: isOnline })
  Object.assign(client, {
    connect: () => Promise.resolve(true),
    invoke: (request: Asked) => {
      asked.push(request)
      return Promise.resolve(answer(request))
    },
    ...more
  })
  return { asked, client: wrapped(library, client, account, () => "saved") }
}

const faultName = (running: Promise<unknown>): Promise<string> =>
  running.then(
    () => "none",
    (cause: unknown) => faultOf(cause).name
  )

const send = (client: TelegramClientLike, target: string) => client.send(target, "text", 5n)

describe("the client of a Telegram account", () => {
  it("fails where the library does not connect, without saying more than no", async () => {
    const { client } = clientWith(() => undefined, { connect: () => Promise.resolve(false) })

    expect(await faultName(client.connect())).toBe("CONNECTION_FAILED")
  })

  it("fails on an account that does not exist, and on a login without a code", async () => {
    const noAccount = clientWith(() => new Api.auth.AuthorizationSignUpRequired({}))
    const noCode = clientWith(
      () => new Api.auth.SentCodeSuccess({ authorization: new Api.auth.AuthorizationSignUpRequired({}) })
    )

    expect(await faultName(noAccount.client.signIn("+1", "h", "1"))).toBe("PHONE_NUMBER_UNOCCUPIED")
    expect(await faultName(noCode.client.requestCode("+1"))).toBe("UNEXPECTED_LOGIN")
  })

  it("fails on a chat that none of its dialogs is, and on a name nobody has", async () => {
    const getInputEntity = () => Promise.reject(new Error("Could not find the input entity"))
    const more = { getDialogs: () => Promise.resolve([]), getInputEntity }
    const online = clientWith(() => undefined, more)
    const offline = clientWith(() => undefined, more, false)

    expect(await faultName(send(online.client, "-1001"))).toBe("TARGET_UNKNOWN")
    expect(await faultName(send(online.client, "@nobody"))).toBe("TARGET_UNKNOWN")
    // Without a connection nobody knows whether the name exists.
    expect(await faultName(send(offline.client, "@nobody"))).toBe("")
  })

  it("asks for a code and hands the code back with its hash", async () => {
    const sent = new Api.auth.SentCode({
      type: new Api.auth.SentCodeTypeApp({ length: 5 }),
      phoneCodeHash: "the hash",
      timeout: 90
    })
    const { asked, client } = clientWith(({ className }) => (className === "auth.SendCode" ? sent : undefined))

    expect(await client.requestCode("+1")).toEqual({ codeHash: "the hash", timeoutSec: 90 })
    await client.signIn("+1", "the hash", "12345")
    expect(asked).toMatchObject([
      { className: "auth.SendCode", phoneNumber: "+1", apiId: 5, apiHash: "hash" },
      { className: "auth.SignIn", phoneNumber: "+1", phoneCodeHash: "the hash", phoneCode: "12345" }
    ])
    expect(client.session()).toBe("saved")
  })

  it("tells its own name", async () => {
    const me = new Api.User({ id: library.helpers.returnBigInt(1), username: "me" })
    const nameless = new Api.User({ id: library.helpers.returnBigInt(1) })

    expect(await clientWith(() => [me]).client.self()).toEqual({ username: "me" })
    expect(await clientWith(() => [nameless]).client.self()).toEqual({ username: "" })
  })

  it("sends plain text under the given id to itself, to a name and to a numbered chat, looked up once", async () => {
    const looked: Array<unknown> = []
    const { asked, client } = clientWith(() => undefined, {
      getInputEntity: (target: string) => {
        looked.push(target)
        return Promise.resolve(userPeer)
      },
      getDialogs: (options: unknown) => {
        looked.push(options)
        return Promise.resolve([{ entity: { id: library.helpers.returnBigInt(77) }, inputEntity: userPeer }])
      }
    })
    for (const target of ["self", "@name", "@name", "-10077", "77"]) await send(client, target)

    expect(looked).toEqual(["@name", { limit: 200 }, { limit: 200 }])
    expect(asked.map((request) => ("peer" in request ? request.peer : undefined))).toMatchObject([
      { className: "InputPeerSelf" },
      ...Array(4).fill({ className: "InputPeerChannel" })
    ])
    for (const request of asked) {
      expect(request).toMatchObject({ className: "messages.SendMessage", message: "text", noWebpage: true })
      expect("randomId" in request ? String(request.randomId) : "").toBe("5")
    }
  })
})
