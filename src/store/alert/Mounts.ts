// Which rule is in force on which node, as far as it is not so by default.
import { SqlClient, SqlSchema } from "@effect/sql"
import { Context, Effect, Layer, Schema } from "effect"
import { InvalidFields, type StorageUnavailable } from "../../../schema/Errors.ts"
import { NodeId } from "../../../schema/Ids.ts"
import { builtIns } from "../../core/alert/Rule.ts"
import { atBorder } from "../Border.ts"
import { Flag } from "./RuleRows.ts"

/** A deviation from the default. */
export interface Mount {
  readonly ruleId: number
  readonly nodeId: NodeId
  readonly mounted: boolean
}
export interface MountChange {
  readonly ruleIds: ReadonlyArray<number>
  readonly nodeIds: ReadonlyArray<number>
  readonly mounted: boolean
}

/** Built-in rules are in force everywhere unless unmounted, custom ones nowhere unless mounted. */
export const isMountedByDefault = (ruleId: number): boolean => ruleId < 0

/** Pairs of one change: they are one transaction, in which no report is committed. */
export const pairsMax = 200_000

export class AlertMounts extends Context.Tag("store/alert/Mounts")<
  AlertMounts,
  {
    /** Deviations of all active nodes, by rule and node. */
    readonly list: Effect.Effect<ReadonlyArray<Mount>, StorageUnavailable>
    /** Every rule on every node, or nothing when one of them is unknown; repeated ids count once. */
    readonly set: (change: MountChange) => Effect.Effect<void, InvalidFields | StorageUnavailable>
  }
>() {
  static readonly layer = Layer.effect(
    this,
    Effect.suspend(() => make)
  )
}

const isId = (id: number) => Number.isSafeInteger(id)

const refused = (message: string) => Effect.fail(new InvalidFields({ message }))

const checked = ({ mounted, nodeIds, ruleIds }: MountChange): Effect.Effect<MountChange, InvalidFields> => {
  const change = { mounted, ruleIds: [...new Set(ruleIds)], nodeIds: [...new Set(nodeIds)] }
  if (change.ruleIds.length === 0) return refused("rule_ids must not be empty")
  if (change.nodeIds.length === 0) return refused("server_ids must not be empty")
  if (!change.ruleIds.every((id) => isId(id) && id !== 0)) return refused("rule_ids must be ids of rules")
  if (!change.nodeIds.every((id) => isId(id) && id > 0)) return refused("server_ids must be ids of nodes")
  if (change.ruleIds.length * change.nodeIds.length > pairsMax) {
    return refused(`rule_ids and server_ids must make at most ${pairsMax} pairs`)
  }
  return Effect.succeed(change)
}

const Missing = Schema.Array(Schema.Struct({ id: Schema.Int }))

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const list = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ ruleId: Schema.Int, nodeId: NodeId, mounted: Flag }),
    execute: () => sql`
      SELECT m.rule_id AS "ruleId", m.node_id AS "nodeId", m.mounted
      FROM alert_mounts m JOIN nodes n ON n.id = m.node_id AND n.deleted_at IS NULL
      ORDER BY m.rule_id, m.node_id`
  })
  const known = new Set(builtIns.map(({ id }) => id))
  const missing = (what: string, ids: ReadonlyArray<number>, from: string) =>
    sql`SELECT value AS id FROM json_each(${JSON.stringify(ids)})
        WHERE value NOT IN (SELECT id FROM ${sql.literal(from)}) LIMIT 1`.pipe(
      Effect.flatMap(Schema.decodeUnknown(Missing)),
      Effect.flatMap(([first]) => (first === undefined ? Effect.void : refused(`there is no ${what} ${first.id}`)))
    )
  const set = Effect.fnUntraced(
    function* (change: MountChange) {
      const { mounted, nodeIds, ruleIds } = yield* checked(change)
      const unknown = ruleIds.filter((id) => !known.has(id))
      yield* missing("rule", unknown, "alert_rules")
      yield* missing("node", nodeIds, "nodes WHERE deleted_at IS NULL")
      const nodes = JSON.stringify(nodeIds)
      for (const ruleId of ruleIds) {
        if (mounted === isMountedByDefault(ruleId)) {
          yield* sql`DELETE FROM alert_mounts
                     WHERE rule_id = ${ruleId} AND node_id IN (SELECT value FROM json_each(${nodes}))`
        } else {
          yield* sql`INSERT INTO alert_mounts (rule_id, node_id, mounted)
                     SELECT ${ruleId}, value, ${mounted ? 1 : 0} FROM json_each(${nodes}) WHERE true
                     ON CONFLICT (rule_id, node_id) DO UPDATE SET mounted = excluded.mounted`
        }
      }
    },
    sql.withTransaction,
    atBorder("set alert mounts")
  )
  return AlertMounts.of({ list: atBorder("list alert mounts")(list()), set })
})
