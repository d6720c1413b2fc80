// Which rows the overview shows and in which order, and when that order may change.
import { facetsOfRoster, searchTexts, searchWords, systemOf, titleRanks, type Facets } from "./Facets.ts"
import type { Fleet, ValueName } from "./Fleet.ts"
import { stateOf, states, type Census, type State } from "./Freshness.ts"
import { printQuery, type Query, type SortKey } from "./Query.ts"

/** Live columns are sorted again at most every third frame: a list that jumps every tick cannot be read. */
const framesPerSort = 3

/** Columns whose order can change without a new roster. */
const liveSorts: ReadonlySet<SortKey> = new Set<SortKey>([
  "state",
  "cpu",
  "mem",
  "disk",
  "recv",
  "sent",
  "load",
  "uptime",
  "seen"
])

const valueOf: Partial<Record<SortKey, ValueName>> = {
  cpu: "cpu",
  mem: "mem",
  disk: "disk",
  recv: "recv_bps",
  sent: "sent_bps",
  load: "load1",
  uptime: "uptime_sec"
}

/** The state of every row, as an index into `states`, and the census over all rows. */
export const classify = (fleet: Fleet, nowMs: number): { readonly codes: Uint8Array; readonly census: Census } => {
  const codes = new Uint8Array(fleet.count)
  const census: Census = { online: 0, stale: 0, offline: 0, waiting: 0 }
  for (let row = 0; row < fleet.count; row++) {
    const state = stateOf(fleet.value("received_at", row), fleet.roster.stale_after_sec[row] ?? 0, nowMs)
    codes[row] = states.indexOf(state)
    census[state]++
  }
  return { codes, census }
}

const stateAt = (codes: Uint8Array, row: number): State => states[codes[row] ?? 0] ?? "online"

interface Roll {
  readonly revision: number
  readonly facets: Facets
  readonly texts: ReadonlyArray<string>
  names: Float64Array | null
  systems: Float64Array | null
}

export class Ordering {
  #roll: Roll | null = null
  #key = ""
  #framesSince = 0
  #version = -1
  #rows: Int32Array = new Int32Array(0)

  facets(fleet: Fleet): Facets {
    return this.#rollOf(fleet).facets
  }

  /**
   * The rows to show. `version` counts applied frames. While `held` (pointer or focus is in the list)
   * the answer stays as it is unless the query or the roster changed.
   */
  update(fleet: Fleet, codes: Uint8Array, query: Query, version: number, held: boolean): Int32Array {
    const key = `${fleet.rosterRevision} ${printQuery(query)}`
    if (version !== this.#version) {
      this.#version = version
      this.#framesSince++
    }
    const isChanged = key !== this.#key
    const isDue =
      !held &&
      (query.state !== null || (query.sort !== null && liveSorts.has(query.sort) && this.#framesSince >= framesPerSort))
    if (isChanged || isDue) {
      this.#key = key
      this.#framesSince = 0
      this.#rows = this.#sort(fleet, codes, query, this.#select(fleet, codes, query))
    }
    return this.#rows
  }

  #rollOf(fleet: Fleet): Roll {
    if (this.#roll?.revision !== fleet.rosterRevision) {
      this.#roll = {
        revision: fleet.rosterRevision,
        facets: facetsOfRoster(fleet.roster),
        texts: searchTexts(fleet.roster),
        names: null,
        systems: null
      }
    }
    return this.#roll
  }

  #select(fleet: Fleet, codes: Uint8Array, query: Query): Int32Array {
    const { roster } = fleet
    const { texts } = this.#rollOf(fleet)
    const words = searchWords(query.q)
    const group = query.group === null ? null : Number(query.group)
    const found = new Int32Array(fleet.count)
    let size = 0
    for (let row = 0; row < fleet.count; row++) {
      if (query.state !== null && stateAt(codes, row) !== query.state) continue
      if (group !== null && !(roster.groups[row] ?? []).includes(group)) continue
      if (query.tag !== null && !(roster.tags[row] ?? []).includes(query.tag)) continue
      if (query.os !== null && systemOf(roster, row) !== query.os) continue
      const text = texts[row] ?? ""
      if (!words.every((word) => text.includes(word))) continue
      found[size++] = row
    }
    return found.slice(0, size)
  }

  /** Rows without the value stand last in both directions; equal rows keep the display order. */
  #sort(fleet: Fleet, codes: Uint8Array, query: Query, rows: Int32Array): Int32Array {
    if (query.sort === null) return rows
    const keys = this.#keysOf(fleet, codes, query.sort)
    const sign = query.dir === "asc" ? 1 : -1
    return rows.sort((a, b) => {
      const left = keys[a] ?? NaN
      const right = keys[b] ?? NaN
      if (left !== left || right !== right) return (left !== left ? 1 : 0) - (right !== right ? 1 : 0) || a - b
      return sign * (left - right) || a - b
    })
  }

  #keysOf(fleet: Fleet, codes: Uint8Array, sort: SortKey): Float64Array {
    const roll = this.#rollOf(fleet)
    if (sort === "name") return (roll.names ??= titleRanks(fleet.roster.title))
    if (sort === "os")
      return (roll.systems ??= titleRanks(fleet.roster.id.map((_, row) => systemOf(fleet.roster, row))))
    if (sort === "state") return Float64Array.from(codes)
    const value = valueOf[sort]
    return Float64Array.from(codes, (_, row) => {
      const state = stateAt(codes, row)
      // "Last seen" ascending means the most recent first; it is known for whoever reported once.
      if (value === undefined) return state === "waiting" ? NaN : -fleet.value("received_at", row)
      const known = state === "online" || state === "stale"
      const figure = fleet.value(value, row)
      return known && figure >= 0 ? figure : NaN
    })
  }
}
