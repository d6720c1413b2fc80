// Owns the build: both programs bundled by esbuild and the web app built by Vite, swapped into dist/ only when all succeed.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from "node:fs"
import { renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { elapsed, fail, install, requireNode, root, say } from "./install.mjs"
import { programsInBundle } from "./program.mjs"
import { fingerprint, stampFile } from "./stamp.mjs"

const dist = join(root, "dist")

// Bundled CommonJS packages call require() for Node's own modules, which an ES module does not have.
const banner = [
  "#!/usr/bin/env node",
  'import { createRequire as createBundleRequire } from "node:module";',
  "const require = createBundleRequire(import.meta.url);"
].join("\n")

/** Native, or too large to be read at every start for the few who log in to Telegram. */
const external = ["better-sqlite3", "@node-rs/argon2", "telegram"]

const bundle = async (entry, outfile, external, define) => {
  const { build } = await import("esbuild")
  await build({
    entryPoints: [join(root, entry)],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    external,
    define,
    banner: { js: banner },
    plugins: [programsInBundle],
    sourcemap: true,
    logLevel: "warning",
    absWorkingDir: root
  })
  chmodSync(outfile, 0o755)
}

const buildWeb = async (outDir, define) => {
  if (!existsSync(join(root, "src/web/index.html"))) {
    say("no src/web/index.html, so no web app is built")
    return
  }
  const { build } = await import("vite")
  await build({
    root: join(root, "src/web"),
    configFile: join(root, "src/web/vite.config.ts"),
    logLevel: "warn",
    define,
    build: { outDir, emptyOutDir: true }
  })
}

// Other tenants of dist/, such as downloadable agent releases, stay where they are.
const OUTPUTS = ["watchpost.mjs", "watchpost.mjs.map", "monitor-node.mjs", "monitor-node.mjs.map", "web"]

// The stamp goes first and comes back last: a swap that is cut short leaves a dist/ that counts as stale.
const swapIn = (next, stamp) => {
  rmSync(stampFile, { force: true })
  for (const name of OUTPUTS) {
    rmSync(join(dist, name), { recursive: true, force: true })
    if (existsSync(join(next, name))) renameSync(join(next, name), join(dist, name))
  }
  writeFileSync(stampFile, stamp)
}

// A killed build leaves its folder behind; ten minutes is longer than any build that may still be running.
const LEFTOVER_AGE_MS = 600_000

const removeLeftovers = () => {
  for (const name of readdirSync(dist).filter((name) => name.startsWith(".next-"))) {
    const path = join(dist, name)
    if (Date.now() - statSync(path).mtimeMs > LEFTOVER_AGE_MS) rmSync(path, { recursive: true, force: true })
  }
}

const sizeOf = (path) =>
  statSync(path).isDirectory()
    ? readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
    : statSync(path).size

const printSizes = () => {
  for (const name of OUTPUTS) {
    const path = join(dist, name)
    if (existsSync(path) && !name.endsWith(".map"))
      say(`  dist/${basename(path)}  ${Math.ceil(sizeOf(path) / 1024)} kB`)
  }
}

const build = async () => {
  const startedAt = performance.now()
  say("building")
  mkdirSync(dist, { recursive: true })
  removeLeftovers()
  const stamp = fingerprint()
  const next = mkdtempSync(join(dist, ".next-"))
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const define = { __WATCHPOST_VERSION__: JSON.stringify(version) }
  try {
    await Promise.all([
      bundle("runtime/main.ts", join(next, "watchpost.mjs"), external, define),
      bundle("src/agent/main.ts", join(next, "monitor-node.mjs"), [], define),
      buildWeb(join(next, "web"), define)
    ])
    swapIn(next, stamp)
  } finally {
    rmSync(next, { recursive: true, force: true })
  }
  say(`built version ${version} in ${elapsed(startedAt)}`)
  printSizes()
}

// Vite and Svelte choose their production builds by this name, whatever the shell says.
process.env.NODE_ENV = "production"
requireNode()
install()
await build().catch((error) => fail(`the build failed, dist/ is as it was: ${error.message.split("\n")[0]}`))
