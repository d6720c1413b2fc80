// The rolling window of one node: a ring of vectors in typed arrays, the last minutes at report resolution.
import { Host, hostSize } from "./Layout.ts"

/**
 * Bytes per node. Gauges are kept as 32-bit floats (seven digits are more than a chart shows; exact values are in the
 * journal), so 16 kB hold about 40 samples of a usual node: two minutes at 3 s, 160 MB for 10,000 nodes.
 */
export const windowBytesMax = 16_384
const samplesMin = 10
const samplesMax = 120
const samplesFirst = 8

export class Window {
  /** Values per sample. */
  size: number
  /** Samples held, oldest first from `start`. */
  length = 0
  private start = 0
  private capacity = 0
  private times = new Float64Array(0)
  private values = new Float32Array(0)

  constructor(size = hostSize) {
    this.size = size
  }

  /** The most samples that a window of this vector size holds. */
  static samples(size: number): number {
    return Math.max(samplesMin, Math.min(samplesMax, Math.floor(windowBytesMax / (size * 4))))
  }

  /** Appends a sample, dropping the oldest when full. A new vector size keeps the host series of what is held. */
  push(at: number, vector: Float64Array, size: number): void {
    if (size !== this.size) this.reshape(size, this.capacity)
    const limit = Window.samples(size)
    if (this.length === this.capacity && this.capacity < limit) {
      this.reshape(size, Math.min(limit, Math.max(samplesFirst, this.capacity * 2)))
    }
    if (this.length === this.capacity) {
      this.start = (this.start + 1) % this.capacity
      this.length--
    }
    const slot = (this.start + this.length) % this.capacity
    this.times[slot] = at
    this.values.set(vector.subarray(0, size), slot * size)
    this.length++
  }

  /** Receive time of the i-th oldest sample, milliseconds. */
  timeAt(i: number): number {
    return this.times[(this.start + i) % this.capacity] as number
  }

  /** A series of the i-th oldest sample; NaN is absent. */
  valueAt(i: number, series: number): number {
    return this.values[((this.start + i) % this.capacity) * this.size + series] as number
  }

  /** Bytes held by the typed arrays. */
  get bytes(): number {
    return this.times.byteLength + this.values.byteLength
  }

  private reshape(size: number, capacity: number): void {
    const kept = Math.min(this.length, Math.min(capacity, Window.samples(size)))
    const slots = Math.min(capacity, Window.samples(size))
    const times = new Float64Array(slots)
    const values = new Float32Array(slots * size)
    const common = size === this.size ? size : hostSize
    for (let i = 0; i < kept; i++) {
      const from = this.length - kept + i
      const slot = (this.start + from) % this.capacity
      times[i] = this.times[slot] as number
      values.set(this.values.subarray(slot * this.size, slot * this.size + common), i * size)
      if (common < size) values.fill(Number.NaN, i * size + common, (i + 1) * size)
    }
    this.size = size
    this.capacity = slots
    this.start = 0
    this.length = kept
    this.times = times
    this.values = values
  }
}

/** Host series that the recent view shows, by their name on the wire. */
export const recentSeries = {
  cpu: Host.cpuUsage,
  mem: Host.memUsedRatio,
  recv_bps: Host.netRecvRate,
  sent_bps: Host.netSentRate
} as const
