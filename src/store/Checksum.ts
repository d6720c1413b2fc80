// The checksum of a journal row or checkpoint: how it is put behind the vector, and how a row is proved by it.
import { crc32 } from "node:zlib"

/** What of a row the checksum covers besides its details. */
interface Covered {
  readonly seq: number
  readonly nodeId: number
  /** Milliseconds since 1970. */
  readonly receivedAt: number
  readonly vector: Buffer
}

const checksumBytes = 4
const nothing = Buffer.alloc(0)

/** Reused: SQLite copies what is bound before the statement ends. Grown to the largest vector seen, at most 32 MB. */
let scratch = Buffer.alloc(4096)

/**
 * CRC-32 of the vector and the details, started from the numbers of the row: two rows that differ in one of these
 * start apart, and a CRC keeps unlike starts apart. That takes no bytes of its own.
 */
const checksumOf = ({ nodeId, receivedAt, seq }: Covered, vector: Uint8Array, details: string | null): number => {
  const start =
    (Math.imul(seq, 0x9e3779b1) ^
      Math.imul(seq / 0x100000000, 0x27d4eb2f) ^
      Math.imul(nodeId, 0x85ebca6b) ^
      Math.imul(nodeId / 0x100000000, 0x9e3779b5) ^
      Math.imul(receivedAt, 0xc2b2ae35) ^
      Math.imul(receivedAt / 0x100000000, 0x165667b1)) >>>
    0
  const sum = crc32(vector, start)
  // An empty text and none are different rows.
  return details === null ? sum : crc32(details, (sum ^ 1) >>> 0)
}

/** The vector with the row's checksum behind it, little-endian; valid until the next call. 0.25 µs for 400 bytes. */
export const withChecksum = (row: Covered, details: string | null): Buffer => {
  const { vector } = row
  const { length } = vector
  if (length + checksumBytes > scratch.length) scratch = Buffer.alloc((length + checksumBytes) * 2)
  scratch.set(vector)
  scratch.writeUInt32LE(checksumOf(row, vector, details), length)
  return scratch.subarray(0, length + checksumBytes)
}

/** Whether the bytes as stored belong to the row. */
export const isWhole = (row: Covered, details: string | null): boolean => {
  const size = row.vector.length - checksumBytes
  return size >= 0 && row.vector.readUInt32LE(size) === checksumOf(row, row.vector.subarray(0, size), details)
}

/** Takes the checksum off a row just read; the vector is empty when it fails. */
export const unsealed = <Row extends (Covered & { readonly details: string | null }) | undefined>(row: Row): Row => {
  if (row === undefined) return row
  const vector = isWhole(row, row.details) ? row.vector.subarray(0, row.vector.length - checksumBytes) : nothing
  return Object.assign(row, { vector })
}
