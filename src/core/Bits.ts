// Bits written by their chance: an adaptive binary range coder, and the differences that columns write with it.

/**
 * A bit with a context costs what its chance in that context says, learned from the bits before it; a flag that hardly
 * ever changes costs a few hundredths of a bit, which no code of whole bits per value can reach. Bits without a
 * context cost one bit each.
 */
export const contextsMax = 64

const chanceBits = 15
const even = 1 << (chanceBits - 1)
const certain = 1 << chanceBits
/** A state is the chance of a one above five bits of how often it was asked. */
const seenBits = 5
const seenMask = (1 << seenBits) - 1
const seenMax = 30
const unknown = even << seenBits
/**
 * How far a chance moves towards the bit just seen, by how many it has seen: quickly at first, a 32nd in the end. The
 * steps are rounded down, so that a chance stops short of nought and one: no surprise costs more than ten bits.
 */
const paces = Int32Array.from({ length: seenMax + 1 }, (_, seen) => Math.floor(65_536 / (seen + 2.5)))

const two16 = 65_536
const two32 = 4_294_967_296
/** The coder works on 30 bits, so that the sum of low and range is still a small integer to the engine, which is faster. */
const topBits = 30
const top = 1 << topBits
const topMask = top - 1
const rangeMin = 1 << (topBits - 8)
/** The range is cut in 4096 steps: the chances have three bits more to learn with. */
const cutBits = 12
const cutShift = chanceBits - cutBits

/** Bits of a whole number from 0 to 2^53: 0 for 0, 1 for 1, 2 for 2 and 3. */
export const lengthOf = (value: number): number =>
  value < two32 ? 32 - Math.clz32(value) : 64 - Math.clz32(value / two32)

/** The most bits a whole number may have here: sums of two numbers up to 2^52 are exact. */
export const lengthMax = 53

/** The state after one more bit. */
const learned = (state: number, ones: number, bit: boolean): number => {
  const seen = state & seenMask
  const pace = paces[seen] as number
  const moved = bit ? ones + (((certain - ones) * pace) >> 16) : ones - ((ones * pace) >> 16)
  return (moved << seenBits) | (seen < seenMax ? seen + 1 : seen)
}

/** Writes segments one behind the other into one growing buffer. */
export class BitWriter {
  private readonly states = new Int32Array(contextsMax).fill(unknown)
  private buffer = new Uint8Array(4096)
  private at = 0
  private start = 0
  private low = 0
  private range = top

  /** Starts a segment: nothing is known of its bits. */
  begin(): void {
    this.start = this.at
    this.low = 0
    this.range = top
    this.states.fill(unknown)
  }

  /** Forgets what was learned, where another kind of numbers begins inside a segment. */
  forget(): void {
    this.states.fill(unknown)
  }

  /** Writes one bit by its chance in `context`, which is below `contextsMax`. */
  bit(context: number, bit: boolean): void {
    const state = this.states[context] as number
    const ones = state >> seenBits
    const bound = Math.imul(this.range >> cutBits, ones >> cutShift)
    if (bit) this.range = bound
    else {
      this.low += bound
      this.range -= bound
    }
    if (this.range < rangeMin) this.shift()
    this.states[context] = learned(state, ones, bit)
  }

  /** Writes the lowest `count` bits of a whole number below 2^53, each at its full price. */
  plain(value: number, count: number): void {
    if (count > 32) this.plain(Math.floor(value / two32), count - 32)
    const low = value >>> 0
    const left = count > 32 ? 32 : count
    if (left > 16) this.half((low >>> 16) & ((1 << (left - 16)) - 1), left - 16)
    this.half(low & ((1 << (left > 16 ? 16 : left)) - 1), left > 16 ? 16 : left)
  }

  /** Writes a whole number from 0 to 2^53 - 1 with its length in front. */
  number(value: number): void {
    const length = lengthOf(value)
    this.half(length, 6)
    if (length > 1) this.plain(value, length - 1)
  }

  /** Ends the segment and gives its length in bytes: as few as still tell it from any other. */
  end(): number {
    for (let kept = 0; kept <= 4; kept++) {
      const unit = 1 << Math.max(0, topBits - 8 * kept)
      const least = Math.ceil(this.low / unit) * unit
      if (least >= this.low + this.range) continue
      this.low = least
      for (let i = 0; i < kept; i++) this.emit()
      // A one that ran over stays to be added where nothing is left to write.
      if (this.low >= top) this.carry()
      break
    }
    // The reader finds zeros behind the end.
    while (this.at > this.start && this.buffer[this.at - 1] === 0) this.at--
    return this.at - this.start
  }

  /** The bytes of every segment so far; valid until the next one begins. */
  bytes(): Uint8Array {
    return this.buffer.subarray(0, this.at)
  }

  private half(value: number, count: number): void {
    this.range >>= count
    this.low += Math.imul(value, this.range)
    if (this.range < rangeMin) this.shift()
  }

  private shift(): void {
    do {
      this.emit()
      this.range <<= 8
    } while (this.range < rangeMin)
  }

