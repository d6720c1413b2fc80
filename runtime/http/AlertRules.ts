// /api/admin/alerts: rules, their preview and mounts, settings and silences.
import { HttpApiBuilder, HttpServerResponse } from "@effect/platform"
import { Clock, Effect } from "effect"
import { Api } from "../../schema/api/Api.ts"
import { CurrentViewer } from "../../schema/api/Security.ts"
import type { AlertSettings as SettingsAnswer, AlertSettingsWrite, MountsWrite } from "../../schema/Alerts.ts"
import { InvalidFields } from "../../schema/Errors.ts"
import { ruleAnswer, silenceAnswer, silenceOf } from "../../src/core/alert/AlertAnswers.ts"
import type { AlertRule } from "../../src/core/alert/Rule.ts"
import { changed, ruleOf } from "../../src/core/alert/RuleWrite.ts"
import { isoSeconds } from "../../src/core/Online.ts"
import {
  type AlertSettings,
  type AlertSettingsChange,
  AlertSettingsStore
} from "../../src/store/alert/AlertSettings.ts"
import { AlertMounts, isMountedByDefault, type MountChange } from "../../src/store/alert/Mounts.ts"
import { AlertRules } from "../../src/store/alert/Rules.ts"
import { AlertSilences } from "../../src/store/alert/Silences.ts"
import { AlertBook } from "../alert/AlertBook.ts"
import * as AlertChanges from "../alert/AlertChanges.ts"
import * as RulePreview from "../alert/RulePreview.ts"
import { NodeDirectory } from "../NodeDirectory.ts"
import { type NodeRecord, NodeRoster } from "../NodeRoster.ts"
import { pause } from "../Pause.ts"
import { answered, createdAt } from "./ChangeAnswer.ts"
import * as Registry from "./Registry.ts"
import { ofHistory } from "./AtStorage.ts"

/** Nodes serialised between two pauses: a few milliseconds with the rules of a usual service. */
const sliceNodes = 250
/** Different sets of mounts whose text is kept during an answer: 15 kB each with as many rules as there may be. */
const textsMax = 200

export const layer = HttpApiBuilder.group(Api, "alertRules", (handlers) =>
  Effect.gen(function* () {
    const rules = yield* AlertRules
    const mounts = yield* AlertMounts
    const settings = yield* AlertSettingsStore
    const silences = yield* AlertSilences
    const changes = yield* AlertChanges.make
    const listMounts = yield* makeMounts(changes)
    const preview = yield* RulePreview.make
    const { written } = changes

    return handlers
      .handle("list", () => Effect.map(rules.list, (all) => all.map(ruleAnswer)))
      .handle("create", ({ payload }) =>
        Effect.gen(function* () {
          const fields = yield* ruleOf(payload)
          const now = yield* Clock.currentTimeMillis
          const made = yield* written(rules.create({ ...fields, generation: 1, createdAt: now, updatedAt: now }))
          return createdAt("/api/admin/alerts/rules", made)
        })
      )
      .handle("preview", ({ payload }) =>
        ofHistory.guarded(Effect.flatMap(CurrentViewer, (viewer) => preview(viewer, payload)))
      )
      .handle("patch", ({ path, payload }) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          Effect.map(written(rules.change(path.id, (rule) => changed(rule, payload, now))), answered)
        )
      )
      .handle("remove", ({ path }) => Effect.map(written(rules.remove(path.id)), answered))
      .handle("mounts", () => listMounts)
      .handle("setMounts", ({ payload }) =>
        Effect.flatMap(mountsOf(payload), (change) => Effect.map(written(mounts.set(change)), answered))
      )
      .handle("settings", () => Effect.map(settings.get, settingsAnswer))
      .handle("putSettings", ({ payload }) =>
        Effect.flatMap(settingsOf(payload), (change) => Effect.map(written(settings.put(change)), answered))
      )
      .handle("silences", () =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          Effect.map(silences.list, (all) => all.map((one) => silenceAnswer(one, now)))
        )
      )
      .handle("createSilence", ({ payload }) =>
        Effect.flatMap(silenceOf(payload), (silence) =>
          Effect.map(written(silences.create(silence)), (made) => createdAt("/api/admin/alerts/silences", made))
        )
      )
      .handle("replaceSilence", ({ path, payload }) =>
        Effect.flatMap(silenceOf(payload), (silence) =>
          Effect.map(written(silences.replace(path.id, silence)), answered)
        )
      )
      .handle("removeSilence", ({ path }) => Effect.map(written(silences.remove(path.id)), answered))
  })
)

