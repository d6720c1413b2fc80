// The cache of chunks: what it gives, when it must not, and how much it keeps.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type Tier, tierNames } from "../../src/core/Tier.ts"
import { ChunkCache } from "../../src/store/ChunkCache.ts"

const row = (checksum: number, size: number) => ({ checksum, bytes: new Uint8Array(size) })
type Row = ReturnType<typeof row>

/** As a chunk that is read for the second time. */
const keep = (cache: ChunkCache<Row>, tier: Tier, id: number, kept: Row): void => {
  cache.put(tier, id, kept)
  cache.put(tier, id, kept)
}

describe("the cache of chunks", () => {
  it("gives a chunk that is as it was, and tells tiers apart", () => {
    const cache = new ChunkCache<Row>()
    const [raw, minute] = [row(10, 5), row(10, 6)]
    keep(cache, "raw", 7, raw)
    keep(cache, "minute", 7, minute)

    expect(cache.get("raw", 7, 10)).toBe(raw)
    expect(cache.get("minute", 7, 10)).toBe(minute)
    expect(cache.get("quarter", 7, 10)).toBe(undefined)
    expect(cache.get("raw", 8, 10)).toBe(undefined)
  })

  it("keeps nothing that was read once, nor once as it was and once as it is", () => {
    const cache = new ChunkCache<Row>()
    cache.put("raw", 7, row(10, 5))
    expect(cache.get("raw", 7, 10)).toBe(undefined)
    cache.put("raw", 7, row(60, 20))
    expect(cache.get("raw", 7, 60)).toBe(undefined)
    const joined = row(60, 20)
    cache.put("raw", 7, joined)
    expect(cache.get("raw", 7, 60)).toBe(joined)
  })

  it("remembers of the last 1,536 chunks that they were read", () => {
    const cache = new ChunkCache<Row>()
    for (let id = 1; id <= 1537; id++) cache.put("raw", id, row(id, 1))
    for (const id of [1, 3]) cache.put("raw", id, row(id, 1))
    expect([1, 3].map((id) => cache.get("raw", id, id) !== undefined)).toEqual([false, true])
  })

  it("does not give a chunk that others were joined to since, not even afterwards", () => {
    const cache = new ChunkCache<Row>()
    keep(cache, "raw", 7, row(10, 5))

    expect(cache.get("raw", 7, 60)).toBe(undefined)
    expect(cache.get("raw", 7, 10)).toBe(undefined)
    const joined = row(60, 20)
    keep(cache, "raw", 7, joined)
    expect(cache.get("raw", 7, 60)).toBe(joined)
  })

  it("keeps at most 8 MB, and forgets first what was not asked for the longest", () => {
    const cache = new ChunkCache<Row>()
    const megabyte = 1_048_576
    for (let id = 1; id <= 8; id++) keep(cache, "raw", id, row(id, megabyte))
    expect(cache.get("raw", 1, 1)).toBeDefined()
    keep(cache, "raw", 9, row(9, megabyte))

    expect([1, 2, 3, 9].map((id) => cache.get("raw", id, id) !== undefined)).toEqual([true, false, true, true])
    keep(cache, "hour", 1, row(1, 9 * megabyte))
    const left = [1, 3, 4, 5, 6, 7, 8, 9].filter((id) => cache.get("raw", id, id) !== undefined)
    expect([left, cache.get("hour", 1, 1)]).toEqual([[], undefined])
  })

  it("never gives anything but what was put last, whatever is asked in between", () => {
    const step = fc.record({
      tier: fc.constantFrom(...tierNames),
      id: fc.integer({ min: 1, max: 4 }),
      checksum: fc.integer({ min: 1, max: 3 }),
      size: fc.integer({ min: 0, max: 5_000_000 }),
      isPut: fc.boolean()
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const cache = new ChunkCache<Row>()
        const last = new Map<string, Row>()
        for (const { checksum, id, isPut, size, tier } of steps) {
          const key = `${tier} ${id}`
          if (isPut) {
            const put = row(checksum, size)
            cache.put(tier, id, put)
            last.set(key, put)
            continue
          }
          const found = cache.get(tier, id, checksum)
          if (found !== undefined) expect([found === last.get(key), found.checksum]).toEqual([true, checksum])
        }
      }),
      { numRuns: 60 }
    )
  })
})
