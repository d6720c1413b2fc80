// How reports share turns of the event loop: what is put off, in which order it is taken, and what bounds it.
import fc from "fast-check"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { describe, expect, it } from "vitest"
import { TurnShare } from "../../runtime/http/TurnShare.ts"

/** A loop whose clock is moved by the work itself, and whose turns are taken by hand. */
class Bench {
  ms = 0
  private beganAt = 0
  taken: Array<string> = []
  private due: Array<() => void> = []
  readonly share = new TurnShare({
    spentMs: () => this.ms - this.beganAt,
    afterSockets: (run) => void this.due.push(run)
  })

  /** A report that takes so long, taken at once or put off as the lane does it. */
  report(name: string, tookMs: number, size = 1): void {
    const take = () => {
      this.ms += tookMs
      this.taken.push(name)
    }
    if (this.share.isSpent(size)) this.share.putOff(size, take)
    else take()
  }

  /** What the sockets bring in one turn, then what is due after them; gives the names taken and how long it took. */
  turn(sockets: () => void = () => {}): { readonly names: ReadonlyArray<string>; readonly ms: number } {
    const [from, startedAt] = [this.taken.length, this.ms]
    this.beganAt = startedAt
    sockets()
    for (const run of this.due.splice(0)) run()
    return { names: this.taken.slice(from), ms: this.ms - startedAt }
  }

  get isIdle(): boolean {
    return this.due.length === 0
  }
}

setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc") as () => void

const names = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => `r${from + i}`)

describe("the share of a turn", () => {
  it("takes at once what comes one by one, and asks for no turn in between", () => {
    const bench = new Bench()
    for (let i = 1; i <= 20; i++) expect(bench.turn(() => bench.report(`r${i}`, 1)).names).toEqual([`r${i}`])
    bench.turn()
    expect([bench.isIdle, bench.share.depth]).toEqual([true, 0])
  })

  it("spreads what came while the loop was held over turns of its share, and the least of what is put off", () => {
    const bench = new Bench()
    const first = bench.turn(() => {
      for (const name of names(1, 40)) bench.report(name, 1)
    })
    expect(first).toEqual({ names: names(1, 7), ms: 7 })
    expect(bench.share.depth).toBe(33)
    expect(bench.turn()).toEqual({ names: names(8, 13), ms: 6 })
    expect(bench.turn(() => bench.report("late", 1))).toEqual({ names: names(14, 19), ms: 6 })
    expect(bench.share.depth).toBe(22)
  })

  it("takes a little of what waits also in turns that are long already, and none of what comes in them", () => {
    const bench = new Bench()
    bench.report("first", 9)
    for (const name of names(1, 3)) bench.report(name, 1)
    for (let i = 1; i <= 3; i++) {
      const held = bench.turn(() => {
        bench.ms += 20
        bench.report(`late ${i}`, 1)
      })
      expect(held).toEqual({ names: [`r${i}`], ms: 21 })
    }
    expect(bench.share.depth).toBe(3)
  })

  it("lets nothing that comes later overtake what waits", () => {
    const bench = new Bench()
    bench.turn(() => {
      for (const name of names(1, 8)) bench.report(name, 1)
    })
    expect(bench.turn(() => bench.report("late", 0)).names).toEqual(["r8", "late"])
  })

  it("takes at once what would make too many wait, or too much text", () => {
    const bench = new Bench()
    bench.report("first", 9)
    for (let i = 0; i < 16_384; i++) bench.report(`waits ${i}`, 0)
    bench.report("one too many", 0)
    expect([bench.taken, bench.share.depth]).toEqual([["first", "one too many"], 16_384])

    const wide = new Bench()
    wide.report("first", 9)
    for (let i = 0; i < 32; i++) wide.report(`waits ${i}`, 0, 1_048_576)
    wide.report("too much", 0, 1)
    expect([wide.taken, wide.share.depth]).toEqual([["first", "too much"], 32])
    for (let i = 0; i < 2; i++) wide.turn()
    expect(wide.share.depth).toBe(0)
    wide.report("again", 9)
    wide.report("waits again", 0, 1_048_576)
    expect(wide.share.depth).toBe(1)
  })

  it("goes on with the others when one of them dies of a defect", () => {
    const bench = new Bench()
    bench.report("first", 9)
    bench.share.putOff(1, () => {
      throw new Error("a defect")
    })
    bench.report("second", 1)
    expect(() => bench.turn()).toThrow("a defect")
    expect(bench.turn().names).toEqual(["second"])
  })

  it("keeps nothing of what is taken, even while others never cease to wait", async () => {
    const bench = new Bench()
    bench.report("first", 9)
    const bodies: Array<WeakRef<object>> = []
    const putOff = () => {
      const body = { text: "a report" }
      bodies.push(new WeakRef(body))
      bench.share.putOff(1, () => {
        bench.ms += 1
        bench.taken.push(body.text)
      })
    }
    for (let i = 0; i < 20; i++) putOff()
    expect(bench.turn().names.length).toBe(6)
    expect(bench.share.depth).toBe(14)
    // A weak reference is strong until the turn that made it is over.
    await new Promise((resume) => setImmediate(resume))
    collect()
    expect(bodies.map((one) => one.deref() === undefined)).toEqual(bodies.map((_, i) => i < 6))
  })

  it("takes every report once and in order, whatever comes in whichever turn", () => {
    const stretch = fc.array(fc.record({ ms: fc.integer({ min: 0, max: 7 }), size: fc.nat(9_000_000) }), {
      maxLength: 12
    })
    fc.assert(
      fc.property(fc.array(stretch, { maxLength: 12 }), (stretches) => {
        const bench = new Bench()
        const told: Array<string> = []
        const isWide = stretches.flat().reduce((sum, { size }) => sum + size, 0) > 33_554_432
        for (const reports of stretches) {
          bench.turn(() => {
            for (const { ms, size } of reports) {
              told.push(`r${told.length}`)
              bench.report(told[told.length - 1] as string, ms, size)
            }
          })
        }
        for (let left = 200; left > 0 && !bench.isIdle; left--) bench.turn()
        expect([bench.isIdle, bench.share.depth]).toEqual([true, 0])
        // Past the bound on text a report may overtake those that wait.
        expect(isWide ? [...bench.taken].sort() : bench.taken).toEqual(isWide ? [...told].sort() : told)
      })
    )
  })
})
