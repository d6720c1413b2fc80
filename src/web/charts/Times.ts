// Instants and stretches of time as text, in the language of the viewer and in one zone.

export interface Stretch {
  readonly fromMs: number
  readonly toMs: number
}

export interface Times {
  /** Label of the time axis; `pauseMs` lies between two labels. */
  readonly tick: (ms: number, pauseMs: number) => string
  /** The start of a bucket of `stepSec`. */
  readonly moment: (ms: number, stepSec: number) => string
  readonly span: (fromMs: number, toMs: number) => readonly [string, string]
}

const minuteMs = 60_000
const dayMs = 86_400_000

/** In the zone of the viewer unless another known one is given. */
export const makeTimes = (localeName: string, zone?: string): Times => {
  const of = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(localeName, {
      ...options,
      hourCycle: "h23",
      ...(zone === undefined ? {} : { timeZone: zone })
    })
  const seconds = of({ hour: "2-digit", minute: "2-digit", second: "2-digit" })
  const minutes = of({ hour: "2-digit", minute: "2-digit" })
  const day = of({ day: "numeric", month: "short" })
  const dayMinutes = of({ day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" })
  const daySeconds = of({
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit"
  })
  const isMidnight = (ms: number): boolean => seconds.format(ms) === "00:00:00"
  return {
    tick: (ms, pauseMs) =>
      pauseMs >= dayMs || isMidnight(ms) ? day.format(ms) : (pauseMs >= minuteMs ? minutes : seconds).format(ms),
    moment: (ms, stepSec) => (stepSec < 60 ? daySeconds : dayMinutes).format(ms),
    span: (fromMs, toMs) => {
      const isShort = toMs - fromMs < 10 * minuteMs
      const isOneDay = day.format(fromMs) === day.format(toMs)
      const end = isOneDay ? (isShort ? seconds : minutes) : isShort ? daySeconds : dayMinutes
      return [(isShort ? daySeconds : dayMinutes).format(fromMs), end.format(toMs)]
    }
  }
}
