// The contract's vectors through real reports, the real journal and the disk.
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Fact, isSample, ratesOf } from "../../src/core/Bucket.ts"
import { epoch, reportOf } from "../support/Engine.ts"
import { allFactsOf, arrive, inLedger, onDiskOf } from "../support/TrafficLife.ts"

/** Readings as `mm:ss in/out`; rows as `rowOf` writes them. */
const vectors: ReadonlyArray<readonly [name: string, sent: string, ...rows: ReadonlyArray<string>]> = [
  ["T1", "04:58 5/9, 05:01 1005/509", "0 667/333 2 s -", "5 333/167 1 s -"],
  ["T2", "04:00 0/0, 09:00 300/600", "0 60/120 60 s -", "5 240/480 240 s -"],
  ["T3", "02:30 0/0, 14:30 7200/1441", "0 1500/300 150 s gap 1", "5 3000/601 300 s -", "10 2700/540 270 s -"],
  ["T4", "00:00 0/0, 05:01 301/602", "0 300/600 300 s gap 1", "5 1/2 1 s -"],
  [
    "T5",
    "00:00 1000/5000, 01:00 7000/5600, 02:00 13000/6200, 03:00 13000/6200, 04:00 43000/9200, 05:00 49000/9800, 06:00 55000/10400",
    "0 48000/4800 300 s at 160/16",
    "5 6000/600 60 s -"
  ],
  [
    "T6",
    "00:00 100000/200000, 01:00 160000/260000, 02:00 500/900, 03:00 6500/6900, 04:00 12500/12900, 05:00 18500/18900, 10:00 48500/48900",
    "0 78000/78000 240 s reset 1",
    "5 30000/30000 300 s at 100/100"
  ],
  [
    "T7",
    "00:00 0/0, 05:00 30000/60000, 17:00 102000/204000, 20:00 120000/240000",
    "0 30000/60000 300 s at 100/200",
    "5 30000/60000 300 s gap 1",
    "10 30000/60000 300 s -",
    "15 30000/60000 300 s -"
  ],
  ["T8", "01:00 0/0, 05:00 24000/48000, 10:00 54000/108000", "0 24000/48000 240 s -", "5 30000/60000 300 s at 100/200"],
  ["T9", "00:00 7/9, 05:00 7/9", "0 0/0 300 s at 0/0"]
]

/** Minute of the bucket, bytes in/out, covered time, and the rates of a sample or the reason for none. */
const rowOf = (fact: Fact): string => {
  const rates = ratesOf(fact)
  const reason = fact.gaps > 0 ? `gap ${fact.gaps}` : fact.resets > 0 ? `reset ${fact.resets}` : "-"
  const rest = isSample(fact) ? `at ${rates.in}/${rates.out}` : reason
  return `${(fact.start - epoch) / 60_000} ${fact.inBytes}/${fact.outBytes} ${fact.coveredMs / 1000} s ${rest}`
}

const bodyOf = (text: string) => {
  const [minutes = "", seconds = "", recv, sent] = text.trim().split(/[: /]/)
  const at = epoch + Number(minutes) * 60_000 + Number(seconds) * 1000
  const report = reportOf({ at })
  const network = [{ name: "eth0", bytes_recv: Number(recv), bytes_sent: Number(sent) }]
  return {
    at,
    text: JSON.stringify({ ...report, metrics: { ...report.metrics, network } }),
    isStatic: false,
    applies: true
  }
}

describe("reports on their way to the disk", () => {
  it.live.each(vectors.map(([name, sent, ...rows]) => ({ name, sent, rows })))(
    "come to the facts of vector $name",
    ({ rows, sent }) =>
      inLedger(
        Effect.gen(function* () {
          for (const text of sent.split(",")) expect(yield* arrive(1, bodyOf(text))).toBe("Acknowledged")
          const { eth0 = [] } = yield* allFactsOf(1)
          const isOpenBlank = eth0.at(-1)?.coveredMs === 0

          expect((isOpenBlank ? eth0.slice(0, -1) : eth0).map(rowOf)).toEqual(rows)
          // All but the open one are on disk already.
          expect((yield* onDiskOf(1))["eth0"]).toEqual(eth0.slice(0, -1))
        })
      )
  )
})
