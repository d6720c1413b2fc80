// One notification in place of many: the nodes that went offline, or came back, together.
import { type Line, type Rendered, type Style, textOf, wordsOf } from "./Messages.ts"
import { bodyMax, clipped, nodeTitle, timeText, titleMax } from "./MessageText.ts"

export interface DigestedNode {
  readonly nodeId: number
  /** Blank where it is not known. */
  readonly nodeName: string
  readonly atMs: number
}

/** So many names are read at a glance and fit into every body; the others are counted. */
export const digestNamesMax = 30

/** At least one node, in the order in which they are to be named; told with the time of the earliest and the latest. */
export const digested = (
  transition: "opened" | "closed",
  nodes: ReadonlyArray<DigestedNode>,
  { locale, zone }: Style
): Rendered => {
  const words = wordsOf(locale)
  const title = transition === "opened" ? words.nodesOffline(nodes.length) : words.nodesOnline(nodes.length)
  const named = nodes.slice(0, digestNamesMax).map(({ nodeId, nodeName }) => `- ${nodeTitle(nodeName, nodeId)}`)
  const hidden = nodes.length - named.length
  const from = timeText(
    nodes.reduce((least, { atMs }) => Math.min(least, atMs), Infinity),
    zone
  )
  const to = timeText(
    nodes.reduce((most, { atMs }) => Math.max(most, atMs), -Infinity),
    zone
  )
  const head: ReadonlyArray<Line> = [
    [words.state, transition],
    [transition === "opened" ? words.triggeredAt : words.recoveredAt, from === to ? from : `${from} - ${to}`]
  ]
  const body = [textOf(head, words), ...named, ...(hidden > 0 ? [words.more(hidden)] : [])].join("\n")
  return { title: clipped(title, titleMax), body: clipped(body, bodyMax) }
}