const missing = (name: string) => Effect.fail(new InvalidFields({ message: `${name} is required` }))

const mountsOf = ({ mounted, rule_ids, server_ids }: MountsWrite): Effect.Effect<MountChange, InvalidFields> => {
  if (mounted === undefined || mounted === null) return missing("mounted")
  if (rule_ids === undefined || rule_ids === null) return missing("rule_ids")
  if (server_ids === undefined || server_ids === null) return missing("server_ids")
  return Effect.succeed({ mounted, ruleIds: rule_ids, nodeIds: server_ids })
}

const settingsOf = (write: AlertSettingsWrite): Effect.Effect<AlertSettingsChange, InvalidFields> => {
  const { channel_ids, enabled } = write
  if (enabled === undefined || enabled === null) return missing("enabled")
  if (channel_ids === undefined || channel_ids === null) return missing("channel_ids")
  const rest = {
    groupOffline: write.group_offline,
    groupOfflineOver: write.group_offline_over,
    groupOfflineWindowSec: write.group_offline_window_sec,
    offlineAfterSec: write.offline_after_sec,
    allowPrivateTargets: write.allow_private_targets
  }
  const told = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined && value !== null))
  return Effect.succeed({ enabled, channelIds: channel_ids, ...told })
}

const settingsAnswer = (settings: AlertSettings): SettingsAnswer => ({
  enabled: settings.enabled,
  channel_ids: settings.channelIds,
  group_offline: settings.groupOffline,
  group_offline_over: settings.groupOfflineOver,
  group_offline_window_sec: settings.groupOfflineWindowSec,
  offline_after_sec: settings.offlineAfterSec,
  allow_private_targets: settings.allowPrivateTargets,
  created_at: isoSeconds(settings.createdAt),
  updated_at: isoSeconds(settings.updatedAt)
})

/** Every rule for every node, made in slices: ten thousand nodes must not hold up the reports. */
const makeMounts = (changes: AlertChanges.AlertChanges) =>
  Effect.gen(function* () {
    const book = yield* AlertBook
    const roster = yield* NodeRoster
    const directory = yield* NodeDirectory
    const { caughtUp } = yield* Registry.make

    const nodeText = (record: NodeRecord, mounts: string): string => {
      const facts = directory.facts(record.id)
      const node = {
        id: record.id,
        name: record.name,
        hostname: facts === undefined || facts.hostname === "" ? record.name : facts.hostname,
        ...(facts?.ip === undefined ? {} : { ip: facts.ip }),
        group_ids: record.groupIds
      }
      return `${JSON.stringify(node).slice(0, -1)},"mounts":${mounts}}`
    }

    return Effect.gen(function* () {
      yield* caughtUp
      yield* changes.caughtUp
      const { mountedOn, rules } = book.page()
      const ordered = roster.ordered()
      // Most nodes have the same rules, and then the same list of them.
      const texts = new Map<ReadonlyArray<AlertRule>, string>()
      const mountsText = (record: NodeRecord): string => {
        const list = mountedOn(record.id)
        const known = texts.get(list)
        if (known !== undefined) return known
        const mounted = new Set(list)
        const text = JSON.stringify(rules.map((rule) => ({ rule_id: rule.id, mounted: mounted.has(rule) })))
        if (texts.size < textsMax) texts.set(list, text)
        return text
      }
      const pieces: Array<Buffer> = [Buffer.from(`{"rules":${JSON.stringify(rules.map(mountable))},"nodes":[`)]
      for (let from = 0; from < ordered.length; from += sliceNodes) {
        if (from > 0) yield* pause
        const slice = ordered.slice(from, from + sliceNodes).map((record) => nodeText(record, mountsText(record)))
        pieces.push(Buffer.from(`${from === 0 ? "" : ","}${slice.join(",")}`))
      }
      const body = Buffer.concat([...pieces, Buffer.from("]}\n")])
      return HttpServerResponse.uint8Array(body, { contentType: "application/json; charset=utf-8" })
    })
  })

const mountable = ({ enabled, id, metric, name }: AlertRule) => ({
  id,
  name,
  metric,
  builtin: id < 0,
  enabled,
  default_mounted: isMountedByDefault(id)
})
