// Owns the engine as tests run it: the real layers on a database of their own, with a store and a step that can be made to fail.
import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Logger, TestClock } from "effect"
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { BundledVersion } from "../../runtime/BundledVersion.ts"
import { FiberRegister } from "../../runtime/FiberStatus.ts"
import * as FrontBoard from "../../runtime/FrontBoard.ts"
import * as Intake from "../../runtime/Intake.ts"
import * as Journal from "../../runtime/Journal.ts"
import { NodeDirectory } from "../../runtime/NodeDirectory.ts"
import { NodeRoster } from "../../runtime/NodeRoster.ts"
import * as NodeSupervisor from "../../runtime/NodeSupervisor.ts"
import { pause } from "../../runtime/Pause.ts"
import * as ReadAhead from "../../runtime/ReadAhead.ts"
import * as Replay from "../../runtime/Replay.ts"
import { NodeId } from "../../schema/Ids.ts"
import type { UpdateManifest } from "../../schema/Upgrade.ts"
import { Host, layoutOf, namesOf } from "../../src/core/Layout.ts"
import { step as coreStep } from "../../src/core/NodeState.ts"
import { Vault } from "../../src/auth/Vault.ts"
import { decode } from "../../src/core/VectorCode.ts"
import { Groups } from "../../src/store/Groups.ts"
import * as JournalStore from "../../src/store/Journal.ts"
import { Nodes } from "../../src/store/Nodes.ts"
import { Settings } from "../../src/store/Settings.ts"
import { Database } from "../../src/store/Sql.ts"
import { database, quiet } from "../store/Support.ts"

/** Where the test clock stands when an engine starts: a whole second, and a time that is not "never". */
export const epoch = 1_800_000_000_000

export type Store = Context.Tag.Service<typeof JournalStore.JournalStore>
export type Handle = ReturnType<Context.Tag.Service<typeof Database>["handle"]>

export interface EngineOptions {
  readonly filename?: string
  /** Active nodes, ids from 1 on; put into an empty table only, so that a second engine finds the first one's. */
  readonly nodes?: number
  /** How many of them, from id 1 on, guests may see; all of them unless given. */
  readonly visible?: number
  readonly step?: Replay.Step
  readonly wrap?: (store: Store) => Store
  /** Stands between the stores and the database: every statement goes through the handle it gives. */
  readonly guard?: (handle: Handle) => Handle
  /** Takes every log line with its annotations; without it nothing is logged. */
  readonly logs?: Array<string>
}

export const secretOf = (id: number): string => `secret-of-${id}`

/** A store that throws `fault` whenever it is to write, and a step that throws for reports of this CPU load. */
export const makeFaults = () => {
  const faults = {
    fault: undefined as Error | undefined,
    /** CPU load, of live reports and of replayed rows alike. */
    poison: undefined as number | undefined,
    wrap: (store: Store): Store => ({
      ...store,
      write: (batch) => {
        if (faults.fault !== undefined) throw faults.fault
        store.write(batch)
      },
      probe: () => {
        if (faults.fault !== undefined) throw faults.fault
        store.probe()
      }
    }),
    step: ((state, message, intern) => {
      if (message._tag === "Sample" && message.vector[Host.cpuUsage] === faults.poison) throw new Error("poison")
      return coreStep(state, message, intern)
    }) satisfies Replay.Step as Replay.Step
  }
  return faults
}

/** Puts nodes with ids from 1 on into an empty database at once; guests see the first `visible`. */
export const seed = (count: number, visible: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const vault = yield* Vault
    if ((yield* sql.unsafe("SELECT id FROM nodes LIMIT 1")).length > 0) return
    const rows = Array.from({ length: count }, (_, i) => ({
      digest: vault.digest(secretOf(i + 1)),
      sealed: vault.seal(secretOf(i + 1), `nodes/${i + 1}`)
    }))
    // The first id has the largest order, so rows and ids ascend alike.
    yield* sql.unsafe(
      `INSERT INTO nodes (name, secret_digest, secret_sealed, display_order, is_guest_visible, created_at)
       SELECT 'node-' || (key + 1), value ->> 'digest', value ->> 'sealed', ? - key, key < ?, 0 FROM json_each(?)`,
      [count, visible, JSON.stringify(rows)]
    )
    yield* sql.unsafe("INSERT INTO node_group_members (node_id, group_id) SELECT id, 1 FROM nodes")
  })

const capture = (lines: Array<string>) =>
  Logger.replace(
    Logger.defaultLogger,
    Logger.map(Logger.logfmtLogger, (line) => void lines.push(line))
  )

