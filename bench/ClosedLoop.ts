// Sends reports as fast as the answers come, over a fixed number of connections, the nodes of the fleet in turn.
import type { Connection } from "./Connection.ts"
import { delay, drained, openAll } from "./Connections.ts"
import type { ClosedOrder, ClosedResult } from "./Orders.ts"
import { cpuMs } from "./Proc.ts"
import type { Requests } from "./Reports.ts"

export const closedLoop = async (requests: Requests, order: ClosedOrder): Promise<ClosedResult> => {
  let acknowledged = 0
  let failed = 0
  let complaint: string | undefined
  let isSending = true
  let next = 0
  const send = (connection: Connection): void => {
    connection.send(requests.next(next, Date.now()))
    next = next + 1 === requests.count ? 0 : next + 1
  }
  const all = await openAll(order.connections, order.port, (connection, status, body) => {
    if (status === 200) acknowledged++
    else {
      failed++
      complaint ??= `${status} ${body ?? "(the connection ended)"}`
    }
    if (isSending && connection.open) send(connection)
  })
  for (const connection of all) send(connection)
  await delay(order.warmupMs)
  const from = { acknowledged, cpu: cpuMs(order.pid), at: performance.now() }
  await delay(order.measureMs)
  const result = {
    acknowledged: acknowledged - from.acknowledged,
    cpuMs: cpuMs(order.pid) - from.cpu,
    wallMs: performance.now() - from.at
  }
  isSending = false
  await drained(all)
  for (const connection of all) {
    failed += connection.pending
    connection.close()
  }
  return { ...result, failed, complaint }
}
