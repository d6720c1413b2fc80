// Starts, watches and restarts the fiber of every node; parks one that keeps crashing without touching the others.
import { Clock, Context, Effect, FiberMap, Layer, Random } from "effect"
import { NotFound } from "../schema/Errors.ts"
import type { NodeId } from "../schema/Ids.ts"
import type { NodeFault } from "../schema/Node.ts"
import { crashesInRow, restartDelayMs } from "../src/core/Backoff.ts"
import type { NodeView } from "../src/core/NodeView.ts"
import type { UpdateManifest } from "../schema/Upgrade.ts"
import { AlertSeat } from "./alert/AlertPort.ts"
import { FactSink } from "./FactSink.ts"
import { FiberRegister, type Watch } from "./FiberStatus.ts"
import { Journal } from "./Journal.ts"
import { NodeActor, parkAfter, type Shared } from "./NodeActor.ts"
import { NodeDirectory, type NodeFacts } from "./NodeDirectory.ts"
import type { Ended } from "./NodeProtocol.ts"
import { NodeRoster } from "./NodeRoster.ts"
import { Replay, type Restored } from "./Replay.ts"

/** Vectors are a few hundred values; the scratch grows when a node has more. */
const scratchFirst = 1024

/** Checkpoints offered between two commits: 5 ms. */
const coverMax = 128

/** How far rows are covered: nodes still to be written, and nodes whose rows must stay because nobody knows them now. */
export interface Covering {
  readonly pending: number
  readonly away: ReadonlyArray<NodeId>
}

export interface NodeCounts {
  readonly total: number
  readonly running: number
  readonly restarting: number
  readonly parked: number
}

export class NodeSupervisor extends Context.Tag("runtime/NodeSupervisor")<
  NodeSupervisor,
  {
    readonly actor: (id: NodeId) => NodeActor | undefined
    readonly view: (id: NodeId) => NodeView | undefined
    readonly all: () => Iterable<NodeActor>
    /** Rises with every published change of any node. */
    readonly revision: () => number
    readonly counts: () => NodeCounts
    /** Actors for the status page, at most `limit`: those in trouble first. */
    readonly actors: (limit: number) => ReadonlyArray<NodeActor>
    /** Offers checkpoints of quiet nodes whose rows up to `seq` are not covered: some at a time, so ask again. */
    readonly coverUpTo: (seq: number) => Covering
  }
>() {}

const crashFault = (actor: NodeActor): NodeFault => ({
  kind: "crashing",
  message: `the node's actor failed ${actor.restarts} times; last: ${actor.lastError ?? "unknown"}`,
  since: new Date(actor.lastErrorAt ?? 0).toISOString()
})

/** The longest crash message kept: a status page is no log. */
const messageMax = 300

interface Tools {
  readonly replay: Context.Tag.Service<typeof Replay>
  readonly roster: Context.Tag.Service<typeof NodeRoster>
  readonly watch: Watch
  readonly shared: Shared
  readonly fibers: FiberMap.FiberMap<NodeId>
  readonly startFiber: (id: NodeId, life: Effect.Effect<never, unknown>) => unknown
  readonly actors: Map<NodeId, NodeActor>
}

/** Starts the actor and suspends until its run ends. */
const runUntilEnd = (actor: NodeActor, node: Restored): Effect.Effect<Ended> =>
  node.failure !== undefined
    ? Effect.succeed<Ended>({ _tag: "Crashed", message: node.failure })
    : Effect.async<Ended>((resume) => {
        actor.ended = (why) => resume(Effect.succeed(why))
        actor.start(node.state, node.vector, node.lastSeq, node.checkpointSeq)
        return Effect.sync(() => {
          actor.ended = undefined
        })
      })

const noteCrash = ({ watch }: Tools, actor: NodeActor, message: string) =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    actor.crashesInRow = crashesInRow(actor.crashesInRow, actor.lastErrorAt, now)
    actor.restarts++
    actor.lastError = message.slice(0, messageMax)
    actor.lastErrorAt = now
    watch.restarts++
    watch.lastError = `node ${actor.id}: ${actor.lastError}`
    watch.lastErrorAt = now
    if (actor.crashesInRow >= parkAfter) actor.park()
    yield* Effect.logError("a node's actor failed and is restarted").pipe(
      Effect.annotateLogs({ node: actor.id, restarts: actor.restarts, cause: actor.lastError })
    )
    yield* Effect.sleep(restartDelayMs(actor.crashesInRow, yield* Random.next))
  })

/** Rebuilds the node from the disk; a defect of the restore itself is a crash like any other. */
const rebuild = ({ replay, shared }: Tools, actor: NodeActor): Effect.Effect<Restored> =>
  replay.one(actor.id).pipe(
    Effect.tap(() => Effect.sync(() => shared.alerts.reload(actor.id))),
    Effect.catchAllDefect((defect) =>
      Effect.succeed({ ...replay.fresh(), failure: `the restore failed: ${String(defect)}` })
    )
  )

/**
 * A node's fiber: run after run until it is interrupted. The policy is a plain function and everything for trouble is
 * made when there is trouble: a schedule and its combinators would cost each of ten thousand idle fibers 10 kB.
 */
