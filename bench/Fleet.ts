// The simulated fleet: how many nodes, their secrets and names, the same in every process of a run.
import { createHash } from "node:crypto"

/** What all processes of one run agree on, so that each of them builds the same nodes. */
export interface Fleet {
  /** Any text; secrets and machines derive from it. */
  readonly run: string
  readonly count: number
  /** Start of the run; nodes booted days before it. */
  readonly epochMs: number
}

/** Every node reports this often: the default of the agents. */
export const intervalMs = 3000

/** Secret of the node with this index (0 to count - 1): 32 characters as the service itself makes them. */
export const secretOf = ({ run }: Fleet, index: number): string =>
  createHash("sha256").update(`${run}/${index}`).digest("hex").slice(0, 32)

export const hostnameOf = (index: number): string => `node-${String(index).padStart(5, "0")}`
