// How much of a held loop is put down to the machine: no more than its own cores really stood.
import { describe, expect, it } from "vitest"
import { type Blocks, merged, ownOf, type Stop, stoodMs, type Turn } from "../../bench/Turns.ts"

const turn = (fromMs: number, toMs: number, cores: ReadonlyArray<number> = [0, 0], heldMs = toMs - fromMs): Turn => ({
  fromMs,
  toMs,
  heldMs,
  cpuMs: 0,
  queuedMs: 0,
  workedMs: 0,
  cores
})
const stop = (fromMs: number, toMs: number, core = 0): Stop => ({ fromMs, toMs, core })

describe("stops of the machine", () => {
  it("that several watchers saw count once, whatever their order and however they overlap", () => {
    expect(merged([stop(5, 9), stop(0, 3), stop(2, 6), stop(20, 30, 1), stop(8, 8)])).toEqual([
      stop(0, 9),
      stop(20, 30, 1)
    ])
  })

  it("excuse a turn as far as they lie in it and on its cores", () => {
    expect(stoodMs(turn(100, 150), [stop(90, 110), stop(105, 120), stop(140, 190), stop(0, 99), stop(151, 160)])).toBe(
      30
    )
    expect(stoodMs(turn(100, 150), [stop(100, 150, 1)])).toBe(0)
    expect(stoodMs(turn(100, 150, [0, 1]), [stop(100, 130, 1), stop(120, 140, 0)])).toBe(40)
  })

  it("leave what is the service's own: the longest turn may be another one then", () => {
    const long = [turn(0, 100), turn(200, 230), turn(300, 312), turn(400, 440, [0, 0], 25)]
    const blocks: Blocks = { maxMs: 0, p99Ms: 0, p999Ms: 0, long, slowest: { ms: 0, statement: "" } }

    expect(ownOf(blocks, [stop(10, 95), stop(400, 440)])).toEqual({
      ownMs: 30,
      cpuMs: 0,
      workedMs: 0,
      ownOver: 1,
      over: 3
    })
    expect(ownOf({ ...blocks, long: [] }, [])).toEqual({ ownMs: 0, cpuMs: 0, workedMs: 0, ownOver: 0, over: 0 })
  })

  it("are not the database's: of its work counts what fits into the turn's own time, the longest of all turns", () => {
    const long = [
      { ...turn(0, 100), workedMs: 40 },
      { ...turn(200, 230), workedMs: 12 }
    ]
    const blocks: Blocks = { maxMs: 0, p99Ms: 0, p999Ms: 0, long, slowest: { ms: 0, statement: "" } }

    expect(ownOf(blocks, []).workedMs).toBe(40)
    expect(ownOf(blocks, [stop(5, 100)]).workedMs).toBe(12)
  })
})
