// Owns finding a Chromium for the browser tests, and installing Debian's where that takes no question.
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { delimiter, join } from "node:path"
import { run, say } from "./install.mjs"

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
const MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"

// Fonts with Latin and Chinese glyphs, so that layout and screenshots do not depend on the machine.
const PACKAGES = ["chromium", "fonts-dejavu", "fonts-noto-cjk"]

// Some distributions ship a launcher that only says how to install the real thing, so a candidate must run.
const VERSION_TIMEOUT_MS = 20_000
const runs = (path) => spawnSync(path, ["--version"], { stdio: "ignore", timeout: VERSION_TIMEOUT_MS }).status === 0

const candidates = () => {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/bin"].filter((folder) => folder !== "")
  const named = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)))
  return [...new Set([...named, MAC])].filter((path) => existsSync(path))
}

/** Path of a Chromium that starts, or undefined. CHROMIUM names the one to use and is never passed over silently. */
export const findBrowser = () => {
  const chosen = process.env.CHROMIUM
  if (chosen) {
    if (runs(chosen)) return chosen
    say(`CHROMIUM is ${chosen}, which does not run`)
    return undefined
  }
  return candidates().find(runs)
}

// [] as root, ["sudo", "-n"] where sudo asks no password, undefined where packages cannot be installed from here.
const rootPrefix = () => {
  if (process.platform !== "linux" || !existsSync("/usr/bin/apt-get")) return undefined
  if (process.getuid?.() === 0) return []
  return spawnSync("sudo", ["-n", "true"], { stdio: "ignore" }).status === 0 ? ["sudo", "-n"] : undefined
}

const apt = (prefix, args) => {
  const [command, ...rest] = [...prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", ...args]
  return run(command, rest, { stdio: ["ignore", "inherit", "inherit"] }) === 0
}

/** Path of a Chromium, installed first where it is missing and this is a Debian-like system; undefined where there is none. */
export const ensureBrowser = () => {
  const found = findBrowser()
  const prefix = found === undefined && !process.env.CHROMIUM ? rootPrefix() : undefined
  if (prefix === undefined) return found
  say(`no Chromium here; installing ${PACKAGES.join(", ")}`)
  return apt(prefix, ["update", "-qq"]) && apt(prefix, ["install", "-y", "-qq", ...PACKAGES])
    ? findBrowser()
    : undefined
}
