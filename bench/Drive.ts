// Actors outside their supervisor: running nodes over any journal, fed with the reports of a fleet.
import type { Context } from "effect"
import { Effect } from "effect"
import { noAlerts } from "../runtime/alert/AlertPort.ts"
import type { Journal } from "../runtime/Journal.ts"
import type { RowOffer } from "../runtime/JournalWriter.ts"
import type { SettleRow } from "../runtime/JournalBatch.ts"
import { NodeActor, type Shared } from "../runtime/NodeActor.ts"
import type { Mail, Reply } from "../runtime/NodeProtocol.ts"
import type { NodeReport } from "../schema/Report.ts"
import { makeIntern } from "../src/core/Interner.ts"
import { emptyState, step } from "../src/core/NodeState.ts"
import { readReport } from "../src/core/Reading.ts"
import { idOf } from "./Seed.ts"

type JournalService = Context.Tag.Service<typeof Journal>

/** A journal that takes rows only; `offerRow` is the caller's. */
export const rowsOnly = (offerRow: JournalService["offerRow"], lastSeq: () => number): JournalService => ({
  closed: () => undefined,
  room: () => true,
  offerRow,
  offer: () => {
    throw new Error("only rows are offered here")
  },
  afterCommit: () => {
    throw new Error("no report of the generator is a duplicate")
  },
  onDisk: (done) => done(true),
  flushed: Effect.void,
  lost: Effect.never,
  figures: { rows: 0, commits: 0, failures: 0, commitMsLast: 0, commitMsMax: 0 },
  lastSeq
})

/** Running actors of `count` nodes that never reported. */
export const runningActors = (count: number, journal: JournalService): ReadonlyArray<NodeActor> => {
  const shared: Shared = {
    journal,
    step,
    intern: makeIntern(),
    scratch: new Float64Array(1024),
    revision: 0,
    renamed: () => {},
    facts: () => {},
    alerts: noAlerts
  }
  return Array.from({ length: count }, (_, i) => {
    const actor = new NodeActor(idOf(i), shared)
    actor.start(emptyState(), undefined, 0, 0)
    return actor
  })
}

/** The checked report of a body; fails when it is not one. */
export const reportIn = (body: string): NodeReport => {
  const reading = readReport(body)
  if (reading._tag !== "Read" || reading.dropped.length > 0) throw new Error("the generator made a bad report")
  return reading.value
}

const reply: Reply = {
  acknowledge: () => {},
  refuse: () => {
    throw new Error("a report was refused")
  }
}

export const mailOf = (report: NodeReport, receivedAt: number): Mail => ({
  _tag: "Report",
  report,
  arrival: { ip: "127.0.0.1", wide: null, dropped: [] },
  receivedAt,
  reply
})

export type { JournalService, RowOffer, SettleRow }
