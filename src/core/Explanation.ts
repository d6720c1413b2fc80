// The facts behind a figure: every slot as it stands in the ledger, and which of them decide the percentile.
import type { FactFlag, TrafficExplain, TrafficFact } from "../../schema/TrafficProof.ts"
import { type Fact, isSample, ratesOf } from "./Bucket.ts"
import { Flag } from "./Counter.ts"
import type { Sides } from "./Direction.ts"
import { isoSeconds } from "./Online.ts"
import { dropOneIn, Percentile, samplesMin } from "./Percentile.ts"
import type { Stretch } from "./Usage.ts"

const flagNames: ReadonlyArray<readonly [number, FactFlag]> = [
  [Flag.reset, "reset"],
  [Flag.lowerBound, "lower_bound"],
  [Flag.wrap32, "wrap32"],
  [Flag.quarantined, "quarantined"]
]

/** A fact on the wire. */
export const factAnswer = (fact: Fact): TrafficFact => {
  const valid = isSample(fact)
  const rates = valid ? ratesOf(fact) : undefined
  return {
    start: isoSeconds(fact.start),
    in_bytes: fact.inBytes,
    out_bytes: fact.outBytes,
    covered_sec: fact.coveredMs / 1000,
    valid,
    in_rate: rates?.in ?? null,
    out_rate: rates?.out ?? null,
    gap_count: fact.gaps,
    reset_count: fact.resets,
    flags: flagNames.flatMap(([bit, name]) => ((fact.flags & bit) === 0 ? [] : [name]))
  }
}

const rule =
  `Sort the average rates of all valid five-minute slots descending, discard the highest floor(0.05 n), take the next. ` +
  `At least ${samplesMin} valid slots; in, out and the sum of both per slot each by itself; no interpolation.`

/** What a cycle's percentile and totals are made of; `facts` ascending, all of the cycle. */
export const explained = (
  { endMs, startMs }: Stretch,
  facts: ReadonlyArray<Fact>
): Pick<TrafficExplain, "facts" | "p95" | "gaps" | "resets"> => {
  const percentile = Percentile.of(startMs, endMs, facts)
  const found = percentile.p95()
  const isAvailable = found._tag === "Available"
  const side = (of: keyof Sides) => ({
    discarded: isAvailable ? Math.floor(percentile.samples / dropOneIn) : 0,
    deciding: isAvailable ? { start: isoSeconds(found.bucket[of]), bytes_per_sec: found.rate[of] } : null
  })
  const counted = (count: (fact: Fact) => number) =>
    facts.flatMap((fact) => (count(fact) > 0 ? [{ start: isoSeconds(fact.start), count: count(fact) }] : []))
  return {
    facts: facts.map(factAnswer),
    p95: { rule, sample_count: percentile.samples, in: side("in"), out: side("out"), total: side("both") },
    gaps: counted(({ gaps }) => gaps),
    resets: counted(({ resets }) => resets)
  }
}
