// Runs a rule over what history keeps of a node: when it would have opened and closed.
import { Clock, Effect, Either } from "effect"
import type { RulePreview, RulePreviewWrite, RuleWrite } from "../../schema/Alerts.ts"
import { InvalidFields, InvalidRequest, NotFound } from "../../schema/Errors.ts"
import type { HistoryAgg, HistoryAnswer, HistoryMetric } from "../../schema/History.ts"
import { NodeId } from "../../schema/Ids.ts"
import type { Viewer } from "../../schema/Session.ts"
import { timeOf } from "../../src/core/alert/EventQuery.ts"
import { silenceMs } from "../../src/core/alert/Health.ts"
import { coresOf } from "../../src/core/alert/Measures.ts"
import { type Point, preview } from "../../src/core/alert/Preview.ts"
import type { AlertMetric, AlertRule } from "../../src/core/alert/Rule.ts"
import { type RuleFields, ruleOf } from "../../src/core/alert/RuleWrite.ts"
import { mountsOf } from "../../src/core/DiskView.ts"
import type { NodeView } from "../../src/core/NodeView.ts"
import { isoSeconds } from "../../src/core/Online.ts"
import { HistoryReads } from "../HistoryReads.ts"
import { NodeSupervisor } from "../NodeSupervisor.ts"
import { pause } from "../Pause.ts"
import { AlertBook } from "./AlertBook.ts"

/** What is looked at when nothing is said. */
const dayMs = 86_400_000
/** Devices whose history one preview reads: some 20 ms each at worst. */
const devicesMax = 64

/** Series that together are the history of a metric: their largest value counts. */
interface Kept {
  readonly metric: HistoryMetric
  readonly device?: string
}

/** Every report has at least one of them. */
const presence: ReadonlyArray<Kept> = [{ metric: "cpu.usage_ratio" }, { metric: "mem.used" }, { metric: "conn.tcp" }]

const rootOf = (view: NodeView): string => {
  const mounts = view.layout === undefined ? [] : mountsOf(view)
  return mounts.find(({ mountpoint }) => mountpoint === "/")?.mountpoint ?? mounts[0]?.mountpoint ?? "/"
}

const disksOf = (view: NodeView): ReadonlyArray<Kept> =>
  (view.details?.smart?.devices ?? [])
    .map(({ name }) => name.trim())
    .filter((name) => name !== "")
    .slice(0, devicesMax)
    .map((device) => ({ metric: "disk.temp_c", device }))

/** Where history has the metric; undefined for states that it keeps no series of. Devices are those of the last report. */
const keptOf = (metric: AlertMetric, view: NodeView | undefined): ReadonlyArray<Kept> | undefined => {
  switch (metric) {
    case "node.offline":
      return presence
    case "disk.usage.used_ratio":
      return [{ metric: "disk.used_ratio", device: view === undefined ? "/" : rootOf(view) }]
    case "disk.smart.max_temp_c":
      // Without a disk the reading still says which stretch it was.
      return [{ metric: "disk.temp_c", device: "-" }, ...(view === undefined ? [] : disksOf(view))]
    case "raid.failed":
    case "disk.smart.failed":
    case "disk.smart.nvme.critical_warning":
    case "disk.smart.attribute_failing":
      return undefined
    default:
      return [{ metric }]
  }
}

/**
 * Which value of a step stands for it: one that lasts must hold at every moment of the step, one that opens at once
 * needs a single moment.
 */
const aggOf = ({ durationSec, operator }: RuleFields): HistoryAgg => {
  if (operator === "==" || operator === "!=") return "last"
  const isAbove = operator === ">" || operator === ">="
  return isAbove === (durationSec === 0) ? "max" : "min"
}

/** A rule to look at needs no name, and may be the built-in one about silence. */
const judged = (write: RuleWrite): Either.Either<RuleFields, InvalidFields> => {
  const named = { ...write, name: (write.name ?? "").trim() || "preview" }
  if (write.metric?.trim() !== "node.offline") return ruleOf(named)
  return Either.map(ruleOf({ ...named, metric: "conn.tcp" }), (fields) => ({ ...fields, metric: "node.offline" }))
}

const ruleFor = (fields: RuleFields): AlertRule => ({ ...fields, id: 0, generation: 1, createdAt: 0, updatedAt: 0 })

const pointsIn = (answers: ReadonlyArray<HistoryAnswer>): ReadonlyArray<Point> => {
  const values = new Map<string, number>()
  for (const { points } of answers) {
    for (const { ts, value } of points) if (value !== null) values.set(ts, Math.max(values.get(ts) ?? value, value))
  }
  return [...values].map(([ts, value]) => ({ atMs: Date.parse(ts), value })).sort((a, b) => a.atMs - b.atMs)
}

export const make = Effect.gen(function* () {
  const { history } = yield* HistoryReads
  const supervisor = yield* NodeSupervisor
  const book = yield* AlertBook

  const read = (viewer: Viewer, write: RulePreviewWrite, kept: ReadonlyArray<Kept>, agg: HistoryAgg) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const toMs = write.to === undefined || write.to === null ? now : timeOf(write.to.trim())
      if (toMs === undefined) return yield* new InvalidRequest({ message: "to must be an RFC 3339 time" })
      const to = isoSeconds(toMs)
      const from = write.from ?? isoSeconds(toMs - dayMs)
      return yield* Effect.forEach(kept, ({ device, metric }) =>
        Effect.zipLeft(
          history(viewer, { server_id: String(write.server_id), metric, agg, from, to, device: device ?? "" }),
          pause
        )
      )
    })

  /** The administrator's body against the history of a node that is there. */
  return Effect.fnUntraced(
    function* (viewer: Viewer, write: RulePreviewWrite) {
      const fields = yield* judged(write.rule)
      const view = supervisor.view(NodeId.make(Math.max(1, write.server_id)))
      const kept = keptOf(fields.metric, view)
      if (kept === undefined) {
        return yield* new InvalidFields({ message: `rule.metric: history keeps nothing of ${fields.metric}` })
      }
      const answers = yield* read(viewer, write, kept, aggOf(fields))
      const [first] = answers
      if (first === undefined) return yield* Effect.dieMessage("a metric without a series")
      const interval = view?.statics?.body.report_interval_seconds ?? 3
      const episodes = preview(ruleFor(fields), {
        points: pointsIn(answers),
        untilMs: Date.parse(first.to),
        // A step may have had its last report at its very end.
        staleMs: silenceMs(book.page().settings.offlineAfterSec, interval * 1000) + first.step_sec * 1000,
        cores: coresOf(view?.statics)
      })
      return {
        server_id: first.server_id,
        from: first.from,
        to: first.to,
        step_sec: first.step_sec,
        items: episodes.map(({ closedMs, openedMs }) => ({
          opened_at: isoSeconds(openedMs),
          closed_at: closedMs === null ? null : isoSeconds(closedMs)
        }))
      } satisfies RulePreview
    },
    // Only guests are told 403, and they do not get here.
    Effect.catchTag("Forbidden", ({ message }) => Effect.fail(new NotFound({ message })))
  )
})
