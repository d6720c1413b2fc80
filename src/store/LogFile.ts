// The write-ahead log as bytes: which commits it holds, and whether commits are gone that it must once have held.
import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from "node:fs"
import { uptime } from "node:os"

// Layouts of SQLite's file format, sections "WAL file format" and "WAL-index format".
const headerBytes = 32
const frameHeaderBytes = 24
const indexHeaderBytes = 48
/** Place of the application id in the first page. */
export const identityAt = 68
const bigEndianMagic = 0x377f0683
const littleEndianMagic = 0x377f0682
/** A log used anew counts its first salt up by one; a step past this is another log. 2^20 of them are years. */
const renewalsMax = 0x100000

/** What the log adds to the database: commits up to the frame, and the pages that they hold. */
export interface Log {
  /** Frames up to the last whole commit, as SQLite will take them over. */
  readonly frames: number
  readonly pages: ReadonlySet<number>
  /** The application id in its image of the first page, when it has one. */
  readonly identity: number | undefined
  /** What is wrong with it, in words that end a sentence; undefined when nothing shows. */
  readonly fault: string | undefined
}

type Sums = readonly [number, number]

/** The checksum of log and index: two running sums over pairs of 32-bit words. */
const summed = (bytes: Buffer, from: number, to: number, [first, second]: Sums, isBig: boolean): Sums => {
  let [a, b] = [first, second]
  for (let at = from; at < to; at += 8) {
    a = (a + (isBig ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)) + b) >>> 0
    b = (b + (isBig ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4)) + a) >>> 0
  }
  return [a, b]
}

/** Transactions that are not on the disk yet, at most. */
const unsyncedMax = 2

interface Index {
  readonly frames: number
  /** Frames that are in the database already. */
  readonly copied: number
  readonly salts: Buffer
}

/** Whether the machine was started after the file was last changed; times in milliseconds since 1970. */
export const isBeforeBoot = (changedAt: number, now: number, uptimeMs: number): boolean => changedAt < now - uptimeMs

/**
 * The index beside the log. It is written before the frames are synced, so it proves nothing once the machine itself has
 * stopped; after a killed process the log must hold at least what it tells, because what was written is still there.
 * Undefined when it is not there, not whole or of an earlier start of the machine.
 */
const indexOf = (file: string): Index | undefined => {
  if (!existsSync(file) || isBeforeBoot(statSync(file).mtimeMs, Date.now(), uptime() * 1000)) return undefined
  const head = Buffer.alloc(indexHeaderBytes * 2 + 4)
  const descriptor = openSync(file, "r")
  try {
    if (readSync(descriptor, head, 0, head.length, 0) < head.length) return undefined
  } finally {
    closeSync(descriptor)
  }
  if (!head.subarray(0, indexHeaderBytes).equals(head.subarray(indexHeaderBytes, indexHeaderBytes * 2)))
    return undefined
  // The machine's own byte order; every one that Node runs on here is little-endian.
  const [a, b] = summed(head, 0, 40, [0, 0], false)
  const isWhole = head[12] === 1 && a === head.readUInt32LE(40) && b === head.readUInt32LE(44)
  if (!isWhole) return undefined
  const copied = head.readUInt32LE(indexHeaderBytes * 2)
  return { frames: head.readUInt32LE(16), copied, salts: Buffer.from(head.subarray(32, 40)) }
}

interface Walk {
  readonly frames: number
  readonly pages: ReadonlySet<number>
  readonly identity: number | undefined
  readonly salts: Buffer | undefined
  /** Whole transactions behind the first broken frame, counting one that the break is in. */
  readonly beyond: number
}
const noWalk: Walk = { frames: 0, pages: new Set(), identity: undefined, salts: undefined, beyond: 0 }

/** Frames read at once: some megabytes, because a log that a backup held up may have gigabytes. */
const framesAtOnce = 512

