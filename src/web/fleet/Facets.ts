// What the filters offer: groups, tags and systems of the roster with their counts, and the text that search looks in.
import type { Roster } from "../../../schema/Live.ts"

export interface Facet {
  readonly value: string
  readonly label: string
  readonly count: number
}

export interface Facets {
  readonly groups: ReadonlyArray<Facet>
  readonly tags: ReadonlyArray<Facet>
  readonly systems: ReadonlyArray<Facet>
}

/** A menu longer than this is no longer a menu; the most frequent values stay. */
const optionsMax = 300

const countBy = (lists: Iterable<ReadonlyArray<string>>): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const list of lists) for (const value of new Set(list)) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}

const facetsOf = (counts: Map<string, number>, labelOf: (value: string) => string): ReadonlyArray<Facet> =>
  [...counts]
    .map(([value, count]) => ({ value, count, label: labelOf(value) }))
    .sort((a, b) => b.count - a.count)
    .slice(0, optionsMax)
    .sort((a, b) => a.label.localeCompare(b.label))

const same = (value: string): string => value

/** Counts over the whole roster, not over the filtered part, so that the menus stand still. */
export const facetsOfRoster = (roster: Roster): Facets => ({
  groups: facetsOf(
    countBy(roster.groups.map((ids) => ids.map(String))),
    (value) => roster.group_names[value] ?? `#${value}`
  ),
  tags: facetsOf(countBy(roster.tags), same),
  systems: facetsOf(countBy(roster.id.map((_, row) => [systemOf(roster, row)].filter((name) => name !== ""))), same)
})

/** The most telling name of a node's system: its platform, else its family. */
export const systemOf = (roster: Roster, row: number): string => roster.platform[row] || roster.os[row] || ""

const fold = (text: string): string => text.normalize("NFKC").toLowerCase()

/** One folded text per row with everything that search covers. */
export const searchTexts = (roster: Roster): ReadonlyArray<string> =>
  roster.id.map((id, row) =>
    fold(
      [
        roster.title[row],
        String(id),
        roster.os[row],
        roster.platform[row],
        roster.arch[row],
        ...(roster.tags[row] ?? [])
      ].join("\n")
    )
  )

/** The words of a search; all of them must occur. */
export const searchWords = (q: string): ReadonlyArray<string> =>
  fold(q)
    .split(/\s+/u)
    .filter((word) => word !== "")

/** Rank of every row by title, numbers compared as numbers; ties by row. */
export const titleRanks = (texts: ReadonlyArray<string>): Float64Array => {
  const compare = new Intl.Collator("en", { numeric: true, sensitivity: "base" }).compare
  const rows = texts.map((_, row) => row).sort((a, b) => compare(texts[a] ?? "", texts[b] ?? "") || a - b)
  const ranks = new Float64Array(rows.length)
  rows.forEach((row, rank) => (ranks[row] = rank))
  return ranks
}
