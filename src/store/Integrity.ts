// Whether a database can be trusted: its file, its log, its schema, its tables, its rows and the key beside it.
// Not told: a text of the registry (a name, a setting, a Static) that became another text of the same length.
import Sqlite from "better-sqlite3"
import { Effect } from "effect"
import { closeSync, existsSync, openSync, readSync, statSync } from "node:fs"
import { make as makeVault } from "../auth/Vault.ts"
import { isWhole } from "./Checksum.ts"
import { identityAt, readLog } from "./LogFile.ts"
import type { NodeId } from "../../schema/Ids.ts"
import { secretContext } from "./Nodes.ts"
import { Database } from "./Sql.ts"

/** What a database of a version looks like: its last migration, and the SQL of each of our tables and indexes. */
export interface Shape {
  readonly version: number
  readonly objects: ReadonlyMap<string, string>
}

const migrationsTable = "effect_sql_migrations"
/** Chunks carry checksums of their own, and there may be gigabytes of them. */
const coldTable = /^history_(raw|minute|quarter|hour)$/
/** Faults listed at most: one is enough to refuse, and a damaged file may have thousands. */
const faultsMax = 10

const shapeOf = (db: Sqlite.Database): Shape => {
  const rows = db.prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL").all() as ReadonlyArray<{
    readonly name: string
    readonly sql: string
  }>
  const objects = new Map(rows.filter(({ name }) => !name.startsWith("sqlite_")).map(({ name, sql }) => [name, sql]))
  if (!objects.has(migrationsTable)) return { version: 0, objects }
  const version = db.prepare(`SELECT coalesce(max(migration_id), 0) FROM ${migrationsTable}`).pluck().get()
  return { version: Number(version), objects }
}

/** The shape that this program makes, read off a database that it has just migrated. */
export const currentShape = Effect.map(Database, ({ handle }) => shapeOf(handle()))

/** Every table with rows of its own, SQLite's included; the schema comes first, the largest last. */
export const tablesIn = (db: Sqlite.Database): ReadonlyArray<string> => {
  const names = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .pluck()
    .all() as Array<string>
  return ["sqlite_schema", ...names.filter((name) => !coldTable.test(name)), ...names.filter((n) => coldTable.test(n))]
}
export const isCold = (table: string): boolean => coldTable.test(table)

/** What SQLite finds wrong in one table and its indexes. */
export const tableFaults = (db: Sqlite.Database, table: string): ReadonlyArray<string> => {
  try {
    const rows = db
      .prepare(`PRAGMA integrity_check(${quoted(table)})`)
      .pluck()
      .all() as ReadonlyArray<string>
    return rows
      .filter((text) => text !== "ok")
      .slice(0, faultsMax)
      .map((text) => `table ${table}: ${text.replaceAll("\n", " ")}`)
  } catch (cause) {
    return [`table ${table}: ${messageOf(cause)}`]
  }
}

/** Rows per read: all at once would be gigabytes, one by one takes twice as long. */
const rowsAtOnce = 1000

type StoredRow = readonly [key: number, seq: number, nodeId: number, receivedAt: number, Buffer, string | null]

/** Rows of the journal or checkpoints whose checksum fails. 400,000 rows take about half a second. */
export const rowFaults = (db: Sqlite.Database, table: "journal" | "checkpoints"): ReadonlyArray<string> => {
  const faults: Array<string> = []
  try {
    const slice = db
      .prepare(
        `SELECT rowid, seq, node_id, received_at, vector, details FROM ${table} WHERE rowid > ? ORDER BY rowid LIMIT ${rowsAtOnce}`
      )
      .raw()
    for (let after = Number.MIN_SAFE_INTEGER; ;) {
      const rows = slice.all(after) as ReadonlyArray<StoredRow>
      for (const [key, seq, nodeId, receivedAt, vector, details] of rows) {
        after = key
        if (Buffer.isBuffer(vector) && isWhole({ seq, nodeId, receivedAt, vector }, details)) continue
        const what = table === "journal" ? `row ${seq} of the journal` : `the checkpoint of node ${nodeId}`
        faults.push(`${what} does not match its checksum`)
        if (faults.length === faultsMax) return faults
      }
      if (rows.length === 0) return faults
    }
  } catch (cause) {
    return [...faults, `table ${table}: ${messageOf(cause)}`]
  }
}

