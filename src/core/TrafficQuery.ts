// Judges the parameters of the traffic reads: node, interface, period, months and kind of export.
import { isWrong, serverIdOf, type Wrong } from "./HistoryQuery.ts"
import { textLengthMax } from "../../schema/Wire.ts"

/** Query parameters as they came. */
export interface TrafficParams {
  readonly server_id?: string | undefined
  readonly iface?: string | undefined
  readonly period?: string | undefined
  readonly months?: string | undefined
}

/** The cycle that is read, or from which `months` walks back. */
export type Period = "current" | "previous"

export interface TrafficQuery {
  readonly serverId: number
  /** Trimmed. */
  readonly iface: string
  readonly period: Period
  /** 1 to 24. */
  readonly months: number
}

export type ExportKind = "facts" | "days" | "months"
const exportKinds: ReadonlyArray<ExportKind> = ["facts", "days", "months"]

/** Decision: more is lowered to this, and none given is the default. */
export const monthsMax = 24
export const monthsDefault = 6

/**
 * What is asked, or the parameter that is wrong. Every read judges all four, also those it does not use; an empty
 * period or number of months is none given. `all` is no interface (contract, traffic queries).
 */
export const trafficQuery = (params: TrafficParams): TrafficQuery | Wrong => {
  const serverId = serverIdOf(params.server_id)
  if (typeof serverId === "object") return serverId
  const iface = ifaceOf(params.iface)
  if (typeof iface === "object") return iface
  const period = periodOf(params.period)
  if (typeof period === "object") return period
  const months = monthsOf(params.months)
  return typeof months === "object" ? months : { serverId, iface, period, months }
}

/** The same for an export, whose kind must be named. */
export const exportQuery = (
  params: TrafficParams & { readonly kind?: string | undefined }
): (TrafficQuery & { readonly kind: ExportKind }) | Wrong => {
  const query = trafficQuery(params)
  if (isWrong(query)) return query
  const kind = exportKinds.find((one) => one === params.kind?.trim())
  return kind === undefined ? { wrong: `kind must be one of ${exportKinds.join(", ")}` } : { ...query, kind }
}

const ifaceOf = (text: string | undefined): string | Wrong => {
  const iface = text?.trim() ?? ""
  if (iface === "") return { wrong: "iface is required" }
  if (iface.toLowerCase() === "all") return { wrong: "iface must be one interface: there is no sum over all" }
  return iface.length <= textLengthMax ? iface : { wrong: `iface must be at most ${textLengthMax} characters` }
}

const periodOf = (text: string | undefined): Period | Wrong => {
  const period = text?.trim() ?? ""
  if (period === "") return "current"
  return period === "current" || period === "previous" ? period : { wrong: "period must be current or previous" }
}

const monthsOf = (text: string | undefined): number | Wrong => {
  const digits = text?.trim() ?? ""
  if (digits === "") return monthsDefault
  const months = /^\d{1,15}$/.test(digits) ? Number(digits) : 0
  return months >= 1 ? Math.min(months, monthsMax) : { wrong: "months must be an integer of at least 1" }
}
