// The targets on disk: one small file with mode 0600, read strictly and replaced atomically.
import {
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync
} from "node:fs"
import { dirname } from "node:path"
import { urlFault } from "../push/Endpoint.ts"
import { parseYaml, type ScalarMap, writeYaml } from "./Yaml.ts"

export interface ReportTarget {
  readonly id: string
  /** Ends with /metrics. */
  readonly url: string
  /** The node secret. */
  readonly key: string
  /** Which service answered when the target was installed; null until one did. */
  readonly installId: string | null
}

/** Thrown with one line for the operator; never contains a secret. */
export class ConfigFault extends Error {}

/** A node that reports to more services than this is a mistake; every target costs two connections. */
export const targetsMax = 32
const fileBytesMax = 64 * 1024
const secretLengthMax = 256
const isPosix = process.platform !== "win32"

/** Why a node secret cannot be used, or null: it must fit an HTTP header. */
export const secretFault = (secret: string): string | null => {
  if (secret.trim() === "") return "must not be empty"
  if (secret.length > secretLengthMax) return `must be at most ${secretLengthMax} characters`
  return /^[\x21-\x7e]+$/.test(secret) ? null : "must be plain ASCII without spaces"
}

const knownKeys = new Set(["id", "url", "key", "server_install_id"])

const targetOf = (item: ScalarMap, position: number): ReportTarget => {
  const where = `target ${position}`
  for (const key of item.keys()) if (!knownKeys.has(key)) throw new ConfigFault(`${where}: unknown key ${key}`)
  const textOf = (key: string): string => {
    const text = item.get(key)?.text ?? ""
    if (text.trim() === "") throw new ConfigFault(`${where}: ${key} is missing`)
    return text
  }
  const url = textOf("url")
  const key = textOf("key")
  const fault = urlFault(url, false)
  if (fault !== null) throw new ConfigFault(`${where}: url ${fault}`)
  const keyFault = secretFault(key)
  if (keyFault !== null) throw new ConfigFault(`${where}: key ${keyFault}`)
  return { id: textOf("id"), url, key, installId: item.has("server_install_id") ? textOf("server_install_id") : null }
}

const rejectRepeats = (what: string, values: ReadonlyArray<string>): void => {
  if (new Set(values).size !== values.length) throw new ConfigFault(`two targets share one ${what}`)
}

/** Reads the text of the file; throws ConfigFault or YamlFault. */
export const parseConfig = (text: string): ReadonlyArray<ReportTarget> => {
  const { lists, scalars } = parseYaml(text)
  const version = scalars.get("version")
  if (version === undefined || version.isQuoted || version.text !== "1") throw new ConfigFault("version must be 1")
  for (const key of scalars.keys()) if (key !== "version") throw new ConfigFault(`unknown key ${key}`)
  for (const key of lists.keys()) if (key !== "targets") throw new ConfigFault(`unknown key ${key}`)
  const targets = (lists.get("targets") ?? []).map((item, index) => targetOf(item, index + 1))
  if (targets.length > targetsMax) throw new ConfigFault(`more than ${targetsMax} targets`)
  rejectRepeats(
    "id",
    targets.map(({ id }) => id)
  )
  rejectRepeats(
    "server_install_id",
    targets.flatMap(({ installId }) => (installId === null ? [] : [installId]))
  )
  return targets
}

/** The text of the file for these targets. */
export const formatConfig = (targets: ReadonlyArray<ReportTarget>): string =>
  writeYaml(
    ["version", 1],
    [
      "targets",
      targets.map(({ id, installId, key, url }) => [
        ["id", id],
        ["url", url],
        ["key", key],
        ...(installId === null ? [] : [["server_install_id", installId] as const])
      ])
    ]
  )

const isMissing = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT"

const openConfig = (path: string): number | null => {
  try {
    return openSync(path, constants.O_RDONLY | (isPosix ? constants.O_NONBLOCK : 0))
  } catch (error) {
    if (isMissing(error)) return null
    throw new ConfigFault(`${path}: cannot be opened`)
  }
}

/** Loads the targets; a missing file has none. Throws ConfigFault, also when others could read the file. */
export const loadConfig = (path: string): ReadonlyArray<ReportTarget> => {
  const file = openConfig(path)
  if (file === null) return []
  try {
    const stat = fstatSync(file)
    if (!stat.isFile() || stat.size > fileBytesMax) throw new ConfigFault("is not a small regular file")
    const mode = stat.mode & 0o777
    if (isPosix && mode !== 0o600) throw new ConfigFault(`must have mode 0600 but has 0${mode.toString(8)}`)
    return parseConfig(readFileSync(file, "utf8"))
  } catch (error) {
    throw new ConfigFault(`${path}: ${error instanceof Error ? error.message : "cannot be read"}`)
  } finally {
    closeSync(file)
  }
}

/** The owner the file should have: the one it has, else that of its folder, so that a service user can read it. */
const ownerOf = (path: string): { readonly uid: number; readonly gid: number } => {
  try {
    return statSync(path)
  } catch {
    return statSync(dirname(path))
  }
}

const syncFolder = (path: string): void => {
  if (!isPosix) return
  const folder = openSync(path, "r")
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** Replaces the file: a complete old or a complete new one is there at any time. Throws ConfigFault. */
export const saveConfig = (path: string, targets: ReadonlyArray<ReportTarget>): void => {
  const temporary = `${path}.${process.pid}.tmp`
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o755 })
    rmSync(temporary, { force: true })
    const file = openSync(temporary, "wx", 0o600)
    try {
      const owner = ownerOf(path)
      if (isPosix && process.getuid?.() === 0) fchownSync(file, owner.uid, owner.gid)
      writeSync(file, formatConfig(targets))
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, path)
    syncFolder(dirname(path))
  } catch (error) {
    rmSync(temporary, { force: true })
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown failure"
    throw new ConfigFault(`${path}: cannot be written (${code})`)
  }
}
