// What a fleet finds on the disk of its service, read without the program, judged by the fleet's own ledger.
import Sqlite from "better-sqlite3"
import { Host } from "../../src/core/Layout.ts"
import { decode } from "../../src/core/VectorCode.ts"
import { epoch } from "./Engine.ts"
import type { Fleet } from "./Fleet.ts"
import { databaseOf } from "./Program.ts"

/** The journal keeps two minutes; a receipt older than this may have left it behind a checkpoint. */
const tailMs = 100_000

export interface Stored {
  readonly integrity: unknown
  /** Agent times by node, in the order of seq. */
  readonly reports: ReadonlyMap<number, ReadonlyArray<number>>
  /** Agent time that a node's checkpoint stands at. */
  readonly checkpoints: ReadonlyMap<number, number>
  readonly isAscending: boolean
  readonly rows: number
}

interface StoredRow {
  readonly seq: number
  readonly nodeId: number
  readonly vector: Buffer
}

/** The row's checksum stands behind its vector. */
const timeIn = (vector: Buffer): number => decode(vector.subarray(0, -4))[Host.reportedAt] ?? 0

/** What lies on the disk, read without the program and without changing anything. */
export const storedIn = (home: string): Stored => {
  const db = new Sqlite(databaseOf(home), { readonly: true })
  try {
    const reports = new Map<number, Array<number>>()
    let [rows, last, isAscending] = [0, 0, true]
    const journal = db.prepare<[], StoredRow>("SELECT seq, node_id AS nodeId, vector FROM journal ORDER BY rowid")
    for (const { nodeId, seq, vector } of journal.iterate()) {
      rows++
      isAscending &&= seq > last
      last = seq
      const known = reports.get(nodeId)
      if (known === undefined) reports.set(nodeId, [timeIn(vector)])
      else known.push(timeIn(vector))
    }
    const kept = db.prepare<[], StoredRow>("SELECT seq, node_id AS nodeId, vector FROM checkpoints")
    const checkpoints = new Map(kept.all().map(({ nodeId, vector }) => [nodeId, timeIn(vector)]))
    return { integrity: db.pragma("integrity_check", { simple: true }), reports, checkpoints, isAscending, rows }
  } finally {
    db.close()
  }
}

/** Everything on the disk that the ledger does not allow, and everything that it misses there. */
export const offences = (stored: Stored, fleet: Fleet): ReadonlyArray<string> => {
  const found: Array<string> = []
  if (stored.integrity !== "ok") found.push(`integrity: ${String(stored.integrity)}`)
  if (!stored.isAscending) found.push("seq does not ascend")
  const now = performance.now()
  for (const [id, receipts] of fleet.receipts) {
    const reports = stored.reports.get(id) ?? []
    const known = new Set(reports)
    if (known.size !== reports.length) found.push(`node ${id} has a report twice`)
    if (reports.some((at, i) => at <= (reports[i - 1] ?? 0))) found.push(`node ${id} has its reports out of order`)
    if (reports.some((at) => at <= epoch || at % 1000 !== 0)) found.push(`node ${id} has a report nobody sent`)
    const covered = stored.checkpoints.get(id) ?? 0
    for (const { at, heardAt } of receipts) {
      const isTrimmed = now - heardAt > tailMs && at <= covered
      if (!known.has(at) && !isTrimmed) found.push(`node ${id} lost the acknowledged report of ${at}`)
    }
  }
  return found
}
