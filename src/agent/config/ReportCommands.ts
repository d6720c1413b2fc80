// The `report` commands: install, remove, update and list targets.
import type { Log } from "../Log.ts"
import { urlFault } from "../push/Endpoint.ts"
import { fetchInstallId } from "./Identity.ts"
import { ConfigFault, loadConfig, type ReportTarget, saveConfig, secretFault, targetsMax } from "./ReportConfig.ts"

export interface CommandContext {
  readonly configPath: string
  readonly out: (text: string) => void
  /** Asks the operator and gives the answer; null when there is no terminal. */
  readonly ask: ((question: string) => Promise<string>) | null
  readonly log: Log
  readonly signal: AbortSignal
  readonly ca: ReadonlyArray<string> | null
}

const line = ({ id, installId, url }: ReportTarget): string => `${id}\t${url}\t${installId ?? ""}\n`

/** The smallest number that is no id yet. */
const freshId = (targets: ReadonlyArray<ReportTarget>): string => {
  let id = 1
  while (targets.some((target) => target.id === String(id))) id += 1
  return String(id)
}

const requireUsable = (url: string, secret: string, requireHttps: boolean): void => {
  const fault = urlFault(url, requireHttps)
  if (fault !== null) throw new ConfigFault(`the URL ${fault}`)
  requireSecret(secret)
}

const requireSecret = (secret: string): void => {
  const fault = secretFault(secret)
  if (fault !== null) throw new ConfigFault(`the secret ${fault}`)
}

/** Whether the operator wants the new URL and secret in place of the known ones; throws without a terminal. */
const wantsReplacement = async (known: ReportTarget, context: CommandContext): Promise<boolean> => {
  if (context.ask === null) {
    throw new ConfigFault(`target ${known.id} already reports to this service; remove or update it, or use a terminal`)
  }
  const answer = await context.ask(
    `Target ${known.id} (${known.url}) already reports to this service. Replace it? [y/N] `
  )
  return /^y(?:es)?$/i.test(answer.trim())
}

const replaced = (targets: ReadonlyArray<ReportTarget>, next: ReportTarget): ReadonlyArray<ReportTarget> =>
  targets.map((target) => (target.id === next.id ? next : target))

/**
 * Adds a target, or fills in the identity of one that has none. A target with the same URL, secret and a known
 * identity is only printed. Throws ConfigFault.
 */
export const installTarget = async (
  url: string,
  secret: string,
  requireHttps: boolean,
  context: CommandContext
): Promise<void> => {
  const { ca, configPath, log, out, signal } = context
  requireUsable(url, secret, requireHttps)
  const targets = loadConfig(configPath)
  const equal = targets.find((target) => target.url === url && target.key === secret)
  if (equal !== undefined && equal.installId !== null) return out(line(equal))
  if (equal === undefined && targets.length >= targetsMax)
    throw new ConfigFault(`there are already ${targetsMax} targets`)
  const installId = await fetchInstallId({ url, secret, requireHttps, ca, signal }, log)
  const known = targets.find((target) => target.installId === installId)
  if (known !== undefined && !(await wantsReplacement(known, context))) return out(line(known))
  const next = { id: known?.id ?? equal?.id ?? freshId(targets), url, key: secret, installId }
  const others = targets.filter((target) => target !== equal || known === undefined)
  const isNew = known === undefined && equal === undefined
  saveConfig(configPath, isNew ? [...targets, next] : replaced(others, next))
  out(line(next))
}

const requireTarget = (targets: ReadonlyArray<ReportTarget>, id: string): ReportTarget => {
  const target = targets.find((candidate) => candidate.id === id)
  if (target === undefined) throw new ConfigFault(`there is no target ${id}`)
  return target
}

/** Removes a target; throws ConfigFault when there is none of that id. */
export const removeTarget = (id: string, { configPath, out }: CommandContext): void => {
  const targets = loadConfig(configPath)
  const target = requireTarget(targets, id)
  saveConfig(
    configPath,
    targets.filter((candidate) => candidate !== target)
  )
  out(line(target))
}

/** Replaces the secret of a target; throws ConfigFault. */
export const updateTarget = (id: string, secret: string, { configPath, out }: CommandContext): void => {
  requireSecret(secret)
  const targets = loadConfig(configPath)
  const next = { ...requireTarget(targets, id), key: secret }
  saveConfig(configPath, replaced(targets, next))
  out(line(next))
}

/** Enough of a long secret to tell two apart, nothing of a short one. */
const masked = (secret: string): string => (secret.length >= 12 ? `****${secret.slice(-2)}` : "****")

/** Prints id, URL, install id and the masked secret of every target. */
export const listTargets = ({ configPath, out }: CommandContext): void => {
  for (const target of loadConfig(configPath)) {
    out(`${target.id}\t${target.url}\t${target.installId ?? ""}\t${masked(target.key)}\n`)
  }
}
