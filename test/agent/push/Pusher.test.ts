import { afterEach, describe, expect, it } from "vitest"
import { systemClock } from "../../../src/agent/Clock.ts"
import type { Collector } from "../../../src/agent/Collector.ts"
import { makeFallbackCollector } from "../../../src/agent/FallbackCollector.ts"
import { makeLog } from "../../../src/agent/Log.ts"
import type { Static } from "../../../src/agent/Report.ts"
import { makeEndpoint } from "../../../src/agent/push/Endpoint.ts"
import { type PushTiming, runPush, timingOf } from "../../../src/agent/push/Pusher.ts"
import { type Receiver, startReceiver, until } from "../support/Receiver.ts"

const secret = "s3cret-of-the-node"
const fast: PushTiming = {
  intervalMs: 20,
  slowMs: 20,
  startLimitMs: 50,
  staticRetryMs: 30,
  contentCheckMs: 25,
  requestTimeoutMs: 10_000,
  complainEveryMs: 60_000
}

/** A collector whose reports are numbered and whose description the test changes. */
const makeNumbered = () => {
  const base = makeFallbackCollector(
    { intervalSeconds: 1, interfaces: null, smartCachePath: "/none" },
    systemClock,
    "darwin",
    "arm64"
  )
  const state = { samples: 0, refreshes: 0, platform: "example", refresh: () => Promise.resolve() }
  const describeNode = (): Static => {
    const fixed = base.describe()
    return { ...fixed, system: { ...fixed.system, platform: state.platform } }
  }
  const collector: Collector = {
    sample: () => ({ ...base.sample(), hostname: `sample-${state.samples++}` }),
    describe: describeNode,
    refresh: () => {
      state.refreshes += 1
      return state.refresh()
    }
  }
  return { collector, state }
}

const stops: Array<() => Promise<void>> = []
const receivers: Array<Receiver> = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
  for (const receiver of receivers.splice(0)) await receiver.close()
})

const receiver = async (...options: Parameters<typeof startReceiver>): Promise<Receiver> => {
  const made = await startReceiver(...options)
  receivers.push(made)
  return made
}

const start = (urls: ReadonlyArray<string>, timing: Partial<PushTiming> = {}, refresh?: () => Promise<void>) => {
  const { collector, state } = makeNumbered()
  state.refresh = refresh ?? state.refresh
  const abort = new AbortController()
  const lines: Array<string> = []
  const log = makeLog((text) => lines.push(text), false)
  const endpoints = urls.map((url) =>
    makeEndpoint({ url, secret, requireHttps: false, ca: null, signal: abort.signal }, log)
  )
  const clock = systemClock
  const done = runPush({ collector, endpoints, timing: { ...fast, ...timing }, clock, log, signal: abort.signal })
  const stop = (): Promise<void> => {
    abort.abort()
    return done
  }
  stops.push(stop)
  return { state, lines, stop }
}

const hostnames = (target: Receiver): ReadonlyArray<string> =>
  target.bodiesFor("/metrics").map((body) => String(JSON.parse(body).hostname))

