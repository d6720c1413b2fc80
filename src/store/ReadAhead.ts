// What other statements are about to read, as statements that read it and give nothing: for a thread that goes before.
import type { NodeId } from "../../schema/Ids.ts"
import { bucketMs } from "../core/Bucket.ts"
import type { Tier } from "../core/Tier.ts"
import type { TrimWrite } from "./Journal.ts"

/** Something to read: pages of rows, of the list of free pages, or of the log. */
export type Look = RowLook | FreeLook | LogLook

/**
 * The log's first bytes. It is written over and over from its beginning, in pieces that are no whole blocks of the disk:
 * where a block is not in memory any more, the system reads it before a commit goes on.
 */
export interface LogLook {
  readonly logBytes: number
}

/**
 * Pages of the list of free pages, from its head on, each of which tells of a thousand: whoever adds rows takes free
 * pages from there, and no statement reads them.
 */
export interface FreeLook {
  readonly freePages: number
}

/**
 * One statement with its values. It reads whole values, because those of a large row stand on pages of their own, which
 * `length` would not look at; the last byte is what SQLite has to read all of them for.
 */
export interface RowLook {
  readonly sql: string
  readonly values: ReadonlyArray<number | string>
}

const all = (column: string): string => `count(substr(${column}, -1))`
const byNode = (tier: Tier): string => `history_${tier} INDEXED BY history_${tier}_by_node`
const listed = "(SELECT value FROM json_each(?))"

/** All that stands in the index of a tier about a node. */
export const placesAhead = (tier: Tier, id: NodeId): Look => ({
  sql: `SELECT count(end_at) FROM ${byNode(tier)} WHERE node_id = ?`,
  values: [id]
})

/** What commits change in place of nodes with ids in [from, to]. */
export const commitAhead = (from: NodeId, to: NodeId): ReadonlyArray<Look> => [
  {
    sql: `SELECT ${all("vector")}, ${all("details")} FROM checkpoints WHERE node_id BETWEEN ? AND ?`,
    values: [from, to]
  },
  { sql: `SELECT ${all("details")} FROM history_marks WHERE node_id BETWEEN ? AND ?`, values: [from, to] }
]

/** Where the next facts of nodes with ids in [from, to] will stand: at the end of each of their interfaces. */
export const factsEndAhead = (from: NodeId, to: NodeId): Look => ({
  sql: "SELECT count((SELECT max(bucket) FROM traffic_facts WHERE iface_id = i.id)) FROM traffic_ifaces i WHERE i.node_id BETWEEN ? AND ?",
  values: [from, to]
})

/** What it takes to look at the oldest chunks of a tier, without their bytes. */
export const oldestAhead = (tier: Tier, limit: number): Look => ({
  sql: `SELECT sum(length(bytes)) FROM (SELECT bytes FROM history_${tier} ORDER BY id LIMIT ?)`,
  values: [limit]
})

/** What it takes to drop chunks: their bytes, whose pages become free, and their places in the index. */
export const dropAhead = (tier: Tier, ids: ReadonlyArray<number>): Look => ({
  sql: `SELECT ${all("c.bytes")}, count(i.end_at) FROM history_${tier} c JOIN history_${tier} i INDEXED BY history_${tier}_by_node ON i.node_id = c.node_id AND i.start_at = c.start_at WHERE c.id IN ${listed}`,
  values: [JSON.stringify(ids)]
})

/** What it takes to trim the journal. */
export const trimAhead = ({ keep, limit, upTo }: Pick<TrimWrite, "keep" | "limit" | "upTo">): Look => ({
  sql: `SELECT ${all("vector")}, ${all("details")} FROM (SELECT vector, details FROM journal WHERE seq <= ? AND node_id NOT IN ${listed} ORDER BY seq LIMIT ?)`,
  values: [upTo, JSON.stringify(keep), limit]
})

/** What it takes to list interfaces behind an id, with the first and the last fact of each. */
export const ifacesAhead = (after: number, limit: number): Look => ({
  sql: "SELECT count((SELECT min(bucket) FROM traffic_facts WHERE iface_id = i.id)), count((SELECT max(bucket) FROM traffic_facts WHERE iface_id = i.id)) FROM (SELECT id FROM traffic_ifaces WHERE id > ? ORDER BY id LIMIT ?) i",
  values: [after, limit]
})

/** Facts of an interface in [fromMs, toMs). */
export const factsAhead = (ifaceId: number, fromMs: number, toMs: number): Look => ({
  sql: "SELECT count(flags) FROM traffic_facts WHERE iface_id = ? AND bucket >= ? AND bucket < ?",
  values: [ifaceId, Math.floor(fromMs / bucketMs), Math.ceil(toMs / bucketMs)]
})
