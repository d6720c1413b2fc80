// What held the service's event loop, and how much of that was the machine's doing.

/** What held the loop between two looks. */
export interface Turn {
  /** On the machine's own clock, which all its processes share, milliseconds. */
  readonly fromMs: number
  readonly toMs: number
  /** Without the time in which other processes had the cores. */
  readonly heldMs: number
  /** Computing, or standing with the machine; the rest waited for the disk. */
  readonly cpuMs: number
  /** Standing ready while others had the cores. */
  readonly queuedMs: number
  /** What of it the database took, and background work: sealing, retention, sweeps, and the waiting for a busy disk. */
  readonly workedMs: number
  /** The cores on which it began and ended. */
  readonly cores: ReadonlyArray<number>
}

/** A stretch in which a core of this machine did nothing, not even for a process that goes before all others. */
export interface Stop {
  readonly fromMs: number
  readonly toMs: number
  readonly core: number
}

/** What no turn should pass. */
export const overMs = 20
/** Shorter turns are not told of one by one. */
export const longMs = 5

/** A statement on the loop, waiting for a core included. */
export interface Slowest {
  readonly ms: number
  readonly statement: string
}

/** Since the last time it was asked for. */
export interface Blocks {
  /** Longest delay of a due timer beyond its own millisecond. */
  readonly maxMs: number
  readonly p99Ms: number
  /** 999 of 1,000 delays are below: a single stop of the machine does not show in it. */
  readonly p999Ms: number
  /** The turns above `longMs`. */
  readonly long: ReadonlyArray<Turn>
  readonly slowest: Slowest
}

const nothing: Turn = { fromMs: 0, toMs: 0, heldMs: 0, cpuMs: 0, queuedMs: 0, workedMs: 0, cores: [] }

/** The turn that held the loop for longest, whoever was at fault. */
export const longestOf = ({ long }: Blocks): Turn =>
  long.reduce((longest, turn) => (turn.heldMs > longest.heldMs ? turn : longest), nothing)

/** The same stretches, each told once for each core. */
export const merged = (stops: ReadonlyArray<Stop>): ReadonlyArray<Stop> => {
  const found: Array<Stop> = []
  for (const stop of [...stops].sort((a, b) => a.core - b.core || a.fromMs - b.fromMs)) {
    const last = found.at(-1)
    if (last === undefined || last.core !== stop.core || stop.fromMs > last.toMs) found.push(stop)
    else found[found.length - 1] = { ...last, toMs: Math.max(last.toMs, stop.toMs) }
  }
  return found
}

/** Milliseconds of a turn in which a core of its own stood. */
export const stoodMs = ({ cores, fromMs, toMs }: Turn, stops: ReadonlyArray<Stop>): number => {
  const inside = stops
    .filter((stop) => cores.includes(stop.core) && stop.fromMs < toMs && stop.toMs > fromMs)
    .map((stop) => ({ fromMs: Math.max(stop.fromMs, fromMs), toMs: Math.min(stop.toMs, toMs), core: 0 }))
  return merged(inside).reduce((sum, stop) => sum + stop.toMs - stop.fromMs, 0)
}

export interface OwnBlocks {
  /** The longest turn without the time in which the machine stood. */
  readonly ownMs: number
  /** What it had computed or stood, milliseconds. */
  readonly cpuMs: number
  /** The longest that the database and background work took of one turn, without the machine's stops. */
  readonly workedMs: number
  /** Turns above `overMs`: by the service's own doing, and with the machine's. */
  readonly ownOver: number
  readonly over: number
}

export const ownOf = (blocks: Blocks, stops: ReadonlyArray<Stop>): OwnBlocks => {
  const own = blocks.long.map((turn) => {
    const ms = Math.max(0, turn.heldMs - stoodMs(turn, stops))
    return { cpuMs: turn.cpuMs, ms, workedMs: Math.min(ms, turn.workedMs) }
  })
  const longest = own.reduce((one, other) => (other.ms > one.ms ? other : one), { cpuMs: 0, ms: 0 })
  return {
    ownMs: longest.ms,
    cpuMs: longest.cpuMs,
    workedMs: Math.max(0, ...own.map(({ workedMs }) => workedMs)),
    ownOver: own.filter(({ ms }) => ms > overMs).length,
    over: blocks.long.filter(({ heldMs }) => heldMs > overMs).length
  }
}
