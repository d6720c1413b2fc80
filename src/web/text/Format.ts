// Numbers, sizes, rates, durations and times as text, for one language.

export interface Units {
  readonly day: string
  readonly hour: string
  readonly minute: string
  readonly second: string
  /** Stands between two parts of a duration. */
  readonly gap: string
}

export interface Format {
  readonly integer: (value: number) => string
  /** `value` 0..1; whole per cents. */
  readonly percent: (value: number) => string
  /** One decimal below ten, none above: load, degrees. */
  readonly decimal: (value: number, digits: number) => string
  /** Binary units: memory and disks. */
  readonly bytes: (value: number) => string
  /** Decimal units per second: transfer. */
  readonly rate: (value: number) => string
  /** The two largest parts of a number of seconds. */
  readonly duration: (sec: number) => string
  /** The largest part of an age in ms. */
  readonly age: (ms: number) => string
  /** Hours, minutes and seconds of an instant in ms. */
  readonly time: (ms: number) => string
  readonly dateTime: (text: string) => string
}

/** What stands where a figure is not known. */
export const unknown = "–"

const binary = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const
const decimal = ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"] as const

const minuteSec = 60
const hourSec = 3600
const daySec = 86_400

export const makeFormat = (localeName: string, units: Units): Format => {
  const whole = new Intl.NumberFormat(localeName, { maximumFractionDigits: 0 })
  const fixed = [0, 1, 2].map(
    (digits) => new Intl.NumberFormat(localeName, { minimumFractionDigits: digits, maximumFractionDigits: digits })
  )
  const percent = new Intl.NumberFormat(localeName, { style: "percent", maximumFractionDigits: 0 })
  const time = new Intl.DateTimeFormat(localeName, {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23"
  })
  const dateTime = new Intl.DateTimeFormat(localeName, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" })
  const decimals = (value: number, digits: number): string => (fixed[digits] ?? whole).format(value)

  const scaled = (value: number, base: number, names: ReadonlyArray<string>): string => {
    if (!Number.isFinite(value) || value < 0) return unknown
    let step = 0
    let rest = value
    // 999.5 would be printed as 1,000 of the smaller unit.
    while (rest >= base - 0.5 && step < names.length - 1) {
      rest /= base
      step++
    }
    return `${decimals(rest, step > 0 && rest < 9.95 ? 1 : 0)} ${names[step] ?? ""}`
  }

  return {
    integer: (value) => whole.format(value),
    percent: (value) => percent.format(value),
    decimal: decimals,
    bytes: (value) => scaled(value, 1024, binary),
    rate: (value) => scaled(value, 1000, decimal),
    duration: (sec) => largest(sec, 2, units, whole),
    age: (ms) => largest(Math.max(0, ms) / 1000, 1, units, whole),
    time: (ms) => time.format(ms),
    dateTime: (text) => {
      const ms = Date.parse(text)
      return Number.isNaN(ms) ? unknown : dateTime.format(ms)
    }
  }
}

/** The `count` largest parts of a number of seconds, without those that are zero. */
const largest = (sec: number, count: number, units: Units, whole: Intl.NumberFormat): string => {
  if (!Number.isFinite(sec) || sec < 0) return unknown
  const parts = [
    [Math.floor(sec / daySec), units.day],
    [Math.floor((sec % daySec) / hourSec), units.hour],
    [Math.floor((sec % hourSec) / minuteSec), units.minute],
    [Math.floor(sec % minuteSec), units.second]
  ] as const
  const first = parts.findIndex(([size]) => size > 0)
  if (first < 0) return `0${units.second}`
  return parts
    .slice(first, first + count)
    .filter(([size], index) => index === 0 || size > 0)
    .map(([size, unit]) => `${whole.format(size)}${unit}`)
    .join(units.gap)
}