const guarded = (guard: (handle: Handle) => Handle) =>
  Layer.effect(
    Database,
    Effect.map(Database, (database) => Database.of({ ...database, handle: () => guard(database.handle()) }))
  )

/** Everything below the intake and the boards, and these two; without retention, which has its own tests. */
export const engine = (options: EngineOptions = {}) => {
  const {
    filename = ":memory:",
    guard = (handle) => handle,
    nodes = 1,
    step = coreStep,
    visible = nodes,
    wrap = (store) => store
  } = options
  const journalStore = Layer.effect(
    JournalStore.JournalStore,
    Effect.map(JournalStore.JournalStore, (store) => JournalStore.JournalStore.of(wrap(store)))
  ).pipe(Layer.provide(JournalStore.layer))
  const storage = Layer.merge(journalStore, Layer.effectDiscard(seed(nodes, visible))).pipe(
    Layer.provideMerge(Layer.mergeAll(Nodes.layer, Groups.layer, Settings.layer)),
    Layer.provideMerge(guarded(guard)),
    Layer.provideMerge(database(filename))
  )
  return Layer.mergeAll(Intake.layer, FrontBoard.layer).pipe(
    Layer.provideMerge(NodeSupervisor.layer),
    Layer.provideMerge(Replay.layerWith(step)),
    Layer.provideMerge(Layer.mergeAll(Journal.layer, NodeRoster.layer, ReadAhead.layer)),
    Layer.provideMerge(Layer.mergeAll(FiberRegister.layer, BundledVersion.none)),
    Layer.provideMerge(storage),
    Layer.provide(options.logs === undefined ? quiet : capture(options.logs))
  )
}

/** Runs the body in an engine of its own on the test clock, which starts at `epoch` unless it is later already. */
export const inEngine = <A, E, R>(body: Effect.Effect<A, E, R>, options: EngineOptions = {}) =>
  Effect.gen(function* () {
    if ((yield* TestClock.currentTimeMillis) < epoch) yield* TestClock.setTime(epoch)
    return yield* body.pipe(Effect.provide(engine(options)))
  })

/** Where a sync costs nothing: these tests kill no machine, and a busy disk would only make them late. */
const roomy = existsSync("/dev/shm") ? "/dev/shm" : tmpdir()

/** A file name in a folder that is removed afterwards. */
export const onDisk = <A, E, R>(body: (file: string) => Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => mkdtempSync(join(roomy, "watchpost-engine-"))),
    (folder) => body(join(folder, "test.db")),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )

/** What a kill at this very moment would leave: the files as they are, nothing closed. */
export const killedCopy = (file: string, name = "killed"): string => {
  const copy = `${file}.${name}`
  for (const suffix of ["", "-wal"]) {
    rmSync(copy + suffix, { force: true })
    if (existsSync(file + suffix)) copyFileSync(file + suffix, copy + suffix)
  }
  return copy
}

/** Lets `turns` turns of the real event loop pass; the journal lingers on real timers. */
export const turns = (count: number) => Effect.repeatN(pause, count)

/** Moves the test clock in small steps, with turns of the event loop in between for what answers to both. */
export const pass = (ms: number, stepMs = 20) =>
  Effect.gen(function* () {
    for (let gone = 0; gone < ms; gone += stepMs) {
      yield* TestClock.adjust(Math.min(stepMs, ms - gone))
      yield* turns(2)
    }
  })

/** Waits in turns of the event loop until the condition holds; what never comes true fails the test. */
export const until = (what: string, holds: () => boolean) =>
  Effect.gen(function* () {
    const startedAt = performance.now()
    while (!holds()) {
      if (performance.now() - startedAt > 5000) return yield* Effect.dieMessage(`waited in vain for: ${what}`)
      yield* pause
    }
  })

export interface Told {
  /** Milliseconds of the agent's clock. */
  readonly at: number
  readonly hostname?: string
  readonly bootAt?: number
  readonly cpu?: number
  readonly version?: string
  readonly nics?: ReadonlyArray<string>
  readonly serial?: string
}

/** A small valid report: host figures, a disk, and an interface per name. */
export const reportOf = ({ at, bootAt = epoch - 86_400_000, cpu = 0.25, hostname = "host", ...told }: Told) => ({
  version: told.version ?? "1.0.0",
  hostname,
  timestamp: new Date(at).toISOString(),
  metrics: {
    cpu: { usage_ratio: cpu, load1: 0.5, load5: 0.4, load15: 0.3 },
    memory: { used: 1000, available: 3000, used_ratio: 0.25, total: 4000 },
    disk: {
      physical: [{ name: "sda", read_bytes: 1, write_bytes: 2, read_rate_bytes_per_sec: 3 }],
      logical: [],
      filesystems: [{ path: "/", mountpoint: "/", used: 10, free: 30, used_ratio: 0.25, total: 40 }],
      base_io: [],
      ...(told.serial === undefined
        ? {}
        : { smart: { status: "ok", devices: [{ name: "sda", source: "x", status: "ok", serial: told.serial }] } })
    },
    network: (told.nics ?? ["eth0"]).map((name) => ({ name, bytes_recv: at % 1e9, bytes_sent: 7 })),
    system: { alive: true, uptime_seconds: Math.round((at - bootAt) / 1000), uptime: "some days" },
    processes: { process_count: 12 },
    connections: { tcp_count: 3, udp_count: 1 },
    raid: { arrays: [] }
  }
})

