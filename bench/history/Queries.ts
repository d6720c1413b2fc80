// How long one page waits for its charts: queries one after the other, with a thousand nodes behind them.
import { stop } from "../Children.ts"
import { type Figure, quantile, type Result } from "../Figures.ts"
import { startService } from "../Service.ts"
import { type AskedRange, askedRanges } from "./Asker.ts"
import { warmAsker } from "./Asking.ts"
import type { FillResult } from "./Filling.ts"
import { roomy } from "./Room.ts"

/** Of the points of a range; the last minutes may be missing, since nothing reports here. */
const shareMin = 0.8

export const queries = async (home: string, { series, tail }: FillResult, seconds: number): Promise<Result> => {
  const service = await startService(home, { env: roomy })
  const asker = await warmAsker(service.port, series, 1, shareMin)
  const taken: Record<AskedRange, Array<number>> = { "1h": [], "24h": [], "30d": [] }
  const until = performance.now() + seconds * 1000
  while (performance.now() < until) for (const range of askedRanges) taken[range].push(await asker.ask(range))
  asker.close()
  await stop(service.child)
  const sorted = (range: AskedRange) => taken[range].sort((a, b) => a - b)
  const figures = askedRanges.map((range): Figure => {
    return { name: `history.query_${range}_p99_ms`, value: quantile(sorted(range), 0.99), unit: "ms" }
  })
  const halves = askedRanges.map((range) => {
    const found = sorted(range)
    return `${range} ${quantile(found, 0.5).toFixed(1)} ms, slowest ${quantile(found, 1).toFixed(1)} ms`
  })
  return {
    figures,
    notes: [
      `${taken["1h"].length} queries of each range, in turn, one at a time over HTTP on loopback, from sending to the last byte, client included; file in the system's cache, ${tail} rows not sealed at the start`,
      `half of them within: ${halves.join("; ")}`
    ]
  }
}
