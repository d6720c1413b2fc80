// Owns the proof that the repository has the shape it claims: one test per rule, each failure lists the offending places.
import { readdirSync, readFileSync } from "node:fs"
import { join, relative, sep } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import * as Rules from "./support/Rules.ts"
import type { Source } from "./support/Structure.ts"
import { parse } from "./support/Structure.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

const IGNORED = new Set(["node_modules", "dist", "coverage", ".git", "data"])

const filesUnder = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (IGNORED.has(entry.name)) return []
    const path = join(folder, entry.name)
    return entry.isDirectory() ? filesUnder(path) : entry.isFile() ? [path] : []
  })

const paths = filesUnder(root).map((path) => relative(root, path).split(sep).join("/"))

const read = (path: string): Source => ({ path, text: readFileSync(join(root, path), "utf8") })

const modules = paths
  .filter((path) => Rules.zoneOf(path) !== undefined && /\.(ts|mts|js|mjs|svelte)$/.test(path))
  .map((path) => parse(read(path)))

const expectNone = (offences: ReadonlyArray<string>): void => {
  expect(offences.length, ["", ...offences, ""].join("\n")).toBe(0)
}

describe("the repository", () => {
  it("has modules to judge", () => {
    const judged = new Set(modules.map(({ path }) => Rules.zoneOf(path)))

    expect([...judged]).toEqual(expect.arrayContaining(["schema", "core", "service", "runtime", "launch", "test"]))
  })

  for (const [zone, allowed] of Object.entries(Rules.directions)) {
    it(`lets ${zone} import only ${allowed.join(", ")}`, () => {
      expectNone(Rules.againstDirection(modules, zone as keyof typeof Rules.directions))
    })
  }

  it("keeps schema free of every package but effect and the declarations of the platform", () => {
    expectNone(Rules.foreignSchemaImports(modules))
  })

  it("keeps src/core to pure data modules", () => {
    expectNone(Rules.impureCoreImports(modules))
  })

  it("keeps clock, chance and IO out of src/core", () => {
    expectNone(Rules.ambientCoreUses(modules))
  })

  it("Invariant 5: one writer: only the journal's store names a hot table in a write, and only the journal calls it", () => {
    const hot = /(?:INSERT (?:OR \w+ )?INTO|UPDATE|DELETE FROM)\s+(?:journal|checkpoints|node_statics)\b/i
    const product = paths.filter((path) => /^(?:src|runtime|schema)\/.*\.ts$/.test(path)).map(read)
    const naming = product.filter(({ text }) => hot.test(text)).map(({ path }) => path)
    const calling = product.filter(({ text }) => /\bstore\.(?:write|probe)\(/.test(text)).map(({ path }) => path)

    expect(naming).toEqual(["src/store/JournalStatements.ts"])
    expect(calling).toEqual(["runtime/Journal.ts", "runtime/JournalWriter.ts"])
  })

  it("starts no fiber in src", () => {
    expectNone(Rules.forksInSource(modules))
  })

  it("puts its layers together only in main.ts and Layers.ts", () => {
    expectNone(Rules.providedOutsideWiring(modules))
  })

  it("reads the environment only in its configuration", () => {
    expectNone(Rules.environmentReads(modules))
  })

  it("makes no unbounded queue", () => {
    expectNone(Rules.unboundedQueues(modules))
  })

  it("makes no daemon fiber", () => {
    expectNone(Rules.daemons(modules))
  })

  it("names the file in every relative import", () => {
    expectNone(Rules.vagueImports(modules))
  })

  it("has no import cycle", () => {
    expectNone(Rules.cycles(modules))
  })

  it("has no file whose name says nothing", () => {
    expectNone(Rules.emptyNames(modules))
  })

  it("keeps files to 300 lines, tests and benchmarks to 400", () => {
    expectNone(Rules.longFiles(modules))
  })

  it("keeps functions to 60 lines", () => {
    expectNone(Rules.longFunctions(modules))
  })

  it("has no test under a name that the runner passes over", () => {
    expectNone(Rules.strayTests(paths))
  })

  it("names no folder of the machine it was written on", () => {
    const folder = ["", "work", ""].join("/")
    const texts = paths.filter((path) => !/\.(png|ico|jpe?g|gif|webp|woff2?|gz|zip|db)$/.test(path)).map(read)

    expectNone(texts.filter(({ text }) => text.includes(folder)).map(({ path }) => path))
  })
})
