// How the tests of the alert endpoints call them: as the administrator, every answer checked for what all answers have.
import { Schema } from "effect"
import assert from "node:assert/strict"
import { type Answer, type Headers, json, proper, type Service } from "../support/Service.ts"

export interface Calls {
  /** A body that is text is sent as it is; undefined sends none. */
  readonly call: (method: string, path: string, body?: unknown) => Promise<Answer>
  /** An answer of 200, every member of it declared. */
  readonly read: <A, I>(schema: Schema.Schema<A, I>, path: string) => Promise<A>
  /** What 204 with a Location has made. */
  readonly create: (path: string, body: unknown) => Promise<number>
}

export const prefix = "/api/admin/alerts"

/** Paths are those behind the prefix. */
export const callsOf = (service: Service, admin: () => Headers): Calls => {
  const call: Calls["call"] = async (method, path, body) => {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body)
    const headers = text === undefined ? admin() : { ...admin(), ...json }
    return proper(await service.call(method, prefix + path, headers, text))
  }
  return {
    call,
    read: async (schema, path) => {
      const answer = await call("GET", path)
      assert.equal(answer.status, 200, answer.text)
      return Schema.decodeUnknownSync(schema)(answer.json, { onExcessProperty: "error" })
    },
    create: async (path, body) => {
      const { headers, status, text } = await call("POST", path, body)
      assert.equal(status, 204, text)
      const [, place, id] = /^(.*)\/(\d+)$/.exec(headers.location ?? "") ?? []
      assert.equal(place, prefix + path)
      return Number(id)
    }
  }
}

/** Status, code and message of a refusal; the status alone of anything else. */
export const told = ({ json: body, status }: Answer): string => {
  if (typeof body !== "object" || body === null || !("code" in body) || !("message" in body)) return String(status)
  return `${status} ${String(body.code)}: ${String(body.message)}`
}

/** Channels to write; whatever is secret in them, and what stand-ins say, holds the word canary. */
export const email = {
  smtp_host: "mail.example.org",
  smtp_port: 465,
  username: "watch",
  password: "canary-password",
  from: "watch@example.org",
  to: "a@example.org",
  use_tls: true
}
export const bot = { mode: "bot", bot_token: "12:canary-token", chat_id: -100123 }
export const account = { mode: "mtproto", api_id: "7", api_hash: "canary-hash", phone: "+49 30 1", chat_id: "self" }
export const hook = {
  url: "https://example.org/hook?x=1",
  headers: { "X-Key": "canary-value" },
  secret: "canary-secret"
}
export const bodyOf = (type: string, config: unknown, change: object = {}) => ({
  name: " told ",
  type,
  config,
  enabled: true,
  ...change
})

/** What takes a body: all but the test of a channel, which may come without one. */
export const alertWrites = [
  ["POST", "/rules"],
  ["PATCH", "/rules/1"],
  ["POST", "/rules/preview"],
  ["PUT", "/mounts"],
  ["PUT", "/settings"],
  ["POST", "/silences"],
  ["PUT", "/silences/1"],
  ["POST", "/channels"],
  ["PUT", "/channels/1"],
  ["PUT", "/channels/1/enabled"],
  ["POST", "/channels/telegram/mtproto/code"],
  ["POST", "/channels/telegram/mtproto/verify"],
  ["POST", "/channels/telegram/mtproto/password"],
  ["POST", "/channels/telegram/mtproto/ping"]
] as const

/** What an administrator can change of alerts, as something to compare. */
export const alertRows = ({ value }: Pick<Service, "value">): Promise<unknown> =>
  value(`
    SELECT (SELECT json_group_array(json_array(id, name, generation, updated_at)) FROM alert_rules) ||
      (SELECT count(*) FROM alert_mounts) || ' ' || (SELECT updated_at FROM alert_settings) || ' ' ||
      (SELECT count(*) FROM alert_silences) || ' ' ||
      (SELECT json_group_array(json_array(id, name, revision)) FROM alert_channels)`)
