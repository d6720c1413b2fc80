// The real program on a disk whose syncs are slow or fail: what waits for them, and what the service does about it.
import { rmSync, writeFileSync } from "node:fs"
import { createServer, type AddressInfo } from "node:net"
import { join } from "node:path"
import { afterAll, afterEach, describe, expect, it } from "vitest"
import { epoch, reportOf, secretOf } from "../support/Engine.ts"
import { Fleet, seedHome } from "../support/Fleet.ts"
import { killAll, makeHome, removeHomes, sleep, start } from "../support/Program.ts"
import { offences, storedIn } from "../support/Stored.ts"

afterEach(killAll)
afterAll(removeHomes)

const agents = 40

/** Stands before the system's own call, and does what the file says: nothing without it, else "slow" or "fail". */
const preload = (file: string): string => `
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
const { fdatasync } = fs
fs.fdatasync = (descriptor, done) => {
  let how = ""
  try { how = fs.readFileSync(${JSON.stringify(file)}, "utf8") } catch {}
  if (how === "slow") setTimeout(() => fdatasync(descriptor, done), 1000)
  else if (how === "fail") setTimeout(() => done(Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" })), 20)
  else fdatasync(descriptor, done)
}
syncBuiltinESMExports()
`

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

/** A service whose port outlives a new start, and what makes its syncs slow or fail. */
const faulty = async () => {
  const home = makeHome()
  await seedHome(home, agents)
  const file = join(home, "fault")
  const port = await freePort()
  const program = start(home, {
    WATCHPOST_LISTEN: `127.0.0.1:${port}`,
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(preload(file))}`
  })
  return {
    home,
    program,
    url: await program.url,
    fault: (how: "slow" | "fail") => writeFileSync(file, how),
    mend: () => rmSync(file)
  }
}

const push = (url: string, id: number, at: number) =>
  fetch(`${url}/api/node/metrics`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-node-secret": secretOf(id) },
    body: JSON.stringify(reportOf({ at, hostname: `host-${id}`, cpu: 0.5 }))
  })

const until = async (what: string, isSo: () => boolean): Promise<void> => {
  for (let left = 400; left > 0; left--) {
    if (isSo()) return
    await sleep(50)
  }
  throw new Error(`${what}: not after 20 s`)
}

describe("a disk whose syncs are slow", () => {
  it("holds up the answers to reports, and nothing else", { timeout: 60_000 }, async () => {
    const { fault, mend, url } = await faulty()
    expect((await push(url, 1, epoch)).status).toBe(200)
    fault("slow")
    const order: Array<string> = []
    const first = push(url, 1, epoch + 1000).then(({ status }) => order.push(`report ${status}`))
    await sleep(100)
    const second = push(url, 2, epoch + 1000).then(({ status }) => order.push(`report ${status}`))
    for (let i = 0; i < 20; i++) order.push(`health ${(await fetch(`${url}/healthz`)).status}`)
    await Promise.all([first, second])
    mend()

    expect(order).toEqual([...Array.from({ length: 20 }, () => "health 200"), "report 200", "report 200"])
  })
})

describe("a disk whose sync fails", () => {
  it(
    "has the service refuse reports and start anew by itself: none is lost and none doubled",
    { timeout: 120_000 },
    async () => {
      const { fault, home, mend, program, url } = await faulty()
      const fleet = new Fleet({ agents, paceMs: 100, chance: Math.random })
      fleet.run(url)
      for (let round = 1; round <= 2; round++) {
        await until("reports", () => fleet.acknowledged > round * 400)
        const refused = fleet.refused
        fault("fail")
        await until("refusals", () => fleet.refused > refused + 20)
        expect((await fetch(`${url}/readyz`)).status).toBe(503)
        expect((await fetch(`${url}/api/front/metrics`)).status).toBe(200)
        mend()
        await until("the new start", () => program.said().stdout.split("is listening").length === round + 2)
      }
      const before = fleet.acknowledged
      await until("reports after it", () => fleet.acknowledged > before + 200)
      await fleet.stop()
      program.kill("SIGTERM")
      expect((await program.ended).code).toBe(0)

      expect(fleet.surprises).toEqual([])
      expect(offences(storedIn(home), fleet)).toEqual([])
    }
  )
})
