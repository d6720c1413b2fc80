// A node whose reports wait in the journal, and a look at how long the event loop is held meanwhile.
import { Effect } from "effect"
import { NodeId } from "../../schema/Ids.ts"
import { Host, layoutOf } from "../../src/core/Layout.ts"
import { encoded } from "../../src/core/VectorCode.ts"
import { JournalStore } from "../../src/store/Journal.ts"

export const id = NodeId.make(1)
const details = JSON.stringify({
  layout: { nics: [], physical: [], logical: [], filesystems: [], baseIo: [], sensors: [] },
  smart: null
})

/** Two reports that wait in the journal: a CPU of 0.25 at second 3, one of 0.75 at second 6. */
export const twoReports = Effect.map(JournalStore, (journal) => {
  const { size } = layoutOf(JSON.parse(details).layout)
  journal.write(
    [0.25, 0.75].map((cpu, i) => {
      const vector = new Float64Array(size).fill(Number.NaN)
      vector[Host.cpuUsage] = cpu
      return {
        kind: "row",
        seq: i + 1,
        nodeId: id,
        receivedAt: 3000 * (i + 1),
        vector: encoded(vector),
        details: i === 0 ? details : null,
        isApplied: true,
        checkpoint: null,
        facts: null,
        alerts: null
      } as const
    })
  )
})

/** The longest that the event loop was held while the effect ran, milliseconds. */
export const heldDuring = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    let [last, most] = [performance.now(), 0]
    let isOver = false
    const look = (): void => {
      const now = performance.now()
      most = Math.max(most, now - last)
      last = now
      if (!isOver) setImmediate(look)
    }
    look()
    const found = yield* effect
    isOver = true
    return { found, most }
  })