/** Whether the schema is one that this program can work with. */
export const shapeFaults = (db: Sqlite.Database, expected: Shape): ReadonlyArray<string> => {
  const found = shapeOf(db)
  if (found.version !== expected.version) {
    // An older one is brought up to date at start, each step in one transaction; it has not got what later steps make.
    const isComplete = [...expected.objects.keys()].every((name) => found.objects.has(name))
    return isComplete ? [`the record of its version is damaged: it says ${found.version}`] : []
  }
  return [...expected.objects]
    .filter(([name, sql]) => found.objects.get(name) !== sql)
    .map(
      ([name]) => `the definition of ${name} is ${found.objects.has(name) ? "not the one it was made with" : "gone"}`
    )
}

export const versionOf = (db: Sqlite.Database): number => shapeOf(db).version

/** Secrets tried with the key; one that opens proves it, and one that does not may be damaged itself. */
const sealedTried = 3

/** Whether the key is the one that the node secrets in the database were sealed with; no secrets, no objection. */
export const keyFaults = (db: Sqlite.Database, key: Uint8Array | undefined): ReadonlyArray<string> => {
  const sealed = db
    .prepare("SELECT id, secret_sealed AS text FROM nodes WHERE secret_sealed IS NOT NULL LIMIT ?")
    .all(sealedTried) as ReadonlyArray<{ readonly id: NodeId; readonly text: string }>
  if (sealed.length === 0) return []
  if (key === undefined) return ["the key that its secrets are sealed with is gone"]
  const vault = makeVault(key)
  const opens = sealed.some(({ id, text }) => vault.open(String(text), secretContext(id)) !== undefined)
  return opens ? [] : ["the key beside it is not the one that its secrets are sealed with"]
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

export const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** Whether SQLite says with this code that the file itself is not what it should be. */
export const isDamageCode = (code: string): boolean => /^SQLITE_(CORRUPT|NOTADB)/.test(code)

const headerBytes = 100
/** SQLite's lock bytes lie here in a file past a gigabyte; their page is never written. */
const lockByteAt = 0x40000000

/** The first page as bytes: faults that would make SQLite read the rest in another way, or past the log. */
export const fileFaults = (file: string): ReadonlyArray<string> => {
  const head = Buffer.alloc(headerBytes)
  const descriptor = openSync(file, "r")
  try {
    if (readSync(descriptor, head, 0, headerBytes, 0) < headerBytes) return ["its first page is cut"]
  } finally {
    closeSync(descriptor)
  }
  if (head.toString("latin1", 0, 16) !== "SQLite format 3\0") return ["it is not a SQLite database"]
  const hasLog = existsSync(`${file}-wal`) && statSync(`${file}-wal`).size > 0
  const mode = head.readUInt16BE(18)
  // Write-ahead mode in both bytes; with another in one of them the log would not be read.
  if (mode !== 0x0202 && !(mode === 0x0101 && !hasLog)) return ["its first page is damaged"]
  const { fault, identity } = readLog(file)
  if (fault !== undefined) return [fault]
  const own = head.readUInt32BE(identityAt)
  const isForeign = own !== 0 && identity !== undefined && identity !== own
  return isForeign ? ["the write-ahead log beside it is of another database"] : []
}

/** Pages that the database counts but that neither the file nor its log has. */
export const cutFaults = (db: Sqlite.Database, file: string): ReadonlyArray<string> => {
  const pageBytes = Number(db.pragma("page_size", { simple: true }))
  const count = Number(db.pragma("page_count", { simple: true }))
  const present = Math.floor(statSync(file).size / pageBytes)
  const { pages } = readLog(file)
  const lockPage = lockByteAt / pageBytes + 1
  let missing = Math.max(0, count - present)
  for (const page of pages) if (page > present && page <= count) missing--
  if (lockPage > present && lockPage <= count) missing--
  return missing <= 0 ? [] : [`the file is cut: ${missing} of ${count} pages are gone`]
}
