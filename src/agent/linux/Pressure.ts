// Pressure stall information, from /proc/pressure.
import { counterOf } from "../Rate.ts"
import type { Pressure, ResourcePressure, Stall } from "../Report.ts"
import { errorCode, readText, type Roots } from "./Tree.ts"

const percent = (text: string | undefined): number => {
  const value = Number(text)
  return Number.isFinite(value) ? Math.min(100, Math.max(0, value)) : 0
}

const stallOf = (fields: ReadonlyMap<string, string>): Stall => ({
  avg10: percent(fields.get("avg10")),
  avg60: percent(fields.get("avg60")),
  avg300: percent(fields.get("avg300")),
  total: counterOf(fields.get("total"))
})

/** Parses one file of /proc/pressure; kernels before 5.13 have no `full` line for the CPU. Throws without any line. */
export const parsePressure = (text: string): ResourcePressure => {
  const groups = new Map<string, Stall>()
  for (const line of text.split("\n")) {
    const [group, ...pairs] = line.trim().split(/\s+/)
    if (group !== "some" && group !== "full") continue
    groups.set(group, stallOf(new Map(pairs.map((pair) => [pair.split("=")[0] ?? "", pair.split("=")[1] ?? ""]))))
  }
  const some = groups.get("some")
  const full = groups.get("full")
  if (some === undefined && full === undefined) throw new Error("no pressure line")
  return { status: "ok", ...(some === undefined ? {} : { some }), ...(full === undefined ? {} : { full }) }
}

/** Absent files and a kernel started with psi=0 (which refuses the read) mean the same: not supported. */
const statusOf = (code: string): string => {
  if (code === "ENOENT" || code === "EOPNOTSUPP" || code === "ENOTSUP") return "unsupported"
  return code === "EACCES" || code === "EPERM" ? "no_permission" : "error"
}

const readResource = (roots: Roots, name: string): ResourcePressure => {
  try {
    return parsePressure(readText(roots.proc, "pressure", name))
  } catch (error) {
    return { status: statusOf(errorCode(error)) }
  }
}

/** Reads the three resources; each has its own status. Never throws. */
export const readPressure = (roots: Roots): Pressure => ({
  cpu: readResource(roots, "cpu"),
  memory: readResource(roots, "memory"),
  io: readResource(roots, "io")
})

/** What other systems send. */
export const unsupportedPressure: Pressure = {
  cpu: { status: "unsupported" },
  memory: { status: "unsupported" },
  io: { status: "unsupported" }
}
