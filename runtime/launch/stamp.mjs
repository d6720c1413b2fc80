// Owns the question whether dist/ was built from the files that are here now.
import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { root, run } from "./install.mjs"

/** Where build.mjs leaves the fingerprint of what it built. */
export const stampFile = join(root, "dist/stamp")

const INPUTS = ["package.json", "package-lock.json", "tsconfig.json", "schema", "src", "runtime"]

const filesUnder = (path) => {
  try {
    return readdirSync(join(root, path), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
  } catch (error) {
    if (error.code === "ENOTDIR") return [join(root, path)]
    if (error.code === "ENOENT") return []
    throw error
  }
}

/** SHA-256 over the names and bytes of every build input: an added, removed or changed file changes it, a date does not. */
export const fingerprint = () => {
  const hash = createHash("sha256")
  for (const file of INPUTS.flatMap(filesUnder)) {
    const bytes = readFileSync(file)
    hash.update(`${file.slice(root.length)}\0${bytes.length}\0`).update(bytes)
  }
  return hash.digest("hex")
}

/** True where dist/ is missing or was built from other inputs. */
export const isStale = () => {
  try {
    return readFileSync(stampFile, "utf8") !== fingerprint()
  } catch (error) {
    if (error.code === "ENOENT") return true
    throw error
  }
}

/** Builds in a process of its own where dist/ is stale, so its memory is gone before the program runs; returns the exit code. */
export const buildIfStale = () => (isStale() ? run(process.execPath, [join(root, "runtime/launch/build.mjs")]) : 0)
