// Opens many connections of the load generator, and waits for what they still owe.
import { type Answered, Connection } from "./Connection.ts"

/** Connections that are being opened at a time: below the backlog of any listener. */
const openingMax = 128
/** How long all of them may take. */
const openLimitMs = 30_000
/** How long answers are waited for once nothing more is sent. */
const drainMs = 5000

export const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** All of them open; fails when one cannot be. */
export const openAll = async (count: number, port: number, answered: Answered): Promise<ReadonlyArray<Connection>> => {
  const all: Array<Connection> = []
  const until = performance.now() + openLimitMs
  let opened = 0
  while (opened < count) {
    while (all.length < count && all.length - opened < openingMax) {
      all.push(new Connection(all.length, port, answered, () => opened++))
    }
    await delay(1)
    if (performance.now() > until || all.slice(-openingMax).some(({ open }) => !open)) {
      throw new Error(`only ${opened} of ${count} connections could be opened (is the limit of open files too low?)`)
    }
  }
  return all
}

/** Waits until every request is answered, but not long. */
export const drained = async (all: ReadonlyArray<Connection>): Promise<void> => {
  const until = performance.now() + drainMs
  while (performance.now() < until && all.some(({ open, pending }) => open && pending > 0)) await delay(5)
}
