// Amounts of traffic as text: decimal units as bills have them, and rates also in bits.
import { unknown, type Format } from "../../text/Format.ts"

const units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"] as const
const bitUnits = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"] as const

/** Three digits at least, so that a bill can be compared. */
const scaled = (value: number, names: ReadonlyArray<string>, format: Format): string => {
  if (!Number.isFinite(value) || value < 0) return unknown
  let step = 0
  let rest = value
  while (rest >= 999.5 && step < names.length - 1) {
    rest /= 1000
    step++
  }
  const digits = step === 0 || rest >= 99.95 ? 0 : rest >= 9.995 ? 1 : 2
  return `${format.decimal(rest, digits)} ${names[step] ?? ""}`
}

/** Bytes in units of a thousand. */
export const volume = (bytes: number, format: Format): string => scaled(bytes, units, format)

/** Bytes per second as bits per second. */
export const bits = (bytesPerSec: number, format: Format): string => scaled(bytesPerSec * 8, bitUnits, format)
