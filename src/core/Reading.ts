// Reads the bytes of a report: text, JSON, shape, meaning; the first thing wrong decides the answer.
import { NodeReport } from "../../schema/Report.ts"
import { Static } from "../../schema/Static.ts"
import { checker, picker, type Problem } from "./Compile.ts"
import type { WideCounters } from "./Details.ts"
import { wideCounters } from "./Wide.ts"

export type Reading<A> =
  | {
      readonly _tag: "Read"
      readonly value: A
      readonly wide: WideCounters | null
      /** The first few malformed pieces that were cut out, readable. */
      readonly dropped: ReadonlyArray<string>
      /** How many were cut out. */
      readonly lost: number
    }
  /** The body cannot be decoded (400). */
  | { readonly _tag: "Undecodable"; readonly message: string }
  /** The body decodes but says nonsense (422). */
  | { readonly _tag: "Meaningless"; readonly message: string }

/** Messages kept of the pieces that one report lost; the count says the rest. */
const droppedShownMax = 3
const nothing: ReadonlyArray<string> = []

const sentence = (problem: Problem): string => `${problem.path === "" ? "the body" : problem.path} ${problem.message}`
const refusal = (problem: Problem): Reading<never> => ({
  _tag: problem.breach === "type" ? "Undecodable" : "Meaningless",
  message: sentence(problem)
})

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
const notJson: Reading<never> = { _tag: "Undecodable", message: "the body must be one JSON value" }

const checkReport = checker(NodeReport)
const checkStatic = checker(Static)
const pickStatic = picker<Static, typeof Static.Encoded>(Static)

const isWide = (report: NodeReport): boolean => {
  for (const nic of report.metrics.network) {
    if ((nic.bytes_recv ?? 0) > Number.MAX_SAFE_INTEGER || (nic.bytes_sent ?? 0) > Number.MAX_SAFE_INTEGER) return true
  }
  return false
}

/** A NodeReport from the text of a body. Malformed optional pieces are cut out and named in `dropped`. */
export const readReport = (text: string): Reading<NodeReport> => {
  const value = parse(text)
  if (value === undefined) return notJson
  const problems: Array<Problem> = []
  const problem = checkReport(value, problems)
  if (problem !== undefined) return refusal(problem)
  const report = value as NodeReport
  let wide: WideCounters | null = null
  if (isWide(report)) {
    const found = wideCounters(text)
    if (found === "overflow") return { _tag: "Undecodable", message: "metrics.network holds a counter past 64 bits" }
    wide = found
  }
  const dropped = problems.length === 0 ? nothing : problems.slice(0, droppedShownMax).map(sentence)
  return { _tag: "Read", value: report, wide, dropped, lost: problems.length }
}

/** A Static from the text of a body, without members that nobody knows: it is stored as it stands. */
export const readStatic = (text: string): Reading<Static> => {
  const value = parse(text)
  if (value === undefined) return notJson
  const problem = checkStatic(value, [])
  if (problem !== undefined) return refusal(problem)
  return { _tag: "Read", value: pickStatic(value as Static), wide: null, dropped: nothing, lost: 0 }
}
