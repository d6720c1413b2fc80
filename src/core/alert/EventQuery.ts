// Turns the parameters of the event and delivery lists into what is to be read, and places in them into cursors.
import { Either } from "effect"
import { eventsDefault, eventsMax } from "../../../schema/AlertEvents.ts"
import { InvalidRequest } from "../../../schema/Errors.ts"
import { instantOf } from "../HistoryQuery.ts"
import { type AlertMetric, metrics } from "./Rule.ts"

type Param = string | undefined
type Read<A> = Either.Either<A, InvalidRequest>

export interface EventParams {
  readonly server_id?: Param
  readonly status?: Param
  readonly metric?: Param
  readonly from?: Param
  readonly to?: Param
  readonly cursor?: Param
  readonly limit?: Param
}

/** The last event of a page: the next one began before it, or at the same time with a smaller id. */
export interface EventPlace {
  /** Milliseconds. */
  readonly firstAt: number
  readonly id: number
}

export interface EventsAsked {
  readonly status: "open" | "closed" | "all"
  readonly limit: number
  readonly nodeId?: number
  readonly metric?: AlertMetric
  /** Bounds of the beginning, milliseconds, both inclusive. */
  readonly fromMs?: number
  readonly toMs?: number
  readonly after?: EventPlace
}

export interface DeliveryParams {
  readonly channel_id?: Param
  readonly event_id?: Param
  readonly server_id?: Param
  readonly status?: Param
  readonly cursor?: Param
  readonly limit?: Param
}

export interface DeliveriesAsked {
  readonly limit: number
  readonly channelId?: number
  readonly eventId?: number
  readonly nodeId?: number
  readonly status?: "pending" | "sent" | "failed"
  /** Only those with a smaller id. */
  readonly beforeId?: number
}

/** What of the events is asked for (api.md 8.6), or which parameter is wrong. Blank parameters ask for nothing. */
export const eventsAsked = (params: EventParams): Read<EventsAsked> =>
  Either.gen(function* () {
    const nodeId = yield* read(params, "server_id", idOf, "must be a positive integer")
    const status = yield* read(
      params,
      "status",
      oneOf(["open", "closed", "all"] as const),
      "must be open, closed or all"
    )
    const metric = yield* read(params, "metric", oneOf(metrics), "must be a metric that rules can watch")
    const fromMs = yield* read(params, "from", timeOf, "must be an RFC 3339 time")
    const toMs = yield* read(params, "to", endOf, "must be an RFC 3339 time")
    const after = yield* read(params, "cursor", placeOf, "must be the next_cursor of a page")
    const limit = yield* limitOf(params)
    if (fromMs !== undefined && toMs !== undefined && fromMs > toMs)
      return yield* refuse("from", "must not be after to")
    return {
      status: status ?? ("open" as const),
      limit,
      ...given("nodeId", nodeId),
      ...given("metric", metric),
      ...given("fromMs", fromMs),
      ...given("toMs", toMs),
      ...given("after", after)
    }
  })

/** What of the deliveries is asked for, or which parameter is wrong. */
export const deliveriesAsked = (params: DeliveryParams): Read<DeliveriesAsked> =>
  Either.gen(function* () {
    const channelId = yield* read(params, "channel_id", idOf, "must be a positive integer")
    const eventId = yield* read(params, "event_id", idOf, "must be a positive integer")
    const nodeId = yield* read(params, "server_id", idOf, "must be a positive integer")
    const states = oneOf(["pending", "sent", "failed"] as const)
    const status = yield* read(params, "status", states, "must be pending, sent or failed")
    const beforeId = yield* read(params, "cursor", idOf, "must be the next_cursor of a page")
    return {
      limit: yield* limitOf(params),
      ...given("channelId", channelId),
      ...given("eventId", eventId),
      ...given("nodeId", nodeId),
      ...given("status", status),
      ...given("beforeId", beforeId)
    }
  })

/** `<RFC 3339>,<id>`, to the millisecond: events of one second have their order too. */
export const cursorOf = ({ firstAt, id }: EventPlace): string => `${new Date(firstAt).toISOString()},${id}`

/** Milliseconds of RFC 3339 text; undefined for anything else, a bare number too. */
export const timeOf = (text: string): number | undefined => {
  const ms = /^\d+$/.test(text) ? Number.NaN : instantOf(text)
  return Number.isNaN(ms) ? undefined : ms
}

/** Answers tell whole seconds, so an end in whole seconds takes its second with it. */
const endOf = (text: string): number | undefined => {
  const ms = timeOf(text)
  return ms === undefined || ms % 1000 !== 0 ? ms : ms + 999
}

const refuse = (name: string, why: string): Either.Either<never, InvalidRequest> =>
  Either.left(new InvalidRequest({ message: `${name} ${why}` }))

const read = <P, A>(
  params: P,
  name: keyof P & string,
  parse: (text: string) => A | undefined,
  why: string
): Read<A | undefined> => {
  const param = params[name]
  const text = typeof param === "string" ? param.trim() : ""
  if (text === "") return Either.right(undefined)
  const value = parse(text)
  return value === undefined ? refuse(name, why) : Either.right(value)
}

const idOf = (text: string): number | undefined => {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(id) ? id : undefined
}

const oneOf =
  <A extends string>(all: ReadonlyArray<A>) =>
  (text: string): A | undefined =>
    all.find((one) => one === text)

const placeOf = (text: string): EventPlace | undefined => {
  const comma = text.lastIndexOf(",")
  const firstAt = timeOf(text.slice(0, Math.max(comma, 0)))
  const id = idOf(text.slice(comma + 1))
  return firstAt === undefined || id === undefined ? undefined : { firstAt, id }
}

const limitOf = (params: { readonly limit?: Param }): Read<number> =>
  Either.map(read(params, "limit", idOf, "must be a positive integer"), (limit) =>
    Math.min(limit ?? eventsDefault, eventsMax)
  )

const given = <K extends string, V>(name: K, value: V | undefined): { readonly [P in K]?: V } =>
  value === undefined ? {} : ({ [name]: value } as { readonly [P in K]?: V })
