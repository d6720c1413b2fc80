// Any life of a node against a reference that decides from the whole past each time: reports, silence, edits, restarts.
import { Option } from "effect"
import fc from "fast-check"
import { expect, it } from "vitest"
import { deadlineMs } from "../../../src/core/alert/Health.ts"
import { considered, dissolved, type Transition } from "../../../src/core/alert/NodeAlerts.ts"
import { type AlertRule, builtIns, isWatched } from "../../../src/core/alert/Rule.ts"
import type { RuleState } from "../../../src/core/alert/RuleState.ts"
import { statesIn, statesText } from "../../../src/core/alert/RuleStateCode.ts"
import { considerationAt, cpuRule, usageOf } from "./AlertCases.ts"

const startMs = 1_900_000_000_000
const staleMs = 14_000
const graceMs = 60_000
const offline = builtIns[0] as AlertRule
const first: AlertRule = { ...cpuRule, durationSec: 6, cooldownMin: 1, clearThreshold: 0.5, keepFiringSec: 4 }

/** What one consideration saw of one rule. */
interface Seen {
  readonly nowMs: number
  readonly observedMs: number
  readonly isStale: boolean
  readonly usage: number
  readonly canOpen: boolean
  readonly isSilenced: boolean
  /** Undefined: not mounted, disabled or deleted. */
  readonly rule: AlertRule | undefined
}
type Told = readonly [kind: string, ruleId: number, atMs: number, reason: string | null, channels: number]

const isTrue = ({ isStale, rule, usage }: Seen): boolean =>
  rule !== undefined && (rule === offline ? isStale : !isStale && usage >= rule.threshold)
const isClear = ({ isStale, rule, usage }: Seen): boolean =>
  rule === offline ? !isStale : usage < (rule?.clearThreshold ?? rule?.threshold ?? 0)

/** The row of looks at one generation that ends at `end`, and within it those of the last unbroken `test`. */
const unbroken = (past: ReadonlyArray<Seen>, end: number, from: number, test: (seen: Seen) => boolean): number => {
  let begin = end + 1
  while (begin > from && test(past[begin - 1] as Seen)) begin--
  return begin
}

const gone = (rule: AlertRule, now: AlertRule | undefined): string | null => {
  if (now === undefined) return "rule_deleted"
  if (!now.enabled) return "rule_disabled"
  return now.generation === rule.generation ? null : "rule_updated"
}

/** Everything that is to be told of one rule, decided from its whole past. */
const reference = (past: ReadonlyArray<Seen>, current: ReadonlyArray<AlertRule | undefined>): ReadonlyArray<Told> => {
  const all: Array<Told> = []
  let open: { since: number; rule: AlertRule; beatMs: number; told: number; muted: boolean } | undefined
  let from = 0
  let coolUntilMs = 0
  const close = (i: number, reason: string, cooldown: boolean) => {
    const { nowMs } = past[i] as Seen
    all.push(["closed", open?.rule.id as number, nowMs, reason, open?.told as number])
    coolUntilMs = cooldown ? nowMs + (open?.rule.cooldownMin ?? 0) * 60_000 : 0
    open = undefined
    from = i + 1
  }
  past.forEach((seen, i) => {
    const { nowMs, rule } = seen
    const before = past[i - 1]?.rule
    if (before?.generation !== rule?.generation || before?.id !== rule?.id) {
      if (open !== undefined) close(i, gone(open.rule, current[i]) ?? "rule_unmounted", false)
      from = i
      coolUntilMs = 0
    }
    if (rule === undefined) return
    if (open !== undefined) {
      if (seen.isStale && rule !== offline) return close(i, "snapshot_stale", false)
      const clear = unbroken(past, i, open.since + 1, isClear)
      const clearMs = clear > i ? -1 : seen.observedMs - (past[clear] as Seen).observedMs
      if (clearMs >= rule.keepFiringSec * 1000) return close(i, "condition_cleared", true)
      if (isClear(seen)) return
      if (open.muted && !seen.isSilenced && seen.canOpen) {
        open = { ...open, beatMs: nowMs, told: 2, muted: false }
        all.push(["unmuted", rule.id, nowMs, null, 2])
      } else if (nowMs - open.beatMs >= 60_000) {
        open = { ...open, beatMs: nowMs }
        all.push(["beat", rule.id, nowMs, null, open.told])
      }
      return
    }
    if (nowMs < coolUntilMs) {
      from = i + 1
      return
    }
    const begin = unbroken(past, i, from, isTrue)
    if (begin > i || !seen.canOpen) return
    const { observedMs } = past[begin] as Seen
    const sinceMs = Math.min((past[begin] as Seen).nowMs, Math.max(observedMs, rule.updatedAt, coolUntilMs))
    if (rule.durationSec > 0 && seen.observedMs - sinceMs < rule.durationSec * 1000) return
    const told = seen.isSilenced ? 0 : 2
    open = { since: i, rule, beatMs: nowMs, told, muted: seen.isSilenced }
    all.push(["opened", rule.id, nowMs, null, told])
  })
  return all
}

