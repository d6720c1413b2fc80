// Notifications in English, and with them which words a language has to give.
import type { CloseReason } from "./RuleState.ts"
import { spanOf } from "./MessageText.ts"

export interface Words {
  /** Kind of transition, at the head of a title. */
  readonly opened: string
  readonly recovered: string
  readonly closed: string
  readonly offline: string
  readonly online: string
  /** Between a label and what it says. */
  readonly colon: string
  readonly state: string
  readonly server: string
  readonly rule: string
  readonly metric: string
  readonly value: string
  readonly threshold: string
  readonly duration: string
  readonly triggeredAt: string
  readonly recoveredAt: string
  readonly closedAt: string
  readonly lastReportAt: string
  readonly outage: string
  readonly reason: string
  readonly reasons: Readonly<Record<CloseReason, string>>
  readonly span: (spanMs: number) => string
  readonly nodesOffline: (count: number) => string
  readonly nodesOnline: (count: number) => string
  readonly more: (count: number) => string
}

const serversText = (count: number): string => (count === 1 ? "1 server is" : `${count} servers are`)

export const english: Words = {
  opened: "Alert",
  recovered: "Recovered",
  closed: "Closed",
  offline: "Offline",
  online: "Back online",
  colon: ": ",
  state: "Status",
  server: "Server",
  rule: "Rule",
  metric: "Metric",
  value: "Current value",
  threshold: "Threshold",
  duration: "Duration",
  triggeredAt: "Triggered at",
  recoveredAt: "Recovered at",
  closedAt: "Closed at",
  lastReportAt: "Last report",
  outage: "Silent for",
  reason: "Reason",
  reasons: {
    condition_cleared: "the condition no longer holds",
    snapshot_stale: "the server stopped reporting",
    rule_unmounted: "the rule no longer applies to this server",
    rule_updated: "the rule was changed",
    rule_disabled: "the rule was disabled",
    rule_deleted: "the rule was deleted",
    rule_invalid: "the rule is not valid",
    server_deleted: "the server was deleted"
  },
  span: (spanMs) =>
    spanOf(spanMs)
      .map(([count, unit]) => `${count}${unit}`)
      .join(" "),
  nodesOffline: (count) => `${serversText(count)} offline`,
  nodesOnline: (count) => `${serversText(count)} back online`,
  more: (count) => `and ${count} more`
}
