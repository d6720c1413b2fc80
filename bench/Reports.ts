// One ready-made request per node of the fleet, in which each send changes only digits.
import { type Fleet, hostnameOf, secretOf } from "./Fleet.ts"
import { type Field, fieldNames, fields, markers, ratioDigits, reportText, timeMarker, uptimeMarker } from "./Shape.ts"

/** Where digits are written: offset in the request and how many. */
interface Slot {
  readonly at: number
  readonly width: number
}
type Slots = Readonly<Record<Field, Slot>>

interface Template {
  readonly request: Buffer
  readonly bodyAt: number
  readonly secretAt: number
  readonly hostnameAt: number
  readonly timestampAt: number
  readonly updatedAt: number
  readonly uptimeAt: number
  readonly slots: Slots
}

const template = (nics: 1 | 2): Template => {
  const body = reportText(nics)
  const secret = "s".repeat(32)
  const head = `POST /api/node/metrics HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nuser-agent: monitor-node/0.1.0\r\nx-node-secret: ${secret}\r\nconnection: keep-alive\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`
  const text = head + body
  const find = (part: string, from = 0): number => {
    const at = text.indexOf(part, from)
    if (at < 0) throw new Error(`the request does not hold ${part}`)
    return at
  }
  const slotOf = (name: Field): Slot => {
    // The second interface is only there in half of the nodes: elsewhere its digits go nowhere.
    if (nics === 1 && (name === "recv2" || name === "sent2")) return { at: 0, width: 0 }
    const found = text.search(new RegExp(`:${markers[name]}[,}]`))
    if (found < 0) throw new Error(`the report has no place for ${name}`)
    return fields[name] === 0 ? { at: found + 3, width: ratioDigits } : { at: found + 1, width: fields[name] }
  }
  const timestampAt = find(timeMarker)
  return {
    request: Buffer.from(text, "latin1"),
    bodyAt: head.length,
    secretAt: find(secret),
    hostnameAt: find(hostnameOf(0)),
    timestampAt,
    updatedAt: find(timeMarker, timestampAt + 1),
    uptimeAt: find(uptimeMarker),
    slots: Object.fromEntries(fieldNames.map((name) => [name, slotOf(name)])) as Slots
  }
}

const million = 1_000_000
const zero = 48
const writeDigits = (into: Buffer, { at, width }: Slot, value: number): void => {
  // Two halves, so that the divisions stay in 32-bit integers.
  let high = Math.floor(value / million)
  let low = (value - high * million) | 0
  let i = at + width - 1
  for (let n = 0; n < 6 && i >= at; n++, i--) {
    into[i] = zero + (low % 10)
    low = (low / 10) | 0
  }
  for (; i >= at; i--) {
    into[i] = zero + (high % 10)
    high = (high / 10) | 0
  }
}

/** `12d 3h 4m` as agents write it; the rest of the field is blank, which JSON allows behind the closing quote. */
const uptimeOf = (seconds: number): string => {
  const minutes = Math.floor(seconds / 60)
  const text = `${Math.floor(minutes / 1440)}d ${Math.floor(minutes / 60) % 24}h ${minutes % 60}m"`
  return text.padEnd(uptimeMarker.length + 1, " ")
}

/** The requests of a fleet; each `next` moves one node forward in time and gives its bytes. */
export class Requests {
  readonly count: number
  private readonly fleet: Fleet
  private readonly buffers: Array<Buffer> = []
  private readonly templates = [template(1), template(2)] as const
  private readonly minutes: Int32Array
  private readonly chances: Uint32Array
  private nowMs = -1
  private readonly now = Buffer.alloc(timeMarker.length)

  constructor(fleet: Fleet) {
    this.fleet = fleet
    this.count = fleet.count
    this.minutes = new Int32Array(fleet.count).fill(-1)
    this.chances = Uint32Array.from({ length: fleet.count }, (_, i) => Math.imul(i + 1, 2_654_435_761) >>> 0)
    for (let i = 0; i < fleet.count; i++) {
      const { hostnameAt, request, secretAt } = this.templateOf(i)
      const own = Buffer.from(request)
      own.write(secretOf(fleet, i), secretAt, "latin1")
      own.write(hostnameOf(i), hostnameAt, "latin1")
      this.buffers.push(own)
    }
  }

