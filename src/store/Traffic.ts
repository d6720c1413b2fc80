// The traffic ledger at rest: facts written in the journal's transactions, read by interface and time, dropped in slices.
import type Sqlite from "better-sqlite3"
import { Context, Effect, Layer } from "effect"
import type { NodeId } from "../../schema/Ids.ts"
import { bucketMs, type Fact } from "../core/Bucket.ts"
import type { CycleConfig } from "../core/Cycle.ts"
import type { ClosedFact } from "../core/Ledger.ts"
import { Database } from "./Sql.ts"
import { perConnection } from "./PerConnection.ts"
import { prepareReads, prepareWrites, type Writes } from "./TrafficStatements.ts"

/** What a cycle came to, by the settings that cut it. Times in milliseconds. */
export interface MonthRow extends CycleConfig {
  readonly cycleStart: number
  /** Exclusive. */
  readonly cycleEnd: number
  readonly status: string
  /** Null while nothing is covered. */
  readonly coveredUntil: number | null
  readonly generatedAt: number
  /** Null until the cycle is sealed. */
  readonly sealedAt: number | null
  /** JSON of the statistics. */
  readonly body: string
}
/** Puts a snapshot in the place of an earlier one of the same interface, settings and cycle. */
export interface MonthWrite extends MonthRow {
  readonly kind: "month"
  readonly ifaceId: number
}
/** Drops at most `limit` facts that began before a bucket, interface by interface from behind `afterIface` on (0: all). */
export interface DropFactsWrite {
  readonly kind: "dropFacts"
  /** Unix seconds / 300. */
  readonly beforeBucket: number
  readonly afterIface: number
  readonly limit: number
}
/** Drops at most `limit` snapshots of cycles that ended before an instant, milliseconds. */
export interface DropMonthsWrite {
  readonly kind: "dropMonths"
  readonly endedBefore: number
  readonly limit: number
}
/** Drops at most `limit` facts of deleted nodes, and all else about their interfaces that have no facts left. */
export interface DropDeletedWrite {
  readonly kind: "dropDeleted"
  readonly limit: number
}
/** Drops those of the interfaces that have neither facts nor snapshots left; a later fact makes such a one anew. */
export interface DropIfacesWrite {
  readonly kind: "dropIfaces"
  readonly ifaceIds: ReadonlyArray<number>
}
export type TrafficWrite = MonthWrite | DropFactsWrite | DropMonthsWrite | DropDeletedWrite | DropIfacesWrite

export interface IfaceRow {
  readonly id: number
  readonly name: string
  /** Receive time of the first report that had it, milliseconds. */
  readonly firstSeenAt: number
}
export interface NodeIfaceRow extends IfaceRow {
  readonly nodeId: NodeId
  /** Bucket of its oldest fact, unix seconds / 300; null without facts. */
  readonly firstBucket: number | null
}

/** All members are synchronous and throw what SQLite throws. Deleted nodes are there until they are dropped. */
export class TrafficStore extends Context.Tag("store/Traffic")<
  TrafficStore,
  {
    /** A node's interfaces by name. */
    readonly ifaces: (nodeId: NodeId) => ReadonlyArray<IfaceRow>
    readonly iface: (nodeId: NodeId, name: string) => IfaceRow | undefined
    /** Interfaces of all nodes behind an id, by id. */
    readonly allIfaces: (afterId: number, limit: number) => ReadonlyArray<NodeIfaceRow>
    /** Facts that begin in [fromMs, toMs), ascending. */
    readonly facts: (ifaceId: number, fromMs: number, toMs: number) => ReadonlyArray<Fact>
    /** The oldest fact that is left. */
    readonly firstFact: (ifaceId: number) => Fact | undefined
    readonly lastFact: (ifaceId: number) => Fact | undefined
    readonly factCount: () => number
    /** Snapshots of an interface by these settings, newest cycle first. */
    readonly months: (ifaceId: number, config: CycleConfig, limit: number) => ReadonlyArray<MonthRow>
    readonly month: (ifaceId: number, config: CycleConfig, cycleStart: number) => MonthRow | undefined
    /** How many interfaces of deleted nodes are still to be dropped. */
    readonly deletedIfaces: () => number
  }
>() {}

const ifaceIdOf = (on: Writes, nodeId: NodeId, { firstSeenAt, iface }: ClosedFact): number =>
  (on.ifaceId.get(nodeId, iface) ?? on.newIface.get(nodeId, iface, firstSeenAt)) as number

