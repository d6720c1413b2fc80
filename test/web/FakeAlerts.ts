// The alerts of the seeded fleet as administrators read and write them; judged by the service's own rules where it has some.
import { Either } from "effect"
import type { AlertAttempts, AlertDelivery, AlertEvent } from "../../schema/AlertEvents.ts"
import type { AlertSettings, Mounts, Rule, RuleWrite, Silence } from "../../schema/Alerts.ts"
import type { Channel, ChannelConfig } from "../../src/core/alert/Channel.ts"
import { channelView, loggedIn, newChannel, replacedChannel, switchOf } from "../../src/core/alert/ChannelWrite.ts"
import { builtIns, seeds, type AlertRule } from "../../src/core/alert/Rule.ts"
import { changed, ruleOf } from "../../src/core/alert/RuleWrite.ts"
import type { FakeFleet } from "./FakeFleet.ts"
import { Refused } from "./FakeRecords.ts"

export interface AlertCall {
  readonly method: string
  /** The path behind `/api/admin/alerts`, in its parts. */
  readonly rest: ReadonlyArray<string>
  readonly query: URLSearchParams
  readonly body: Record<string, unknown>
  readonly fleet: FakeFleet
  readonly nowMs: number
}

const utc = (ms: number): string => new Date(ms).toISOString().replace(/\.\d{3}Z$/, "Z")
const bornMs = Date.UTC(2026, 0, 2)

const settled = <A>(judged: Either.Either<A, { readonly code: string; readonly message: string }>): A => {
  if (Either.isRight(judged)) return judged.right
  throw new Refused(400, judged.left.code, judged.left.message)
}

const ruleView = (rule: AlertRule): Rule => ({
  id: rule.id,
  name: rule.name,
  enabled: rule.enabled,
  metric: rule.metric,
  operator: rule.operator,
  threshold: rule.threshold,
  duration_sec: rule.durationSec,
  cooldown_min: rule.cooldownMin,
  threshold_mode: rule.thresholdMode,
  threshold_offset: rule.thresholdOffset,
  clear_threshold: rule.clearThreshold,
  keep_firing_sec: rule.keepFiringSec,
  created_at: utc(rule.createdAt),
  updated_at: utc(rule.updatedAt)
})

const paged = <A extends { readonly id: string | number }>(items: ReadonlyArray<A>, query: URLSearchParams) => {
  const limit = Math.min(500, Number(query.get("limit") ?? 200))
  const from = query.has("cursor") ? items.findIndex((one) => `x,${one.id}` === query.get("cursor")) + 1 : 0
  const page = items.slice(from, from + limit)
  const last = page.at(-1)
  const hasMore = from + limit < items.length
  return { items: page, has_more: hasMore, next_cursor: hasMore && last !== undefined ? `x,${last.id}` : null }
}

export class FakeAlerts {
  rules: Array<AlertRule> = [...seeds].reverse().map((rule) => ({ ...rule, createdAt: bornMs, updatedAt: bornMs }))
  /** `rule:node` where it is not as usual. */
  readonly mounts = new Map<string, boolean>()
  channels: Array<Channel> = []
  events: Array<AlertEvent> = []
  deliveries: Array<AlertDelivery> = []
  silences: Array<Silence> = []
  attempts: AlertAttempts["items"] = []
  settings: AlertSettings = {
    enabled: true,
    channel_ids: [],
    group_offline: true,
    group_offline_over: 3,
    group_offline_window_sec: 30,
    offline_after_sec: 14,
    allow_private_targets: false,
    created_at: utc(bornMs),
    updated_at: utc(bornMs)
  }
  /** What the next test ends in; null: it is sent. */
  testFault: Refused | null = null
  /** When a previewed rule would have opened and closed, in ms before now. */
  episodes: ReadonlyArray<readonly [number, number | null]> = []
  /** The account that logs in has a password. */
  hasPassword = true
  /** Every write is refused. */
  isReadOnly = false
  #nextId = 100