type Command =
  | { readonly kind: "report"; readonly ms: number; readonly usage: number }
  | {
      readonly kind: "tick" | "restart" | "rename" | "raise" | "toggle" | "mount" | "delete" | "silence"
      readonly ms: number
    }

const ms = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 5000 }) },
  { weight: 1, arbitrary: fc.nat(70_000) }
)
const usage = fc.constantFrom(0.1, 0.6, 0.9, 1)
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant("report" as const), ms, usage }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("report" as const), ms, usage: fc.constant(1) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("tick" as const), ms }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        "restart" as const,
        "rename" as const,
        "raise" as const,
        "toggle" as const,
        "mount" as const,
        "silence" as const
      ),
      ms
    })
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete" as const), ms }) }
)

/** The service and one node of it. */
const live = (commands: ReadonlyArray<Command>) => {
  let nowMs = startMs
  let upSinceMs = startMs - graceMs
  let receivedMs = startMs
  let level = 0
  let rule: AlertRule | undefined = first
  let [isMounted, isSilenced, nextId] = [true, false, 1]
  let states: ReadonlyArray<RuleState> = []
  const transitions: Array<Transition> = []
  const past: Array<readonly [Seen, Seen]> = []
  const current: Array<AlertRule | undefined> = []
  for (const one of commands) {
    nowMs += one.ms
    if (one.kind === "report") [receivedMs, level] = [nowMs, one.usage]
    if (one.kind === "restart") {
      states = Option.getOrThrow(statesIn(statesText(states)))
      upSinceMs = nowMs
    }
    if (one.kind === "rename" && rule) rule = { ...rule, name: `${rule.name}+`, updatedAt: nowMs }
    if (one.kind === "raise" && rule)
      rule = { ...rule, generation: rule.generation + 1, updatedAt: nowMs, durationSec: 3 }
    if (one.kind === "toggle" && rule)
      rule = { ...rule, enabled: !rule.enabled, generation: rule.generation + 1, updatedAt: nowMs }
    if (one.kind === "mount") isMounted = !isMounted
    if (one.kind === "silence") isSilenced = !isSilenced
    if (one.kind === "delete") rule = undefined
    const mounted: AlertRule | undefined = rule !== undefined && isMounted && isWatched(rule) ? rule : undefined
    const isStale = nowMs > deadlineMs(receivedMs, upSinceMs, staleMs)
    const canOpen = nowMs - upSinceMs >= graceMs
    const input = {
      nowMs,
      observedMs: receivedMs,
      measured: usageOf(level),
      isStale,
      canOpen,
      isSilenced: () => isSilenced
    }
    const ruleOf = (id: number) => (id === offline.id ? offline : rule)
    const rules = mounted === undefined ? [offline] : [mounted, offline]
    const after = considered(states, rules, considerationAt(nowMs, { ...input, ruleOf, nextEventId: () => nextId++ }))
    if (!after.isChanged) expect(after.states).toEqual(states)
    states = after.states
    transitions.push(...after.transitions)
    const seen = { nowMs, isStale, usage: level, canOpen, isSilenced }
    past.push([
      { ...seen, observedMs: receivedMs, rule: mounted },
      { ...seen, observedMs: nowMs, rule: offline }
    ])
    current.push(rule)
  }
  return { states, transitions, past, current, nowMs }
}

const toldOf = ({ atMs, channelIds, reason, rule, transition }: Transition): Told => [
  transition,
  rule.id,
  atMs,
  reason,
  channelIds.length
]

it("tells of any life of a node what the reference tells", () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 80 }), (commands) => {
      const { current, past, transitions } = live(commands)
      const custom = reference(
        past.map(([seen]) => seen),
        current
      )
      const silence = reference(
        past.map(([, seen]) => seen),
        past.map(() => offline)
      )

      expect(transitions.filter(({ rule }) => rule.id === first.id).map(toldOf)).toEqual(custom)
      expect(transitions.filter(({ rule }) => rule.id === offline.id).map(toldOf)).toEqual(silence)
    }),
    { numRuns: 1500 }
  )
})

it("opens no event twice, closes each that it opened, and tells its close to those who were told of it", () => {
  let closes = 0
  fc.assert(
    fc.property(fc.array(command, { maxLength: 80 }), (commands) => {
      const { nowMs, states, transitions } = live(commands)
      const open = new Map<number, { ruleId: number; channelIds: ReadonlyArray<number> }>()
      const seen = new Set<number>()
      for (const { channelIds, eventId, rule, transition } of [
        ...transitions,
        ...dissolved(states, nowMs).transitions
      ]) {
        if (transition === "opened") {
          expect(seen.has(eventId)).toBe(false)
          expect([...open.values()].some(({ ruleId }) => ruleId === rule.id)).toBe(false)
          seen.add(eventId)
        } else expect(open.get(eventId)?.ruleId).toBe(rule.id)
        if (transition === "closed") {
          expect(channelIds).toEqual(open.get(eventId)?.channelIds)
          open.delete(eventId)
          closes++
        } else open.set(eventId, { ruleId: rule.id, channelIds })
      }

      expect(open.size).toBe(0)
    }),
    { numRuns: 500 }
  )

  expect(closes).toBeGreaterThan(100)
})
