// One keep-alive connection of the load generator: raw bytes out, answers told apart by status and length, nothing more.
import { connect, type Socket } from "node:net"

/** Called once per request, in order: the status, or 0 when the connection ended before the answer. */
export type Answered = (connection: Connection, status: number, body: string | undefined) => void

/** Shared by all connections: each read is worked off before the next. */
const readBuffer = Buffer.allocUnsafeSlow(65_536)

const space = 32
const digit = (bytes: Uint8Array, at: number): number => (bytes[at] as number) - 48

export class Connection {
  /** For the owner: which node or which place this connection is. */
  readonly index: number
  /** Requests without an answer. */
  pending = 0
  /** Set by the owner: the times of the pending requests, oldest first. */
  readonly times: Array<number> = []
  private readonly socket: Socket
  private readonly answered: Answered
  /** The beginning of an answer whose end has not come. */
  private rest: Buffer | undefined
  /** Head and whole length of the usual answer: the next one is most likely the same. */
  private usualHead = 0
  private usualLength = 0
  private isOver = false

  constructor(index: number, port: number, answered: Answered, opened: () => void) {
    this.index = index
    this.answered = answered
    const onread = { buffer: readBuffer, callback: (size: number) => this.read(size) }
    this.socket = connect({ host: "127.0.0.1", port, noDelay: true, onread }, opened)
    this.socket.on("error", () => this.over())
    this.socket.on("close", () => this.over())
  }

  get open(): boolean {
    return !this.isOver
  }

  /** Sends a request whose bytes may change afterwards. */
  send(request: Buffer): void {
    this.pending++
    // Usually the kernel takes everything at once, and the memory is free again.
    const isWaiting = this.socket.writableLength > 0
    this.socket.write(isWaiting ? Buffer.from(request) : request)
  }

  close(): void {
    this.isOver = true
    this.socket.destroy()
  }

  private over(): void {
    if (this.isOver) return
    this.isOver = true
    this.socket.destroy()
    for (let left = this.pending; left > 0; left--) this.settle(0, undefined)
  }

  private settle(status: number, body: string | undefined): void {
    this.pending--
    this.answered(this, status, body)
  }

  private read(size: number): boolean {
    let bytes: Buffer = readBuffer.subarray(0, size)
    if (this.rest !== undefined) {
      bytes = Buffer.concat([this.rest, bytes])
      this.rest = undefined
    }
    let at = 0
    while (at < bytes.length && !this.isOver) {
      const length = this.take(bytes, at)
      if (length === 0) {
        this.rest = Buffer.from(bytes.subarray(at))
        break
      }
      at += length
    }
    return true
  }

  /** Reads one answer; its length, or 0 when its end has not come. */
  private take(bytes: Buffer, at: number): number {
    if (this.isUsual(bytes, at)) {
      this.settle(200, undefined)
      return this.usualLength
    }
    const end = bytes.indexOf("\r\n\r\n", at)
    if (end < 0) return 0
    const head = bytes.toString("latin1", at, end)
    const headLength = end + 4 - at
    const bodyLength = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
    const length = headLength + bodyLength
    if (at + length > bytes.length) return 0
    const status = Number(head.slice(9, 12))
    if (status === 200) {
      this.usualHead = headLength
      this.usualLength = length
    }
    this.settle(status, status === 200 ? undefined : bytes.toString("latin1", at + headLength, at + length))
    return length
  }

  /** A 200 with head and body where those of the last 200 were. */
  private isUsual(bytes: Buffer, at: number): boolean {
    const { usualHead, usualLength } = this
    if (usualLength === 0 || at + usualLength > bytes.length) return false
    if (bytes[at + 8] !== space || digit(bytes, at + 9) !== 2 || digit(bytes, at + 11) !== 0) return false
    const end = at + usualHead - 1
    return bytes[end] === 10 && bytes[end - 1] === 13 && bytes[end - 2] === 10 && bytes[at + usualLength - 1] === 10
  }
}
