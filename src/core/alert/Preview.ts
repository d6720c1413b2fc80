// What a rule would have done over past values: the same states as in life, run over points instead of reports.
import { conditionOf } from "./Measures.ts"
import type { AlertRule } from "./Rule.ts"
import { type Condition, type Moment, type RuleState, step } from "./RuleState.ts"

export interface Point {
  readonly atMs: number
  /** Null: the metric is absent there. */
  readonly value: number | null
}
export interface Episode {
  readonly openedMs: number
  /** Null: still open at the end. */
  readonly closedMs: number | null
}
export interface PreviewQuery {
  readonly points: ReadonlyArray<Point>
  /** Where the past ends; silence up to here counts. */
  readonly untilMs: number
  /** So far apart points are a silence of the node. */
  readonly staleMs: number
  /** What core_plus adds to the thresholds. */
  readonly cores: number
}

/**
 * The alerts that the rule would have opened over ascending points, oldest first. It is taken as it is now, also for
 * times before it was written. A rule on `node.offline` looks at the gaps alone.
 */
export const preview = (rule: AlertRule, { cores, points, staleMs, untilMs }: PreviewQuery): ReadonlyArray<Episode> => {
  const past: Past = { rule: { ...rule, updatedAt: -Infinity }, state: undefined, episodes: [], openedMs: undefined }
  const isOffline = rule.metric === "node.offline"
  points.forEach(({ atMs, value }, i) => {
    const shown = isOffline ? 0 : value
    advance(past, judged(rule, shown, cores), atMs)
    const silentFromMs = atMs + staleMs + 1
    if (silentFromMs > (points[i + 1]?.atMs ?? untilMs)) return
    advance(past, isOffline ? judged(rule, 1, cores) : "stale", silentFromMs)
  })
  return past.openedMs === undefined ? past.episodes : [...past.episodes, { openedMs: past.openedMs, closedMs: null }]
}

interface Past {
  readonly rule: AlertRule
  state: RuleState | undefined
  readonly episodes: Array<Episode>
  openedMs: number | undefined
}

const advance = (past: Past, condition: Condition, atMs: number): void => {
  const stepped = step(past.state, past.rule, condition, momentAt(atMs))
  if (stepped === undefined) return
  past.state = stepped.state
  if (stepped.effect === "opened") past.openedMs = atMs
  if (stepped.effect !== "closed" || past.openedMs === undefined) return
  past.episodes.push({ openedMs: past.openedMs, closedMs: atMs })
  past.openedMs = undefined
}

const momentAt = (atMs: number): Moment => ({
  nowMs: atMs,
  observedMs: atMs,
  canOpen: true,
  isSilenced: false,
  channelIds: [],
  nextEventId: () => 0
})

const judged = (rule: AlertRule, value: number | null, cores: number): Condition =>
  value === null ? "clear" : conditionOf(rule, value, cores)
