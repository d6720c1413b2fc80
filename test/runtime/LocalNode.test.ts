// This machine as the first node: the real program with its real agent, through restarts, deletion and sudden ends.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { hostname } from "node:os"
import { afterAll, describe, expect, it, vi } from "vitest"
import type { Snapshot } from "../../schema/Snapshot.ts"
import { type Environment, killAll, makeHome, type Program, removeHomes, sleep, start } from "../support/Program.ts"
import { startService } from "../support/Service.ts"

const password = "correct horse battery staple"
const name = hostname().trim() || "this machine"

// Most of their time these programs wait for the next report, so two of them share the machine.
vi.setConfig({ maxConcurrency: 2 })

afterAll(async () => {
  await killAll()
  removeHomes()
})

const watching = (home: string, env: Environment = {}): Program =>
  start(home, { WATCHPOST_LOCAL_NODE: "on", WATCHPOST_ADMIN_PASSWORD: password, ...env })

/** Asks again until the answer is worth having; what never is fails the test. */
const eventually = async <A>(what: string, ask: () => Promise<A | undefined> | A | undefined): Promise<A> => {
  const startedAt = performance.now()
  for (;;) {
    const found = await ask()
    if (found !== undefined) return found
    if (performance.now() - startedAt > 20_000) throw new Error(`waited in vain for ${what}`)
    await sleep(50)
  }
}

interface AdminNode {
  readonly id: number
  readonly name: string
  readonly is_guest_visible: boolean
  readonly secret: string
}

const asAdmin = async (url: string) => {
  const headers = { "content-type": "application/json" }
  const body = JSON.stringify({ password, persistence: "session" })
  const login = await fetch(`${url}/api/auth/login`, { method: "POST", headers, body })
  const { access_token: token } = (await login.json()) as { readonly access_token: string }
  const authorization = `Bearer ${token}`
  return {
    nodes: async () =>
      (await (
        await fetch(`${url}/api/admin/nodes`, { headers: { authorization } })
      ).json()) as ReadonlyArray<AdminNode>,
    setSecret: async (id: number, secret: string) =>
      (
        await fetch(`${url}/api/admin/nodes/${id}`, {
          method: "PATCH",
          headers: { authorization, "content-type": "application/json" },
          body: JSON.stringify({ secret })
        })
      ).status,
    remove: async (id: number) =>
      (await fetch(`${url}/api/admin/nodes/${id}`, { method: "DELETE", headers: { authorization } })).status
  }
}

const shownAt = async (url: string) =>
  (await (await fetch(`${url}/api/front/metrics`)).json()) as ReadonlyArray<Snapshot>
const firstShown = (url: string) => eventually("a report", async () => (await shownAt(url))[0])
/** Waits for a report newer than the one that is shown now. */
const nextShown = async (url: string) => {
  const before = (await firstShown(url)).observation.received_at
  return eventually("another report", async () => {
    const shown = await firstShown(url)
    return shown.observation.received_at === before ? undefined : shown
  })
}

const stopped = async (program: Program) => {
  program.kill("SIGTERM")
  return program.ended
}

/** Processes started by this one; Linux only. */
const childrenOf = (pid: number): ReadonlyArray<number> =>
  readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((child) => parentOf(child) === pid)
