// The whole service on a free port with a home of its own, a client that hides nothing, and what agents send to it.
import { Clock, Effect, Layer, Logger, LogLevel, ManagedRuntime, Option, Redacted } from "effect"
import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { Agent, type IncomingHttpHeaders, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { AppConfig, type Settings } from "../../runtime/Config.ts"
import { service } from "../../runtime/Layers.ts"
import { ListenAddress } from "../../runtime/ListenAddress.ts"
import { Database } from "../../src/store/Sql.ts"
import { defaultLimits } from "./Limits.ts"

export const adminPassword = "correct horse battery staple"

export type Headers = Readonly<Record<string, string>>

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Names and values by turns, as they stood on the wire. */
  readonly rawHeaders: ReadonlyArray<string>
  readonly bytes: Buffer
  readonly text: string
  /** The body as JSON, undefined when it is none. */
  readonly json: unknown
}

/** What the service layer offers to a test that looks behind its HTTP. */
export type Inside = Layer.Layer.Success<typeof service>

export interface Service {
  readonly port: number
  readonly url: string
  readonly home: string
  /** Every log line so far, as one line of text each. */
  readonly logs: ReadonlyArray<string>
  readonly call: (method: string, path: string, headers?: Headers, body?: string | Buffer) => Promise<Answer>
  /** Puts the service's clock forward; its timers keep running by the real one. */
  readonly advance: (ms: number) => void
  /** Runs an effect on the services of this very instance. */
  readonly inside: <A, E>(effect: Effect.Effect<A, E, Inside>) => Promise<A>
  /** The first value of the first row of a statement. */
  readonly value: (sql: string) => Promise<unknown>
  /** Runs statements past the stores. */
  readonly exec: (sql: string) => Promise<void>
  readonly stop: () => Promise<void>
}

const settingsOf = (home: string): Settings => ({
  home,
  listenHost: "127.0.0.1",
  listenPort: 0,
  publicUrl: Option.none(),
  adminPassword: Option.some(Redacted.make(adminPassword)),
  // Requests of tests may come from any address they name.
  trustedProxies: ["127.0.0.1"],
  timezone: "UTC",
  localNode: false,
  trafficKeepMs: 90 * 86_400_000,
  language: "en",
  history: defaultLimits
})

const capture = (lines: Array<string>) =>
  Layer.merge(
    Logger.replace(
      Logger.defaultLogger,
      Logger.map(Logger.logfmtLogger, (line) => void lines.push(line))
    ),
    Logger.minimumLogLevel(LogLevel.All)
  )

const shiftable = () => {
  const real = Clock.make()
  let shiftMs = 0
  const now = () => real.unsafeCurrentTimeMillis() + shiftMs
  const clock: Clock.Clock = Object.assign(Object.create(real) as Clock.Clock, {
    unsafeCurrentTimeMillis: now,
    currentTimeMillis: Effect.sync(now)
  })
  return { layer: Layer.setClock(clock), advance: (ms: number) => void (shiftMs += ms) }
}

const clientOf =
  (port: number, agent: Agent): Service["call"] =>
  (method, path, given = {}, body) =>
    new Promise((resolve, reject) => {
      // Node would send the body of a GET or DELETE without saying that there is one.
      const headers = body === undefined ? given : { "content-length": String(Buffer.byteLength(body)), ...given }
      const outgoing = request({ host: "127.0.0.1", port, method, path, headers, agent }, (response) => {
        const chunks: Array<Buffer> = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("error", reject)
        response.on("end", () => {
          const bytes = Buffer.concat(chunks)
          const text = bytes.toString("utf8")
          const { headers, rawHeaders, statusCode: status = 0 } = response
          resolve({ status, headers, rawHeaders, bytes, text, json: jsonOf(text) })
        })
      })
      outgoing.on("error", reject)
      outgoing.end(body)
    })

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Starts the service as `serve` would, on a free port, without this machine as a node. */
export const startService = async (change: Partial<Settings> = {}): Promise<Service> => {
  const home = change.home ?? mkdtempSync(join(tmpdir(), "watchpost-service-"))
  const logs: Array<string> = []
  const settings = Layer.succeed(AppConfig, { ...settingsOf(home), ...change })
  const { advance, layer: clock } = shiftable()
  const surroundings = Layer.mergeAll(settings, capture(logs), clock, Layer.setTracerEnabled(false))
  const runtime = ManagedRuntime.make(service.pipe(Layer.provide(surroundings)))
  const { localUrl: url, port } = await runtime.runPromise(ListenAddress)
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  const handle = () => runtime.runPromise(Effect.map(Database, (database) => database.handle()))
  return {
    port,
    url,
    home,
    logs,
    call: clientOf(port, agent),
    advance,
    inside: (effect) => runtime.runPromise(effect),
    value: async (sql) => (await handle()).prepare(sql).pluck().get(),
    exec: async (sql) => void (await handle()).exec(sql),
    stop: async () => {
      agent.destroy()
      await runtime.dispose()
      if (change.home === undefined) rmSync(home, { recursive: true, force: true })
    }
  }
}

export const json = { "content-type": "application/json" }

