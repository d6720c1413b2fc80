// The turns of the event loop as they are counted, and what a piece of work may take of one.
import { readFile } from "node:fs"
import { describe, expect, it } from "vitest"
import { loopTurn, portionMs } from "../../runtime/LoopTurn.ts"
import { work } from "../support/Work.ts"

/** What `look` gives after the sockets and files of a new turn, after the rest of its work, and in its timers. */
const inOneTurn = (look: () => number) =>
  new Promise<ReadonlyArray<number>>((resume) => {
    readFile(import.meta.filename, () => {
      const first = look()
      setTimeout(() => resume([first, second, look()]), 0)
      let second = 0
      setImmediate(() => {
        second = look()
        // The timer is due by then.
        work(2)
      })
      work(5)
    })
  })

describe("a turn of the event loop", () => {
  it("counts from who asks first in it, until its timers have run", async () => {
    const [first, second, third] = (await inOneTurn(loopTurn.spentMs)) as [number, number, number]
    // What went by between two looks at one turn; its beginning is not known to anybody who looks from outside.
    expect(second - first).toBeGreaterThanOrEqual(5)
    expect(third - second).toBeGreaterThanOrEqual(2)
  })

  it("counts anew in the next one", async () => {
    loopTurn.spentMs()
    work(50)
    const before = loopTurn.spentMs()
    await new Promise((resume) => setImmediate(resume))
    await new Promise((resume) => setImmediate(resume))
    expect(loopTurn.spentMs()).toBeLessThan(before)
  })

  it("gives a portion all it asks for in a young turn, less in an older one, and never nothing", () => {
    const portions = [0, 3, 6, 7.5, 8, 500].map((spent) => portionMs(4, 1, { spentMs: () => spent }))
    expect(portions).toEqual([4, 4, 2, 1, 1, 1])
  })
})
