// An answer of history as JSON text.
import type { HistoryAnswer } from "../../schema/History.ts"
import { isoSeconds } from "./Online.ts"
import type { Points } from "./Points.ts"

/**
 * One line, points last. They are most of it and are written one by one: as objects they would take twice as long, and
 * their instants need no escapes.
 */
export const historyText = (head: Omit<HistoryAnswer, "points">, points: Points): string => {
  let list = ""
  points.each(head.agg, (startMs, value) => {
    list += `${list === "" ? "" : ","}{"ts":"${isoSeconds(startMs)}","value":${value}}`
  })
  return `${JSON.stringify(head).slice(0, -1)},"points":[${list}]}\n`
}
