// The filters and the order of the overview, as they stand in the query part of the address.
import { states, type State } from "./Freshness.ts"

export const sortKeys = ["state", "name", "os", "cpu", "mem", "disk", "recv", "sent", "load", "uptime", "seen"] as const
export type SortKey = (typeof sortKeys)[number]
export type Direction = "asc" | "desc"

export interface Query {
  readonly q: string
  readonly state: State | null
  /** Decimal group id. */
  readonly group: string | null
  readonly tag: string | null
  readonly os: string | null
  /** Null is the display order of the roster. */
  readonly sort: SortKey | null
  readonly dir: Direction
}

export const emptyQuery: Query = { q: "", state: null, group: null, tag: null, os: null, sort: null, dir: "asc" }

const textFirst: ReadonlySet<SortKey> = new Set<SortKey>(["state", "name", "os", "seen"])

/** The direction a column starts with: words from A, figures from the largest. */
export const firstDirection = (key: SortKey): Direction => (textFirst.has(key) ? "asc" : "desc")

const oneOf = <A extends string>(known: ReadonlyArray<A>, text: string | null): A | null =>
  known.find((one) => one === text) ?? null

const textOf = (params: URLSearchParams, name: string): string | null => {
  const text = params.get(name)
  return text === null || text === "" ? null : text
}

/** Reads a query; unknown values count as absent. */
export const parseQuery = (params: URLSearchParams): Query => {
  const sort = oneOf(sortKeys, params.get("sort"))
  const given = oneOf(["asc", "desc"], params.get("dir"))
  return {
    q: params.get("q") ?? "",
    state: oneOf(states, params.get("state")),
    group: textOf(params, "group"),
    tag: textOf(params, "tag"),
    os: textOf(params, "os"),
    sort,
    dir: sort === null ? "asc" : (given ?? firstDirection(sort))
  }
}

/** Writes a query; what is at its default stays out, so that a plain address means the plain list. */
export const printQuery = (query: Query): string => {
  const params = new URLSearchParams()
  if (query.q !== "") params.set("q", query.q)
  for (const name of ["state", "group", "tag", "os", "sort"] as const) {
    const text = query[name]
    if (text !== null) params.set(name, text)
  }
  if (query.sort !== null && query.dir !== firstDirection(query.sort)) params.set("dir", query.dir)
  const text = params.toString()
  return text === "" ? "" : `?${text}`
}

/** A press on a column header: first direction, other direction, then back to the display order. */
export const pressSort = (query: Query, key: SortKey): Query => {
  if (query.sort !== key) return { ...query, sort: key, dir: firstDirection(key) }
  if (query.dir === firstDirection(key)) return { ...query, dir: query.dir === "asc" ? "desc" : "asc" }
  return { ...query, sort: null, dir: "asc" }
}

export const isFiltered = (query: Query): boolean =>
  query.q.trim() !== "" || query.state !== null || query.group !== null || query.tag !== null || query.os !== null