describe("runPush in trouble", () => {
  it("does not let a target that never answers delay another one", async () => {
    const hanging = await receiver(() => "hang")
    const healthy = await receiver()

    start([hanging.url, healthy.url])
    await until(() => healthy.bodiesFor("/metrics").length >= 10)

    expect(hanging.bodiesFor("/metrics")).toHaveLength(1)
  })

  it("sends the newest sample, not the missed ones, when a slow target is ready again", async () => {
    const slow = await receiver(() => "hang")
    const { state } = start([slow.url], { requestTimeoutMs: 200 })

    await until(() => hostnames(slow).length >= 2)

    const numbers = hostnames(slow).map((name) => Number(name.slice("sample-".length)))
    expect(numbers[0]).toBe(1)
    expect(numbers[1]).toBeGreaterThan(4)
    expect(numbers[1]).toBeLessThanOrEqual(state.samples)
  })

  it("goes on after 503 answers and complains once a minute, without the secret", async () => {
    const target = await receiver(({ path }) => (path.endsWith("/metrics") ? { status: 503, body: "busy" } : {}))
    const { lines } = start([target.url])

    await until(() => target.bodiesFor("/metrics").length >= 5)

    expect(lines).toEqual([`monitor-node: 127.0.0.1:${target.port}: report answered 503\n`])
    expect(lines.join("")).not.toContain(secret)
  })

  it("does not follow redirects", async () => {
    const elsewhere = await receiver()
    const target = await receiver(() => ({ status: 307, headers: { Location: elsewhere.url } }))
    const { lines } = start([target.url])

    await until(() => target.bodiesFor("/metrics").length >= 3)

    expect(elsewhere.received).toEqual([])
    expect(lines.join("")).toContain("redirects are not followed")
  })

  it("sends the description again when a target is back after three lost connections", async () => {
    const target = await receiver()
    const { lines } = start([target.url])
    await until(() => target.bodiesFor("/metrics").length >= 2)
    await target.close()
    await until(() => lines.some((line) => line.includes("unreachable (ECONNREFUSED)")))
    const linesWhileDown = lines.length

    const revived = await receiver(() => ({}), target.port)
    await until(() => revived.bodiesFor("/static").length >= 1 && revived.bodiesFor("/metrics").length >= 2)

    expect(target.bodiesFor("/static")).toHaveLength(1)
    expect(linesWhileDown).toBe(1)
  })

  it("does not send the description again after a single reset connection", async () => {
    let isReset = false
    const target = await receiver(({ path }) => {
      const resetNow = path.endsWith("/metrics") && !isReset
      isReset ||= resetNow
      return resetNow ? "reset" : {}
    })
    start([target.url])

    await until(() => target.bodiesFor("/metrics").length >= 6)

    expect(target.bodiesFor("/static")).toHaveLength(1)
  })

  it("sends a report again when a kept-alive connection was closed under it", async () => {
    const target = await receiver()
    start([target.url], { intervalMs: 60 })
    await until(() => target.bodiesFor("/metrics").length >= 2)
    let isReset = false
    target.behave(() => {
      const resetNow = !isReset
      isReset = true
      return resetNow ? "reset" : {}
    })
    await until(() => isReset && target.bodiesFor("/metrics").length >= 5)

    const names = hostnames(target)
    expect(names.length - new Set(names).size).toBe(1)
  })

  it("repeats the description until it is accepted and complete", async () => {
    let refusals = 2
    const target = await receiver(({ path }) => (path.endsWith("/static") && refusals-- > 0 ? { status: 503 } : {}))
    const { state } = start([target.url], { contentCheckMs: 60_000 })
    state.platform = " "
    await until(() => target.bodiesFor("/static").length >= 4)
    state.platform = "example"
    await until(() => target.bodiesFor("/static").some((body) => body.includes('"platform":"example"')))
    const count = target.bodiesFor("/static").length

    await until(() => target.bodiesFor("/metrics").length >= 20)

    expect(target.bodiesFor("/static")).toHaveLength(count)
  })

  it("keeps reporting while a refresh never ends", async () => {
    const target = await receiver()
    const { state } = start([target.url], { startLimitMs: 10 }, () => new Promise(() => undefined))

    await until(() => target.bodiesFor("/metrics").length >= 5 && target.bodiesFor("/static").length === 1)

    expect(state.refreshes).toBe(1)
  })

  it("ends at once while requests hang", async () => {
    const hanging = await receiver(() => "hang")
    const { stop } = start([hanging.url])
    await until(() => hanging.received.length >= 2)

    const startMs = performance.now()
    await stop()
    expect(performance.now() - startMs).toBeLessThan(500)
  })
})

describe("runPush", () => {
  it("sends the description first and then numbered reports with secret and content type", async () => {
    const target = await receiver()
    start([target.url])

    await until(() => target.bodiesFor("/metrics").length >= 3)

    expect(target.received[0]?.path).toBe("/api/node/static")
    expect(target.received[0]?.headers).toMatchObject({ "x-node-secret": secret, "content-type": "application/json" })
    expect(hostnames(target).slice(0, 3)).toEqual(["sample-1", "sample-2", "sample-3"])
  })

  it("sends the same body to all targets", async () => {
    const [one, two] = [await receiver(), await receiver()]
    start([one.url, two.url])

    await until(() => one.bodiesFor("/metrics").length >= 3 && two.bodiesFor("/metrics").length >= 3)

    expect(two.bodiesFor("/metrics").slice(0, 3)).toEqual(one.bodiesFor("/metrics").slice(0, 3))
  })

  it("keeps its connections, at most two per target", async () => {
    const target = await receiver()
    start([target.url])

    await until(() => target.bodiesFor("/metrics").length >= 20)

    expect(target.connections()).toBeLessThanOrEqual(2)
  })

  it("sends the description again when its content changed, and only then", async () => {
    const target = await receiver()
    const { state } = start([target.url])
    await until(() => target.bodiesFor("/metrics").length >= 8)
    expect(target.bodiesFor("/static")).toHaveLength(1)

    state.platform = "renamed"
    await until(() => target.bodiesFor("/static").length === 2)

    expect(target.bodiesFor("/static")[1]).toContain('"platform":"renamed"')
  })

  it("says once that it does not update itself", async () => {
    const update = {
      id: "9.0.0",
      version: "9.0.0",
      url: "http://127.0.0.1/deploy/x",
      sha256: "0".repeat(64),
      size: 1
    }
    const target = await receiver(() => ({ body: JSON.stringify({ ok: true, update }) }))
    const { lines } = start([target.url])

    await until(() => target.bodiesFor("/metrics").length >= 5)

    expect(lines).toEqual(["monitor-node: self-update is disabled for this binary\n"])
  })
})

describe("timingOf", () => {
  it.each([
    [1, 20_000, 20_000],
    [3, 60_000, 60_000],
    [60, 60_000, 60_000]
  ])("derives the slow periods from an interval of %i s", (intervalSeconds, slowMs, contentCheckMs) => {
    expect(timingOf(intervalSeconds)).toMatchObject({ intervalMs: intervalSeconds * 1000, slowMs, contentCheckMs })
  })
})
