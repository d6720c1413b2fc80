// Linux md arrays as /proc/mdstat tells them.
import { membersMax, shortened, volumesMax } from "../Collector.ts"
import type { Raid, RaidArray, StaticArray } from "../Report.ts"

export interface MdMember {
  readonly name: string
  readonly slot: number
  /** F faulty, S spare, W write-mostly, J journal, R replacement. */
  readonly flags: string
}

export interface MdArray {
  readonly name: string
  /** `active`, `inactive`, or another word of the kernel. */
  readonly status: string
  /** `raid1`; empty for inactive arrays. */
  readonly level: string
  readonly members: ReadonlyArray<MdMember>
  /** Slots of a redundant array and how many are in use; null for levels without redundancy. */
  readonly slots: { readonly total: number; readonly inUse: number; readonly pattern: string } | null
  /** The line of a running or waiting resync, recovery, reshape or check. */
  readonly syncLine: string | null
}

const syncWords = /\b(?:resync|recovery|reshape|check|repair)\s*=/

const parseMembers = (words: ReadonlyArray<string>): ReadonlyArray<MdMember> =>
  words.flatMap((word) => {
    const match = /^(\S+?)\[(\d+)\]((?:\([A-Z]\))*)$/.exec(word)
    if (match === null) return []
    return [{ name: match[1] ?? "", slot: Number(match[2]), flags: (match[3] ?? "").replace(/[()]/g, "") }]
  })

const parseArray = (head: RegExpExecArray, details: ReadonlyArray<string>): MdArray => {
  const words = (head[3] ?? "").split(/\s+/).filter((word) => word !== "")
  const members = parseMembers(words)
  const level = words.find((word) => !word.includes("[") && !word.startsWith("(")) ?? ""
  const slots = details.map((line) => /\[(\d+)\/(\d+)\]\s+\[([U_]+)\]/.exec(line)).find((match) => match !== null)
  const syncLine = details.find((line) => syncWords.test(line))
  return {
    name: head[1] ?? "",
    status: head[2] ?? "",
    level,
    members,
    slots: slots ? { total: Number(slots[1]), inUse: Number(slots[2]), pattern: slots[3] ?? "" } : null,
    syncLine: syncLine === undefined ? null : shortened(syncLine.trim())
  }
}

/** Parses /proc/mdstat into its arrays, sorted by name. Lines it does not know are passed over. */
export const parseMdstat = (text: string): ReadonlyArray<MdArray> => {
  const arrays: Array<MdArray> = []
  const lines = text.split("\n")
  for (let at = 0; at < lines.length; at++) {
    const head = /^(md\S*) : (\S+)(.*)$/.exec(lines[at] ?? "")
    if (head === null) continue
    const details: Array<string> = []
    while (/^\s/.test(lines[at + 1] ?? "")) details.push(lines[++at] ?? "")
    arrays.push(parseArray(head, details))
  }
  return arrays.sort((a, b) => (a.name < b.name ? -1 : 1))
}

const has = (member: MdMember, flag: string): boolean => member.flags.includes(flag)

/**
 * A faulty member is down and a spare stands ready. Any other one is up in a full array; in a degraded one the slot
 * pattern tells, and a number past the slots belongs to a member that is still being rebuilt.
 */
const stateOf = (array: MdArray, member: MdMember): "up" | "down" | "unknown" => {
  if (has(member, "F")) return "down"
  if (array.status !== "active") return "unknown"
  if (has(member, "S") || array.slots === null || array.slots.inUse >= array.slots.total) return "up"
  const mark = array.slots.pattern[member.slot]
  return mark === "U" ? "up" : "unknown"
}

/** An array that is not running tells nothing; otherwise a missing or faulty member means degraded. */
const healthOf = (array: MdArray, failed: number): RaidArray["health"] => {
  if (array.status === "inactive") return "unknown"
  return failed > 0 || array.status !== "active" ? "degraded" : "healthy"
}

/** The array as sent: active are slots in use, working those and the spares, failed the faulty or missing ones. */
export const arrayReport = (array: MdArray): RaidArray => {
  const faulty = array.members.filter((member) => has(member, "F")).length
  const spares = array.members.filter((member) => has(member, "S") && !has(member, "F")).length
  const plain = array.members.length - faulty - spares
  const inUse = array.status === "inactive" ? 0 : (array.slots?.inUse ?? plain)
  const missing = array.slots === null ? 0 : array.slots.total - array.slots.inUse
  const failed = Math.max(faulty, missing)
  const progress = /(\d+(?:\.\d+)?%)/.exec(array.syncLine ?? "")?.[1]
  return {
    name: array.name,
    status: array.status,
    active: inUse,
    working: inUse + spares,
    failed,
    health: healthOf(array, failed),
    members: array.members.slice(0, membersMax).map((member) => ({ name: member.name, state: stateOf(array, member) })),
    ...(array.syncLine === null ? {} : { sync_status: array.syncLine }),
    ...(progress === undefined ? {} : { sync_progress: progress })
  }
}

/** All arrays as sent. */
export const raidReport = (arrays: ReadonlyArray<MdArray>): Raid => ({
  supported: true,
  available: arrays.length > 0,
  arrays: arrays.slice(0, volumesMax).map(arrayReport)
})

/** The arrays as Static describes them. */
export const raidStatic = (arrays: ReadonlyArray<MdArray>): ReadonlyArray<StaticArray> =>
  arrays.slice(0, volumesMax).map((array) => ({
    name: array.name,
    level: array.level,
    devices: array.slots?.total ?? array.members.length,
    members: array.members.slice(0, membersMax).map(({ name }) => ({ name }))
  }))
