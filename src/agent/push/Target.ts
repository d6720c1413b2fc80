// What is sent to one target: the newest report, one at a time, and the static description until it is accepted.
import { isComplete } from "../Collector.ts"
import type { Log } from "../Log.ts"
import type { Static } from "../Report.ts"
import { readAnswer } from "./Answer.ts"
import type { Endpoint } from "./Endpoint.ts"
import { ExchangeFailed } from "./Exchange.ts"
import type { UpdateManifest } from "./Update.ts"

export interface TargetOptions {
  readonly endpoint: Endpoint
  readonly describe: () => Static
  /** Called with the manifest, or null, of every accepted report. */
  readonly onAnswer: (update: UpdateManifest | null) => void
  readonly requestTimeoutMs: number
  readonly staticRetryMs: number
  /** Says at most one line a minute. */
  readonly say: (line: string) => void
  readonly log: Log
}

export interface Target {
  /** Sends the body, or keeps it as the newest until the request under way has ended. */
  readonly offer: (body: Buffer) => void
  /** Sends the static description now, and again until it was complete and accepted. */
  readonly wantStatic: () => void
  readonly stop: () => void
}

/** A single lost connection is no news; from the third in a row on the target is called unreachable, once. */
const failuresForSilence = 3

const codeOf = (error: unknown): string => (error instanceof ExchangeFailed ? error.code : "unknown")

const isRedirect = (status: number): boolean => status >= 300 && status < 400

/** Says what a status other than 200 means for the operator. */
const refusal = (what: string, status: number): string =>
  isRedirect(status) ? `${what} answered ${status}; redirects are not followed` : `${what} answered ${status}`

/** Sends the static description; `isStopped` ends it. */
const makeStaticSender = (options: TargetOptions, isStopped: () => boolean) => {
  const { describe, endpoint, log, requestTimeoutMs, say, staticRetryMs } = options
  let isBusy = false
  let isWanted = false
  let retry: NodeJS.Timeout | undefined

  const attempt = async (): Promise<boolean> => {
    try {
      const fixed = describe()
      const { status } = await endpoint.post("static", Buffer.from(JSON.stringify(fixed)), requestTimeoutMs)
      log.debug(`${endpoint.label}: static ${status}`)
      if (status !== 200) say(refusal(`${endpoint.label}: static`, status))
      return status === 200 && isComplete(fixed)
    } catch (error) {
      log.debug(`${endpoint.label}: static failed: ${codeOf(error)}`)
      return false
    }
  }
  const want = (): void => {
    isWanted = true
    if (!isBusy) void run()
  }
  const run = async (): Promise<void> => {
    isBusy = true
    clearTimeout(retry)
    let isDone = false
    while (isWanted && !isStopped()) {
      isWanted = false
      isDone = await attempt()
    }
    isBusy = false
    if (!isDone && !isStopped()) retry = setTimeout(want, staticRetryMs)
  }
  return { want, stop: () => clearTimeout(retry) }
}

export const makeTarget = (options: TargetOptions): Target => {
  const { endpoint, log, onAnswer, requestTimeoutMs, say } = options
  let isStopped = false
  let isBusy = false
  let newest: Buffer | null = null
  let failures = 0
  const fixed = makeStaticSender(options, () => isStopped)

  const accepted = (): void => {
    if (failures >= failuresForSilence) {
      say(`${endpoint.label}: reachable again`)
      fixed.want()
    }
    failures = 0
  }
  const lost = (code: string): void => {
    failures += 1
    log.debug(`${endpoint.label}: report failed: ${code}`)
    if (failures === failuresForSilence) say(`${endpoint.label}: unreachable (${code}); silent until it answers again`)
  }
  const push = async (body: Buffer): Promise<void> => {
    try {
      const reply = await endpoint.post("metrics", body, requestTimeoutMs)
      log.debug(`${endpoint.label}: report ${reply.status}`)
      if (reply.status !== 200) return say(refusal(`${endpoint.label}: report`, reply.status))
      accepted()
      const answer = readAnswer(reply)
      if (answer.kind === "unreadable") say(`${endpoint.label}: the ${answer.what} in the reply cannot be read`)
      onAnswer(answer.kind === "update" ? answer.manifest : null)
    } catch (error) {
      if (codeOf(error) !== "stopped") lost(codeOf(error))
    }
  }
  const drain = async (): Promise<void> => {
    isBusy = true
    while (newest !== null && !isStopped) {
      const body = newest
      newest = null
      await push(body)
    }
    isBusy = false
  }
  const offer = (body: Buffer): void => {
    newest = body
    if (!isBusy && !isStopped) void drain()
  }
  const stop = (): void => {
    isStopped = true
    newest = null
    fixed.stop()
    endpoint.close()
  }
  return { offer, wantStatic: fixed.want, stop }
}
