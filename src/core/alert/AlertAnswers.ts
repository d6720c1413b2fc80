// What administrators read of rules, silences and channels, and the write forms of silences judged.
import { Either, Schema } from "effect"
import { Channel as ChannelAnswer } from "../../../schema/AlertChannels.ts"
import type { Rule, Silence as SilenceAnswer, SilenceWrite } from "../../../schema/Alerts.ts"
import { InvalidFields } from "../../../schema/Errors.ts"
import { isoSeconds } from "../Online.ts"
import { paragraphOf } from "../Line.ts"
import type { ChannelType } from "./Channel.ts"
import { timeOf } from "./EventQuery.ts"
import type { AlertRule } from "./Rule.ts"
import type { Silence } from "./Silence.ts"

export const ruleAnswer = (rule: AlertRule): Rule => ({
  id: rule.id,
  name: rule.name,
  enabled: rule.enabled,
  metric: rule.metric,
  operator: rule.operator,
  threshold: rule.threshold,
  duration_sec: rule.durationSec,
  cooldown_min: rule.cooldownMin,
  threshold_mode: rule.thresholdMode,
  threshold_offset: rule.thresholdOffset,
  clear_threshold: rule.clearThreshold,
  keep_firing_sec: rule.keepFiringSec,
  created_at: isoSeconds(rule.createdAt),
  updated_at: isoSeconds(rule.updatedAt)
})

export const silenceAnswer = (silence: Silence, nowMs: number): SilenceAnswer => ({
  id: silence.id,
  scope: silence.scope,
  target_id: silence.targetId,
  until: isoSeconds(silence.untilMs),
  active: nowMs < silence.untilMs,
  comment: silence.comment,
  created_at: isoSeconds(silence.createdAt)
})

/** Longest comment, characters. */
const commentMax = 255

/** The body of a create or replace call; whether it lies ahead and its target exists is judged where it is stored. */
export const silenceOf = (
  write: SilenceWrite
): Either.Either<Pick<Silence, "scope" | "targetId" | "untilMs" | "comment">, InvalidFields> =>
  Either.gen(function* () {
    const untilMs = timeOf(write.until.trim())
    if (untilMs === undefined) {
      return yield* Either.left(new InvalidFields({ message: "until must be an RFC 3339 time" }))
    }
    const comment = yield* Either.mapLeft(
      paragraphOf(write.comment ?? "", commentMax),
      (why) => new InvalidFields({ message: `comment ${why}` })
    )
    return { scope: write.scope, targetId: write.target_id, untilMs, comment }
  })

/** A stored channel, as far as it may be shown. */
export interface ShownChannel {
  readonly id: number
  readonly name: string
  readonly type: ChannelType
  /** JSON of the configuration without its secrets. */
  readonly config: string
  readonly enabled: boolean
  readonly createdAt: number
  readonly updatedAt: number
}

const shownConfig = Schema.decodeUnknownEither(Schema.parseJson(ChannelAnswer.fields.config))

/** A configuration that another version wrote in a way we do not know is told as an empty one. */
export const channelAnswer = (channel: ShownChannel): ChannelAnswer => ({
  id: channel.id,
  name: channel.name,
  type: channel.type,
  config: Either.getOrElse(shownConfig(channel.config), () => ({})),
  enabled: channel.enabled,
  created_at: isoSeconds(channel.createdAt),
  updated_at: isoSeconds(channel.updatedAt)
})
