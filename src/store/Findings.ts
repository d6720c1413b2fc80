// What `check` says about a database: its faults, how much it holds, and the state of every tier of history.
import Sqlite from "better-sqlite3"
import { existsSync } from "node:fs"
import { crc32 } from "node:zlib"
import * as Integrity from "./Integrity.ts"
import { type Progress, SnapshotRefused } from "./Snapshot.ts"

export interface FindingsOptions {
  readonly file: string
  readonly key: Uint8Array | undefined
  readonly expected: Integrity.Shape
  readonly progress: Progress
  readonly pause: () => Promise<void>
}

export interface Findings {
  /** What is damaged, one sentence each. */
  readonly faults: ReadonlyArray<string>
  readonly lines: ReadonlyArray<string>
}

const counted = ["nodes", "journal", "checkpoints", "sessions"] as const
const tiers = ["raw", "minute", "quarter", "hour"] as const
/** Chunks per read: some megabytes, and a reader must not hold up the service's log for long. */
const chunksAtOnce = 500
/** Damaged chunks named; the rest is a number. */
const namedMax = 5

interface ChunkRow {
  readonly id: number
  readonly nodeId: number
  readonly startAt: number
  readonly endAt: number
  readonly checksum: number
  readonly bytes: Buffer
}

const timeText = (at: number): string => (Number.isFinite(at) ? new Date(at).toISOString().slice(0, 19) + "Z" : "-")

/** Reads every chunk of a tier, a slice at a time. */
const tierOf = async (db: Sqlite.Database, tier: string, { pause, progress }: FindingsOptions): Promise<Findings> => {
  const table = `history_${tier}`
  const last = Number(db.prepare(`SELECT coalesce(max(id), 0) FROM ${table}`).pluck().get())
  const slice = db.prepare<[number, number], ChunkRow>(
    `SELECT id, node_id AS nodeId, start_at AS startAt, end_at AS endAt, checksum, bytes FROM ${table} WHERE id > ? ORDER BY id LIMIT ?`
  )
  const faults: Array<string> = []
  let [chunks, bytes, damaged, oldest, newest] = [0, 0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (let after = 0; ;) {
    const rows = slice.all(after, chunksAtOnce)
    for (const row of rows) {
      after = row.id
      chunks++
      bytes += row.bytes.length
      oldest = Math.min(oldest, row.startAt)
      newest = Math.max(newest, row.endAt)
      if (crc32(row.bytes) === row.checksum >>> 0) continue
      damaged++
      if (damaged <= namedMax) {
        const span = `${timeText(row.startAt)} to ${timeText(row.endAt)}`
        faults.push(`history ${tier}: chunk ${row.id} of node ${row.nodeId}, ${span}`)
      }
    }
    if (rows.length === 0) break
    progress(`reading history ${tier}`, last === 0 ? 1 : after / last)
    await pause()
  }
  if (damaged > namedMax) faults.push(`history ${tier}: ${damaged - namedMax} more chunks`)
  const span = chunks === 0 ? "" : `, ${timeText(oldest)} to ${timeText(newest)}`
  return { faults, lines: [`history ${tier}: ${chunks} chunks, ${bytes} bytes, ${damaged} damaged${span}`] }
}

const guarded = async (what: string, run: () => Findings | Promise<Findings>): Promise<Findings> => {
  try {
    return await run()
  } catch (cause) {
    if (!(cause instanceof Sqlite.SqliteError)) throw cause
    return { faults: [`${what}: ${cause.message}`], lines: [] }
  }
}

const schemaOf = (db: Sqlite.Database, { expected, key }: FindingsOptions): Findings => {
  const version = Integrity.versionOf(db)
  const shape = Integrity.shapeFaults(db, expected)
  const isNewer = version > expected.version
  return {
    faults: [...shape, ...(isNewer ? ["its schema is newer than this program"] : Integrity.keyFaults(db, key))],
    lines: [`schema ${version}`]
  }
}

/** Throws `SnapshotRefused` when there is no database; everything else is a finding. */
export const findings = async (options: FindingsOptions): Promise<Findings> => {
  const { file, pause, progress } = options
  if (!existsSync(file)) throw new SnapshotRefused(`${file} does not exist`)
  const faults = [...Integrity.fileFaults(file)]
  const lines: Array<string> = []
  const add = (found: Findings) => {
    faults.push(...found.faults)
    lines.push(...found.lines)
  }
  const db = new Sqlite(file, { readonly: true, fileMustExist: true, timeout: 5000 })
  try {
    const tables = Integrity.tablesIn(db)
    add(await guarded("the file", () => ({ faults: Integrity.cutFaults(db, file), lines: [] })))
    add(await guarded("the schema", () => schemaOf(db, options)))
    for (const [i, table] of tables.entries()) {
      progress(`checking ${table}`, i / tables.length)
      await pause()
      add({ faults: Integrity.tableFaults(db, table), lines: [] })
      if (table === "journal" || table === "checkpoints") add({ faults: Integrity.rowFaults(db, table), lines: [] })
    }
    for (const table of counted.filter((name) => tables.includes(name))) {
      const count = () => `${table}: ${String(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get())}`
      add(await guarded(`table ${table}`, () => ({ faults: [], lines: [count()] })))
    }
    for (const tier of tiers.filter((name) => tables.includes(`history_${name}`))) {
      add(await guarded(`history ${tier}`, () => tierOf(db, tier, options)))
    }
    return { faults, lines }
  } catch (cause) {
    if (!(cause instanceof Sqlite.SqliteError)) throw cause
    return { faults: [...faults, cause.message], lines }
  } finally {
    db.close()
  }
}
