// Checks and normalises a node patch member by member, in the order and with the codes of the contract.
import { Either } from "effect"
import {
  InvalidCycleMode,
  InvalidDirectionMode,
  InvalidDisplayOrder,
  InvalidFields,
  InvalidGroupIds,
  InvalidIds,
  InvalidName,
  InvalidRequest,
  InvalidSecret,
  InvalidTags,
  NoFields,
  type InvalidAnchorDate,
  type InvalidStartDay,
  type InvalidTimezone
} from "../../schema/Errors.ts"
import type { GroupId, NodeId } from "../../schema/Ids.ts"
import {
  bulkIdsMax,
  CycleMode,
  DirectionMode,
  nodeNameMax,
  type P95Switch,
  secretLengthMax,
  tagLengthMax,
  tagsMax
} from "../../schema/Node.ts"
import { anchorDateOf, settled, startDayOf, timezoneOf } from "./BillingFields.ts"
import { lineOf } from "./Line.ts"

/** What a patch changes; absent members stay as they are. */
export interface Changes {
  readonly name?: string
  readonly displayOrder?: number
  readonly guestVisible?: boolean
  readonly trafficP95Enabled?: boolean
  readonly trafficCycleMode?: CycleMode
  readonly trafficBillingStartDay?: number
  readonly trafficBillingAnchorDate?: string
  readonly trafficBillingTimezone?: string
  readonly trafficDirectionMode?: DirectionMode
  readonly tags?: ReadonlyArray<string>
  /** Its breach is told only after the node was found: an unknown node is 404 whatever secret was offered. */
  readonly secret?: Either.Either<string, InvalidSecret>
  /** Well-formed and without repetition; whether the groups exist only the store knows. */
  readonly groupIds?: ReadonlyArray<GroupId>
}

export type PatchFailure =
  | InvalidRequest
  | InvalidName
  | InvalidDisplayOrder
  | InvalidCycleMode
  | InvalidStartDay
  | InvalidAnchorDate
  | InvalidTimezone
  | InvalidDirectionMode
  | InvalidTags
  | InvalidGroupIds
  | NoFields

/** Shorter secrets are guessed. */
export const secretLengthMin = 8
/** What 32-bit columns of other databases hold. */
export const displayOrderMax = 2_147_483_647

/**
 * What a patch body means: first the JSON type of every member, then each meaning, then whether anything was given.
 * `zone` is the time zone in which an anchor given as a time becomes a date, unless the patch brings one of its own.
 */
export const changesOf = (body: unknown, zone: string): Either.Either<Changes, PatchFailure> =>
  Either.gen(function* () {
    const given = yield* typed(body)
    const name = yield* checked(given.name, nameOf)
    const displayOrder = yield* checked(given.displayOrder, displayOrderOf)
    const mode = yield* checked(given.mode, cycleModeOf)
    const startDay = yield* checked(given.startDay, startDayOf)
    const ownZone = Either.getOrElse(checked(given.timezone, timezoneOf), () => undefined)
    const anchorDate = yield* checked(given.anchorDate, (text) => anchorDateOf(text, ownZone || zone))
    const timezone = yield* checked(given.timezone, timezoneOf)
    const trafficDirectionMode = yield* checked(given.directionMode, directionModeOf)
    const tags = yield* checked(given.tags, tagsOf)
    const groupIds = yield* checked(given.groupIds, groupIdsOf)
    const billing = settled({ mode, startDay, anchorDate, timezone })
    const changes = present({
      name,
      displayOrder,
      guestVisible: given.guestVisible,
      trafficP95Enabled: given.p95Enabled,
      trafficCycleMode: billing.mode,
      trafficBillingStartDay: billing.startDay,
      trafficBillingAnchorDate: billing.anchorDate,
      trafficBillingTimezone: billing.timezone,
      trafficDirectionMode,
      tags,
      secret: given.secret === undefined ? undefined : secretOf(given.secret),
      groupIds
    })
    return Object.keys(changes).length > 0
      ? changes
      : yield* Either.left(new NoFields({ message: "the body holds no field of a node" }))
  })

/** A switch of many nodes at once. `enabled` is asked for before the ids are looked at (contract, bulk P95). */
export const p95SwitchOf = (
  write: P95Switch
): Either.Either<{ readonly ids: ReadonlyArray<NodeId>; readonly enabled: boolean }, InvalidFields | InvalidIds> => {
  const enabled = write.enabled ?? undefined
  return enabled === undefined
    ? Either.left(new InvalidFields({ message: "enabled is required" }))
    : Either.map(idsOf(write.ids), (ids) => ({ ids, enabled }))
}

/** Ids of nodes: positive, none twice, 1 to 10,000. Whether they are all nodes only the store knows. */
export const idsOf = (ids: unknown): Either.Either<ReadonlyArray<NodeId>, InvalidIds> => {
  const refuse = (why: string) => Either.left(new InvalidIds({ message: `ids ${why}` }))
  if (!Array.isArray(ids) || ids.length === 0) return refuse("must be a list of at least one node id")
  if (ids.length > bulkIdsMax) return refuse(`must hold at most ${bulkIdsMax} node ids`)
  if (!ids.every((id): id is NodeId => isPositive(id))) return refuse("must hold only positive integers")
  return new Set(ids).size === ids.length ? Either.right(ids) : refuse("must not repeat a node id")
}