/** Headers of an agent. */
export const agentOf = (secret: string): Headers => ({ ...json, "x-node-secret": secret })

/** Logs in and gives the headers of the administrator. */
export const signIn = async ({ call }: Service): Promise<Headers> => {
  const body = JSON.stringify({ password: adminPassword, persistence: "session" })
  const answer = await call("POST", "/api/auth/login", json, body)
  return { authorization: `Bearer ${member(answer.json, "access_token")}` }
}

/** A text member of an answer; fails the test when it is none. */
export const member = (value: unknown, name: string): string => {
  const found = (value as Record<string, unknown> | undefined)?.[name]
  if (typeof found !== "string") throw new Error(`no ${name} in ${JSON.stringify(value)}`)
  return found
}

/** Status and code of a refusal. */
export const codeOf = (answer: Answer): string => `${answer.status} ${member(answer.json, "code")}`

/** Fails the test unless the answer is what every answer of the API is, whatever was asked; gives it back. */
export const proper = (answer: Answer): Answer => {
  const { bytes, headers, json, status, text } = answer
  assert.ok(status < 300 || status >= 400 || status === 304, `a redirect: ${status}`)
  assert.equal(headers["x-content-type-options"], "nosniff")
  assert.match(String(headers["cache-control"]), /^(?:no-store|private, no-cache)$/)
  const telling = Object.keys(headers).filter((name) => /^(?:access-control-|server$|x-powered-by$)/.test(name))
  assert.deepEqual(telling, [])
  if (status === 204) assert.equal(bytes.length, 0)
  else if (status !== 304) assert.equal(headers["content-length"], String(bytes.length))
  if (status < 400) return answer
  assert.equal(headers["content-type"], "application/json; charset=utf-8")
  assert.equal(headers["cache-control"], "no-store")
  assert.equal(text, `${JSON.stringify(json)}\n`)
  assert.deepEqual(Object.keys(json as object), ["code", "message"])
  assert.notEqual(member(json, "message"), "")
  return answer
}

export interface MadeNode {
  readonly id: number
  readonly secret: string
}

/** Creates a node and sets what is given of it. */
export const addNode = async (
  service: Service,
  admin: Headers,
  patch: Readonly<Record<string, unknown>> = {}
): Promise<MadeNode> => {
  const created = await service.call("POST", "/api/admin/nodes", admin)
  const id = Number(created.headers.location?.split("/").at(-1))
  if (Object.keys(patch).length > 0) {
    const set = await service.call("PATCH", `/api/admin/nodes/${id}`, { ...admin, ...json }, JSON.stringify(patch))
    if (set.status !== 204) throw new Error(`patching node ${id}: ${set.status} ${set.text}`)
  }
  const list = (await service.call("GET", "/api/admin/nodes", admin)).json as ReadonlyArray<MadeNode>
  const { secret } = list.find((one) => one.id === id) as MadeNode
  return { id, secret }
}

type Json = Record<string, unknown>

let lastTimestamp = 0
/** Never the same twice: a report with the time of the one before is a repeat. */
const timestamp = (): string => new Date((lastTimestamp = Math.max(Date.now(), lastTimestamp + 1))).toISOString()

/** A report of a small machine; `metrics` replaces members of the metrics. */
export const reportOf = (change: Json = {}, metrics: Json = {}): Json => ({
  version: "0.2.3",
  hostname: "edge-a",
  timestamp: timestamp(),
  metrics: {
    cpu: { usage_ratio: 0.25, load1: 0.4, load5: 0.3, load15: 0.2 },
    memory: { used: 3e9, available: 5e9, buffers: 1000, cached: 2000, used_ratio: 0.375, swap_used: 0, swap_free: 0 },
    disk: { physical: [], logical: [], filesystems: [], base_io: [], smart: { status: "no_tool", devices: [] } },
    network: [{ name: "eth0", bytes_recv: 10, bytes_sent: 20, recv_rate_bytes_per_sec: 3, sent_rate_bytes_per_sec: 4 }],
    system: { alive: true, uptime_seconds: 273_900, uptime: "3d 4h 5m" },
    processes: { process_count: 120 },
    connections: { tcp_count: 30, udp_count: 4 },
    raid: { supported: false, available: false, arrays: [] },
    ...metrics
  },
  ...change
})

/** A Static of a small machine; `system` replaces members of the system part. */
export const staticOf = (change: Json = {}, system: Json = {}): Json => ({
  version: "0.2.3",
  timestamp: timestamp(),
  report_interval_seconds: 3,
  cpu: { info: { model_name: "Example CPU", vendor_id: "Example", sockets: 1, cores_physical: 4, cores_logical: 8 } },
  memory: { total: 8e9, swap_total: 0 },
  system: {
    hostname: "edge-a",
    os: "linux",
    platform: "debian",
    platform_version: "13",
    kernel_version: "6.9.1",
    arch: "amd64",
    ...system
  },
  ...change
})

/** Sends a report, or a Static, and gives the answer. */
export const push = ({ call }: Service, route: "metrics" | "static", secret: string, body: unknown): Promise<Answer> =>
  call("POST", `/api/node/${route}`, agentOf(secret), JSON.stringify(body))
