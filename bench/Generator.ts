// Starts the process that plays a fleet against a running service.
import { type Child, message } from "./Children.ts"
import { type Fleet, intervalMs } from "./Fleet.ts"
import type { OpenOrder } from "./Orders.ts"
import type { Service } from "./Service.ts"
import { startProgram } from "./Workshop.ts"

/** Every node on a connection of its own, once per interval; resolves when all connections are open. */
export const startOpenLoad = async (
  fleet: Fleet,
  { child, port }: Service,
  times: Pick<OpenOrder, "warmupMs" | "measureMs">
): Promise<Child> => {
  const load = startProgram("Load", fleet)
  await message(load, 30_000, "the generator")
  const order: OpenOrder = { kind: "open", port, pid: child.pid, intervalMs, ...times }
  load.process.send(order)
  await message(load, 60_000, "the generator")
  return load
}
