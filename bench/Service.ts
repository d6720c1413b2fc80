// Starts the real, built service on a home of its own and says when it is ready.
import { get } from "node:http"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { before, type Child, delay, start } from "./Children.ts"
import { serverFile } from "./Workshop.ts"

/** A full restore of 10,000 nodes on a slow disk takes seconds; past this something is wrong. */
const startLimitMs = 120_000
/** How often readiness is asked for: the resolution of the restart time. */
const askMs = 5

export interface Service {
  readonly child: Child
  readonly port: number
  /** From the start of the process to the first 200 of /readyz. */
  readonly readyMs: number
}

/** A port that was free a moment ago; the service cannot tell its own before it listens. */
const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.on("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

const isReady = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const request = get({ host: "127.0.0.1", port, path: "/readyz", agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    request.on("error", () => resolve(false))
  })

const ready = async (port: number, child: Child): Promise<void> => {
  const { process } = child
  while (process.exitCode === null && process.signalCode === null && !(await isReady(port))) await delay(askMs)
}

export const adminPassword = "only for this benchmark"

export interface ServiceOptions {
  /** Folder for a CPU profile, written when the service is stopped in order. */
  readonly profile?: string | undefined
  /** Settings beside those that every benchmark has. */
  readonly env?: Readonly<Record<string, string>>
  /** A module that is loaded before the service and talks to its parent. */
  readonly preload?: string
}

export const startService = async (home: string, options: ServiceOptions = {}): Promise<Service> => {
  const { env, preload, profile } = options
  const port = await freePort()
  const startedAt = performance.now()
  const child = start(serverFile, ["serve"], {
    nodeArgs: [
      ...(profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`]),
      ...(preload === undefined ? [] : ["--import", preload])
    ],
    ipc: preload !== undefined,
    env: {
      WATCHPOST_HOME: home,
      WATCHPOST_LISTEN: `127.0.0.1:${port}`,
      WATCHPOST_LOCAL_NODE: "off",
      WATCHPOST_ADMIN_PASSWORD: adminPassword,
      ...env
    }
  })
  await before(child, startLimitMs, "the service did not start", ready(port, child))
  return { child, port, readyMs: performance.now() - startedAt }
}
