// One good call of every alert endpoint, for the table of the contract's test.
import { Effect } from "effect"
import { TelegramLogin } from "../../runtime/alert/TelegramLogin.ts"
import { TelegramUsers } from "../../runtime/alert/TelegramUser.ts"
import { JournalStore } from "../../src/store/Journal.ts"
import { changeOf, outboxOf, stepOf } from "../store/alert/Support.ts"
import { startReceiver, replyWith } from "../support/Receiver.ts"
import { type Headers, json, type Service } from "../support/Service.ts"
import { account, bodyOf, callsOf, hook, prefix } from "./AlertCalls.ts"

export interface Call {
  readonly path?: string
  readonly headers?: Headers
  readonly body?: unknown
}
export interface Row {
  readonly status: number
  readonly type?: string
  readonly call: () => Call | Promise<Call>
}

/** The service and the node that the calls are about, as they are when a call is made. */
export interface Given {
  readonly service: () => Service
  readonly admin: () => Headers
  readonly nodeId: () => number
}

const rule = { name: "cpu", metric: "cpu.usage_ratio", operator: ">=", threshold: 0.9 }
const mtproto = `${prefix}/channels/telegram/mtproto`

/** A delivery to a channel that is there, of an event of its own. */
const delivered = async (service: Service, channelId: number): Promise<number> => {
  const eventId = Number(await service.value("SELECT coalesce(max(id), 0) + 1 FROM alert_events"))
  const write = stepOf([changeOf(eventId, "opened")], [outboxOf(eventId, { channelId })])
  await service.inside(Effect.map(JournalStore, (store) => store.write([write])))
  return Number(await service.value("SELECT max(id) FROM alert_outbox"))
}

/** Telegram lets everyone in, and asks for a password after the code. */
const openTelegram = (service: Service, channelId: number) =>
  service.inside(
    Effect.gen(function* () {
      const { mode, phone } = account
      const config = { type: "telegram", mode, phone, chatId: "self", apiId: 7, apiHash: account.api_hash }
      const channel = { id: channelId, config }
      Object.assign(yield* TelegramLogin, {
        code: () => Effect.succeed({ loginId: "some" }),
        verify: () => Effect.succeed({ _tag: "PasswordRequired" }),
        password: () => Effect.succeed({ _tag: "LoggedIn", channel, session: "canary-session", username: "me" })
      })
      Object.assign(yield* TelegramUsers, { ping: () => Effect.succeed({ valid: true }) })
    })
  )

type Rows = Readonly<Record<string, Row>>

/** What the rows below are made with; `type`: of JSON answers. */
const toolsOf = ({ admin, nodeId, service }: Given, type: string) => {
  const headers = () => ({ ...admin(), ...json })
  const create = (path: string, body: unknown) => callsOf(service(), admin).create(path, body)
  const read: Row = { status: 200, type, call: () => ({ headers: admin() }) }
  return {
    headers,
    create,
    read,
    service,
    nodeId,
    written: (call: () => Call | Promise<Call>): Row => ({ status: 204, call }),
    at: (path: string) => ({ path: prefix + path, headers: headers() }),
    newRule: () => create("/rules", rule),
    newChannel: () => create("/channels", bodyOf("webhook", hook)),
    newAccount: async () => {
      const id = await create("/channels", bodyOf("telegram", account))
      await openTelegram(service(), id)
      return id
    },
    silence: () => ({ scope: "node", target_id: nodeId(), until: new Date(Date.now() + 3_600_000).toISOString() })
  }
}
type Tools = ReturnType<typeof toolsOf>