  /** An alert on a node, `ageMs` old; closed after `lastedMs` when given. */
  open(fleet: FakeFleet, nodeId: number, metric: string, nowMs: number, ageMs: number, lastedMs?: number): AlertEvent {
    const rule = [...builtIns, ...this.rules].find((one) => one.metric === metric)
    const event: AlertEvent = {
      id: String(this.#nextId++),
      rule_id: rule?.id ?? 9,
      rule_generation: 1,
      server_id: nodeId,
      server_name: fleet.nodes.find((node) => node.id === nodeId)?.title ?? "",
      server_hostname: "host",
      status: lastedMs === undefined ? "open" : "closed",
      metric,
      rule_name: rule?.name ?? "gone",
      first_trigger_at: utc(nowMs - ageMs),
      last_trigger_at: utc(nowMs - ageMs),
      ...(lastedMs === undefined
        ? {}
        : { closed_at: utc(nowMs - ageMs + lastedMs), close_reason: "condition_cleared" }),
      current_value: metric === "node.offline" ? 1 : 0.973,
      effective_threshold: metric === "node.offline" ? 1 : 0.9,
      muted: false
    }
    this.events.unshift(event)
    return event
  }

  /** Undefined for 204. */
  answer(call: AlertCall): unknown {
    const [kind, id] = call.rest
    if (this.isReadOnly && call.method !== "GET") throw new Refused(503, "db_error")
    if (kind === "rules") return this.#rules(call)
    if (kind === "mounts") return this.#mounts(call)
    if (kind === "settings") return this.#settings(call)
    if (kind === "channels") return this.#channels(call)
    if (kind === "silences") return this.#silences(call)
    if (kind === "events") return this.#events(call)
    if (kind === "deliveries") return this.#deliveries(call)
    throw new Refused(404, "not_found", `${kind} ${id}`)
  }

  #rules({ body, method, nowMs, rest }: AlertCall): unknown {
    const [, id] = rest
    if (id === "preview") {
      settled(ruleOf(body["rule"] as RuleWrite))
      const items = this.episodes.map(([from, to]) => ({
        opened_at: utc(nowMs - from),
        closed_at: to === null ? null : utc(nowMs - to)
      }))
      return { server_id: body["server_id"], from: body["from"], to: body["to"], step_sec: 60, items }
    }
    if (method === "GET") return this.rules.map(ruleView)
    if (method === "POST") {
      const fields = settled(ruleOf(body as RuleWrite))
      this.rules.unshift({ ...fields, id: this.#nextId++, generation: 1, createdAt: nowMs, updatedAt: nowMs })
      return undefined
    }
    const at = this.rules.findIndex((rule) => String(rule.id) === id)
    const rule = this.rules[at]
    if (rule === undefined) throw new Refused(404, "not_found")
    if (method === "DELETE") this.rules.splice(at, 1)
    else this.rules[at] = settled(changed(rule, body as RuleWrite, nowMs))
    return undefined
  }

  isMounted(ruleId: number, nodeId: number): boolean {
    return this.mounts.get(`${ruleId}:${nodeId}`) ?? ruleId < 0
  }

  #mounts({ body, fleet, method }: AlertCall): unknown {
    const rules = [...builtIns, ...this.rules]
    if (method === "PUT") {
      for (const rule of body["rule_ids"] as ReadonlyArray<number>)
        for (const node of body["server_ids"] as ReadonlyArray<number>)
          this.mounts.set(`${rule}:${node}`, body["mounted"] === true)
      return undefined
    }
    const answer: Mounts = {
      rules: rules.map(({ enabled, id, metric, name }) => ({
        id,
        name,
        metric,
        enabled,
        builtin: id < 0,
        default_mounted: id < 0
      })),
      nodes: fleet.nodes.map((node) => ({
        id: node.id,
        name: node.title,
        hostname: node.title,
        group_ids: node.groups,
        mounts: rules.map(({ id }) => ({ rule_id: id, mounted: this.isMounted(id, node.id) }))
      }))
    }
    return answer
  }

  #settings({ body, method }: AlertCall): unknown {
    if (method === "GET") return this.settings
    if (typeof body["enabled"] !== "boolean" || !Array.isArray(body["channel_ids"]))
      throw new Refused(400, "invalid_fields", "enabled and channel_ids are required")
    this.settings = { ...this.settings, ...body }
    return undefined
  }

  /** A channel as if it had been made. */
  addChannel(name: string, config: ChannelConfig): Channel {
    const channel = {
      id: this.#nextId++,
      name,
      enabled: true,
      config,
      revision: 1,
      createdAt: bornMs,
      updatedAt: bornMs
    }
    this.channels.unshift(channel)
    return channel
  }

