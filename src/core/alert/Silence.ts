// Silences: which alerts are recorded without telling anybody, and until when.

export const silenceScopes = ["node", "group", "rule"] as const
export type SilenceScope = (typeof silenceScopes)[number]

export interface Silence {
  readonly id: number
  readonly scope: SilenceScope
  /** Id of the node, group or rule; negative for a built-in rule. */
  readonly targetId: number
  /** Holds before this instant, milliseconds. */
  readonly untilMs: number
  readonly comment: string
  readonly createdAt: number
}

/** Whether an opening of the rule on the node is told to nobody now. */
export const isSilenced = (
  silences: ReadonlyArray<Silence>,
  nodeId: number,
  groupIds: ReadonlyArray<number>,
  ruleId: number,
  nowMs: number
): boolean =>
  silences.some(({ scope, targetId, untilMs }) => {
    if (nowMs >= untilMs) return false
    switch (scope) {
      case "node":
        return targetId === nodeId
      case "group":
        return groupIds.includes(targetId)
      case "rule":
        return targetId === ruleId
    }
  })

/** When the next of the silences ends, so that what it muted is considered then; undefined when none holds. */
export const nextEndMs = (silences: ReadonlyArray<Silence>, nowMs: number): number | undefined =>
  silences.reduce<number | undefined>(
    (next, { untilMs }) => (untilMs <= nowMs || (next !== undefined && next <= untilMs) ? next : untilMs),
    undefined
  )