/** A small valid Static. */
export const staticOf = ({ at = epoch, hostname = "host", kernel = "6.1", version = "1.0.0" } = {}) => ({
  version,
  timestamp: new Date(at).toISOString(),
  report_interval_seconds: 3,
  system: {
    hostname,
    os: "linux",
    platform: "debian",
    platform_version: "12",
    kernel_version: kernel,
    arch: "amd64"
  }
})

/** What became of one report. */
export type Answer =
  | { readonly _tag: "Acknowledged"; readonly update: UpdateManifest | null }
  | { readonly _tag: "Refused" }
  | { readonly _tag: "Rejected"; readonly breach: string; readonly message: string }

type IntakeService = Context.Tag.Service<typeof Intake.Intake>

const endingOf = (end: (answer: Answer) => void): Intake.Ending => ({
  acknowledged: (update) => end({ _tag: "Acknowledged", update }),
  refused: () => end({ _tag: "Refused" }),
  rejected: (breach, message) => end({ _tag: "Rejected", breach, message })
})

/** Posts a body at once; every ending it gets is appended to `answers`, so that a second one shows. */
export const post = (intake: IntakeService, id: number, body: unknown): Array<Answer> => {
  const answers: Array<Answer> = []
  const text = typeof body === "string" ? body : JSON.stringify(body)
  intake.open().report(
    NodeId.make(id),
    text,
    "192.0.2.7",
    endingOf((answer) => void answers.push(answer))
  )
  return answers
}

export const postStatic = (intake: IntakeService, id: number, body: unknown): Array<Answer> => {
  const answers: Array<Answer> = []
  intake.open().statics(
    NodeId.make(id),
    JSON.stringify(body),
    endingOf((answer) => void answers.push(answer))
  )
  return answers
}

/** Sends one report and waits for what becomes of it. */
export const send = (id: number, told: Told) =>
  Effect.flatMap(Intake.Intake, (intake) =>
    Effect.async<Answer>((resume) => {
      const ending = endingOf((answer) => resume(Effect.succeed(answer)))
      intake.open().report(NodeId.make(id), JSON.stringify(reportOf(told)), "192.0.2.7", ending)
    })
  )

export const sendStatic = (id: number, body: ReturnType<typeof staticOf>) =>
  Effect.flatMap(Intake.Intake, (intake) =>
    Effect.async<Answer>((resume) => {
      intake.open().statics(
        NodeId.make(id),
        JSON.stringify(body),
        endingOf((answer) => resume(Effect.succeed(answer)))
      )
    })
  )

/** The published view of a node, as something that can be compared; without the revision, which counts changes. */
export const viewOf = (id: number) =>
  Effect.map(NodeSupervisor.NodeSupervisor, (supervisor) => {
    const view = supervisor.view(NodeId.make(id))
    if (view === undefined) return undefined
    const { details: kept, faults, layout, receivedAt, statics, vector, version } = view
    // Kept names are as good as the layout made of them.
    const details = kept && { ...kept, layout: namesOf(layoutOf(kept.layout)) }
    return structuredClone({ details, faults, layout, receivedAt, statics, vector, version })
  })

export const actorOf = (id: number) =>
  Effect.flatMap(NodeSupervisor.NodeSupervisor, (supervisor) =>
    Effect.orDie(Effect.fromNullable(supervisor.actor(NodeId.make(id))))
  )

/** Rows of the journal, oldest first, with the agent's time of each. */
export const journalRows = Effect.map(JournalStore.JournalStore, (store) =>
  store.tail(0, Number.MAX_SAFE_INTEGER, 100_000).map(({ nodeId, receivedAt, seq, vector }) => ({
    seq,
    nodeId,
    receivedAt,
    reportedAt: decode(vector)[Host.reportedAt]
  }))
)

/** A write to the registry, and the roster and actors after it, as the admin endpoints do it. */
export const changed = <A, E, R>(write: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const result = yield* write
    yield* (yield* NodeRoster).refresh
    yield* (yield* NodeDirectory).reconcile
    return result
  })
