// What administrators set about alerts, in memory: rules and where they are mounted, whom to tell, silences.
import { Context, Effect, Layer } from "effect"
import type { StorageUnavailable } from "../../schema/Errors.ts"
import type { NodeId } from "../../schema/Ids.ts"
import { Vault } from "../../src/auth/Vault.ts"
import type { Channel } from "../../src/core/alert/Channel.ts"
import { type AlertRule, builtIns } from "../../src/core/alert/Rule.ts"
import type { Silence } from "../../src/core/alert/Silence.ts"
import { type AlertSettings, AlertSettingsStore } from "../../src/store/alert/AlertSettings.ts"
import { AlertChannels, type ChannelRow } from "../../src/store/alert/Channels.ts"
import { AlertMounts, isMountedByDefault, type Mount } from "../../src/store/alert/Mounts.ts"
import { AlertRules } from "../../src/store/alert/Rules.ts"
import { AlertSilences } from "../../src/store/alert/Silences.ts"
import { openedConfig } from "./ChannelSeal.ts"

/** Undefined when the row was sealed with another key, or says what no channel can. */
const channelOf = (vault: Context.Tag.Service<typeof Vault>, row: ChannelRow): Channel | undefined => {
  const config = openedConfig(vault, row.id, row.sealed)
  if (config === undefined) return undefined
  const { createdAt, enabled, id, name, revision, updatedAt } = row
  return { id, name, enabled, config, revision, createdAt, updatedAt }
}

export interface AlertPage {
  /** Built-in ones first, then by id. */
  readonly rules: ReadonlyArray<AlertRule>
  readonly mountedOn: (nodeId: NodeId) => ReadonlyArray<AlertRule>
  readonly settings: AlertSettings
  /** Null: it is there, but cannot be read. */
  readonly channels: ReadonlyMap<number, Channel | null>
  readonly targets: ReadonlyArray<Channel>
  readonly silences: ReadonlyArray<Silence>
}

export class AlertBook extends Context.Tag("runtime/alert/AlertBook")<
  AlertBook,
  {
    /** As of the last load; the same object until something is loaded anew. */
    readonly page: () => AlertPage
    /** Reads everything anew: after each change. A failure leaves what was known in force. */
    readonly reload: Effect.Effect<void, StorageUnavailable>
  }
>() {}

/** Rules by node: nodes with the same rules share one list, so that what is compiled for it serves them all. */
const mountedBy = (rules: ReadonlyArray<AlertRule>, mounts: ReadonlyArray<Mount>) => {
  const deviations = new Map<number, Map<number, boolean>>()
  for (const { mounted, nodeId, ruleId } of mounts) {
    const known = deviations.get(nodeId)
    if (known === undefined) deviations.set(nodeId, new Map([[ruleId, mounted]]))
    else known.set(ruleId, mounted)
  }
  const usual = rules.filter(({ id }) => isMountedByDefault(id))
  const lists = new Map<string, ReadonlyArray<AlertRule>>()
  const byNode = new Map<number, ReadonlyArray<AlertRule>>()
  for (const [nodeId, own] of deviations) {
    const list = rules.filter(({ id }) => own.get(id) ?? isMountedByDefault(id))
    const key = list.map(({ id }) => id).join()
    const shared = lists.get(key) ?? list
    lists.set(key, shared)
    byNode.set(nodeId, shared)
  }
  return (nodeId: NodeId): ReadonlyArray<AlertRule> => byNode.get(nodeId) ?? usual
}

const make = Effect.gen(function* () {
  const vault = yield* Vault
  const stores = {
    rules: yield* AlertRules,
    mounts: yield* AlertMounts,
    settings: yield* AlertSettingsStore,
    channels: yield* AlertChannels,
    silences: yield* AlertSilences
  }
  const load = Effect.gen(function* () {
    const rules = [...builtIns, ...(yield* stores.rules.list).toReversed()]
    const settings = yield* stores.settings.get
    const channels = new Map<number, Channel | null>()
    for (const row of yield* stores.channels.list) channels.set(row.id, channelOf(vault, row) ?? null)
    const listed = settings.enabled ? settings.channelIds : []
    return {
      rules,
      mountedOn: mountedBy(rules, yield* stores.mounts.list),
      settings,
      channels,
      targets: listed.flatMap((id) => {
        const channel = channels.get(id) ?? null
        return channel?.enabled === true ? [channel] : []
      }),
      silences: yield* stores.silences.list
    } satisfies AlertPage
  })
  let page: AlertPage = yield* load
  // One at a time, so that an older reading never takes the place of a newer one.
  const turn = yield* Effect.makeSemaphore(1)
  return AlertBook.of({
    page: () => page,
    reload: turn.withPermits(1)(
      Effect.map(load, (loaded) => {
        page = loaded
      })
    )
  })
})

export const layer = Layer.effect(AlertBook, make)
