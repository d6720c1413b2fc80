// What an administrator can change, as something to compare: proves that a request left everything as it was.
import type { Service } from "./Service.ts"

const tables = ["nodes", "node_groups", "node_group_members", "sessions", "settings"]

/** Every row of those tables; the service itself writes other tables at any time. */
export const contentsOf = async ({ value }: Pick<Service, "value">): Promise<ReadonlyArray<unknown>> => {
  const found: Array<unknown> = []
  for (const table of tables) {
    const columns = await value(`SELECT group_concat('quote("' || name || '")') FROM pragma_table_info('${table}')`)
    const rows = await value(`SELECT json_group_array(json_array(${String(columns)})) FROM ${table}`)
    found.push([table, rows])
  }
  return found
}
