// A TCP client that sends exactly the bytes it is told to and shows exactly what came back.
import { connect, type Socket } from "node:net"

/** One answer as it stood on the wire; header names in lower case, repeated ones joined by ", ". */
export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly headerLines: ReadonlyArray<string>
  readonly body: string
}

/** Splits everything a connection received into answers; bodies are told apart by Content-Length or chunks. */
export const answersIn = (bytes: Buffer): ReadonlyArray<RawAnswer> => {
  const found: Array<RawAnswer> = []
  for (let rest = bytes; ;) {
    const end = rest.indexOf("\r\n\r\n")
    if (end < 0) return found
    const [first = "", ...headerLines] = rest.subarray(0, end).toString("latin1").split("\r\n")
    const headers: Record<string, string> = {}
    for (const line of headerLines) {
      const name = line.slice(0, line.indexOf(":")).toLowerCase()
      const value = line.slice(line.indexOf(":") + 1).trim()
      headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`
    }
    const after = rest.subarray(end + 4)
    const { body, used } = headers["transfer-encoding"] === "chunked" ? dechunked(after) : sized(after, headers)
    const status = Number(first.split(" ")[1])
    found.push({ status, headers, headerLines, body: body.toString("utf8") })
    rest = after.subarray(used)
  }
}

const sized = (bytes: Buffer, headers: Readonly<Record<string, string>>) => {
  const used = Math.min(bytes.length, Number(headers["content-length"] ?? 0))
  return { body: bytes.subarray(0, used), used }
}

const dechunked = (bytes: Buffer) => {
  const parts: Array<Buffer> = []
  for (let at = 0; ;) {
    const line = bytes.indexOf("\r\n", at)
    const size = Number.parseInt(bytes.subarray(at, Math.max(line, at)).toString("latin1"), 16)
    if (line < 0 || !(size > 0)) return { body: Buffer.concat(parts), used: line < 0 ? bytes.length : line + 4 }
    parts.push(bytes.subarray(line + 2, line + 2 + size))
    at = line + 4 + size
  }
}

/** One open connection. */
export class RawConnection {
  readonly socket: Socket
  /** Resolves with true when the server closed its side or reset the connection, however that came about. */
  readonly closed: Promise<void>
  isClosed = false
  private readonly chunks: Array<Buffer> = []

  constructor(port: number, halfOpen: boolean) {
    this.socket = connect({ host: "127.0.0.1", port, allowHalfOpen: halfOpen, noDelay: true })
    this.socket.on("data", (chunk: Buffer) => this.chunks.push(chunk))
    // A reset is one of the expected endings.
    this.socket.on("error", () => {})
    this.closed = new Promise((resolve) => {
      this.socket.on("close", () => {
        this.isClosed = true
        resolve()
      })
    })
  }

  get received(): Buffer {
    return Buffer.concat(this.chunks)
  }

  get answers(): ReadonlyArray<RawAnswer> {
    return answersIn(this.received)
  }

  send(bytes: string | Buffer): void {
    if (!this.socket.destroyed) this.socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes)
  }

  /** Resolves once `count` answers have arrived or the connection is closed. */
  async answered(count = 1): Promise<ReadonlyArray<RawAnswer>> {
    while (this.answers.length < count && !this.isClosed) {
      await Promise.race([this.closed, new Promise((resolve) => this.socket.once("data", resolve))])
    }
    return this.answers
  }

  destroy(): void {
    this.socket.destroy()
  }
}

export interface OpenOptions {
  /** Keep our own side open when the server ends its side, as a hostile client would. */
  readonly halfOpen?: boolean
}

export const open = (port: number, { halfOpen = false }: OpenOptions = {}): RawConnection =>
  new RawConnection(port, halfOpen)

/** Sends bytes (text as Latin-1) on a connection of its own and gives the first answer, undefined when there was none. */
export const exchange = async (port: number, bytes: string | Buffer): Promise<RawAnswer | undefined> => {
  const connection = open(port)
  connection.send(bytes)
  const [answer] = await connection.answered()
  connection.destroy()
  return answer
}

/** The head of a request: lines joined as the wire wants them. */
export const head = (...lines: ReadonlyArray<string>): string => `${lines.join("\r\n")}\r\n\r\n`