  #channels(call: AlertCall): unknown {
    const { body, method, rest } = call
    const [, id, action] = rest
    if (id === "telegram") return this.#login(rest[3] ?? "", body)
    if (id === undefined && method === "GET") return this.channels.map(channelView)
    if (id === undefined) {
      const draft = settled(newChannel(body))
      this.addChannel(draft.name, draft.config)
      return undefined
    }
    const at = this.channels.findIndex((one) => String(one.id) === id)
    const channel = this.channels[at]
    if (channel === undefined) throw new Refused(404, "not_found")
    if (action === "test") {
      if (this.testFault !== null) throw this.testFault
    } else if (method === "DELETE") this.channels.splice(at, 1)
    else if (action === "enabled") this.channels[at] = { ...channel, enabled: settled(switchOf(body)) }
    else this.channels[at] = { ...channel, ...settled(replacedChannel(channel, body)) }
    return undefined
  }

  /** The code is 12345, the password is "deep". */
  #login(step: string, body: Record<string, unknown>): unknown {
    const at = this.channels.findIndex((one) => "mode" in one.config && one.config.mode === "mtproto")
    const channel = this.channels[at]
    if (channel === undefined || !("mode" in channel.config) || channel.config.mode !== "mtproto")
      throw new Refused(404, "not_found")
    const done = (): undefined => {
      if ("mode" in channel.config && channel.config.mode === "mtproto")
        this.channels[at] = { ...channel, config: loggedIn(channel.config, "session", "watcher") }
    }
    if (step === "ping")
      return channel.config.session === "" ? { valid: false, reason: "not_logged_in" } : { valid: true }
    if (step === "code") return { login_id: "one", timeout: 60 }
    if (step === "verify") {
      if (body["code"] !== "12345") throw new Refused(400, "invalid_code")
      return this.hasPassword ? { password_required: true } : done()
    }
    if (body["password"] !== "deep") throw new Refused(400, "invalid_password")
    return done()
  }

  #silences({ body, method, nowMs, rest }: AlertCall): unknown {
    if (method === "GET") return this.silences
    if (method === "DELETE") {
      this.silences = this.silences.filter((one) => String(one.id) !== rest[1])
      return undefined
    }
    const until = Date.parse(String(body["until"]))
    if (!(until > nowMs)) throw new Refused(400, "invalid_fields", "until must lie ahead, at most 366 days")
    this.silences.unshift({
      id: this.#nextId++,
      scope: body["scope"] as Silence["scope"],
      target_id: Number(body["target_id"]),
      until: utc(until),
      active: true,
      comment: String(body["comment"] ?? ""),
      created_at: utc(nowMs)
    })
    return undefined
  }

  #events({ query, rest }: AlertCall): unknown {
    const [, kind] = rest
    const open = this.events.filter((one) => one.status === "open")
    if (kind === "servers")
      return {
        items: [...new Map(this.events.map((one) => [one.server_id, one.server_name]))].map(([id, name]) => ({
          id,
          name
        }))
      }
    if (kind === "summary") {
      const ids = [...new Set(open.map((one) => one.server_id))]
      return {
        items: ids.map((id) => {
          const mine = open.filter((one) => one.server_id === id)
          return {
            server_id: id,
            open_count: mine.length,
            last_trigger_at: mine[0]?.last_trigger_at,
            metric: mine[0]?.metric,
            rule_name: mine[0]?.rule_name,
            metrics: [...new Set(mine.map((one) => one.metric))]
          }
        })
      }
    }
    const status = query.get("status") ?? "open"
    const [node, metric, from, to] = ["server_id", "metric", "from", "to"].map((name) => query.get(name))
    const fits = this.events.filter(
      (one) =>
        (status === "all" || one.status === status) &&
        (!node || String(one.server_id) === node) &&
        (!metric || one.metric === metric) &&
        (!from || Date.parse(one.first_trigger_at) >= Date.parse(from)) &&
        (!to || Date.parse(one.first_trigger_at) <= Date.parse(to))
    )
    return paged(fits, query)
  }

  /** A notification about an event. */
  deliver(event: AlertEvent, channel: Channel, status: AlertDelivery["status"], reason?: string): AlertDelivery {
    const delivery: AlertDelivery = {
      id: this.#nextId++,
      event_id: event.id,
      transition: "opened",
      channel_id: channel.id,
      channel_name: channel.name,
      channel_type: channel.config.type,
      server_id: event.server_id,
      server_name: event.server_name,
      title: `Alert ${event.rule_name} @ ${event.server_name}`,
      status,
      attempts: status === "pending" ? 0 : 1,
      created_at: event.first_trigger_at,
      ...(reason === undefined ? {} : { reason })
    }
    this.deliveries.unshift(delivery)
    return delivery
  }

  #deliveries({ method, query, rest }: AlertCall): unknown {
    const [, id, action] = rest
    if (id === undefined) {
      const is = (name: string, value: string | number): boolean => (query.get(name) ?? String(value)) === String(value)
      return paged(
        this.deliveries.filter(
          (one) => is("status", one.status) && is("channel_id", one.channel_id) && is("event_id", one.event_id)
        ),
        query
      )
    }
    const at = this.deliveries.findIndex((one) => String(one.id) === id)
    const delivery = this.deliveries[at]
    if (delivery === undefined) throw new Refused(404, "not_found")
    if (action === "attempts") return { items: this.attempts }
    if (method === "POST") this.deliveries[at] = { ...delivery, status: "pending" }
    return undefined
  }
}