  private templateOf(index: number): Template {
    return this.templates[(index & 1) as 0 | 1]
  }

  /** Seconds since the node booted: 12 to 40 days before the run began. */
  private uptimeSec(index: number, nowMs: number): number {
    const bootedMs = this.fleet.epochMs - (12 * 86_400_000 + (Math.imul(index, 7919) % 2_400_000) * 1000)
    return Math.floor((nowMs - bootedMs) / 1000)
  }

  /** Bytes of the node's next request, valid until its next one. */
  next(index: number, nowMs: number): Buffer {
    const { slots, timestampAt, updatedAt, uptimeAt } = this.templateOf(index)
    const own = this.buffers[index] as Buffer
    if (nowMs !== this.nowMs) {
      this.nowMs = nowMs
      this.now.write(new Date(nowMs).toISOString(), 0, "latin1")
    }
    own.set(this.now, timestampAt)
    own.set(this.now, updatedAt)
    const uptime = this.uptimeSec(index, nowMs)
    const minute = Math.floor(uptime / 60)
    if (this.minutes[index] !== minute) {
      this.minutes[index] = minute
      own.write(uptimeOf(uptime), uptimeAt, "latin1")
    }
    writeDigits(own, slots.uptimeSec, uptime)
    this.counters(own, slots, index, nowMs - this.fleet.epochMs)
    this.gauges(own, slots, index)
    return own
  }

  /** The JSON text of a request. */
  body(index: number, nowMs: number): string {
    return this.next(index, nowMs).toString("latin1", this.templateOf(index).bodyAt)
  }

  private counters(own: Buffer, slots: Slots, index: number, elapsedMs: number): void {
    // Runs last at most some hours and start a few minutes back: no counter changes its width meanwhile.
    const aged = elapsedMs + 3_600_000
    const rate = 50 + (index % 1000)
    const base = 100_000_000_000 + index * 10_000_000
    writeDigits(own, slots.recv, base + aged * rate)
    writeDigits(own, slots.sent, base + aged * (rate >> 1))
    writeDigits(own, slots.recv2, base + aged * 3)
    writeDigits(own, slots.sent2, base + aged * 2)
    writeDigits(own, slots.recvPackets, 2_000_000_000 + aged * 8)
    writeDigits(own, slots.sentPackets, 2_000_000_000 + aged * 7)
    writeDigits(own, slots.diskRead, base + aged * 11)
    writeDigits(own, slots.diskWrite, base + aged * 17)
    writeDigits(own, slots.cpuUser, 1_000_000 + Math.floor(aged / 10_000))
    writeDigits(own, slots.cpuIdle, 20_000_000 + Math.floor(aged / 1000))
    writeDigits(own, slots.stallTotal, 100_000_000 + Math.floor(aged / 100))
  }

  private gauges(own: Buffer, slots: Slots, index: number): void {
    const chance = (Math.imul(this.chances[index] as number, 1_664_525) + 1_013_904_223) >>> 0
    this.chances[index] = chance
    const a = chance >>> 22
    const b = (chance >>> 12) & 1023
    writeDigits(own, slots.usage, a * 9 + 1)
    writeDigits(own, slots.load1, a * 7 + 2)
    writeDigits(own, slots.memUsed, 2_000_000_000 + b * 4096)
    writeDigits(own, slots.memAvailable, 6_000_000_000 - b * 4096)
    writeDigits(own, slots.memRatio, 2500 + b)
    writeDigits(own, slots.diskReadRate, 1_000_000 + a * 512)
    writeDigits(own, slots.diskWriteRate, 1_000_000 + b * 512)
    writeDigits(own, slots.diskIops, 100 + (b & 511))
    writeDigits(own, slots.diskUtil, b + 1)
    writeDigits(own, slots.fsUsed, 13_221_863_424 + a * 4096)
    writeDigits(own, slots.recvRate, 1_000_000 + a * 1000)
    writeDigits(own, slots.sentRate, 1_000_000 + b * 1000)
    writeDigits(own, slots.processes, 100 + (a & 255))
    writeDigits(own, slots.tcp, 100 + (b & 255))
    writeDigits(own, slots.stallCpu, a)
    writeDigits(own, slots.temp1, 40 + (a & 31))
    writeDigits(own, slots.temp2, 40 + (b & 31))
  }
}
