// The loops of a pushing agent: one sample per interval to all targets, slow refreshes, and changes of the description.
import type { Clock } from "../Clock.ts"
import type { Collector } from "../Collector.ts"
import { type Log, makeThrottle } from "../Log.ts"
import { agentVersion } from "../Version.ts"
import type { Endpoint } from "./Endpoint.ts"
import { makeTarget, type Target } from "./Target.ts"
import { agreeOnUpdate, type UpdateManifest } from "./Update.ts"

export interface PushTiming {
  readonly intervalMs: number
  /** Between the end of one slow refresh and the start of the next. */
  readonly slowMs: number
  /** How long the first static description waits for the first refresh. */
  readonly startLimitMs: number
  readonly staticRetryMs: number
  readonly contentCheckMs: number
  readonly requestTimeoutMs: number
  readonly complainEveryMs: number
}

const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value))

/** The periods that follow from the interval. */
export const timingOf = (intervalSeconds: number): PushTiming => ({
  intervalMs: intervalSeconds * 1000,
  slowMs: Math.min(60, 20 * intervalSeconds) * 1000,
  startLimitMs: 2000,
  staticRetryMs: 10_000,
  contentCheckMs: clamp(20 * intervalSeconds, 10, 60) * 1000,
  requestTimeoutMs: 10_000,
  complainEveryMs: 60_000
})

export interface PushOptions {
  readonly collector: Collector
  readonly endpoints: ReadonlyArray<Endpoint>
  readonly timing: PushTiming
  readonly clock: Clock
  readonly log: Log
  /** Ends the push. */
  readonly signal: AbortSignal
}

/** Watches the replies of all targets; this build has no managed layout to update, and says so once. */
const makeUpdateWatch = (targets: number, log: Log) => {
  const latest: Array<UpdateManifest | null> = Array.from({ length: targets }, () => null)
  let isTold = false
  return (target: number, update: UpdateManifest | null): void => {
    latest[target] = update
    if (isTold || update === null || agreeOnUpdate(latest, agentVersion).kind !== "agreed") return
    isTold = true
    log.warn("self-update is disabled for this binary")
  }
}

const makeTargets = (options: PushOptions): ReadonlyArray<Target> => {
  const { clock, collector, endpoints, log, timing } = options
  const seen = makeUpdateWatch(endpoints.length, log)
  return endpoints.map((endpoint, index) =>
    makeTarget({
      endpoint,
      describe: collector.describe,
      onAnswer: (update) => seen(index, update),
      requestTimeoutMs: timing.requestTimeoutMs,
      staticRetryMs: timing.staticRetryMs,
      say: makeThrottle(clock, timing.complainEveryMs, log.warn),
      log
    })
  )
}

/** Calls `act` at every whole multiple of the period after the start; what falls into a late call is skipped. */
const every = (clock: Clock, periodMs: number, act: () => void): (() => void) => {
  const startMs = clock.monotonicMs()
  let round = 1
  let timer: NodeJS.Timeout | undefined
  const schedule = (): void => {
    timer = setTimeout(tick, Math.max(0, startMs + round * periodMs - clock.monotonicMs()))
  }
  const tick = (): void => {
    act()
    round = Math.max(round, Math.floor((clock.monotonicMs() - startMs) / periodMs)) + 1
    schedule()
  }
  schedule()
  return () => clearTimeout(timer)
}

/** Repeats the refresh, never two at a time, until `isStopped`. */
const keepRefreshing = (collector: Collector, first: Promise<void>, pauseMs: number): (() => void) => {
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  const next = (): void => {
    if (!isStopped) timer = setTimeout(() => void collector.refresh().then(next), pauseMs)
  }
  void first.then(next)
  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}

/** The description without its time, to be compared. */
const contentOf = (collector: Collector): string => JSON.stringify({ ...collector.describe(), timestamp: "" })

const startLimit = async (first: Promise<void>, limitMs: number, signal: AbortSignal): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs)
    signal.addEventListener("abort", () => resolve(), { once: true })
  })
  await Promise.race([first, limit])
  clearTimeout(timer)
}

/** Pushes until the signal: the description at once, the first report after the first interval. Never rejects. */
export const runPush = async (options: PushOptions): Promise<void> => {
  const { clock, collector, log, signal, timing } = options
  const targets = makeTargets(options)
  const complain = makeThrottle(clock, timing.complainEveryMs, log.warn)
  const report = (): void => {
    try {
      const body = Buffer.from(JSON.stringify(collector.sample()))
      for (const target of targets) target.offer(body)
    } catch (error) {
      complain(`no report this time: ${error instanceof Error ? error.message : "unknown failure"}`)
    }
  }
  const first = collector.refresh()
  // The first sample is the base of the first rates and is not sent.
  collector.sample()
  const stops = [every(clock, timing.intervalMs, report), keepRefreshing(collector, first, timing.slowMs)]
  await startLimit(first, timing.startLimitMs, signal)
  if (!signal.aborted) {
    let content = contentOf(collector)
    for (const target of targets) target.wantStatic()
    const checkContent = (): void => {
      const current = contentOf(collector)
      if (current !== content) for (const target of targets) target.wantStatic()
      content = current
    }
    stops.push(every(clock, timing.contentCheckMs, checkContent))
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }))
  }
  for (const stop of stops) stop()
  for (const target of targets) target.stop()
}
