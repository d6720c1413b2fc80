// How the rule states of a node are stored: one JSON text, read back exactly or refused.
import { Option, Schema } from "effect"
import { metrics, operators } from "./Rule.ts"
import type { RuleState } from "./RuleState.ts"

const label = Schema.Struct({
  id: Schema.Int,
  generation: Schema.Int,
  name: Schema.String,
  metric: Schema.Literal(...metrics),
  operator: Schema.Literal(...operators),
  durationSec: Schema.Int
})
const identity = { ruleId: Schema.Int, generation: Schema.Int }

const Stored = Schema.parseJson(
  Schema.Array(
    Schema.Union(
      Schema.TaggedStruct("Pending", { ...identity, sinceMs: Schema.Finite }),
      Schema.TaggedStruct("Firing", {
        ...identity,
        eventId: Schema.Int,
        openedMs: Schema.Finite,
        beatMs: Schema.Finite,
        clearSinceMs: Schema.NullOr(Schema.Finite),
        channelIds: Schema.Array(Schema.Int),
        isMuted: Schema.Boolean,
        rule: label
      }),
      Schema.TaggedStruct("Cooldown", { ...identity, untilMs: Schema.Finite })
    )
  )
)

const decode = Schema.decodeUnknownOption(Stored)

/** Null: there is none, so that no row need be kept. */
export const statesText = (states: ReadonlyArray<RuleState>): string | null =>
  states.length === 0 ? null : JSON.stringify(states)

/** None for a text that was not written by {@link statesText}. */
export const statesIn = (text: string | null): Option.Option<ReadonlyArray<RuleState>> =>
  text === null ? Option.some([]) : decode(text)