const ruleRows = ({ at, create, headers, newRule, nodeId, read, silence, written }: Tools): Rows => ({
  [`GET ${prefix}/rules`]: read,
  [`POST ${prefix}/rules`]: written(() => ({ headers: headers(), body: rule })),
  [`POST ${prefix}/rules/preview`]: {
    ...read,
    call: () => ({ headers: headers(), body: { rule, server_id: nodeId() } })
  },
  [`PATCH ${prefix}/rules/:id`]: written(async () => ({ ...at(`/rules/${await newRule()}`), body: { name: "b" } })),
  [`DELETE ${prefix}/rules/:id`]: written(async () => at(`/rules/${await newRule()}`)),
  [`GET ${prefix}/mounts`]: read,
  [`PUT ${prefix}/mounts`]: written(() => ({
    headers: headers(),
    body: { rule_ids: [1], server_ids: [nodeId()], mounted: true }
  })),
  [`GET ${prefix}/settings`]: read,
  [`PUT ${prefix}/settings`]: written(() => ({
    headers: headers(),
    body: { enabled: true, channel_ids: [], allow_private_targets: true }
  })),
  [`GET ${prefix}/silences`]: read,
  [`POST ${prefix}/silences`]: written(() => ({ headers: headers(), body: silence() })),
  [`PUT ${prefix}/silences/:id`]: written(async () => ({
    ...at(`/silences/${await create("/silences", silence())}`),
    body: silence()
  })),
  [`DELETE ${prefix}/silences/:id`]: written(async () => at(`/silences/${await create("/silences", silence())}`))
})

const channelRows = ({ at, create, headers, newChannel, read, written }: Tools): Rows => ({
  [`GET ${prefix}/channels`]: read,
  [`POST ${prefix}/channels`]: written(() => ({ headers: headers(), body: bodyOf("webhook", hook) })),
  [`GET ${prefix}/channels/:id`]: { ...read, call: async () => at(`/channels/${await newChannel()}`) },
  [`PUT ${prefix}/channels/:id`]: written(async () => ({
    ...at(`/channels/${await newChannel()}`),
    body: bodyOf("webhook", hook)
  })),
  [`PUT ${prefix}/channels/:id/enabled`]: written(async () => ({
    ...at(`/channels/${await newChannel()}/enabled`),
    body: { enabled: false }
  })),
  [`POST ${prefix}/channels/:id/test`]: written(async () => {
    const receiver = await startReceiver((response, one) => {
      replyWith(200)(response, one)
      void receiver.close()
    })
    return {
      ...at(`/channels/${await create("/channels", bodyOf("webhook", { url: receiver.url }))}/test`),
      body: {}
    }
  }),
  [`DELETE ${prefix}/channels/:id`]: written(async () => at(`/channels/${await newChannel()}`))
})

const loginRows = ({ headers, newAccount, read, written }: Tools): Rows => ({
  [`POST ${mtproto}/code`]: {
    ...read,
    call: async () => ({ headers: headers(), body: { channel_id: await newAccount() } })
  },
  [`POST ${mtproto}/verify`]: {
    ...read,
    call: async () => {
      await newAccount()
      return { headers: headers(), body: { login_id: "some", code: "1" } }
    }
  },
  [`POST ${mtproto}/password`]: written(async () => {
    await newAccount()
    return { headers: headers(), body: { login_id: "some", password: "1" } }
  }),
  [`POST ${mtproto}/ping`]: {
    ...read,
    call: async () => ({ headers: headers(), body: { channel_id: await newAccount() } })
  }
})

const eventRows = ({ at, newChannel, read, service, written }: Tools): Rows => ({
  [`GET ${prefix}/events`]: read,
  [`GET ${prefix}/events/summary`]: read,
  [`GET ${prefix}/events/servers`]: read,
  [`GET ${prefix}/deliveries`]: read,
  [`GET ${prefix}/deliveries/:id/attempts`]: {
    ...read,
    call: async () => at(`/deliveries/${await delivered(service(), await newChannel())}/attempts`)
  },
  [`POST ${prefix}/deliveries/:id/resend`]: written(async () =>
    at(`/deliveries/${await delivered(service(), await newChannel())}/resend`)
  )
})

export const alertEndpoints = (given: Given, type: string): Rows => {
  const tools = toolsOf(given, type)
  return { ...ruleRows(tools), ...channelRows(tools), ...loginRows(tools), ...eventRows(tools) }
}
