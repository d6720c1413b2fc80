// Alerts upon the whole engine: real stores, journal, actors and dispatcher on a database of their own, clocks moved by hand.
import { Context, Effect, Either, Layer, Option } from "effect"
import * as AlertBook from "../../../runtime/alert/AlertBook.ts"
import * as AlertDesk from "../../../runtime/alert/AlertDesk.ts"
import { digestIn } from "../../../runtime/alert/AlertRender.ts"
import * as AlertWatch from "../../../runtime/alert/AlertWatch.ts"
import { sealedConfig } from "../../../runtime/alert/ChannelSeal.ts"
import * as Dispatcher from "../../../runtime/alert/Dispatcher.ts"
import { AppConfig } from "../../../runtime/Config.ts"
import { FiberRegister } from "../../../runtime/FiberStatus.ts"
import * as Intake from "../../../runtime/Intake.ts"
import * as Journal from "../../../runtime/Journal.ts"
import { Monotonic } from "../../../runtime/Monotonic.ts"
import { NodeRoster } from "../../../runtime/NodeRoster.ts"
import * as NodeSupervisor from "../../../runtime/NodeSupervisor.ts"
import * as Replay from "../../../runtime/Replay.ts"
import type { ChannelConfig } from "../../../src/core/alert/Channel.ts"
import type { AlertRule } from "../../../src/core/alert/Rule.ts"
import type { RuleState } from "../../../src/core/alert/RuleState.ts"
import { step as coreStep } from "../../../src/core/NodeState.ts"
import { AlertSettingsStore } from "../../../src/store/alert/AlertSettings.ts"
import { AlertChannels } from "../../../src/store/alert/Channels.ts"
import { AlertEvents } from "../../../src/store/alert/Events.ts"
import { AlertMounts } from "../../../src/store/alert/Mounts.ts"
import * as OutboxStore from "../../../src/store/alert/Outbox.ts"
import { AlertRules } from "../../../src/store/alert/Rules.ts"
import { AlertSilences } from "../../../src/store/alert/Silences.ts"
import { Groups } from "../../../src/store/Groups.ts"
import * as JournalStore from "../../../src/store/Journal.ts"
import { Nodes } from "../../../src/store/Nodes.ts"
import { Settings } from "../../../src/store/Settings.ts"
import { database, quiet, run, vault } from "../../store/Support.ts"
import { epoch, type EngineOptions, seed, send, type Told, turns } from "../../support/Engine.ts"
import { defaultLimits } from "../../support/Limits.ts"
import { ManualClock } from "../../support/ManualClock.ts"
import { makeSink, type Sink } from "./Dispatching.ts"

/** The wall clock and the one that is never set. They move together unless one of them is told to jump. */
export class Clocks extends Context.Tag("test/Clocks")<
  Clocks,
  {
    readonly wall: ManualClock
    readonly pass: (ms: number) => void
    readonly monoMs: () => number
    /** The clock of the agents, which nobody sets either. */
    readonly agentMs: () => number
  }
>() {}

export const makeClocks = (now = epoch): Context.Tag.Service<typeof Clocks> => {
  let monoMs = 5000
  const wall = new ManualClock(now)
  return {
    wall,
    pass: (ms) => {
      monoMs += ms
      wall.advance(ms)
    },
    monoMs: () => monoMs,
    agentMs: () => now + monoMs
  }
}

export interface AlertingOptions extends EngineOptions {
  readonly sink?: Sink
  readonly clocks?: Context.Tag.Service<typeof Clocks>
}

const config = Layer.succeed(AppConfig, {
  home: "/nowhere",
  listenHost: "127.0.0.1",
  listenPort: 0,
  publicUrl: Option.none(),
  adminPassword: Option.none(),
  trustedProxies: [],
  timezone: "UTC",
  localNode: false,
  history: defaultLimits,
  trafficKeepMs: 1,
  language: "en"
})

const layers = (sink: Sink, clocks: Context.Tag.Service<typeof Clocks>, options: AlertingOptions) => {
  const { filename, nodes = 1, step = coreStep, wrap = (store) => store } = options
  const journalStore = Layer.effect(
    JournalStore.JournalStore,
    Effect.map(JournalStore.JournalStore, (store) => JournalStore.JournalStore.of(wrap(store)))
  ).pipe(Layer.provide(JournalStore.layer))
  const alertStores = Layer.mergeAll(
    AlertRules.layer,
    AlertMounts.layer,
    AlertSettingsStore.layer,
    AlertChannels.layer,
    AlertSilences.layer,
    AlertEvents.layer,
    OutboxStore.layer
  )
  const storage = Layer.mergeAll(journalStore, Layer.effectDiscard(seed(nodes, nodes))).pipe(
    Layer.provideMerge(Layer.mergeAll(Nodes.layer, Groups.layer, Settings.layer, alertStores)),
    Layer.provideMerge(database(filename))
  )
  return Layer.mergeAll(Intake.layer, AlertWatch.layer).pipe(
    Layer.provideMerge(NodeSupervisor.layer),
    Layer.provideMerge(AlertDesk.layer),
    Layer.provideMerge(Dispatcher.layerWith(digestIn({ locale: "en", zone: "UTC" }))),
    Layer.provideMerge(Layer.merge(AlertBook.layer, sink.layer)),
    Layer.provideMerge(Replay.layerWith(step)),
    Layer.provideMerge(Layer.mergeAll(Journal.layer, NodeRoster.layer)),
    Layer.provideMerge(FiberRegister.layer),
    Layer.provideMerge(storage),
    Layer.provideMerge(Layer.succeed(Clocks, clocks)),
    Layer.provide(Layer.mergeAll(config, Layer.succeed(Monotonic, { now: clocks.monoMs }), quiet))
  )
}