/** Follows the chain of checksums as SQLite does, then looks at what lies behind its end. */
const walk = (descriptor: number): Walk => {
  const head = Buffer.alloc(headerBytes)
  const size = fstatSync(descriptor).size
  if (size < headerBytes || readSync(descriptor, head, 0, headerBytes, 0) < headerBytes) return noWalk
  const magic = head.readUInt32BE(0)
  const isBig = magic === bigEndianMagic
  const salts = head.subarray(16, 24)
  let sums = summed(head, 0, 24, [0, 0], isBig)
  const isWhole = sums[0] === head.readUInt32BE(24) && sums[1] === head.readUInt32BE(28)
  // The header is synced before the first frame is written.
  if (!(isBig || magic === littleEndianMagic) || !isWhole) return { ...noWalk, beyond: size > headerBytes ? 2 : 0 }
  const frameBytes = frameHeaderBytes + head.readUInt32BE(8)
  const block = Buffer.alloc(frameBytes * framesAtOnce)
  const pages = new Set<number>()
  let [frame, frames, beyond, isBroken] = [0, 0, 0, false]
  let pending: Array<number> = []
  let identity: number | undefined
  for (let from = headerBytes; ; from += block.length) {
    const read = readSync(descriptor, block, 0, block.length, from)
    for (let at = 0; at + frameBytes <= read; at += frameBytes) {
      frame++
      // Frames of an earlier use of the file have other salts.
      const isOurs = block.subarray(at + 8, at + 16).equals(salts)
      const isCommit = block.readUInt32BE(at + 4) > 0
      if (!isBroken) {
        sums = summed(block, at, at + 8, sums, isBig)
        sums = summed(block, at + frameHeaderBytes, at + frameBytes, sums, isBig)
        isBroken = !isOurs || sums[0] !== block.readUInt32BE(at + 16) || sums[1] !== block.readUInt32BE(at + 20)
      }
      if (isBroken) {
        if (isOurs && isCommit) beyond++
        continue
      }
      const page = block.readUInt32BE(at)
      if (page === 1) identity = block.readUInt32BE(at + frameHeaderBytes + identityAt)
      pending.push(page)
      if (!isCommit) continue
      for (const page of pending) pages.add(page)
      pending = []
      frames = frame
    }
    if (read < block.length) return { frames, pages, identity, salts, beyond }
  }
}

const faultOf = (index: Index | undefined, { beyond, frames, salts }: Walk): string | undefined => {
  // A power cut leaves at most two transactions in part, which nobody acknowledged: the one of the journal whose sync is
  // under way, behind which it writes no other, and one of a store, which syncs before it ends.
  if (beyond > unsyncedMax) return "its write-ahead log is broken in front of commits that were acknowledged"
  if (index === undefined || index.frames === 0) return undefined
  if (salts === undefined) {
    return index.copied < index.frames ? "its write-ahead log is gone or cut, and commits with it" : undefined
  }
  const renewals = (salts.readUInt32BE(0) - index.salts.readUInt32BE(0)) >>> 0
  if (renewals > renewalsMax) return "the write-ahead log beside it is of another database or another time"
  if (!salts.equals(index.salts)) return undefined
  return frames < index.frames ? "its write-ahead log is cut or broken, and commits are gone" : undefined
}

/**
 * Looks at the log of a database without SQLite, which would drop what is broken without a word and forget the index.
 * Right beside a running service as well: the index is read first, and the log only grows.
 *
 * What cannot be told: a log that was taken away together with its index, or after the machine itself stopped, and
 * damage in the very last commit then; both look like a machine that lost its power.
 */
export const readLog = (database: string): Log => {
  let log = readOnce(database)
  // The service may begin the log anew between two of our reads.
  for (let again = 0; log.fault !== undefined && again < readsAgainMax; again++) log = readOnce(database)
  return log
}
const readsAgainMax = 2

const readOnce = (database: string): Log => {
  const index = indexOf(`${database}-shm`)
  const file = `${database}-wal`
  if (!existsSync(file)) return { ...noWalk, fault: faultOf(index, noWalk) }
  const descriptor = openSync(file, "r")
  try {
    const found = walk(descriptor)
    return { ...found, fault: faultOf(index, found) }
  } finally {
    closeSync(descriptor)
  }
}
