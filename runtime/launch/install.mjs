// Owns the ground every launch script stands on: the repository root, the Node version and an installed node_modules.
// It runs before anything is installed, so it imports only Node itself.
import { spawnSync } from "node:child_process"
import { readFileSync, realpathSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

/** Absolute path of the repository. */
export const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..")

/** One progress line on standard output. */
export const say = (text) => process.stdout.write(`watchpost: ${text}\n`)

/** Ends the process with one line on standard error. */
export const fail = (text, code = 1) => {
  process.stderr.write(`watchpost: ${text}\n`)
  process.exit(code)
}

/** Seconds since `startedAt` (a `performance.now()` value) as "1.2 s". */
export const elapsed = (startedAt) => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`

/** True for the module that `node` was started with; false where it is only imported. */
export const isMain = (url) => process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(url)

/** Runs a command in the repository with inherited streams and returns its exit code; 1 where it did not start. */
export const run = (command, args, options = {}) =>
  spawnSync(command, args, { cwd: root, stdio: "inherit", ...options }).status ?? 1

const OLDEST_NODE = [20, 19]

/** Ends the process with one line where this Node is older than package.json's `engines` allows. */
export const requireNode = () => {
  const [major, minor] = process.versions.node.split(".").map(Number)
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return
  fail(`Watchpost needs Node ${OLDEST_NODE.join(".")} or newer, this is Node ${process.versions.node}.`)
}

// better-sqlite3 is compiled for one Node ABI, so a tree installed under another one does not load.
const abiFile = join(root, "node_modules/.watchpost-abi")
const abi = `${process.platform}-${process.arch}-${process.versions.modules}\n`

const readText = (path) => {
  try {
    return readFileSync(path, "utf8")
  } catch (error) {
    if (error.code === "ENOENT") return undefined
    throw error
  }
}

/**
 * True where node_modules holds what package-lock.json asks for. npm writes the tree it installed to
 * node_modules/.package-lock.json as its last act, so a half-finished install counts as missing. Contents are
 * compared, not dates: a checkout or a copy changes dates without changing the packages. Optional packages of
 * other platforms may be absent.
 */
export const isInstalled = () => {
  const written = readText(join(root, "node_modules/.package-lock.json"))
  if (written === undefined || (readText(abiFile) ?? abi) !== abi) return false
  const have = JSON.parse(written).packages
  const want = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages
  return Object.entries(want).every(([path, entry]) => {
    if (path === "") return true
    const found = have[path]
    if (found === undefined) return entry.optional === true || entry.devOptional === true
    return found.version === entry.version && found.integrity === entry.integrity
  })
}

// npm tells its scripts where it lives; calling that file with this Node also works where `npm` is a .cmd file.
const npm = (args, stderr) => {
  const cli = process.env.npm_execpath
  const [command, prefix] = cli?.endsWith("npm-cli.js") ? [process.execPath, [cli]] : ["npm", []]
  const result = spawnSync(command, [...prefix, ...args], { cwd: root, stdio: ["ignore", "inherit", stderr] })
  if (result.error) fail(`npm could not be started: ${result.error.message}`)
  return { code: result.status ?? 1, stderr: String(result.stderr ?? "") }
}

// --include=dev: the build needs esbuild and Vite, which NODE_ENV=production would leave out.
const INSTALL_FLAGS = ["--no-audit", "--no-fund", "--include=dev"]

// A registry mirror that lacks packages of other platforms makes `npm ci` report them as missing from the lock file,
// without a version because nothing was found. Any complaint that does name a version is a real mismatch.
const onlyForeignPackagesMissing = (stderr) => {
  const complaints = stderr.split("\n").filter((line) => /(Missing|Invalid): /.test(line))
  return complaints.length > 0 && complaints.every((line) => /Missing: \S+@ from lock file/.test(line))
}

/** Makes node_modules match package-lock.json; does nothing where it already does. Ends the process on failure. */
export const install = () => {
  if (isInstalled()) return
  const startedAt = performance.now()
  say("installing packages (the first time takes a minute)")
  const clean = npm(["ci", ...INSTALL_FLAGS], "pipe")
  if (clean.code !== 0 && onlyForeignPackagesMissing(clean.stderr)) {
    say("the registry lacks optional packages of other platforms; installing the locked versions without them")
    if (npm(["install", "--no-save", ...INSTALL_FLAGS], "inherit").code !== 0) fail("npm install failed, see above.")
  } else {
    process.stderr.write(clean.stderr)
    if (clean.code !== 0) fail("npm ci failed, see above.")
  }
  writeFileSync(abiFile, abi)
  say(`packages installed in ${elapsed(startedAt)}`)
}

if (isMain(import.meta.url)) {
  requireNode()
  install()
}
