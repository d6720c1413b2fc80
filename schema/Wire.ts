// The building blocks of what agents send: text, numbers, times and lists, each with its bound and its breach.
import { Schema } from "effect"
import { rule } from "./Rule.ts"

/** Bounds per node; past them a report is refused with a message that names the field. */
export const textLengthMax = 256
export const interfacesMax = 256
export const volumesMax = 512
export const sensorsMax = 512
/** Members of one RAID array and failing attributes of one disk: what the largest shelves hold, with room. */
export const membersMax = 512

/** The nearest double to 2^64 - 1; whether the digits really fit is checked where they are exact (core/Wide). */
const uint64Max = 2 ** 64
const semver =
  /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?$/
/** Every part in its range, so that any match is a time that Date.parse takes; it is parsed once, where it is used. */
const rfc3339 =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,12})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** What Go writes for a time that was never set, in whatever zone. */
const zeroTime = Date.parse("0001-01-01T00:00:00Z")

const isBlank = (text: string): boolean => text.trim() === ""

/** Text of at most 256 characters. */
export const Text = Schema.String.pipe(
  rule((text: string) => text.length <= textLengthMax, "meaning", `must be at most ${textLengthMax} characters`)
)
export const Named = Text.pipe(rule((text: string) => !isBlank(text), "meaning", "must not be blank"))
export const Version = Text.pipe(
  rule((text: string) => semver.test(text), "meaning", "must be a strict version such as 1.2.3")
)

export const Instant = Schema.String.pipe(
  rule((text: string) => rfc3339.test(text), "type", "must be an RFC 3339 time"),
  rule((text: string) => text >= "0002" || Date.parse(text) !== zeroTime, "meaning", "must not be the zero time")
)

const Finite = Schema.Number.pipe(rule((n: number) => Number.isFinite(n), "type", "must be a finite number"))
/** Far past anything measured, and small enough that neither totals nor 32-bit floats overflow. */
const measureMax = 1e30
export const Num = Finite.pipe(
  rule((n: number) => Math.abs(n) <= measureMax, "meaning", `must be between -${measureMax} and ${measureMax}`)
)
export const Int = Finite.pipe(
  rule((n: number) => Number.isInteger(n) && Math.abs(n) <= Number.MAX_SAFE_INTEGER, "type", "must be an integer")
)
/** Unsigned 64-bit; values past 2^53 keep their exact digits beside the double (see core/Wide). */
export const Uint = Finite.pipe(
  rule((n: number) => n >= 0 && n <= uint64Max && Math.floor(n) === n, "type", "must be an unsigned 64-bit integer")
)

/** Null and absence both mean "not given". */
export const opt = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

export const list = <A, I>(item: Schema.Schema<A, I>, max: number) =>
  Schema.Array(item).pipe(
    rule((items: ReadonlyArray<A>) => items.length <= max, "meaning", `must hold at most ${max} elements`)
  )

/** Quadratic below this length, a Set above: most nodes have a handful of devices. */
const smallListMax = 8
const isUnique = <A>(items: ReadonlyArray<A>, key: (item: A) => string): boolean => {
  if (items.length > smallListMax) return new Set(items.map(key)).size === items.length
  for (let i = 1; i < items.length; i++) {
    const mine = key(items[i] as A)
    for (let j = 0; j < i; j++) if (key(items[j] as A) === mine) return false
  }
  return true
}
/** A list in which no two elements share a key. */
export const unique = <A, I>(schema: Schema.Schema<ReadonlyArray<A>, I>, key: (item: A) => string, what: string) =>
  schema.pipe(rule((items: ReadonlyArray<A>) => isUnique(items, key), "meaning", `must not repeat a ${what}`))

export const nameOf = (item: { readonly name: string }) => item.name.trim()
/** Two logical volumes of one name but different kind are two volumes. */
export const kindAndNameOf = (item: { readonly kind: string; readonly name: string }) =>
  `${item.kind.trim()}\0${item.name.trim()}`

export const deviceFields = { name: Named, device_path: opt(Text), ref: opt(Text) }

export const MountDetail = Schema.Struct({ fs_type: opt(Text), inodes_total: opt(Uint) })

export const volumeFields = {
  kind: Named,
  ...deviceFields,
  used: opt(Uint),
  free: opt(Uint),
  used_ratio: opt(Num),
  health: opt(Text),
  total: opt(Uint),
  level: opt(Text),
  mountpoint: opt(Text),
  devices: opt(list(Text, membersMax))
}
