// What servers report, from a seed: sixty series with the noise, steps, bursts and rests of real ones.
import type { Buckets, RawChunk, TierChunk } from "../../src/core/Chunk.ts"

/** Numbers from 0 up to 1, the same for the same seed. */
export const rng = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

interface Chance {
  readonly random: () => number
  /** Of mean 0 and deviation 1. */
  readonly normal: () => number
  /** Whole, from 0 up to `count` - 1. */
  readonly one: (count: number) => number
}
type Column = (value: (i: number) => number) => Float64Array

const chanceOf = (seed: number): Chance => {
  const random = rng(seed)
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  return { random, normal, one: (count) => Math.floor(random() * count) }
}

const hundredth = (value: number): number => Math.round(value * 100) / 100

/** Busy share of the jiffies of three seconds, and loads that follow how many processes run. */
const processor = ({ normal, one, random }: Chance, column: Column): Array<Float64Array> => {
  const cores = 2 ** one(5)
  const usual = 0.02 + 0.4 * random()
  let level = usual
  const usage = column(() => {
    level += (usual - level) * 0.1 + normal() * 0.01
    const total = Math.round(cores * 300 + normal() * 3)
    const busy = Math.round(total * Math.max(0.003, level + normal() * level * 0.25))
    return Math.min(1, Math.max(0, busy) / total)
  })
  const loads = [60, 300, 900].map((seconds) => {
    let load = cores * usual
    let running = load
    return column((i) => {
      // The kernel looks every five seconds, so that about every second report repeats the one before.
      if (i % 2 === 0) {
        running = Math.max(0, Math.round(cores * usual + normal() * Math.sqrt(cores * usual)))
        load += ((running - load) * 5) / seconds
      }
      return hundredth(load)
    })
  })
  return [usage, ...loads]
}

const memory = ({ one, random }: Chance, column: Column): Array<Float64Array> => {
  const total = Math.floor(2 ** (31 + 4 * random()) / 4096) * 4096
  let used = total * (0.2 + 0.6 * random())
  const amounts = column(() => Math.round((used += (random() * 2 - 1) * 1e7) / 4096) * 4096)
  const swap = one(2) * 0.123456
  return [amounts, amounts.map((amount) => amount / total), column(() => swap)]
}

const counts = ({ normal, one, random }: Chance, column: Column): Array<Float64Array> => {
  let processes = 150 + one(300)
  let connections = 20 + one(200)
  let sockets = 3 + one(10)
  return [
    column(() => (processes += one(2) * Math.round(normal() * 2))),
    column(() => (connections = Math.max(0, connections + Math.round(normal() * 1.5)))),
    column(() => (sockets += random() < 0.9 ? 0 : 1 - 2 * one(2)))
  ]
}

/** Bytes per second of an interface: around a level, with bursts well above it. */
const traffic = ({ normal, random }: Chance, column: Column): Float64Array => {
  const level = 10 ** (3 + 3 * random())
  const burst = level * (3 + 10 * random())
  const spread = 0.05 + 0.5 * random()
  let isBurst = false
  return column(() => {
    if (random() < (isBurst ? 0.3 : 0.04)) isBurst = !isBurst
    return Math.min(1e7, Math.ceil((isBurst ? burst : level) * Math.exp(normal() * spread)))
  })
}

/** Reading and writing of a disk: rest and bursts, as rates, operations and the busy share of about three seconds. */
const disk = ({ normal, one, random }: Chance, column: Column): Array<Float64Array> =>
  [0.05, 0.15].flatMap((often, i) => {
    const unit = one(2) === 0 ? 512 : 4096
    let isBusy = false
    const operations = column(() => {
      if (random() < (isBusy ? 0.5 : often)) isBusy = !isBusy
      return isBusy ? 1 + Math.floor(Math.exp(normal() * 1.2 + 2.5)) : 0
    })
    const rate = operations.map((count) => Math.ceil((count * unit * (1 + one(8))) / 3))
    const perSecond = operations.map((count) => Math.ceil(count / 3))
    const share = operations.map((count) => Math.min(1, Math.round(count * (1 + random())) / (2940 + one(121))))
    return i === 0 ? [rate, perSecond] : [rate, perSecond, share]
  })

const filesystem = ({ normal, one, random }: Chance, column: Column): Array<Float64Array> => {
  const total = Math.floor(2 ** (32 + 8 * random()) / 4096) * 4096
  const grows = one(2) * 0.3
  let used = Math.floor((total * random() * 0.9) / 4096) * 4096
  const amounts = column(() => (used += random() < grows ? 4096 * Math.round(normal() * 3 + 4) : 0))
  const inodes = 1e6 + one(1e7)
  let taken = Math.floor(inodes * 0.2)
  const share = column(() => (taken += random() < grows / 2 ? Math.round(normal() * 2) : 0) / inodes)
  return [amounts, amounts.map((amount) => amount / total), share]
}

const pressure = ({ random }: Chance, column: Column): Array<Float64Array> => {
  const isStalled = random() < 0.3
  const stalls = column(() => (isStalled && random() < 0.3 ? random() * 10 : 0))
  return [10, 60, 300].map((seconds) => {
    let average = 0
    return stalls.map((stall) => {
      average += (stall - average) * (1 - Math.exp(-3 / seconds))
      return Math.floor(average * 100) / 100
    })
  })
}

const temperature = ({ normal, random }: Chance, column: Column, tenths: number): Float64Array => {
  let heat = 35 + 20 * random()
  return column(() => Math.round(((heat += normal() * 0.15) + normal() * 0.1) * tenths) / tenths)
}

/** Samples about every three seconds of a server with 2 interfaces, 3 disks, 4 filesystems and 4 sensors. */
export const realistic = (seed: number, rows: number): RawChunk => {
  const chance = chanceOf(seed)
  const column: Column = (value) => Float64Array.from({ length: rows }, (_, i) => value(i))
  const times = (count: number, make: () => Array<Float64Array>) => Array.from({ length: count }, make).flat()
  let time = 1.76e12 + chance.one(1e9)
  return {
    times: column(() => (time += 2940 + chance.one(121))),
    columns: [
      ...processor(chance, column),
      ...memory(chance, column),
      ...counts(chance, column),
      ...times(4, () => [traffic(chance, column)]),
      ...times(3, () => disk(chance, column)),
      ...times(4, () => filesystem(chance, column)),
      ...times(5, () => pressure(chance, column)),
      ...times(4, () => [temperature(chance, column, 10 ** chance.one(2))])
    ]
  }
}

/** Folds samples into buckets of `size` rows each. */
export const bucketed = ({ columns, times }: RawChunk, size: number): TierChunk => {
  const count = Math.floor(times.length / size)
  const fold = (column: Float64Array, pick: (samples: Float64Array) => number): Float64Array =>
    Float64Array.from({ length: count }, (_, i) => pick(column.subarray(i * size, (i + 1) * size)))
  const series = columns.map((column): Buckets => ({
    count: fold(column, (samples) => samples.length),
    sum: fold(column, (samples) => samples.reduce((sum, sample) => sum + sample, 0)),
    min: fold(column, (samples) => Math.min(...samples)),
    max: fold(column, (samples) => Math.max(...samples)),
    last: fold(column, (samples) => samples.at(-1) as number)
  }))
  const rows = new Float64Array(count).fill(size)
  return { times: rows.map((_, i) => 1.76e12 + i * size * 3000), rows, series }
}
