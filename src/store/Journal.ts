// The append-only tail in SQLite: writes one batch per transaction, reads it back for replay, trims what is behind it.
import { Context, Effect, Layer } from "effect"
import { rmSync, writeFileSync } from "node:fs"
import type { NodeId } from "../../schema/Ids.ts"
import type { ClosedFact } from "../core/Ledger.ts"
import { type AlertStep, type AlertWrite, type AlertWriter, alertWriter } from "./alert/AlertWrites.ts"
import { unsealed, withChecksum } from "./Checksum.ts"
import { type HistoryWrite, historyWriter } from "./History.ts"
import { prepare, type Statements, type TailRow } from "./JournalStatements.ts"
import type { Synced } from "./LogSync.ts"
import { Database, withoutSync } from "./Sql.ts"
import { type TrafficWrite, type TrafficWriter, trafficWriter } from "./Traffic.ts"
import { perConnection } from "./PerConnection.ts"

/** Bytes of the vector as they stand in the batch's arena; only read while the batch is written. */
export interface RowWrite {
  readonly kind: "row"
  readonly seq: number
  readonly nodeId: NodeId
  readonly receivedAt: number
  readonly vector: Buffer
  readonly details: string | null
  /** Whether the report changed the node's figures; history keeps only those. */
  readonly isApplied: boolean
  /** The node's checkpoint after this row, when one is due. */
  readonly checkpoint: string | null
  /** Facts of the traffic ledger that the report completed; null for none. */
  readonly facts: ReadonlyArray<ClosedFact> | null
  /** What the report did to the node's alerts; null for nothing. */
  readonly alerts: AlertStep | null
}
export interface StaticWrite {
  readonly kind: "static"
  readonly nodeId: NodeId
  readonly receivedAt: number
  readonly body: string
  /** Takes the place of a name that is blank or still the creation default. */
  readonly hostname: string
}
/** A checkpoint without a new row, so that rows of a silent node can be trimmed. */
export interface CheckpointWrite {
  readonly kind: "checkpoint"
  readonly seq: number
  readonly nodeId: NodeId
  readonly receivedAt: number
  readonly vector: Buffer
  readonly checkpoint: string
}
/** At most `limit` rows with seq <= upTo go, none of the nodes in `keep`. */
export interface TrimWrite {
  readonly kind: "trim"
  readonly upTo: number
  readonly limit: number
  readonly keep: ReadonlyArray<NodeId>
}
export type Write = TrimWrite | RowWrite | StaticWrite | CheckpointWrite | HistoryWrite | TrafficWrite | AlertWrite

/** Where a row stands: enough to know what is still to be sealed. */
export interface RowPlace {
  readonly seq: number
  readonly nodeId: NodeId
  readonly receivedAt: number
}

export interface CheckpointRow {
  readonly nodeId: NodeId
  readonly seq: number
  readonly receivedAt: number
  /** Empty when the checksum fails, as in a row of the tail. */
  readonly vector: Buffer
  readonly details: string
}
export interface StaticRow {
  readonly nodeId: NodeId
  readonly receivedAt: number
  readonly body: string
}

/** The name a node has until its first Static tells its hostname (contract, create). */
export const untitled = "Untitled"

/** All members are synchronous and throw what SQLite throws: the Journal decides what a failure means. */
export class JournalStore extends Context.Tag("store/Journal")<
  JournalStore,
  {
    /** One transaction, which every read sees when this returns. It is on the disk after the next sync. */
    readonly write: (batch: ReadonlyArray<Write>) => void
    /** Brings what was written to the disk, beside the event loop; does not throw. */
    readonly sync: (done: Synced) => void
    /** The same at once. */
    readonly syncNow: () => void
    readonly lastSeq: () => number
    readonly checkpoints: (after: NodeId | 0, limit: number) => ReadonlyArray<CheckpointRow>
    readonly checkpoint: (id: NodeId) => CheckpointRow | undefined
    readonly statics: (after: NodeId | 0, limit: number) => ReadonlyArray<StaticRow>
    readonly static: (id: NodeId) => StaticRow | undefined
    /** Rows with seq in (after, upTo], ascending, at most `limit`. */
    readonly tail: (after: number, upTo: number, limit: number) => ReadonlyArray<TailRow>
    /** The same without the rows that their node's checkpoint covers: what a full replay folds. */
    readonly uncovered: (after: number, upTo: number, limit: number) => ReadonlyArray<TailRow>
    /** Where the applied rows with seq in (after, upTo] stand, ascending, at most `limit`. */
    readonly places: (after: number, upTo: number, limit: number) => ReadonlyArray<RowPlace>
    readonly row: (seq: number) => TailRow | undefined
    /** Whether such a write would delete anything. */
    readonly trimmable: (write: TrimWrite) => boolean
    /** Writes and takes back 32 kB: proves that there is space and that the disk answers. */
    readonly probe: () => void
    /** The same in a file of its own: for when the database is not to be touched. */
    readonly probeBeside: () => void
    /** Opens the database again after an I/O error. */
    readonly reopen: () => void
    readonly bytes: () => number
    readonly busy: () => boolean
  }