const life = (tools: Tools, actor: NodeActor, node: Restored): Effect.Effect<never> =>
  Effect.flatMap(runUntilEnd(actor, node), (ended) =>
    (ended._tag === "Crashed" ? noteCrash(tools, actor, ended.message) : Effect.void).pipe(
      Effect.andThen(rebuild(tools, actor)),
      Effect.flatMap((again) => life(tools, actor, again))
    )
  )

const begin = (tools: Tools, id: NodeId, node: Restored) => {
  const actor = new NodeActor(id, tools.shared)
  tools.actors.set(id, actor)
  tools.startFiber(id, life(tools, actor, node))
}

const reconcile = (tools: Tools) =>
  Effect.gen(function* () {
    const { actors, fibers, roster } = tools
    const records = roster.records()
    for (const id of records.keys()) if (!actors.has(id)) begin(tools, id, tools.replay.fresh())
    for (const [id, actor] of actors) {
      if (records.has(id)) continue
      actors.delete(id)
      actor.stop()
      tools.shared.alerts.departed(id)
      yield* FiberMap.remove(fibers, id)
    }
  })

const counts = ({ actors }: Tools): NodeCounts => {
  const found = { total: actors.size, running: 0, restarting: 0, parked: 0 }
  for (const { status } of actors.values()) {
    if (status === "running") found.running++
    else if (status === "parked") found.parked++
    else found.restarting++
  }
  return found
}

const listed = ({ actors }: Tools, limit: number): ReadonlyArray<NodeActor> => {
  const troubled: Array<NodeActor> = []
  const calm: Array<NodeActor> = []
  for (const actor of actors.values()) {
    const list = actor.status !== "running" || actor.restarts > 0 ? troubled : calm
    if (list.length < limit) list.push(actor)
  }
  return [...troubled, ...calm].slice(0, limit)
}

const facts = ({ actors }: Tools, id: NodeId): NodeFacts | undefined => {
  const actor = actors.get(id)
  if (actor === undefined) return undefined
  const { details, faults, statics, version } = actor.view
  const crashing = actor.status === "parked" || actor.status === "restarting"
  return {
    hostname: details?.hostname ?? statics?.body.system.hostname ?? "",
    ip: details?.ip,
    version,
    faults: crashing ? [...faults, crashFault(actor)] : faults
  }
}

const requestUpgrade = ({ actors }: Tools, id: NodeId, manifest: UpdateManifest) =>
  Effect.suspend(() => {
    const actor = actors.get(id)
    if (actor === undefined) return new NotFound({ message: `node ${id} does not exist` })
    actor.upgrade(manifest)
    return Effect.void
  })

const supervisorOf = (tools: Tools): Context.Tag.Service<typeof NodeSupervisor> => ({
  actor: (id) => tools.actors.get(id),
  view: (id) => tools.actors.get(id)?.view,
  all: () => tools.actors.values(),
  revision: () => tools.shared.revision,
  counts: () => counts(tools),
  actors: (limit) => listed(tools, limit),
  coverUpTo: (seq) => {
    const away: Array<NodeId> = []
    let [offered, pending] = [0, 0]
    for (const actor of tools.actors.values()) {
      // Agents' reports need room in the journal too; the rest has its turn after these are written.
      if (offered === coverMax) return { pending: pending + 1, away }
      const cover = actor.coverUpTo(seq)
      if (cover === "away") away.push(actor.id)
      else if (cover !== "covered") pending++
      if (cover === "offered") offered++
    }
    return { pending, away }
  }
})

const make = Effect.gen(function* () {
  const replay = yield* Replay
  const roster = yield* NodeRoster
  const fibers = yield* FiberMap.make<NodeId>()
  const actors = new Map<NodeId, NodeActor>()
  const tools: Tools = {
    replay,
    roster,
    watch: (yield* FiberRegister).register("NodeSupervisor", () => actors.size, 0),
    shared: {
      journal: yield* Journal,
      step: replay.step,
      intern: replay.intern,
      scratch: new Float64Array(scratchFirst),
      revision: 0,
      renamed: (id, hostname) => roster.renamed(id, hostname),
      facts: (yield* FactSink).take,
      alerts: yield* AlertSeat
    },
    fibers,
    startFiber: yield* FiberMap.runtime(fibers)(),
    actors
  }
  // Runs before the fibers end: whoever still waits in a mailbox is answered.
  yield* Effect.addFinalizer(() => Effect.sync(() => actors.forEach((actor) => actor.stop())))
  // Bulk preload: one pass over checkpoints and tail instead of one per node.
  const preloaded = yield* replay.all
  for (const id of roster.records().keys()) begin(tools, id, preloaded.get(id) ?? replay.fresh())
  const directory = NodeDirectory.of({
    facts: (id) => facts(tools, id),
    requestUpgrade: (id, manifest) => requestUpgrade(tools, id, manifest),
    reconcile: reconcile(tools)
  })
  return Context.make(NodeSupervisor, supervisorOf(tools)).pipe(Context.add(NodeDirectory, directory))
})

export const layer = Layer.scopedContext(make)
