// The whole service as one layer. What is provided first closes last: listener, agents of change, journal, database.
import { HttpApiBuilder } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { fileURLToPath } from "node:url"
import { RoutedApi } from "../schema/api/Api.ts"
import { StorageUnavailable } from "../schema/Errors.ts"
import * as Password from "../src/auth/Password.ts"
import * as Vault from "../src/auth/Vault.ts"
import { AlertSettingsStore } from "../src/store/alert/AlertSettings.ts"
import { AlertChannels } from "../src/store/alert/Channels.ts"
import { AlertDeliveries } from "../src/store/alert/Deliveries.ts"
import { AlertEvents } from "../src/store/alert/Events.ts"
import { AlertMounts } from "../src/store/alert/Mounts.ts"
import * as OutboxStore from "../src/store/alert/Outbox.ts"
import { AlertRules } from "../src/store/alert/Rules.ts"
import { AlertSilences } from "../src/store/alert/Silences.ts"
import { Groups } from "../src/store/Groups.ts"
import * as HistoryStore from "../src/store/History.ts"
import { filesOf } from "../src/store/Home.ts"
import { homeLock } from "../src/store/HomeLock.ts"
import { inspected } from "../src/store/Inspection.ts"
import * as Integrity from "../src/store/Integrity.ts"
import * as JournalStore from "../src/store/Journal.ts"
import * as Migrations from "../src/store/Migrations.ts"
import { Nodes } from "../src/store/Nodes.ts"
import { finish } from "../src/store/Restoration.ts"
import * as SessionStore from "../src/store/Sessions.ts"
import { Settings } from "../src/store/Settings.ts"
import * as Sql from "../src/store/Sql.ts"
import * as TrafficStore from "../src/store/Traffic.ts"
import * as AlertBook from "./alert/AlertBook.ts"
import * as AlertDesk from "./alert/AlertDesk.ts"
import { digestIn } from "./alert/AlertRender.ts"
import * as AlertRetention from "./alert/AlertRetention.ts"
import * as AlertWatch from "./alert/AlertWatch.ts"
import * as Dispatcher from "./alert/Dispatcher.ts"
import * as Sinks from "./alert/Sinks.ts"
import * as TargetGuard from "./alert/TargetGuard.ts"
import { gramClient } from "./alert/TelegramClient.ts"
import * as TelegramLogin from "./alert/TelegramLogin.ts"
import * as TelegramUser from "./alert/TelegramUser.ts"
import { BundledVersion } from "./BundledVersion.ts"
import * as Checkpointer from "./Checkpointer.ts"
import * as CommitPages from "./CommitPages.ts"
import * as Compactor from "./Compactor.ts"
import { AppConfig } from "./Config.ts"
import { CycleTotals } from "./CycleTotals.ts"
import { FiberRegister } from "./FiberStatus.ts"
import * as FrontBoard from "./FrontBoard.ts"
import * as HistoryDesk from "./HistoryDesk.ts"
import * as HistoryMarks from "./HistoryMarks.ts"
import * as HistoryReads from "./HistoryReads.ts"
import * as HistoryRetention from "./HistoryRetention.ts"
import * as AlertChannelHandlers from "./http/AlertChannels.ts"
import * as AlertEventHandlers from "./http/AlertEvents.ts"
import * as AlertRuleHandlers from "./http/AlertRules.ts"
import * as AuthHandlers from "./http/Auth.ts"
import * as Files from "./http/Files.ts"
import * as FrontHandlers from "./http/Front.ts"
import * as GroupHandlers from "./http/Groups.ts"
import * as Listener from "./http/Listener.ts"
import * as NodeLane from "./http/NodeLane.ts"
import * as ReadLane from "./http/ReadLane.ts"
import * as NodeHandlers from "./http/Nodes.ts"
import * as Security from "./http/Security.ts"
import * as HistoryHandlers from "./http/History.ts"
import * as Server from "./http/Server.ts"
import * as SystemHandlers from "./http/System.ts"
import * as TrafficHandlers from "./http/Traffic.ts"
import * as TrafficSettingsHandlers from "./http/TrafficSettings.ts"
import { InstallId } from "./InstallId.ts"
import * as Intake from "./Intake.ts"
import * as Journal from "./Journal.ts"
import * as LocalNode from "./LocalNode.ts"
import { NodeRoster } from "./NodeRoster.ts"
import * as NodeSupervisor from "./NodeSupervisor.ts"
import { PercentileTable } from "./PercentileTable.ts"
import { Readiness } from "./Readiness.ts"
import * as ReadAhead from "./ReadAhead.ts"
import * as Replay from "./Replay.ts"
import * as Retention from "./Retention.ts"
import * as ServiceRuns from "./ServiceRuns.ts"
import * as Sessions from "./Sessions.ts"
import { TrafficFeed } from "./TrafficFeed.ts"
import { TrafficFigures } from "./TrafficFigures.ts"
import { TrafficMonths } from "./TrafficMonths.ts"
import { TrafficPlans } from "./TrafficPlans.ts"
import { TrafficReads } from "./TrafficReads.ts"
import { TrafficRebuild } from "./TrafficRebuild.ts"
import * as TrafficRetention from "./TrafficRetention.ts"
import { TrafficSettings } from "./TrafficSettings.ts"

/** Built files stand beside the program; from a checkout they are in dist. */
const webFolder = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "../dist/web" : "./web", import.meta.url))

