// The history of the seeded fleet: waves with noise, absent buckets and a gap, and a strip of reports.
import { historyPointsMax, historyRanges, onlineBuckets, onlineSteps } from "../../schema/HistoryTerms.ts"
import type { HistoryAnswer, OnlineAnswer, OnlineRange } from "../../schema/History.ts"
import type { HistoryRange } from "../../schema/HistoryTerms.ts"
import type { Snapshot } from "../../schema/Snapshot.ts"
import type { FakeNode } from "./FakeFleet.ts"
import { Refused } from "./FakeRecords.ts"

export const temperatureDevices = ["nvme0n1", "sda"]

/** A snapshot of a Linux node also names the disks whose temperature is kept. */
export const withTemperatures = (snapshot: Snapshot): Snapshot =>
  snapshot.system.os_family === "linux"
    ? { ...snapshot, disk: { ...snapshot.disk, temperature_devices: temperatureDevices } }
    : snapshot

const utc = (ms: number): string => new Date(ms).toISOString().replace(".000Z", "Z")

const hash = (text: string): number => [...text].reduce((sum, one) => (sum * 31 + one.charCodeAt(0)) | 0, 7)

/** Between 0 and 1, the same in every run. */
const noise = (seed: number, bucket: number): number => {
  const wave = Math.sin(seed * 12.9898 + bucket * 78.233) * 43_758.5453
  return wave - Math.floor(wave)
}

const topOf = (metric: string): number => {
  if (metric.endsWith("_ratio")) return 1
  if (metric.endsWith("_bps")) return 40_000_000
  if (metric.endsWith("temp_c")) return 80
  if (metric.startsWith("pressure.")) return 20
  return metric.startsWith("cpu.load") ? 6 : 400
}

/** What the fake nodes do not report; a device is one of those that their snapshots name. */
const isReported = (node: FakeNode, metric: string, device: string | null): boolean => {
  if (metric.startsWith("swap.")) return false
  if (node.os !== "linux" && /temp_c|^pressure|^cpu\.load/.test(metric)) return false
  return device === null || !device.startsWith("gone")
}

const stepOf = (spanMs: number): number =>
  [3, 6, 15, 60, 120, 900, 1800, 3600].find((step) => spanMs / 1000 / step <= historyPointsMax / 2) ?? 86_400

/** A wave with noise, absent buckets now and then, and a gap in the middle third. */
export const historyOf = (node: FakeNode, query: URLSearchParams, nowMs: number): HistoryAnswer => {
  const [metric, device, range] = [query.get("metric") ?? "", query.get("device"), query.get("range")]
  const [from, to] = [query.get("from"), query.get("to")]
  const known = range === null ? undefined : historyRanges[range as HistoryRange]
  if (metric === "" || (metric.startsWith("disk.") && device === null) || (known === undefined && from === null))
    throw new Refused(400, "invalid_request")
  const toMs = known === undefined ? Number(to) * 1000 : nowMs
  const fromMs = known === undefined ? Number(from) * 1000 : nowMs - known.spanMs
  const stepSec = known?.stepSec ?? stepOf(toMs - fromMs)
  const stepMs = stepSec * 1000
  const seed = hash(`${node.id} ${metric} ${device ?? ""}`) % 997
  const gapMs = [fromMs + (toMs - fromMs) * 0.42, fromMs + (toMs - fromMs) * 0.5] as const
  const points: Array<{ ts: string; value: number | null }> = []
  const isKept = isReported(node, metric, device)
  for (let ms = Math.ceil(fromMs / stepMs) * stepMs; isKept && ms <= toMs; ms += stepMs) {
    const bucket = ms / stepMs
    if ((ms > gapMs[0] && ms < gapMs[1]) || (stepSec <= 6 && noise(3, bucket) < 0.1)) continue
    const swing =
      0.4 + 0.25 * Math.sin((ms - fromMs) / ((toMs - fromMs) / 9) + seed) + 0.12 * (noise(seed, bucket) - 0.5)
    points.push({ ts: utc(ms), value: Math.round(topOf(metric) * swing * 1e6) / 1e6 })
  }
  return {
    server_id: node.id,
    metric,
    range: known === undefined ? "custom" : (range ?? ""),
    agg: query.get("agg") as HistoryAnswer["agg"],
    step_sec: stepSec,
    ...(device === null ? {} : { device }),
    from: utc(Math.floor(fromMs / 1000) * 1000),
    to: utc(Math.floor(toMs / 1000) * 1000),
    points,
    missing: metric === "mem.used_ratio" ? [{ from: utc(Math.floor(gapMs[0])), to: utc(Math.floor(gapMs[1])) }] : []
  }
}

/** Complete stretches but for one that is nearly so, one in part, one silent and one in which nothing was due. */
export const onlineOf = (node: FakeNode, range: OnlineRange, nowMs: number): OnlineAnswer => {
  const stepSec = onlineSteps[range]
  const endMs = Math.floor(nowMs / stepSec / 1000) * stepSec * 1000
  const due = stepSec / 3
  const special = new Map([
    [11, [due, due - 4]],
    [19, [due, Math.floor(due / 3)]],
    [20, [due, 0]],
    [30, [0, 0]]
  ])
  return {
    server_id: node.id,
    range,
    step_sec: stepSec,
    points: Array.from({ length: onlineBuckets }, (_, i) => {
      const [expected = 0, received = 0] = special.get(i) ?? [due, due]
      const rate = expected === 0 ? 0 : received / expected
      return {
        ts: utc(endMs - (onlineBuckets - i) * stepSec * 1000),
        status: rate >= 0.995 ? 0 : rate >= 0.99 ? 1 : 2,
        rate,
        received,
        expected
      }
    })
  }
}
