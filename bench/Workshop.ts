// Owns what a run needs on disk: an up-to-date build, the bundled programs, and homes for servers, all gone afterwards.
import { build, type Plugin } from "esbuild"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { type Child, start, type StartOptions } from "./Children.ts"

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/**
 * Beside the packages rather than in the temporary folder, which is memory on many machines: a commit that waits
 * for a disk must wait for one. The folder is ignored by git and by every check.
 */
const cache = join(root, "node_modules/.cache/watchpost-bench")
/** What a killed run left behind; no run takes that long. */
const leftoverMs = 2 * 3_600_000

export const serverFile = join(root, "dist/watchpost.mjs")

/** The programs that run as processes of their own. */
export const programs = [
  "Load",
  "Bare",
  "Actors",
  "Rows",
  "Tail",
  "Seal",
  "Fill",
  "Probe",
  "Pulse",
  "Traffic",
  "Eval"
] as const
export type Program = (typeof programs)[number]

let workshop: string | undefined

const folder = (): string => {
  if (workshop !== undefined) return workshop
  mkdirSync(cache, { recursive: true })
  for (const name of readdirSync(cache)) {
    const path = join(cache, name)
    if (Date.now() - statSync(path).mtimeMs > leftoverMs) rmSync(path, { recursive: true, force: true })
  }
  workshop = mkdtempSync(join(cache, "run-"))
  return workshop
}

/** Removes everything that this run put on the disk. */
export const clear = (): void => {
  if (workshop !== undefined) rmSync(workshop, { recursive: true, force: true })
}

/** An empty data folder. */
export const newHome = (): string => mkdtempSync(join(folder(), "home-"))
export const removeHome = (home: string): void => rmSync(home, { recursive: true, force: true })
export const removeFile = (file: string): void => rmSync(file, { force: true })

/** Bytes of a file, 0 when there is none. */
export const sizeOf = (file: string): number => (existsSync(file) ? statSync(file).size : 0)

/** The scripts that build and start are no TypeScript: they run before anything is installed. */
const launchModule = (name: string): Promise<unknown> => import(pathToFileURL(join(root, "runtime/launch", name)).href)

/** Builds dist when it is stale, with the build's own words on standard error. */
const buildServer = async (): Promise<void> => {
  const stamp = (await launchModule("stamp.mjs")) as { isStale: () => boolean }
  if (!stamp.isStale()) return
  const script = join(root, "runtime/launch/build.mjs")
  const { status } = spawnSync(process.execPath, [script], { cwd: root, stdio: ["ignore", 2, 2] })
  if (status !== 0) throw new Error("the build failed")
}

/** Bundled as the service itself is: a loader that compiles while running would be measured along with it. */
const buildPrograms = async (): Promise<void> => {
  const { programsInBundle } = (await launchModule("program.mjs")) as { programsInBundle: Plugin }
  await build({
    entryPoints: programs.map((name) => join(root, "bench/programs", `${name}.ts`)),
    outdir: folder(),
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    external: ["better-sqlite3"],
    plugins: [programsInBundle],
    banner: {
      js: 'import { createRequire as createBundleRequire } from "node:module";\nconst require = createBundleRequire(import.meta.url);'
    },
    logLevel: "warning",
    absWorkingDir: root
  })
}

export const prepare = async (): Promise<void> => {
  await buildServer()
  await buildPrograms()
}

/** The bundled file of a program, for a process that loads it beside its own. */
export const programFile = (name: Program): string => join(folder(), `${name}.mjs`)

/** Starts one of the bundled programs with a message channel; its first argument is `input` as JSON. */
export const startProgram = (name: Program, input: unknown, options: StartOptions = {}): Child =>
  start(programFile(name), [JSON.stringify(input)], { ...options, ipc: true })
