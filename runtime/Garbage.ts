// How V8 collects garbage in this process.
import { setFlagsFromString } from "node:v8"

/** V8's longest wait, 24 days. */
const neverMs = 2_147_483_647

/**
 * To be called before reports arrive.
 *
 * Allocation-site pretenuring: V8 allocates in the old generation whatever outlived the young one for a while at the same
 * place of the code, and what waited for a slow commit once did. From then on every report is left to full collections,
 * with all that it refers to: a third fewer reports per second of CPU, until the process ends.
 *
 * Memory reducer: V8 collects all at once when little was allocated for eight seconds, or nothing collected for a hundred.
 * With the windows of 10,000 nodes that holds the loop for 15 to 50 ms, and it comes again every ten seconds, because the
 * limit of the heap is lowered with it. It cannot be turned off in a process that runs, only be told to wait.
 */
export const tuneCollections = (): void => {
  setFlagsFromString("--no-allocation-site-pretenuring")
  setFlagsFromString(`--gc-memory-reducer-start-delay-ms=${neverMs}`)
}
