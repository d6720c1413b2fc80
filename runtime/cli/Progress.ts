// How long work tells how far it is: one line that changes on a terminal, a line now and then elsewhere.

/** Between two lines where each stays, and between two changes of the one that does not. */
const lineEveryMs = 2000
const changeEveryMs = 100

export interface Meter {
  /** `done` from 0 to 1. */
  readonly tell: (what: string, done: number) => void
  /** Takes the changing line away, before the result is printed. */
  readonly clear: () => void
}

/** Tells on standard error, so that results alone stand on standard output. */
export const meter = (out: NodeJS.WriteStream = process.stderr): Meter => {
  let [said, at] = ["", Number.NEGATIVE_INFINITY]
  return {
    tell: (what, done) => {
      const now = performance.now()
      const due = now - at >= (out.isTTY ? changeEveryMs : lineEveryMs)
      if (!due && (out.isTTY || what === said)) return
      if (!due && now - at < changeEveryMs) return
      said = what
      at = now
      const line = `${what} ${Math.floor(done * 100)} %`
      out.write(out.isTTY ? `\r\x1b[2K${line}` : `${line}\n`)
    },
    clear: () => {
      if (out.isTTY) out.write("\r\x1b[2K")
    }
  }
}
