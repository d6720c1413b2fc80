// An answer made once and shared by everybody who may see it: its bytes, its ETag and its compressed form.
import { Effect } from "effect"
import { promisify } from "node:util"
import { gzip } from "node:zlib"

export interface Cached {
  readonly etag: string
  readonly body: Buffer
  /** Compressed on first demand, in the thread pool, once. */
  readonly gzipped: Effect.Effect<Buffer>
}

/** Below this the headers weigh more than what compression saves. */
export const gzipBytesMin = 1024
/** Level 5: 138 kB of a 10,000-node frame in 10 ms; higher levels cost twice for a few per cent. */
const gzipLevel = 5

const compressed: (body: Buffer, options: { level: number }) => Promise<Buffer> = promisify(gzip)

export const cached = (etag: string, text: string): Cached => {
  const body = Buffer.from(text)
  let pending: Promise<Buffer> | undefined
  const compress = () => (pending ??= compressed(body, { level: gzipLevel }))
  return { etag, body, gzipped: Effect.promise(compress) }
}
