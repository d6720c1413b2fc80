// Considers alerts where no report does: silence past its deadline, changed rules, ended silences, deleted nodes.
import { Clock, Context, Effect, Layer } from "effect"
import type { StorageUnavailable } from "../../schema/Errors.ts"
import type { NodeId } from "../../schema/Ids.ts"
import { nextEndMs } from "../../src/core/alert/Silence.ts"
import { AlertEvents } from "../../src/store/alert/Events.ts"
import { FiberRegister, noteTrouble, supervised, type Watch } from "../FiberStatus.ts"
import { Journal } from "../Journal.ts"
import { NodeSupervisor } from "../NodeSupervisor.ts"
import { pause } from "../Pause.ts"
import { AlertBook } from "./AlertBook.ts"
import { AlertDesk } from "./AlertDesk.ts"
import { Dispatcher } from "./Dispatcher.ts"
import { written } from "../Written.ts"

/** Deadlines are told within a second of their time: a quarter here, a quarter by the wheel, the rest is for the work. */
export const tickMs = 250
/** Considered between two turns of the event loop: some 2 ms, of which most is the rendering of texts. */
const workMs = 3
const writesMax = 32
/** Left to one commit: some 6 ms, with a notification or two for each. */
const commitMax = 96
/** Open alerts of silent nodes are looked at as often as reports would: their heartbeat is a minute. */
const againMs = 61_000

export class AlertWatch extends Context.Tag("runtime/alert/AlertWatch")<
  AlertWatch,
  {
    /**
     * Due after every committed change of rules, mounts, settings, channels and silences: they are read again and all
     * nodes are considered by them. When the reading fails it is tried again until it succeeds.
     */
    readonly changed: Effect.Effect<void, StorageUnavailable>
  }
>() {}

interface Tools {
  readonly book: Context.Tag.Service<typeof AlertBook>
  readonly desk: Context.Tag.Service<typeof AlertDesk>
  readonly dispatcher: Context.Tag.Service<typeof Dispatcher>
  readonly events: Context.Tag.Service<typeof AlertEvents>
  readonly journal: Context.Tag.Service<typeof Journal>
  readonly supervisor: Context.Tag.Service<typeof NodeSupervisor>
  readonly watch: Watch
  /** Nodes to be considered; at most the fleet. */
  readonly waiting: Set<NodeId>
  /** Changes that were announced, and how many of them the book is known to have in it. */
  asked: number
  answered: number
  couldOpen: boolean
  lookedAt: number
}

const considerAll = ({ desk, waiting }: Tools): void => {
  for (const id of desk.nodes()) waiting.add(id)
}

const catchUp = (tools: Tools) =>
  Effect.suspend(() => {
    // Whatever was announced before this reading began is in it.
    const covers = tools.asked
    return Effect.map(tools.book.reload, () => {
      tools.answered = Math.max(tools.answered, covers)
      tools.dispatcher.ring()
      considerAll(tools)
    })
  })

/** What time has brought since the last look. */
const gather = (tools: Tools, now: number): void => {
  const { book, desk, waiting } = tools
  for (const id of desk.due()) waiting.add(id)
  const endMs = nextEndMs(book.page().silences, tools.lookedAt)
  tools.lookedAt = now
  const { canOpen } = desk
  if ((canOpen && !tools.couldOpen) || (endMs !== undefined && endMs <= now)) considerAll(tools)
  tools.couldOpen = canOpen
}

interface Slice {
  readonly writes: number
  /** All were looked at, or there is no room to write any more. */
  readonly isLast: boolean
}

const slice = ({ desk, journal, supervisor, waiting }: Tools, ids: Iterator<NodeId>): Slice => {
  const startedAt = performance.now()
  // Stopped between two slices, the service must doubt itself before it judges the next node.
  desk.look()
  let writes = 0
  while (writes < writesMax && performance.now() - startedAt < workMs) {
    const next = ids.next()
    if (next.done === true || !journal.room()) return { writes, isLast: true }
    const actor = supervisor.actor(next.value)
    const regard = actor === undefined ? "quiet" : actor.considerAlerts()
    if (regard === "busy") continue
    waiting.delete(next.value)
    if (actor !== undefined) desk.rearm(next.value, againMs)
    if (regard === "offered") writes++
  }
  return { writes, isLast: false }
}

const work = (tools: Tools) =>
  Effect.gen(function* () {
    if (tools.waiting.size === 0) return
    // A copy: who is busy stays waiting for the next round, not for ever in this one.
    const ids = [...tools.waiting].values()
    let uncommitted = 0
    for (;;) {
      const { isLast, writes } = slice(tools, ids)
      if (isLast) return
      uncommitted += writes
      if (uncommitted >= commitMax) {
        yield* tools.journal.flushed
        uncommitted = 0
      }
      yield* pause
    }
  })

/** Ends the alerts of deleted nodes, once whatever their actors offered is on disk or refused. */
const dismiss = ({ desk, events, journal }: Tools) =>
  Effect.gen(function* () {
    if (desk.leaving.size === 0 || !journal.room()) return
    yield* journal.flushed
    for (const id of desk.leaving) {
      const { items } = yield* events.list({ nodeId: id, status: "open", limit: 1 })
      const step = desk.farewell(id, items[0]?.serverName ?? "")
      if (step !== null) {
        if (!(yield* written(journal, { kind: "alert", step }))) return
        desk.committed(step)
      }
      desk.leaving.delete(id)
    }
  })

const round = (tools: Tools) =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    tools.desk.look()
    if (!tools.journal.room()) return
    if (tools.answered < tools.asked) yield* catchUp(tools)
    gather(tools, now)
    yield* work(tools)
    yield* dismiss(tools)
  }).pipe(
    Effect.catchTag("StorageUnavailable", ({ message }) =>
      Effect.map(Clock.currentTimeMillis, (now) => noteTrouble(tools.watch, message, now))
    )
  )

const make = Effect.gen(function* () {
  const waiting = new Set<NodeId>()
  const tools: Tools = {
    book: yield* AlertBook,
    desk: yield* AlertDesk,
    dispatcher: yield* Dispatcher,
    events: yield* AlertEvents,
    journal: yield* Journal,
    supervisor: yield* NodeSupervisor,
    watch: (yield* FiberRegister).register("AlertWatch", () => waiting.size, 0),
    waiting,
    asked: 0,
    answered: 0,
    couldOpen: false,
    lookedAt: yield* Clock.currentTimeMillis
  }
  // Slept, not scheduled by the clock: setting that must not hold up a tick.
  const loop = Effect.forever(Effect.zipRight(Effect.sleep(tickMs), round(tools)))
  yield* Effect.forkScoped(supervised(tools.watch, loop))
  return AlertWatch.of({
    changed: Effect.suspend(() => {
      tools.asked++
      return catchUp(tools)
    })
  })
})

export const layer = Layer.scoped(AlertWatch, make)
