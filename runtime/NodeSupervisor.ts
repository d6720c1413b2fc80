// Starts, watches and restarts the fiber of every node; parks one that keeps crashing without touching the others.
import { Clock, Context, Data, Effect, FiberMap, Layer, Schedule } from "effect"
import { NotFound } from "../schema/Errors.ts"
import type { NodeId } from "../schema/Ids.ts"
import type { NodeFault } from "../schema/Node.ts"
import type { NodeView } from "../src/core/NodeView.ts"
import { FiberRegister } from "./FiberStatus.ts"
import { Journal } from "./Journal.ts"
import { type Ended, NodeActor, parkAfter, type Shared } from "./NodeActor.ts"
import { NodeDirectory } from "./NodeDirectory.ts"
import { NodeRoster } from "./NodeRoster.ts"
import { freshNode, Replay, type Restored } from "./Replay.ts"

/** Vectors are a few hundred values; the scratch grows when a node has more. */
const scratchFirst = 1024

class ActorCrashed extends Data.TaggedError("ActorCrashed")<{ readonly message: string }> {}

/** Restart of a node: 100 ms doubling to 30 s, jittered, forgotten after two quiet minutes. */
const restartPolicy = Schedule.exponential("100 millis").pipe(
  Schedule.union(Schedule.spaced("30 seconds")),
  Schedule.jittered,
  Schedule.resetAfter("2 minutes")
)
const quietMs = 120_000

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
    /** Rises with every published change of any node. */
    readonly revision: () => number
    readonly counts: () => NodeCounts
    /** Actors for the status page, at most `limit`: those in trouble first. */
    readonly actors: (limit: number) => ReadonlyArray<NodeActor>
    /** Writes checkpoints of quiet nodes until rows up to `seq` are covered; true when they all are. */
    readonly coverUpTo: (seq: number) => boolean
  }
>() {}

const crashFault = (actor: NodeActor): NodeFault => ({
  kind: "crashing",
  message: `the node's actor failed ${actor.restarts} times; last: ${actor.lastError ?? "unknown"}`,
  since: new Date(actor.lastErrorAt ?? 0).toISOString()
})

const make = Effect.gen(function* () {
  const journal = yield* Journal
  const replay = yield* Replay
  const roster = yield* NodeRoster
  const register = yield* FiberRegister
  const fibers = yield* FiberMap.make<NodeId>()
  const startFiber = yield* FiberMap.runtime(fibers)()
  const actors = new Map<NodeId, NodeActor>()
  const shared: Shared = {
    journal,
    step: replay.step,
    intern: replay.intern,
    scratch: new Float64Array(scratchFirst),
    revision: 0,
    published: () => {},
    renamed: (id, hostname) => roster.renamed(id, hostname)
  }
  const watch = register.register("NodeSupervisor", () => actors.size, 0)

  /** One run of a node: restore, start, then wait for the end. */
  const run = (actor: NodeActor, preload: { node: Restored | undefined }) =>
    Effect.gen(function* () {
      const ready = preload.node
      preload.node = undefined
      const node = ready ?? (yield* replay.one(actor.id))
      if (node.failure !== undefined) return yield* new ActorCrashed({ message: node.failure })
      const ended = yield* Effect.async<Ended>((resume) => {
        actor.ended = (why) => resume(Effect.succeed(why))
        actor.start(node.state, node.vector, node.lastSeq, node.checkpointSeq)
        return Effect.sync(() => {
          actor.ended = undefined
        })
      })
      if (ended._tag === "Crashed") return yield* new ActorCrashed({ message: ended.message })
    })

  const noteCrash = (actor: NodeActor, message: string) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      actor.crashesInRow = now - (actor.lastErrorAt ?? 0) > quietMs ? 1 : actor.crashesInRow + 1
      actor.restarts++
      actor.lastError = message.slice(0, 300)
      actor.lastErrorAt = now
      watch.restarts++
      watch.lastError = `node ${actor.id}: ${actor.lastError}`
      watch.lastErrorAt = now
      if (actor.crashesInRow >= parkAfter) {
        actor.status = "parked"
        actor.refuseAll()
      }
      yield* Effect.logError("a node's actor failed and is restarted").pipe(
        Effect.annotateLogs({ node: actor.id, restarts: actor.restarts, cause: actor.lastError })
      )
    })

  const life = (actor: NodeActor, preload: { node: Restored | undefined }) =>
    Effect.forever(run(actor, preload)).pipe(
      Effect.sandbox,
      Effect.tapError((cause) => noteCrash(actor, cause._tag === "Fail" ? cause.error.message : "the restore failed")),
      Effect.retry(restartPolicy),
      Effect.ensuring(Effect.sync(() => actor.stop()))
    )

  const begin = (id: NodeId, node: Restored | undefined) => {
    const actor = new NodeActor(id, shared)
    actors.set(id, actor)
    startFiber(id, life(actor, { node }))
  }

  const reconcile = Effect.gen(function* () {
    const records = roster.records()
    for (const id of records.keys()) if (!actors.has(id)) begin(id, freshNode())
    for (const [id, actor] of actors) {
      if (records.has(id)) continue
      actors.delete(id)
      actor.stop()
      yield* FiberMap.remove(fibers, id)
    }
  })

  // Bulk preload: one pass over checkpoints and tail instead of one per node.
  const preloaded = yield* replay.all
  for (const id of roster.records().keys()) begin(id, preloaded.get(id) ?? freshNode())

  const counts = (): NodeCounts => {
    const found = { total: actors.size, running: 0, restarting: 0, parked: 0 }
    for (const { status } of actors.values()) {
      if (status === "running") found.running++
      else if (status === "parked") found.parked++
      else found.restarting++
    }
    return found
  }
  const facts = (id: NodeId) => {
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

  const supervisor = NodeSupervisor.of({
    actor: (id) => actors.get(id),
    view: (id) => actors.get(id)?.view,
    revision: () => shared.revision,
    counts,
    actors: (limit) => {
      const troubled: Array<NodeActor> = []
      const calm: Array<NodeActor> = []
      for (const actor of actors.values()) {
        const list = actor.status !== "running" || actor.restarts > 0 ? troubled : calm
        if (list.length < limit) list.push(actor)
      }
      return [...troubled, ...calm].slice(0, limit)
    },
    coverUpTo: (seq) => {
      let covered = true
      for (const actor of actors.values()) covered = actor.coverUpTo(seq) && covered
      return covered
    }
  })
  const directory = NodeDirectory.of({
    facts,
    requestUpgrade: (id, manifest) =>
      Effect.suspend(() => {
        const actor = actors.get(id)
        if (actor === undefined) return new NotFound({ message: `node ${id} does not exist` })
        actor.upgrade(manifest)
        return Effect.void
      }),
    reconcile
  })
  return Context.make(NodeSupervisor, supervisor).pipe(Context.add(NodeDirectory, directory))
})

export const layer = Layer.scopedContext(make)