>() {}

interface Others {
  readonly history: ReturnType<typeof historyWriter>
  readonly traffic: TrafficWriter
  readonly alerts: AlertWriter
}

const writeOne = (on: Statements, write: Write, { alerts, history, traffic }: Others): void => {
  switch (write.kind) {
    case "row":
      on.row.run(
        write.seq,
        write.nodeId,
        write.receivedAt,
        withChecksum(write, write.details),
        write.details,
        write.isApplied ? 1 : 0
      )
      if (write.checkpoint !== null) {
        on.checkpoint.run(
          write.nodeId,
          write.seq,
          write.receivedAt,
          withChecksum(write, write.checkpoint),
          write.checkpoint
        )
      }
      if (write.facts !== null) traffic.facts(on.db, write.nodeId, write.facts)
      if (write.alerts !== null) alerts.step(on.db, write.alerts)
      return
    case "static":
      on.statics.run(write.nodeId, write.receivedAt, write.body)
      on.rename.run(write.hostname, write.nodeId, untitled)
      return
    case "checkpoint":
      on.checkpoint.run(
        write.nodeId,
        write.seq,
        write.receivedAt,
        withChecksum(write, write.checkpoint),
        write.checkpoint
      )
      return
    case "trim":
      return trim(on, write)
    case "forget":
      on.forgetCheckpoints.run()
      history(on.db, write)
      return
    case "month":
    case "dropFacts":
    case "dropMonths":
    case "dropDeleted":
    case "dropIfaces":
      traffic.write(on.db, write)
      return
    case "alert":
    case "settle":
    case "resend":
    case "dropAlerts":
      alerts.write(on.db, write)
      return
    default:
      history(on.db, write)
  }
}

const trim = (on: Statements, { keep, limit, upTo }: TrimWrite): void => {
  if (keep.length === 0) on.trim.run(upTo, limit)
  else on.trimOthers.run(upTo, JSON.stringify(keep), limit)
}

const transact = (on: Statements, run: () => void): void => {
  on.begin.run()
  try {
    run()
    on.commit.run()
  } catch (cause) {
    // SQLite rolls back by itself on some errors (full disk, I/O); a second rollback would hide the first error.
    if (on.db.inTransaction) on.rollback.run()
    throw cause
  }
}

const probeFile = (database: string): void => {
  if (database === ":memory:") return
  const file = `${database}-probe`
  try {
    writeFileSync(file, Buffer.alloc(32_768), { flush: true })
  } finally {
    rmSync(file, { force: true })
  }
}

const make = Effect.gen(function* () {
  const database = yield* Database
  const prepared = perConnection(prepare)
  const others: Others = { history: historyWriter(), traffic: trafficWriter(), alerts: alertWriter() }
  const on = () => prepared(database.handle())
  return JournalStore.of({
    write: (batch) => {
      const statements = on()
      withoutSync(statements.db, () =>
        transact(statements, () => {
          for (const write of batch) writeOne(statements, write, others)
        })
      )
    },
    sync: (done) => database.log().begin(done),
    syncNow: () => database.log().now(),
    lastSeq: () => (on().lastSeq.get() as { seq: number }).seq,
    checkpoints: (after, limit) => (on().readCheckpoints.all(after, limit) as Array<CheckpointRow>).map(unsealed),
    checkpoint: (id) => unsealed(on().readCheckpoint.get(id) as CheckpointRow | undefined),
    statics: (after, limit) => on().readStatics.all(after, limit) as Array<StaticRow>,
    static: (id) => on().readStatic.get(id) as StaticRow | undefined,
    tail: (after, upTo, limit) => (on().readTail.all(after, upTo, limit) as Array<TailRow>).map(unsealed),
    uncovered: (after, upTo, limit) => (on().readUncovered.all(after, upTo, limit) as Array<TailRow>).map(unsealed),
    places: (after, upTo, limit) => on().readPlaces.all(after, upTo, limit) as Array<RowPlace>,
    row: (seq) => unsealed(on().readRow.get(seq) as TailRow | undefined),
    trimmable: ({ keep, upTo }) => on().trimmable.get(upTo, JSON.stringify(keep)) !== undefined,
    probe: () => {
      const statements = on()
      transact(statements, () => void statements.probe.run())
      transact(statements, () => void statements.unprobe.run())
    },
    probeBeside: () => probeFile(database.filename),
    reopen: () => database.reopen(),
    bytes: () => {
      const db = database.handle()
      return (
        (db.pragma("page_count", { simple: true }) as number) * (db.pragma("page_size", { simple: true }) as number)
      )
    },
    busy: () => database.busy()
  })
})

export const layer = Layer.effect(JournalStore, make)
