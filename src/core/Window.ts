// The rolling window of one node: a ring of vectors in typed arrays, the last minutes at report resolution.
import { hostSize } from "./Layout.ts"

/**
 * Values per node. Gauges are kept as 32-bit floats (seven digits are more than a chart shows; exact values are in the
 * journal), so 1792 of them, 7 kB, hold about 18 samples of a usual node: some 54 s at 3 s, 70 MB for 10,000 nodes.
 */
export const windowValues = 1792
const samplesMin = 10
const samplesMax = 64

/**
 * Memory of many windows in a few large arrays: ten thousand small buffers of their own would be ten thousand objects
 * for the collector to watch and to weigh.
 */
export class WindowPool {
  private readonly free: Array<Slot> = []
  /** Windows per slab: 1.8 MB of values. */
  static readonly slabWindows = 256

  take(): Slot {
    const slot = this.free.pop()
    if (slot !== undefined) return slot
    const values = new Float32Array(WindowPool.slabWindows * windowValues)
    const times = new Float64Array(WindowPool.slabWindows * samplesMax)
    for (let i = WindowPool.slabWindows - 1; i >= 0; i--) {
      this.free.push({
        values: values.subarray(i * windowValues, (i + 1) * windowValues),
        times: times.subarray(i * samplesMax, (i + 1) * samplesMax)
      })
    }
    return this.free.pop() as Slot
  }

  give(slot: Slot): void {
    this.free.push(slot)
  }
}

export interface Slot {
  readonly values: Float32Array
  readonly times: Float64Array
}

export class Window {
  /** Values per sample. */
  size: number
  /** Samples held, oldest first from `start`. */
  length = 0
  private start = 0
  private capacity = 0
  private slot: Slot | undefined
  private readonly pool: WindowPool | undefined

  /** Without a pool the window has memory of its own. */
  constructor(pool?: WindowPool, size = hostSize) {
    this.pool = pool
    this.size = size
  }

  /** The most samples that a window of this vector size holds. */
  static samples(size: number): number {
    return Math.max(samplesMin, Math.min(samplesMax, Math.floor(windowValues / size)))
  }

  /** Appends a sample, dropping the oldest when full. A new vector size keeps the host series of what is held. */
  push(at: number, vector: Float64Array, size: number): void {
    if (this.slot === undefined || size !== this.size) this.reshape(size)
    const { times, values } = this.slot as Slot
    if (this.length === this.capacity) {
      this.start = (this.start + 1) % this.capacity
      this.length--
    }
    const place = (this.start + this.length) % this.capacity
    times[place] = at
    const offset = place * size
    for (let i = 0; i < size; i++) values[offset + i] = vector[i] as number
    this.length++
  }

  /** Receive time of the i-th oldest sample, milliseconds. */
  timeAt(i: number): number {
    return this.slot?.times[(this.start + i) % this.capacity] as number
  }

  /** A series of the i-th oldest sample; NaN is absent. */
  valueAt(i: number, series: number): number {
    return this.slot?.values[((this.start + i) % this.capacity) * this.size + series] as number
  }

  /** Gives the memory back; the window is empty afterwards. */
  release(): void {
    if (this.slot?.values.length === windowValues) this.pool?.give(this.slot)
    this.slot = undefined
    this.length = 0
    this.start = 0
    this.capacity = 0
  }

  /** Nodes with very many devices need more than a slot for their ten samples and get memory of their own. */
  private allot(capacity: number, size: number): Slot {
    if (this.pool !== undefined && capacity * size <= windowValues) return this.pool.take()
    return { values: new Float32Array(capacity * size), times: new Float64Array(capacity) }
  }

  private reshape(size: number): void {
    const capacity = Window.samples(size)
    const slot = this.allot(capacity, size)
    const kept = Math.min(this.length, capacity)
    const common = Math.min(hostSize, size, this.size)
    for (let i = 0; i < kept; i++) {
      const from = this.length - kept + i
      slot.times[i] = this.timeAt(from)
      for (let s = 0; s < size; s++) slot.values[i * size + s] = s < common ? this.valueAt(from, s) : Number.NaN
    }
    this.release()
    this.slot = slot
    this.size = size
    this.capacity = capacity
    this.length = kept
  }
}