const parentOf = (pid: number): number => {
  try {
    const [, after = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")
    const [state, parent] = after.split(" ")
    return state === "Z" ? 0 : Number(parent)
  } catch {
    return 0
  }
}
const agentOf = (program: Program) => eventually("the agent's process", () => childrenOf(program.child.pid ?? 0)[0])
/** A port that nobody listens on, as far as one can know. */
const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

const isLinux = existsSync("/proc/self/stat")

describe.concurrent("this machine", { timeout: 90_000 }, () => {
  it("is a node of its own name within seconds, once, however often the program starts, until it is deleted", async () => {
    const home = makeHome()
    const first = watching(home)
    const firstUrl = await first.url
    const shown = await firstShown(firstUrl)
    expect(shown).toMatchObject({ node: { title: name }, processes: { count: expect.any(Number) } })
    expect(shown.memory.total_bytes).toBeGreaterThan(0)
    const [node] = await (await asAdmin(firstUrl)).nodes()
    expect(node).toMatchObject({ name, is_guest_visible: true })
    expect(await stopped(first)).toMatchObject({ code: 0, signal: null })

    const second = watching(home)
    const secondUrl = await second.url
    const admin = await asAdmin(secondUrl)
    expect(await admin.nodes()).toEqual([expect.objectContaining({ id: node?.id, secret: node?.secret })])
    await nextShown(secondUrl)
    expect(await admin.remove(node?.id ?? 0)).toBe(204)
    await stopped(second)

    const third = watching(home)
    const thirdUrl = await third.url
    await sleep(500)
    expect(await (await asAdmin(thirdUrl)).nodes()).toEqual([])
    expect(await stopped(third)).toMatchObject({ code: 0 })
  })

  it.each<[string, string, Environment]>([
    [
      "others reach the service by a public address",
      "127.0.0.1",
      { WATCHPOST_PUBLIC_URL: "https://status.example.org" }
    ],
    ["a proxy stands in front", "127.0.0.1", { WATCHPOST_TRUSTED_PROXIES: "127.0.0.1" }],
    ["it listens on every address", "0.0.0.0", {}]
  ])("is hidden from guests where %s", async (_, host, env) => {
    // Its greeting may tell another address than the one that this test can reach.
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const program = watching(makeHome(), { ...env, WATCHPOST_LISTEN: `${host}:${port}` })
    await eventually("an answer", () => fetch(`${url}/healthz`).catch(() => undefined))
    const [node] = await eventually("the node", async () => {
      const nodes = await (await asAdmin(url)).nodes()
      return nodes.length > 0 ? nodes : undefined
    })

    expect(node).toMatchObject({ name, is_guest_visible: false })
    expect(await shownAt(url)).toEqual([])
    await stopped(program)
  })

  it("is no node where it is switched off", async () => {
    const program = watching(makeHome(), { WATCHPOST_LOCAL_NODE: "off" })
    const url = await program.url
    await sleep(300)

    expect(await (await asAdmin(url)).nodes()).toEqual([])
    if (isLinux) expect(childrenOf(program.child.pid ?? 0)).toEqual([])
    await stopped(program)
  })

  it("is not watched, and says so, where the agent is not built", async () => {
    const service = await startService({ localNode: true })
    try {
      expect(service.logs.filter((line) => line.includes("the agent is not built")).length).toBe(1)
      expect(await service.value("SELECT count(*) FROM nodes")).toBe(0)
    } finally {
      await service.stop()
    }
  })
})

describe.runIf(isLinux).concurrent("its agent", { timeout: 90_000 }, () => {
  it("goes on with the new secret when an administrator changes it", async () => {
    const program = watching(makeHome())
    const url = await program.url
    const admin = await asAdmin(url)
    await firstShown(url)
    const [node] = await admin.nodes()
    expect(await admin.setSecret(node?.id ?? 0, "another-secret-of-this-machine")).toBe(204)

    await nextShown(url)
    await nextShown(url)
    await stopped(program)
  })

  it("is started again when it ends, and does not show its secret in its arguments", async () => {
    const program = watching(makeHome())
    const url = await program.url
    const agent = await agentOf(program)
    const [node] = await (await asAdmin(url)).nodes()
    const { secret = "" } = node ?? {}
    expect(secret.length).toBeGreaterThanOrEqual(16)
    expect(readFileSync(`/proc/${agent}/cmdline`, "utf8")).not.toContain(secret)
    await firstShown(url)
    process.kill(agent, "SIGKILL")
    const next = await eventually("the next agent", () =>
      childrenOf(program.child.pid ?? 0).find((child) => child !== agent)
    )

    expect(next).not.toBe(agent)
    await nextShown(url)
    await stopped(program)
    expect(program.said().stdout).not.toContain(secret)
  })

  it.each(["SIGTERM", "SIGKILL"] as const)("ends with the program on %s", async (signal) => {
    const program = watching(makeHome())
    await program.url
    const agent = await agentOf(program)
    program.kill(signal)
    await program.ended

    await eventually("the agent's end", () => (parentOf(agent) === 0 ? true : undefined))
  })
})
