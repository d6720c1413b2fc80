// The title and the body of a notification, rendered once at its transition (semantics 4.5).
import { chinese } from "./MessagesChinese.ts"
import { english, type Words } from "./MessagesEnglish.ts"
import { bodyMax, clipped, harmless, nodeTitle, timeText, titleMax, valueText } from "./MessageText.ts"
import type { RuleLabel } from "./Rule.ts"
import type { CloseReason } from "./RuleState.ts"

export const locales = ["zh", "en"] as const
export type Locale = (typeof locales)[number]

export interface Style {
  readonly locale: Locale
  /** A name of the zone database. */
  readonly zone: string
}

/** What a notification is about; a transition of `NodeAlerts` has most of it. */
export interface Subject {
  readonly transition: "opened" | "closed"
  readonly rule: RuleLabel
  readonly nodeId: number
  /** Blank where it is not known. */
  readonly nodeName: string
  readonly value: number | null
  readonly threshold: number | null
  readonly atMs: number
  readonly reason: CloseReason | null
  /** The last report before the silence; null where it is not known. Only told about nodes that are offline. */
  readonly lastReportMs: number | null
}

export interface Rendered {
  /** One line of at most 200 units. */
  readonly title: string
  /** At most 3,500 units. */
  readonly body: string
}

export const wordsOf = (locale: Locale): Words => (locale === "zh" ? chinese : english)

/** Always several lines, the first of them naming the state. */
export const rendered = (subject: Subject, style: Style): Rendered => {
  const words = wordsOf(style.locale)
  const isOffline = subject.rule.metric === "node.offline"
  const lines = isOffline ? offlineLines(subject, style, words) : ruleLines(subject, style, words)
  const node = nodeTitle(subject.nodeName, subject.nodeId)
  const title = isOffline
    ? `${offlineKind(subject, words)}${words.colon}${node}`
    : `${kindOf(subject, words)}${words.colon}${ruleTitle(subject.rule)} @ ${node}`
  return { title: clipped(title, titleMax), body: clipped(textOf(lines, words), bodyMax) }
}

export type Line = readonly [label: string, text: string]

export const textOf = (lines: ReadonlyArray<Line>, words: Words): string =>
  lines.map(([label, text]) => `${label}${words.colon}${text}`).join("\n")

const ruleTitle = ({ id, name }: RuleLabel): string => harmless(name) || `rule#${id}`

const isRecovery = ({ reason }: Subject): boolean => reason === null || reason === "condition_cleared"

const kindOf = (subject: Subject, words: Words): string => {
  if (subject.transition === "opened") return words.opened
  return isRecovery(subject) ? words.recovered : words.closed
}

const offlineKind = (subject: Subject, words: Words): string => {
  if (subject.transition === "opened") return words.offline
  return isRecovery(subject) ? words.online : words.closed
}

/** When it was, and why where it was no recovery. */
const closeLines = (subject: Subject, { zone }: Style, words: Words): ReadonlyArray<Line> => {
  const time = timeText(subject.atMs, zone)
  if (isRecovery(subject)) return [[words.recoveredAt, time]]
  return [
    [words.closedAt, time],
    [words.reason, words.reasons[subject.reason ?? "condition_cleared"]]
  ]
}

const ruleLines = (subject: Subject, style: Style, words: Words): ReadonlyArray<Line> => {
  const { rule, threshold, transition, value } = subject
  const head: ReadonlyArray<Line> = [
    [words.state, transition],
    [words.server, nodeTitle(subject.nodeName, subject.nodeId)],
    [words.rule, ruleTitle(rule)],
    [words.metric, rule.metric],
    [words.value, valueText(rule.metric, value)]
  ]
  if (transition === "closed") return [...head, ...closeLines(subject, style, words)]
  return [
    ...head,
    [words.threshold, `${rule.operator} ${valueText(rule.metric, threshold)}`],
    [words.duration, `${rule.durationSec}s`],
    [words.triggeredAt, timeText(subject.atMs, style.zone)]
  ]
}

const offlineLines = (subject: Subject, style: Style, words: Words): ReadonlyArray<Line> => {
  const { atMs, lastReportMs, transition } = subject
  const heard: ReadonlyArray<Line> =
    lastReportMs === null ? [] : [[words.lastReportAt, timeText(lastReportMs, style.zone)]]
  const span: ReadonlyArray<Line> = lastReportMs === null ? [] : [[words.outage, words.span(atMs - lastReportMs)]]
  const when: ReadonlyArray<Line> =
    transition === "opened" ? [[words.triggeredAt, timeText(atMs, style.zone)]] : closeLines(subject, style, words)
  return [
    [words.state, transition],
    [words.server, nodeTitle(subject.nodeName, subject.nodeId)],
    ...heard,
    ...when,
    ...span
  ]
}
