// The whole service as one layer. What is provided first closes last: listener, agents of change, journal, database.
import { HttpApiBuilder } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { RoutedApi } from "../schema/api/Api.ts"
import { StorageUnavailable } from "../schema/Errors.ts"
import * as Password from "../src/auth/Password.ts"
import * as Vault from "../src/auth/Vault.ts"
import { Groups } from "../src/store/Groups.ts"
import * as JournalStore from "../src/store/Journal.ts"
import * as Migrations from "../src/store/Migrations.ts"
import { Nodes } from "../src/store/Nodes.ts"
import * as SessionStore from "../src/store/Sessions.ts"
import { Settings } from "../src/store/Settings.ts"
import * as Sql from "../src/store/Sql.ts"
import { BundledVersion } from "./BundledVersion.ts"
import { AppConfig } from "./Config.ts"
import { FiberRegister } from "./FiberStatus.ts"
import * as FrontBoard from "./FrontBoard.ts"
import * as AuthHandlers from "./http/Auth.ts"
import * as Files from "./http/Files.ts"
import * as FrontHandlers from "./http/Front.ts"
import * as GroupHandlers from "./http/Groups.ts"
import * as Listener from "./http/Listener.ts"
import * as NodeLane from "./http/NodeLane.ts"
import * as NodeHandlers from "./http/Nodes.ts"
import * as Security from "./http/Security.ts"
import * as Server from "./http/Server.ts"
import * as SystemHandlers from "./http/System.ts"
import { InstallId } from "./InstallId.ts"
import * as Intake from "./Intake.ts"
import * as Journal from "./Journal.ts"
import * as LocalNode from "./LocalNode.ts"
import { NodeRoster } from "./NodeRoster.ts"
import * as NodeSupervisor from "./NodeSupervisor.ts"
import { Readiness } from "./Readiness.ts"
import * as Replay from "./Replay.ts"
import * as Retention from "./Retention.ts"
import * as Sessions from "./Sessions.ts"

/** Built files stand beside the program; from a checkout they are in dist. */
const webFolder = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "../dist/web" : "./web", import.meta.url))

/** Database file of an installation, inside its home. */
export const databaseFile = (home: string): string => join(home, "watchpost.db")

const storage = Layer.unwrapEffect(
  Effect.gen(function* () {
    const { home } = yield* AppConfig
    yield* Effect.try({
      try: () => mkdirSync(home, { recursive: true, mode: 0o700 }),
      catch: (cause) => new StorageUnavailable({ message: `the data folder ${home} cannot be used: ${String(cause)}` })
    })
    const sql = Migrations.layer.pipe(Layer.provideMerge(Sql.layer(databaseFile(home))))
    const stores = Layer.mergeAll(Groups.layer, Nodes.layer, Settings.layer, SessionStore.layer, JournalStore.layer)
    return Layer.mergeAll(stores, InstallId.layer(home)).pipe(
      Layer.provideMerge(Layer.mergeAll(sql, Vault.layer(join(home, "secret.key"))))
    )
  })
)

const auth = Layer.unwrapEffect(
  Effect.map(AppConfig, ({ adminPassword }) => Sessions.layer.pipe(Layer.provideMerge(Password.layer(adminPassword))))
)

/** Journal, nodes and boards; each stands on the ones named behind it. */
const engine = Layer.mergeAll(Intake.layer, FrontBoard.layer, Readiness.layer, Retention.layer).pipe(
  Layer.provideMerge(NodeSupervisor.layer),
  Layer.provideMerge(Replay.layer),
  Layer.provideMerge(Layer.mergeAll(Journal.layer, NodeRoster.layer)),
  Layer.provideMerge(FiberRegister.layer)
)

const handlers = Layer.mergeAll(
  AuthHandlers.layer,
  FrontHandlers.layer,
  GroupHandlers.layer,
  NodeHandlers.layer,
  SystemHandlers.layer
)

const http = Listener.layer.pipe(
  Layer.provide(Layer.mergeAll(Server.layer, NodeLane.layer, Files.layer(webFolder))),
  Layer.provide(HttpApiBuilder.api(RoutedApi).pipe(Layer.provide(handlers), Layer.provide(Security.layer))),
  Layer.provide(
    Layer.mergeAll(HttpApiBuilder.Router.Live, HttpApiBuilder.Middleware.layer, NodeHttpServer.layerContext)
  )
)

/** Everything that `serve` runs, given the settings. */
export const service = LocalNode.layer.pipe(
  Layer.provideMerge(http),
  Layer.provideMerge(engine),
  Layer.provideMerge(auth),
  Layer.provideMerge(storage),
  Layer.provide(BundledVersion.none)
)
