// The messages between a benchmark and the load generator, which is a process of its own.

/** As fast as the answers come, over a fixed number of connections. */
export interface ClosedOrder {
  readonly kind: "closed"
  readonly port: number
  /** Process whose CPU time is read at both ends of the measured part. */
  readonly pid: number
  readonly connections: number
  readonly warmupMs: number
  readonly measureMs: number
}
export interface ClosedResult {
  /** Answered with 200 in the measured part. */
  readonly acknowledged: number
  /** Answered otherwise or not at all, warm-up included; `complaint` is the first of them. */
  readonly failed: number
  readonly complaint: string | undefined
  readonly cpuMs: number
  readonly wallMs: number
}

/** Every node on a connection of its own, at its own moments, whatever the answers do. Answered twice: first "opened". */
export interface OpenOrder {
  readonly kind: "open"
  readonly port: number
  readonly pid: number
  readonly intervalMs: number
  readonly warmupMs: number
  readonly measureMs: number
}
/** Times in milliseconds, of requests sent in the measured part. */
export interface OpenResult {
  readonly sent: number
  readonly refused: number
  readonly complaint: string | undefined
  /** From the send to the answer. */
  readonly p50: number
  readonly p99: number
  readonly max: number
  /** From the moment the send was due to the answer: the generator's own lateness included. */
  readonly p99Due: number
  readonly cpuMs: number
  readonly wallMs: number
  /** The most of one sample per second, and the last. */
  readonly rssMaxMb: number
  readonly rssEndMb: number
}
export type Order = ClosedOrder | OpenOrder
