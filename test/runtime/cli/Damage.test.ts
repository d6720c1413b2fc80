// Random damage to the files of a home: the program starts with every acknowledged row, or refuses and says what to do.
import { Effect, Either } from "effect"
import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, afterEach, describe, expect, it } from "vitest"
import { inspected } from "../../../src/store/Inspection.ts"
import { currentShape } from "../../../runtime/Layers.ts"
import { contentsOf, twinOf, usedHome } from "../../support/Commands.ts"
import { twoAtOnce } from "../../support/Lanes.ts"
import { databaseOf, killAll, removeHomes, run, start } from "../../support/Program.ts"

/** How many homes are damaged; two hundred of them take some minutes. */
const damages = Number(process.env["WATCHPOST_DAMAGES"] ?? 60)
const seed = Number(process.env["WATCHPOST_DAMAGE_SEED"] ?? Math.floor(Math.random() * 1e9))

const randomFrom = (state: number) => () => {
  state = (state + 0x6d2b79f5) | 0
  let t = Math.imul(state ^ (state >>> 15), 1 | state)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}

afterEach(killAll)
afterAll(removeHomes)

const files = ["watchpost.db", "watchpost.db", "watchpost.db-wal", "watchpost.db-shm", "secret.key"] as const

/** Does one random harm to a home; gives its description. */
const harm = (home: string, foreignLog: string, chance: () => number): string => {
  const name = files[Math.floor(chance() * files.length)] as string
  const file = join(home, name)
  if (!existsSync(file)) return harm(home, foreignLog, chance)
  const bytes = readFileSync(file)
  const kind = chance()
  if (kind < 0.6) {
    const count = 1 + Math.floor(chance() * 3)
    const places = Array.from({ length: count }, () => {
      // The first page decides how everything else is read.
      const at = Math.floor(chance() * (chance() < 0.25 ? Math.min(120, bytes.length) : bytes.length))
      bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(chance() * 8))
      return at
    })
    writeFileSync(file, bytes)
    return `${name}: flipped at ${places.join(", ")}`
  }
  if (kind < 0.75) {
    const length = Math.floor(chance() * bytes.length)
    truncateSync(file, length)
    return `${name}: cut to ${length} of ${bytes.length}`
  }
  if (kind < 0.83) {
    truncateSync(file, 0)
    return `${name}: emptied`
  }
  if (kind < 0.92) {
    rmSync(file)
    return `${name}: deleted`
  }
  writeFileSync(`${databaseOf(home)}-wal`, readFileSync(foreignLog))
  return "watchpost.db-wal: that of another home"
}

const stackTrace = /^\s+at .*\(?.*:\d+:\d+\)?$/m

interface Sound {
  readonly home: string
  readonly truth: ReturnType<typeof contentsOf>
}
const soundOf = async (signal: NodeJS.Signals): Promise<Sound> => {
  const home = await usedHome(signal)
  return { home, truth: contentsOf(databaseOf(twinOf(home))) }
}

const known = Effect.runPromise(currentShape)

/** Tears at a home, before anything else may take a chance; gives what the program did about it. */
const trial = async ({ home, truth }: Sound, foreignLog: string, chance: () => number, isReal: boolean) => {
  const twin = twinOf(home)
  const what = `seed ${seed}: ${harm(twin, foreignLog, chance)}`
  const shape = await known
  const verdict = await Effect.runPromise(Effect.either(inspected(twin, shape)))
  if (Either.isLeft(verdict)) {
    expect(verdict.left.message, what).toMatch(/watchpost restore FILE$/)
    if (isReal) {
      const before = readFileSync(join(twin, files[0]), { flag: "a+" })
      const ended = await run(twin)
      expect([ended.code, ended.stderr.trimEnd().split("\n").length], `${what} ${ended.stderr}`).toEqual([1, 1])
      expect(ended.stderr, what).toContain("watchpost restore FILE")
      expect(readFileSync(join(twin, files[0])).equals(before), what).toBe(true)
    }
    return "refused"
  }
  const rest = contentsOf(databaseOf(twinOf(twin)))
  const counts = [rest.journal.length, rest.checkpoints.length, rest.nodes.length].join("/")
  expect(JSON.stringify(rest) === JSON.stringify(truth), `${what}: not the rows that were there, but ${counts}`).toBe(
    true
  )
  const program = start(twin)
  const url = await program.url.catch(() => undefined)
  if (url === undefined) {
    const { code, stderr } = await program.ended
    expect(code, what).toBe(1)
    expect(stderr, what).not.toMatch(stackTrace)
    process.stdout.write(`damage: ${what}: ${stderr}`)
    return "refused late"
  }
  expect(contentsOf(databaseOf(twin)).nodes, what).toEqual(truth.nodes)
  program.kill("SIGTERM")
  const { code, stderr } = await program.ended
  expect([code, stackTrace.test(stderr)], `${what} ${stderr}`).toEqual([0, false])
  return "started"
}

describe("a damaged home", () => {
  it(
    "is refused with code 1 and the way out, or starts with every acknowledged row, whatever was damaged",
    async () => {
      const chance = randomFrom(seed)
      // A kill leaves the log and its index; an orderly end leaves one file.
      const [killed, ended] = await Promise.all([soundOf("SIGKILL"), soundOf("SIGTERM")])
      const foreignLog = `${databaseOf(await usedHome("SIGKILL", 5))}-wal`
      expect(killed.truth.journal.length).toBeGreaterThan(20)
      const counts = new Map<string, number>()
      await twoAtOnce(Array.from({ length: damages }).keys(), async (i) => {
        const outcome = await trial(i % 4 === 3 ? ended : killed, foreignLog, chance, i % 10 === 0)
        counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
      })
      process.stdout.write(`damage: seed ${seed}, ${JSON.stringify(Object.fromEntries(counts))}\n`)
      expect(counts.get("refused")).toBeGreaterThan(0)
      expect(counts.get("started")).toBeGreaterThan(0)
    },
    60_000 + damages * 4000
  )
})
