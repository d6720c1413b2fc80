// The load generator, a process of its own: takes one order after the other and answers with what it saw.
import { closedLoop } from "../ClosedLoop.ts"
import type { Fleet } from "../Fleet.ts"
import { openLoop } from "../OpenLoop.ts"
import type { Order } from "../Orders.ts"
import { Requests } from "../Reports.ts"

const requests = new Requests(JSON.parse(process.argv[2] ?? "") as Fleet)
const perform = (order: Order) =>
  order.kind === "closed" ? closedLoop(requests, order) : openLoop(requests, order, () => process.send?.("opened"))

process.on("disconnect", () => process.exit())
process.on("message", (order) => {
  perform(order as Order).then(
    (result) => process.send?.(result),
    (cause: unknown) => {
      console.error(cause)
      process.exit(1)
    }
  )
})
process.send?.("ready")