/** What a database of this version looks like, read off a new one in memory. */
export const currentShape = Integrity.currentShape.pipe(
  Effect.provide(Migrations.layer.pipe(Layer.provideMerge(Sql.layer(":memory:")))),
  Effect.orDie
)

/** The home is ours alone, no restore stands halfway, and what is in it can be trusted: before anything is written. */
const trusted = (home: string) =>
  Layer.scopedDiscard(
    Effect.gen(function* () {
      yield* homeLock(home)
      yield* Effect.try({
        try: () => finish(home),
        catch: (cause) => new StorageUnavailable({ message: `the restore cannot be finished: ${String(cause)}` })
      })
      yield* inspected(home, yield* currentShape)
    })
  )

const storage = Layer.unwrapEffect(
  Effect.gen(function* () {
    const { home } = yield* AppConfig
    const { database, key } = filesOf(home)
    const sql = Migrations.layer.pipe(Layer.provideMerge(Sql.layer(database)))
    const stores = Layer.mergeAll(
      Groups.layer,
      Nodes.layer,
      Settings.layer,
      SessionStore.layer,
      JournalStore.layer,
      HistoryStore.layer,
      TrafficStore.layer
    )
    const alerts = Layer.mergeAll(
      AlertRules.layer,
      AlertMounts.layer,
      AlertSettingsStore.layer,
      AlertChannels.layer,
      AlertSilences.layer,
      AlertEvents.layer,
      AlertDeliveries.layer,
      OutboxStore.layer
    )
    return Layer.mergeAll(stores, alerts, InstallId.layer(home)).pipe(
      // After the tables: a key says that the home is in use.
      Layer.provideMerge(Vault.layer(key)),
      Layer.provideMerge(sql),
      Layer.provide(trusted(home))
    )
  })
)

const auth = Layer.unwrapEffect(
  Effect.map(AppConfig, ({ adminPassword }) => Sessions.layer.pipe(Layer.provideMerge(Password.layer(adminPassword))))
)

/** Journal, nodes and boards; each stands on the ones named behind it. */
const history = Layer.mergeAll(HistoryReads.layer, HistoryRetention.layer, Retention.layer).pipe(
  Layer.provideMerge(Compactor.layer),
  Layer.provideMerge(Layer.mergeAll(HistoryMarks.layer, HistoryDesk.layer, ServiceRuns.layer))
)

/** Figures of the traffic ledger; all but the feed stand on what the actors commit. */
const traffic = Layer.mergeAll(TrafficReads.layer, TrafficRebuild.layer, TrafficRetention.layer).pipe(
  Layer.provideMerge(TrafficFigures.layer),
  Layer.provideMerge(Layer.mergeAll(CycleTotals.layer, PercentileTable.layer, TrafficMonths.layer)),
  Layer.provideMerge(TrafficPlans.layer)
)

/** Whom to tell and how; stands on the journal alone, because notifications outlive what they are about. */
const dispatch = Layer.unwrapEffect(
  Effect.map(AppConfig, ({ language, timezone }) =>
    Dispatcher.layerWith(digestIn({ locale: language, zone: timezone }))
  )
).pipe(
  Layer.provideMerge(Sinks.layer({})),
  Layer.provideMerge(
    Layer.mergeAll(TargetGuard.layer, TelegramUser.layer(gramClient), TelegramLogin.layer(gramClient))
  ),
  Layer.provideMerge(AlertBook.layer)
)

/** What the actors ask is there before them; what asks the actors stands on them. */
const alertDesk = AlertDesk.layer.pipe(Layer.provideMerge(dispatch))
const alertWatch = Layer.merge(AlertWatch.layer, AlertRetention.layer)

const boards = Layer.mergeAll(Intake.layer, FrontBoard.layer, Readiness.layer, Checkpointer.layer, CommitPages.layer)

const engine = Layer.mergeAll(boards, history, traffic, alertWatch).pipe(
  Layer.provideMerge(NodeSupervisor.layer),
  Layer.provideMerge(alertDesk),
  Layer.provideMerge(Replay.layer),
  Layer.provideMerge(Layer.mergeAll(Journal.layer, NodeRoster.layer, TrafficFeed.layer, ReadAhead.layer)),
  Layer.provideMerge(FiberRegister.layer)
)

const handlers = Layer.mergeAll(
  AlertRuleHandlers.layer,
  AlertChannelHandlers.layer,
  AlertEventHandlers.layer,
  AuthHandlers.layer,
  FrontHandlers.layer,
  HistoryHandlers.layer,
  GroupHandlers.layer,
  NodeHandlers.layer,
  SystemHandlers.layer,
  TrafficHandlers.layer,
  TrafficSettingsHandlers.layer
)

const http = Listener.layer.pipe(
  Layer.provide(Layer.mergeAll(Server.layer, NodeLane.layer, ReadLane.layer, Files.layer(webFolder))),
  Layer.provide(HttpApiBuilder.api(RoutedApi).pipe(Layer.provide(handlers), Layer.provide(Security.layer))),
  Layer.provide(
    Layer.mergeAll(HttpApiBuilder.Router.Live, HttpApiBuilder.Middleware.layer, NodeHttpServer.layerContext)
  )
)

/** Everything that `serve` runs, given the settings. */
export const service = LocalNode.layer.pipe(
  Layer.provideMerge(http),
  Layer.provideMerge(engine),
  Layer.provideMerge(Layer.merge(auth, TrafficSettings.layer)),
  Layer.provideMerge(storage),
  Layer.provide(BundledVersion.none)
)