/** Runs the body with everything that alerts need; its nodes are as `seed` makes them. */
export const inAlerting = <A, E>(
  body: Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof layers>>>,
  options: AlertingOptions = {}
) => {
  const { clocks = makeClocks(), sink = makeSink() } = options
  return Effect.scoped(Effect.provide(body, layers(sink, clocks, options))).pipe(Effect.withClock(clocks.wall))
}

/** Lets everything happen that needs no time, commits of the journal included. */
export const settled = Effect.gen(function* () {
  const journal = yield* Journal.Journal
  yield* turns(3)
  yield* journal.flushed
  yield* turns(3)
})

/** Both clocks move on in steps, and what is due happens in between. */
export const passing = (ms: number, stepMs = 250) =>
  Effect.gen(function* () {
    const { pass } = yield* Clocks
    for (let gone = 0; gone < ms; gone += stepMs) {
      pass(Math.min(stepMs, ms - gone))
      yield* settled
    }
  })

/** The first minute, in which nothing opens, is over. */
export const grace = passing(61_000, 1000)

/** A report of the node right now. */
export const tell = (id: number, told: Partial<Told> = {}) =>
  Effect.gen(function* () {
    const answer = yield* send(id, { at: (yield* Clocks).agentMs(), ...told })
    yield* settled
    return answer._tag
  })

/** Reports at this pace for so long, the last one at the end. */
export const telling = (id: number, ms: number, told: Partial<Told> = {}, everyMs = 10_000) =>
  Effect.gen(function* () {
    for (let gone = 0; gone < ms; gone += everyMs) {
      yield* passing(Math.min(everyMs, ms - gone), 1000)
      yield* tell(id, told)
    }
  })

const webhook: ChannelConfig = { type: "webhook", url: "https://example.org/x", headers: {}, secret: "" }

/** A channel that is told everything. */
export const addChannel = (channel: ChannelConfig = webhook) =>
  Effect.gen(function* () {
    const { type } = channel
    const sealed = (id: number) => sealedConfig(vault, id, channel).sealed
    const id = yield* (yield* AlertChannels).create({ name: type, type, config: "{}", enabled: true, sealed })
    const settings = yield* AlertSettingsStore
    yield* settings.put({ enabled: true, channelIds: [...(yield* settings.get).channelIds, id] })
    yield* changed
    return id
  })

export const changed = Effect.gen(function* () {
  yield* (yield* AlertWatch.AlertWatch).changed
  yield* passing(500)
})

/** Makes something else of the seeded rule 1, `cpu.usage_ratio >= 0.9` for 60 s. */
export const setRule = (over: Partial<AlertRule>) =>
  Effect.gen(function* () {
    yield* (yield* AlertRules).change(1, (rule) => Either.right({ ...rule, ...over }))
    yield* changed
  })

export const mount = (mounted = true, ruleIds: ReadonlyArray<number> = [1], nodeIds: ReadonlyArray<number> = [1]) =>
  Effect.gen(function* () {
    yield* (yield* AlertMounts).set({ ruleIds, nodeIds, mounted })
    yield* changed
  })

interface EventLine {
  readonly id: number
  readonly rule: number
  readonly node: number
  readonly from: number
  readonly to: number | null
  readonly reason: string | null
  readonly muted: number
}

/** All events, by id. */
export const events = Effect.map(
  run(
    `SELECT id, rule_id AS rule, node_id AS node, first_at AS "from", closed_at AS "to", close_reason AS reason,
       is_muted AS muted FROM alert_events ORDER BY id`
  ),
  (rows) => rows as ReadonlyArray<EventLine>
)

/** All notifications, by id. */
export const told = Effect.map(
  run(`SELECT event_id AS event, transition, channel_id AS channel, title FROM alert_outbox ORDER BY id`),
  (rows) =>
    (rows as ReadonlyArray<Record<string, unknown>>).map(
      ({ channel, event, transition }) => `${event} ${transition} to ${channel}`
    )
)

/** Stored states of a node. */
export const statesOf = (id: number) =>
  Effect.map(
    run("SELECT body FROM alert_states WHERE node_id = ?", [id]),
    (rows) => JSON.parse((rows[0] as { body: string } | undefined)?.body ?? "[]") as ReadonlyArray<RuleState>
  )

/** Nothing to wait for: the rule opens with the first report that breaks it. */
export const atOnce = { durationSec: 0 }
export const high = { cpu: 0.95 }
export const low = { cpu: 0.1 }

/** One channel, and rule 1 on node 1, after the grace of the start. */
export const prepared = (rule: Parameters<typeof setRule>[0] = atOnce) =>
  Effect.gen(function* () {
    yield* addChannel()
    yield* setRule(rule)
    yield* mount()
    yield* grace
  })