/** In the order of the statements' columns. */
const valuesOf = (fact: Fact, ifaceId: number): ReadonlyArray<number | null> => [
  fact.inBytes,
  fact.outBytes,
  fact.coveredMs,
  fact.validMs === fact.coveredMs ? null : fact.validMs,
  fact.validIn === fact.inBytes ? null : fact.validIn,
  fact.validOut === fact.outBytes ? null : fact.validOut,
  fact.gaps,
  fact.resets,
  fact.quarantined,
  fact.flags,
  fact.bestIn,
  fact.bestOut,
  fact.bestBoth,
  ifaceId,
  fact.start / bucketMs
]

const putFacts = (on: Writes, nodeId: NodeId, closed: ReadonlyArray<ClosedFact>): void => {
  let added = 0
  for (const one of closed) {
    const values = valuesOf(one.fact, ifaceIdOf(on, nodeId, one))
    if (on.newFact.run(...values).changes > 0) added++
    else on.setFact.run(...values)
  }
  if (added > 0) on.grow.run(added)
}

const keyOf = (ifaceId: number, { anchorDate, mode, startDay, zone }: CycleConfig): ReadonlyArray<number | string> => [
  ifaceId,
  mode,
  startDay,
  anchorDate,
  zone
]

const putMonth = (on: Writes, month: MonthWrite): void => {
  const { coveredUntil, cycleEnd, cycleStart, generatedAt, ifaceId, sealedAt, status } = month
  on.month.run(...keyOf(ifaceId, month), cycleStart, cycleEnd, status, coveredUntil, generatedAt, sealedAt, month.body)
}

const dropDeleted = (on: Writes, limit: number): void => {
  on.grow.run(-on.dropDeletedFacts.run(limit).changes)
  for (const id of on.emptied.all(limit) as Array<number>) {
    on.dropMonthsOf.run(id)
    on.dropIface.run(id)
  }
}

/** Both work inside the transaction that the journal has open. */
export interface TrafficWriter {
  readonly facts: (db: Sqlite.Database, nodeId: NodeId, closed: ReadonlyArray<ClosedFact>) => void
  readonly write: (db: Sqlite.Database, write: TrafficWrite) => void
}

export const trafficWriter = (): TrafficWriter => {
  const prepared = perConnection(prepareWrites)
  return {
    facts: (db, nodeId, closed) => putFacts(prepared(db), nodeId, closed),
    write: (db, write) => {
      const on = prepared(db)
      switch (write.kind) {
        case "month":
          return putMonth(on, write)
        case "dropFacts":
          on.grow.run(-on.dropFacts.run(write.afterIface, write.beforeBucket, write.limit).changes)
          return
        case "dropMonths":
          on.dropMonths.run(write.endedBefore, write.limit)
          return
        case "dropDeleted":
          return dropDeleted(on, write.limit)
        case "dropIfaces":
          for (const id of write.ifaceIds) on.dropIface.run(id)
      }
    }
  }
}

const make = Effect.gen(function* () {
  const database = yield* Database
  const prepared = perConnection(prepareReads)
  const on = () => prepared(database.handle())
  return TrafficStore.of({
    ifaces: (nodeId) => on().ifaces.all(nodeId) as Array<IfaceRow>,
    iface: (nodeId, name) => on().iface.get(nodeId, name) as IfaceRow | undefined,
    allIfaces: (afterId, limit) => on().allIfaces.all(afterId, limit) as Array<NodeIfaceRow>,
    facts: (ifaceId, fromMs, toMs) =>
      on().facts.all(ifaceId, Math.ceil(fromMs / bucketMs), Math.ceil(toMs / bucketMs)) as Array<Fact>,
    firstFact: (ifaceId) => on().firstFact.get(ifaceId) as Fact | undefined,
    lastFact: (ifaceId) => on().lastFact.get(ifaceId) as Fact | undefined,
    factCount: () => on().factCount.get() as number,
    months: (ifaceId, config, limit) => on().months.all(...keyOf(ifaceId, config), limit) as Array<MonthRow>,
    month: (ifaceId, config, cycleStart) =>
      on().month.get(...keyOf(ifaceId, config), cycleStart) as MonthRow | undefined,
    deletedIfaces: () => on().deletedIfaces.get() as number
  })
})

export const layer = Layer.effect(TrafficStore, make)
