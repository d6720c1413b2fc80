// Owns a stand-in for the journal's store: a disk made of arrays, which writes down what happened and fails on demand.
import { Layer } from "effect"
import { FiberRegister } from "../../runtime/FiberStatus.ts"
import { layer as journalLayer } from "../../runtime/Journal.ts"
import type { RowOffer } from "../../runtime/JournalWriter.ts"
import { NodeId } from "../../schema/Ids.ts"
import { decode } from "../../src/core/VectorCode.ts"
import { JournalStore, type Write } from "../../src/store/Journal.ts"
import type { Synced } from "../../src/store/LogSync.ts"
import { quiet } from "../store/Support.ts"

interface Row {
  readonly seq: number
  readonly values: Float64Array
}

/** A row without anything special about it. */
export const plainRow: RowOffer = {
  nodeId: NodeId.make(1),
  receivedAt: 1,
  details: null,
  isApplied: true,
  checkpoint: null,
  facts: null,
  alerts: null
}

export const makeDisk = () => ({
  /** What happened, in order; tests add their own lines. */
  log: [] as Array<string>,
  rows: [] as Array<Row>,
  /** Thrown by whatever writes. */
  fault: undefined as Error | undefined,
  /** What every sync ends with; held back, its end is given by `endSync`. */
  syncFault: undefined as Error | undefined,
  holdsSyncs: false,
  syncs: [] as Array<Synced>,
  /** Thrown by a sync for which everything waits, and by files beside the database. */
  besideFault: undefined as Error | undefined,
  /** Thrown by the look at the last seq, once. */
  seqFault: undefined as Error | undefined,
  isBusy: false,
  probes: 0,
  reopens: 0
})
export type Disk = ReturnType<typeof makeDisk>

export const full = () => Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" })
export const ioError = () => Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR_FSYNC" })

/** Ends the sync that waits longest. */
export const endSync = (disk: Disk): void => disk.syncs.shift()?.(disk.syncFault)

/** The journal reuses the memory behind the bytes, so they are copied. */
const rowOf = (write: Write): ReadonlyArray<Row> =>
  write.kind === "row" ? [{ seq: write.seq, values: decode(write.vector) }] : []

/** A store on this disk: it writes, and has nothing to read. */
export const storeOf = (disk: Disk) =>
  Layer.succeed(JournalStore, {
    write: (batch) => {
      disk.log.push("begin")
      if (disk.fault !== undefined) throw disk.fault
      for (const write of batch) disk.rows.push(...rowOf(write))
      disk.log.push(`commit ${batch.length}`)
    },
    sync: (done) => {
      if (disk.holdsSyncs) disk.syncs.push(done)
      else done(disk.syncFault)
    },
    syncNow: () => {
      disk.log.push("sync now")
      if (disk.syncFault !== undefined) throw disk.syncFault
    },
    lastSeq: () => {
      const fault = disk.seqFault
      disk.seqFault = undefined
      if (fault !== undefined) throw fault
      return disk.rows.at(-1)?.seq ?? 0
    },
    probe: () => {
      disk.probes++
      disk.log.push("probe")
      if (disk.fault !== undefined) throw disk.fault
    },
    probeBeside: () => {
      disk.log.push("probe beside")
      if (disk.besideFault !== undefined) throw disk.besideFault
    },
    reopen: () => {
      disk.reopens++
      disk.log.push("reopen")
    },
    busy: () => disk.isBusy,
    checkpoints: () => [],
    checkpoint: () => undefined,
    statics: () => [],
    static: () => undefined,
    tail: () => [],
    uncovered: () => [],
    places: () => [],
    row: () => undefined,
    trimmable: () => false,
    bytes: () => 0
  })

/** The real journal on this disk. */
export const journalOn = (disk: Disk) =>
  journalLayer.pipe(Layer.provideMerge(FiberRegister.layer), Layer.provide([storeOf(disk), quiet]))
