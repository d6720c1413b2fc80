// How a chart over time is drawn: scales, axes, lines, cursor and what dragging does.
import uPlot from "uplot"
import { lonely, type Cell } from "./Columns.ts"
import type { Stretch } from "./Times.ts"
import { dashes, type Colours } from "./Palette.svelte.ts"
import type { Height } from "./Units.ts"

/** Px of the plot with its time axis. */
export const plotHeight = 176
/** Px beside the plot for the labels of the value axis, the same for all charts so that their times line up. */
const labelWidth = 64
const timeHeight = 24
/** Px of a drag that counts as one. */
const dragMin = 6

export interface PlotInput {
  readonly width: number
  readonly seriesCount: number
  /** Empty for the zone of the viewer. */
  readonly zone: string
  readonly colours: Colours
  /** Read at every drawing. */
  readonly stretch: () => Stretch
  readonly height: () => Height
  readonly cells: (series: number) => ReadonlyArray<Cell>
  readonly printTick: (value: number) => string
  readonly printTime: (ms: number, pauseMs: number) => string
  readonly onzoom: (fromMs: number, toMs: number) => void
  readonly onreset: () => void
  readonly oncursor: (plot: uPlot) => void
}

const axesOf = ({ colours, height, printTick, printTime }: PlotInput): Array<uPlot.Axis> => [
  {
    stroke: colours.text,
    font: colours.font,
    size: timeHeight,
    gap: 4,
    space: 76,
    grid: { show: false },
    ticks: { stroke: colours.grid, width: 1, size: 4 },
    values: (_, splits, __, ___, pauseMs) => splits.map((ms) => printTime(ms, pauseMs))
  },
  {
    stroke: colours.text,
    font: colours.font,
    size: labelWidth,
    gap: 8,
    grid: { stroke: colours.grid, width: 1 },
    ticks: { show: false },
    splits: () => [...height().ticks],
    values: (_, splits) => splits.map(printTick)
  }
]

const seriesOf = ({ colours, seriesCount, cells }: PlotInput): Array<uPlot.Series> => [
  {},
  ...Array.from({ length: seriesCount }, (_, i): uPlot.Series => {
    const stroke = colours.lines[i % colours.lines.length] ?? colours.text
    return {
      stroke,
      width: 1.6,
      dash: [...(dashes[i % dashes.length] ?? [])],
      ...(i === 0 ? { fill: `color-mix(in srgb, ${stroke} 9%, transparent)` } : {}),
      points: {
        show: false,
        size: 4,
        width: 0,
        fill: stroke,
        filter: () => {
          const points = lonely(cells(i))
          return points.length === 0 ? null : [...points]
        }
      }
    }
  })
]

const cursorOf = ({ colours, onreset }: PlotInput): uPlot.Cursor => ({
  y: false,
  drag: { x: true, y: false, setScale: false, dist: dragMin },
  // Others follow the cursor, but not the drag.
  sync: { key: "history", scales: ["x", null], filters: { pub: (type) => type === "mousemove" } },
  points: { size: 7, width: 1.5, stroke: colours.surface, fill: (_, i) => colours.lines[i - 1] ?? colours.text },
  bind: {
    dblclick: () => () => {
      onreset()
      return null
    }
  }
})

export const plotOptions = (input: PlotInput): uPlot.Options => ({
  width: input.width,
  height: plotHeight,
  ms: 1,
  ...(input.zone === "" ? {} : { tzDate: (ms: number) => uPlot.tzDate(new Date(ms), input.zone) }),
  // A cycle ends on the mark of a day, half of whose label lies beside the plot.
  padding: [8, input.zone === "" ? 10 : 24, 0, 0],
  legend: { show: false },
  scales: {
    x: { time: true, range: () => [input.stretch().fromMs, input.stretch().toMs] },
    y: { range: () => [input.height().low, input.height().high] }
  },
  axes: axesOf(input),
  series: seriesOf(input),
  cursor: cursorOf(input),
  hooks: {
    setCursor: [input.oncursor],
    setSelect: [
      (plot) => {
        const { left, width } = plot.select
        if (width < dragMin) return
        input.onzoom(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"))
        plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
      }
    ]
  }
})