  /** Writes the top eight bits; what `low` ran over by is added to the bytes in front of them. */
  private emit(): void {
    if (this.low >= top) this.carry()
    if (this.at === this.buffer.length) {
      const larger = new Uint8Array(this.at * 2)
      larger.set(this.buffer)
      this.buffer = larger
    }
    this.buffer[this.at++] = this.low >> (topBits - 8)
    this.low = (this.low << 8) & topMask
  }

  private carry(): void {
    this.low -= top
    // It never reaches back over the start: a segment as a whole is a fraction below one.
    let at = this.at - 1
    while (this.buffer[at] === 255) this.buffer[at--] = 0
    this.buffer[at] = (this.buffer[at] as number) + 1
  }
}

/** Reads one segment again: whatever the bytes are, every call ends and gives some bits, or throws a RangeError. */
export class BitReader {
  private readonly bytes: Uint8Array
  private readonly states = new Int32Array(contextsMax).fill(unknown)
  private at = 0
  private code = 0
  private range = top

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
    // 30 bits are three bytes and six bits; from here on every byte is two bits late.
    for (let i = 0; i < 3; i++) this.code = (this.code << 8) | this.byte(this.at++)
    this.code = (this.code << 6) | (this.byte(this.at) >> 2)
  }

  forget(): void {
    this.states.fill(unknown)
  }

  bit(context: number): boolean {
    const state = this.states[context] as number
    const ones = state >> seenBits
    const bound = Math.imul(this.range >> cutBits, ones >> cutShift)
    const bit = this.code < bound
    if (bit) this.range = bound
    else {
      this.code -= bound
      this.range -= bound
    }
    if (this.range < rangeMin) this.shift()
    this.states[context] = learned(state, ones, bit)
    return bit
  }

  /** Reads `count` bits, at most 53. */
  plain(count: number): number {
    if (count > 32) return this.plain(count - 32) * two32 + this.plain(32)
    return count > 16 ? this.half(count - 16) * two16 + this.half(16) : this.half(count)
  }

  number(): number {
    const length = this.length()
    return length < 2 ? length : 2 ** (length - 1) + this.plain(length - 1)
  }

  /** Reads the length of a number. */
  length(): number {
    const length = this.half(6)
    if (length > lengthMax) throw new RangeError("the chunk holds a number that is too long")
    return length
  }

  private half(count: number): number {
    this.range >>= count
    const value = (this.code / this.range) | 0
    // Only bytes that no writer wrote lead beyond the last value.
    if (value >> count !== 0) throw new RangeError("the chunk holds bits that mean nothing")
    this.code -= Math.imul(value, this.range)
    if (this.range < rangeMin) this.shift()
    return value
  }

  private shift(): void {
    do {
      const late = this.byte(this.at++) & 3
      this.code = ((this.code << 8) & topMask) | (late << 6) | (this.byte(this.at) >> 2)
      this.range <<= 8
    } while (this.range < rangeMin)
  }

  /** A byte, or the zero that the writer left out behind the end. */
  private byte(at: number): number {
    return at < this.bytes.length ? (this.bytes[at] as number) : 0
  }
}

const atZero = 0
const atSign = 2
const atLength = 5
/** The first of the contexts that differences leave to others. */
export const contextsFree = atLength + lengthMax

/** Writes differences: whether there is one, its length counted down from the longest, its sign, and the bits below. */
export class DifferenceWriter {
  private readonly bits: BitWriter
  private before = 0
  private sign = 0

  constructor(bits: BitWriter) {
    this.bits = bits
  }

  /** Writes a whole number of at most `longest` bits; the reader knows `longest`. */
  put(difference: number, longest: number): void {
    if (longest <= 0) return
    const bits = this.bits
    bits.bit(atZero + this.before, difference === 0)
    this.before = difference === 0 ? 1 : 0
    if (difference === 0) return
    const size = Math.abs(difference)
    const length = lengthOf(size)
    for (let i = longest; i > 1; i--) {
      bits.bit(atLength + longest - i, i === length)
      if (i === length) break
    }
    bits.bit(atSign + this.sign, difference < 0)
    this.sign = difference < 0 ? 1 : 2
    if (length > 1) bits.plain(size, length - 1)
  }
}

/** Reads differences. */
export class DifferenceReader {
  private readonly bits: BitReader
  private before = 0
  private sign = 0

  constructor(bits: BitReader) {
    this.bits = bits
  }

  take(longest: number): number {
    if (longest <= 0) return 0
    if (longest > lengthMax) throw new RangeError("the chunk holds a number that is too long")
    const bits = this.bits
    const isZero = bits.bit(atZero + this.before)
    this.before = isZero ? 1 : 0
    if (isZero) return 0
    let length = longest
    while (length > 1 && !bits.bit(atLength + longest - length)) length--
    const isNegative = bits.bit(atSign + this.sign)
    this.sign = isNegative ? 1 : 2
    const size = length > 1 ? 2 ** (length - 1) + bits.plain(length - 1) : 1
    return isNegative ? -size : size
  }
}
