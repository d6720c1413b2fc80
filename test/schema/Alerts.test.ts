// The alerts' part of the API as one document: every path of the contract, what it takes and how it can fail.
import { HttpApi, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { AlertEventPage } from "../../schema/AlertEvents.ts"
import { RuleWrite } from "../../schema/Alerts.ts"
import { AlertChannelsApi, AlertEventsApi, AlertRulesApi } from "../../schema/api/Alerts.ts"
import { isFailure, NotifyError, wire } from "../../schema/Errors.ts"

class Alerts extends HttpApi.make("alerts").add(AlertRulesApi).add(AlertChannelsApi).add(AlertEventsApi) {}

const documented = OpenApi.fromApi(Alerts)
const lines = Object.entries(documented.paths)
  .flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { responses }]) => {
      const statuses = Object.keys(responses ?? {}).toSorted()
      return `${method.toUpperCase()} ${path.replace("/api/admin/alerts", "")} ${statuses.join()}`
    })
  )
  .toSorted()

describe("the API of alerts", () => {
  it("has every path of the contract, and its statuses", () => {
    expect(lines).toEqual(
      [
        "GET /rules 200,400,401,503",
        "POST /rules 204,400,401,503",
        "POST /rules/preview 200,400,401,404,503",
        "PATCH /rules/{id} 204,400,401,404,503",
        "DELETE /rules/{id} 204,400,401,404,503",
        "GET /mounts 200,400,401,503",
        "PUT /mounts 204,400,401,503",
        "GET /settings 200,400,401,503",
        "PUT /settings 204,400,401,503",
        "GET /silences 200,400,401,503",
        "POST /silences 204,400,401,503",
        "PUT /silences/{id} 204,400,401,404,503",
        "DELETE /silences/{id} 204,400,401,404,503",
        "GET /channels 200,400,401,503",
        "POST /channels 204,400,401,503",
        "GET /channels/{id} 200,400,401,404,503",
        "PUT /channels/{id} 204,400,401,404,503",
        "PUT /channels/{id}/enabled 204,400,401,404,503",
        "POST /channels/{id}/test 204,400,401,404,503",
        "DELETE /channels/{id} 204,400,401,404,503",
        "POST /channels/telegram/mtproto/code 200,400,401,404,429,503",
        "POST /channels/telegram/mtproto/verify 200,204,400,401,404,503",
        "POST /channels/telegram/mtproto/password 204,400,401,404,503",
        "POST /channels/telegram/mtproto/ping 200,400,401,404,503",
        "GET /events 200,400,401,503",
        "GET /events/summary 200,400,401,503",
        "GET /events/servers 200,400,401,503",
        "GET /deliveries 200,400,401,503",
        "GET /deliveries/{id}/attempts 200,400,401,404,503",
        "POST /deliveries/{id}/resend 204,400,401,404,503"
      ].toSorted()
    )
  })

  it("refuses members of a rule that are of another type, and takes null for what is not given", () => {
    const decode = Schema.decodeUnknownEither(RuleWrite)
    for (const body of [{ threshold: "1" }, { enabled: 1 }, { name: 7 }, { clear_threshold: true }, "rule", null]) {
      expect(decode(body)._tag, JSON.stringify(body)).toBe("Left")
    }
    expect(decode({ name: "a", threshold: null, clear_threshold: null, more: 1 })._tag).toBe("Right")
  })

  it("leaves out of an event what it does not know", () => {
    const event = {
      id: "7",
      rule_id: -1,
      rule_generation: 1,
      server_id: 3,
      server_name: "",
      server_hostname: "",
      status: "open",
      metric: "node.offline",
      rule_name: "node_offline",
      first_trigger_at: "2026-01-01T00:00:00Z",
      last_trigger_at: "2026-01-01T00:00:00Z",
      muted: false
    } as const
    const page = { items: [event], next_cursor: null, has_more: false }
    expect(Schema.encodeSync(AlertEventPage)(page)).toEqual(page)
    expect(Schema.decodeUnknownEither(AlertEventPage)({ ...page, items: [{ ...event, id: 7 }] })._tag).toBe("Left")
  })

  it("tells a failed notification apart from a failed database", () => {
    const failed = new NotifyError({ message: "the mail server refused the login" })
    expect(isFailure(failed)).toBe(true)
    expect(Schema.encodeSync(wire(NotifyError))(failed)).toEqual({
      code: "notify_error",
      message: "the mail server refused the login"
    })
  })
})
