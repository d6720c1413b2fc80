// Lengths of time as a number and a unit: as they are typed, and in words.

export const spanUnits = ["second", "minute", "hour", "day"] as const
export type SpanUnit = (typeof spanUnits)[number]

const seconds: Readonly<Record<SpanUnit, number>> = { second: 1, minute: 60, hour: 3600, day: 86_400 }

export interface Span {
  /** As typed. */
  readonly amount: string
  readonly unit: SpanUnit
}

/** In the largest unit that divides it; nothing stays in the given one. */
export const spanOf = (sec: number, ofNothing: SpanUnit): Span => {
  const unit = sec === 0 ? ofNothing : (spanUnits.findLast((one) => sec % seconds[one] === 0) ?? "second")
  return { amount: String(sec / seconds[unit]), unit }
}

/** Null when it is no whole number of the unit. */
export const secondsOf = ({ amount, unit }: Span): number | null =>
  /^\d{1,9}$/.test(amount.trim()) ? Number(amount.trim()) * seconds[unit] : null

/** "90 seconds", "5 minutes", "1 hour". */
export const spanText = (sec: number, localeName: string): string => {
  const { amount, unit } = spanOf(sec, "second")
  return new Intl.NumberFormat(localeName, { style: "unit", unit, unitDisplay: "long" }).format(Number(amount))
}
