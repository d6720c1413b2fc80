// The columnar copy of the fleet: one typed array per live value, one row per node of the last roster.
import type { LiveFrame, LiveValues, Roster } from "../../../schema/Live.ts"

/** Samples of the CPU sparkline kept per node. */
export const sparkLength = 30

export const valueNames = [
  "received_at",
  "cpu",
  "load1",
  "mem",
  "swap",
  "disk",
  "recv_bps",
  "sent_bps",
  "read_bps",
  "write_bps",
  "uptime_sec",
  "processes",
  "tcp",
  "udp",
  "temp"
] as const satisfies ReadonlyArray<Exclude<keyof LiveValues, "row">>
export type ValueName = (typeof valueNames)[number]

const emptyRoster: Roster = {
  id: [],
  title: [],
  os: [],
  platform: [],
  arch: [],
  tags: [],
  groups: [],
  stale_after_sec: [],
  cores: [],
  memory_total: [],
  group_names: {}
}

const emptyValues = (count: number): Record<ValueName, Float64Array> => {
  const made = {} as Record<ValueName, Float64Array>
  for (const name of valueNames) made[name] = new Float64Array(count)
  return made
}

/** Plain mutable state without signals; whoever shows it bumps one version signal after each applied frame. */
export class Fleet {
  /** What to send as `since`; null asks for a whole frame. */
  seq: number | null = null
  count = 0
  /** Raised by one with every new roster; caches of static columns are keyed by it. */
  rosterRevision = 0
  roster: Roster = emptyRoster
  values: Record<ValueName, Float64Array> = emptyValues(0)
  #spark = new Int16Array(0)
  #sparkEnd = new Uint8Array(0)
  #sparkSize = new Uint8Array(0)
  #rowOf = new Map<number, number>()

  /** Forgets everything: another viewer must not see rows of the last one. */
  reset(): void {
    this.seq = null
    this.#setRoster(emptyRoster)
  }

  rowOf(id: number): number | undefined {
    return this.#rowOf.get(id)
  }

  /** One value in the units of the frame; 0 for a row out of range. */
  value(name: ValueName, row: number): number {
    return this.values[name][row] ?? 0
  }

  /**
   * Takes a frame over. False when it does not fit what we hold (then nothing changed but `seq`,
   * which is null so that the next request asks for a whole frame).
   */
  apply(frame: LiveFrame): boolean {
    const { roster, values } = frame
    const count = roster === null ? this.count : roster.id.length
    const rows = values.row
    const fits = rows === null ? fitsWhole(values, count) : roster === null && fitsPart(values, rows, count)
    if (!fits || (roster === null && this.seq === null)) {
      this.seq = null
      return false
    }
    if (roster !== null) this.#setRoster(roster)
    const length = rows === null ? count : rows.length
    for (let i = 0; i < length; i++) this.#write(rows === null ? i : (rows[i] ?? 0), values, i)
    this.seq = frame.seq
    return true
  }

  /** CPU samples of one node in per mille, oldest first, written into `into`; answers how many. */
  sparkOf(row: number, into: Int16Array): number {
    const size = this.#sparkSize[row] ?? 0
    const end = this.#sparkEnd[row] ?? 0
    for (let i = 0; i < size; i++) {
      into[i] = this.#spark[row * sparkLength + ((end - size + i + sparkLength) % sparkLength)] ?? 0
    }
    return size
  }

  #write(row: number, from: LiveValues, index: number): void {
    const reported = from.received_at[index] ?? 0
    const isNew = reported > 0 && reported !== this.values.received_at[row]
    for (const name of valueNames) this.values[name][row] = from[name][index] ?? 0
    if (!isNew) return
    const end = this.#sparkEnd[row] ?? 0
    this.#spark[row * sparkLength + end] = from.cpu[index] ?? 0
    this.#sparkEnd[row] = (end + 1) % sparkLength
    this.#sparkSize[row] = Math.min((this.#sparkSize[row] ?? 0) + 1, sparkLength)
  }

  /** Values arrive with every roster; only the sparklines have to follow their nodes to the new rows. */
  #setRoster(roster: Roster): void {
    const count = roster.id.length
    const spark = new Int16Array(count * sparkLength)
    const sparkEnd = new Uint8Array(count)
    const sparkSize = new Uint8Array(count)
    const values = emptyValues(count)
    const rowOf = new Map<number, number>()
    for (let row = 0; row < count; row++) {
      const id = roster.id[row] ?? 0
      rowOf.set(id, row)
      const old = this.#rowOf.get(id)
      if (old === undefined) continue
      spark.set(this.#spark.subarray(old * sparkLength, (old + 1) * sparkLength), row * sparkLength)
      sparkEnd[row] = this.#sparkEnd[old] ?? 0
      sparkSize[row] = this.#sparkSize[old] ?? 0
      values.received_at[row] = this.values.received_at[old] ?? 0
    }
    this.roster = roster
    this.count = count
    this.values = values
    this.#spark = spark
    this.#sparkEnd = sparkEnd
    this.#sparkSize = sparkSize
    this.#rowOf = rowOf
    this.rosterRevision++
  }
}

const fitsWhole = (values: LiveValues, count: number): boolean =>
  valueNames.every((name) => values[name].length === count)

const fitsPart = (values: LiveValues, rows: ReadonlyArray<number>, count: number): boolean =>
  fitsWhole(values, rows.length) && rows.every((row) => row >= 0 && row < count)
