// The figures of one chart: read when they are wanted, kept on show until newer ones are there.
import type { HistoryAnswer } from "../../../../../schema/History.ts"
import type { ChartSpec } from "./ChartSpecs.ts"
import { columnsOf, isEmpty, type Columns } from "../../../charts/Columns.ts"
import type { HistoryBoard } from "./HistoryBoard.svelte.ts"
import type { Stretch } from "../../../charts/Times.ts"

export interface Shown {
  readonly columns: Columns
  readonly stretch: Stretch
  readonly stepSec: number
  readonly missing: ReadonlyArray<Stretch>
  readonly viewKey: string
}

/** Damaged stretches of all series, each once, in the order of time. */
const missingOf = (answers: ReadonlyArray<HistoryAnswer>): ReadonlyArray<Stretch> => {
  const all = answers.flatMap((answer) =>
    answer.missing.map(({ from, to }) => ({ fromMs: Date.parse(from), toMs: Date.parse(to) }))
  )
  const once = new Map(all.map((one) => [`${one.fromMs} ${one.toMs}`, one]))
  return [...once.values()].sort((a, b) => a.fromMs - b.fromMs)
}

export class ChartFeed {
  shown = $state.raw<Shown | null>(null)
  #doneKey = ""
  #doneViewKey = ""

  /**
   * Does nothing when the figures are there already. A chart without any is not asked for again before the view
   * changes; `seriesKey` tells what is asked for.
   */
  async load(board: HistoryBoard, spec: ChartSpec, seriesKey: string, signal: AbortSignal): Promise<void> {
    const { stretch, viewKey } = board
    const [key, longKey] = [`${seriesKey} ${board.key}`, `${seriesKey} ${viewKey}`]
    const isKnown = key === this.#doneKey || (board.isEmpty(spec) && longKey === this.#doneViewKey)
    if (isKnown || board.isRefused) return
    try {
      const answers = await board.read(spec, signal)
      if (signal.aborted) return
      const stepSec = Math.max(1, ...answers.map((answer) => answer.step_sec))
      const columns = columnsOf(
        answers.map((answer) => answer.points),
        stepSec
      )
      this.#doneKey = key
      this.#doneViewKey = longKey
      this.shown = { columns, stretch, stepSec, missing: missingOf(answers), viewKey }
      board.settle(spec, isEmpty(columns))
    } catch (thrown) {
      if (!signal.aborted) board.fail(spec, thrown)
    }
  }
}
