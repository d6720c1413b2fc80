// Checksums of rows: every change of a stored row shows, and an unchanged one comes back as it was.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { isWhole, unsealed, withChecksum } from "../../src/store/Checksum.ts"

const rows = fc.record({
  seq: fc.maxSafeNat(),
  nodeId: fc.nat(),
  receivedAt: fc.maxSafeNat(),
  vector: fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes)),
  details: fc.option(fc.string({ unit: "binary" }))
})
type Row = { seq: number; nodeId: number; receivedAt: number; vector: Buffer; details: string | null }
const stored = (row: Row): Row => ({ ...row, vector: Buffer.from(withChecksum(row, row.details)) })

describe("a row's checksum", () => {
  it("fails when any bit of the vector is another, or when bytes are missing", () => {
    fc.assert(
      fc.property(rows, fc.nat(), fc.nat(7), (row, place, bit) => {
        const changed = stored(row)
        const at = place % changed.vector.length
        changed.vector[at] = (changed.vector[at] ?? 0) ^ (1 << bit)

        expect(isWhole(changed, changed.details)).toBe(false)
        expect(unsealed(changed).vector.length).toBe(0)
        const cut = stored(row)
        expect(isWhole({ ...cut, vector: cut.vector.subarray(0, at % 4) }, cut.details)).toBe(false)
      })
    )
  })

  it("fails when one number of the row is another by one bit, or when its details are others", () => {
    fc.assert(
      fc.property(rows, fc.nat(51), (row, bit) => {
        const whole = stored(row)
        const flipped = (value: number) => Number(BigInt(value) ^ (1n << BigInt(bit)))

        for (const name of ["seq", "nodeId", "receivedAt"] as const) {
          expect(isWhole({ ...whole, [name]: flipped(whole[name]) }, whole.details), name).toBe(false)
        }
        expect(isWhole(whole, whole.details === null ? "" : null)).toBe(false)
        expect(isWhole(whole, `${whole.details ?? ""}x`)).toBe(false)
      })
    )
  })

  it("comes off again without a trace", () => {
    fc.assert(
      fc.property(rows, (row) => {
        expect(unsealed(stored(row))).toEqual(row)
      })
    )
  })
})