/** A trimmed secret of 8 to 128 printable ASCII characters: what every HTTP client can send in a header. */
export const secretOf = (text: string): Either.Either<string, InvalidSecret> => {
  const trimmed = text.trim()
  const refuse = (why: string) => Either.left(new InvalidSecret({ message: `secret ${why}` }))
  if (trimmed.length < secretLengthMin || trimmed.length > secretLengthMax) {
    return refuse(`must have ${secretLengthMin} to ${secretLengthMax} characters`)
  }
  return /^[\x20-\x7e]+$/.test(trimmed) ? Either.right(trimmed) : refuse("must hold only printable ASCII characters")
}

const isString = (value: unknown): value is string => typeof value === "string"
const isBoolean = (value: unknown): value is boolean => typeof value === "boolean"
const isInteger = (value: unknown): value is number => Number.isInteger(value)
const isIntegers = (value: unknown): value is ReadonlyArray<number> => Array.isArray(value) && value.every(isInteger)
const isPositive = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) > 0

/** Absent members and null are "not given", except for tags, where null has a code of its own. */
const typed = (body: unknown) =>
  Either.gen(function* () {
    if (typeof body !== "object" || body === null || Array.isArray(body)) {
      return yield* Either.left(new InvalidRequest({ message: "the body must be an object" }))
    }
    const members = new Map<string, unknown>(Object.entries(body))
    const member = <A>(name: string, is: (value: unknown) => value is A, what: string) => {
      const value = members.get(name)
      if (value === undefined || value === null) return Either.right(undefined)
      return is(value) ? Either.right(value) : Either.left(new InvalidRequest({ message: `${name} must be ${what}` }))
    }
    return {
      name: yield* member("name", isString, "a string"),
      displayOrder: yield* member("display_order", isInteger, "an integer"),
      guestVisible: yield* member("is_guest_visible", isBoolean, "a boolean"),
      p95Enabled: yield* member("traffic_p95_enabled", isBoolean, "a boolean"),
      mode: yield* member("traffic_cycle_mode", isString, "a string"),
      startDay: yield* member("traffic_billing_start_day", isInteger, "an integer"),
      anchorDate: yield* member("traffic_billing_anchor_date", isString, "a string"),
      timezone: yield* member("traffic_billing_timezone", isString, "a string"),
      directionMode: yield* member("traffic_direction_mode", isString, "a string"),
      secret: yield* member("secret", isString, "a string"),
      groupIds: yield* member("group_ids", isIntegers, "a list of integers"),
      tags: members.get("tags")
    }
  })

const checked = <A, B, E>(
  value: A | undefined,
  check: (value: A) => Either.Either<B, E>
): Either.Either<B | undefined, E> => (value === undefined ? Either.right(undefined) : check(value))

const nameOf = (text: string) =>
  Either.mapLeft(lineOf(text, nodeNameMax), (why) => new InvalidName({ message: `name ${why}` }))

const displayOrderOf = (order: number) =>
  order > 0 && order <= displayOrderMax
    ? Either.right(order)
    : Either.left(new InvalidDisplayOrder({ message: `display_order must be from 1 to ${displayOrderMax}` }))

const cycleModeOf = (text: string) => {
  const mode = text === "" ? "default" : CycleMode.literals.find((one) => one === text)
  return Either.fromNullable(
    mode,
    () => new InvalidCycleMode({ message: `traffic_cycle_mode must be one of ${CycleMode.literals.join(", ")}` })
  )
}

const directionModeOf = (text: string) =>
  Either.fromNullable(
    DirectionMode.literals.find((one) => one === text),
    () =>
      new InvalidDirectionMode({
        message: `traffic_direction_mode must be one of ${DirectionMode.literals.join(", ")}`
      })
  )

const tagsOf = (value: unknown): Either.Either<ReadonlyArray<string>, InvalidTags> => {
  const refuse = (why: string) => Either.left(new InvalidTags({ message: `tags ${why}` }))
  if (!Array.isArray(value) || !value.every(isString)) return refuse("must be a list of strings")
  const kept = new Set<string>()
  for (const text of value) {
    if (text.trim() === "") continue
    const tag = lineOf(text, tagLengthMax)
    if (Either.isLeft(tag)) return refuse(`hold one that ${tag.left}`)
    kept.add(tag.right)
    if (kept.size > tagsMax) return refuse(`must be at most ${tagsMax} different ones`)
  }
  return Either.right([...kept])
}

const groupIdsOf = (ids: ReadonlyArray<number>): Either.Either<ReadonlyArray<GroupId>, InvalidGroupIds> => {
  const kept = [...new Set(ids)]
  return kept.length <= bulkIdsMax && kept.every((id): id is GroupId => isPositive(id))
    ? Either.right(kept)
    : Either.left(new InvalidGroupIds({ message: `group_ids must be at most ${bulkIdsMax} ids of groups` }))
}

type Present<A> = { readonly [K in keyof A]?: Exclude<A[K], undefined> }

const present = <A extends object>(fields: A): Present<A> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<A>
