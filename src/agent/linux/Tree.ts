// Reads under the /proc, /sys and /etc of one machine, or of a fixture that looks like one.
import { lstatSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

/** The three roots; tests point them at a fixture. */
export interface Roots {
  readonly proc: string
  readonly sys: string
  readonly etc: string
}

export const systemRoots: Roots = { proc: "/proc", sys: "/sys", etc: "/etc" }

/** The text of a file; throws when it cannot be read. */
export const readText = (...path: ReadonlyArray<string>): string => readFileSync(join(...path), "utf8")

/** The trimmed text of a file, or null when it cannot be read. */
export const readTrimmed = (...path: ReadonlyArray<string>): string | null => {
  try {
    return readText(...path).trim()
  } catch {
    return null
  }
}

/** The sorted names in a folder; empty when it cannot be read. */
export const namesIn = (...path: ReadonlyArray<string>): ReadonlyArray<string> => {
  try {
    return readdirSync(join(...path)).sort()
  } catch {
    return []
  }
}

/** True when the path itself exists, whatever a link points to. */
export const exists = (...path: ReadonlyArray<string>): boolean => {
  try {
    lstatSync(join(...path))
    return true
  } catch {
    return false
  }
}

/** The system's code of a failed call (`ENOENT`), or an empty text. */
export const errorCode = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""
