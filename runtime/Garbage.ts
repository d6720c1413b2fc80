// How V8 collects garbage in this process.
import { setFlagsFromString } from "node:v8"

/**
 * To be called before reports arrive.
 *
 * Allocation-site pretenuring: V8 allocates in the old generation whatever outlived the young one for a while at the same
 * place of the code, and what waited for a slow commit once did. From then on every report is left to full collections,
 * with all that it refers to: a third fewer reports per second of CPU, until the process ends.
 *
 * Memory reducer: V8 collects all at once when little is allocated for a while, as between two bursts of reports. With the
 * windows of 10,000 nodes that holds the loop for 30 ms, and it comes again, because the limit is lowered with it.
 */
export const tuneCollections = (): void => {
  setFlagsFromString("--no-allocation-site-pretenuring")
  setFlagsFromString("--no-memory-reducer")
}
