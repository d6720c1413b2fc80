// A fixture machine: a folder with the /proc, /sys and /etc files a test names.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import type { Clock } from "../../../src/agent/Clock.ts"
import type { StatFs } from "../../../src/agent/linux/Filesystems.ts"
import type { Roots } from "../../../src/agent/linux/Tree.ts"

/** Path below the root to content; a null makes an empty folder. */
export type Files = Readonly<Record<string, string | null>>

export interface Machine {
  readonly root: string
  readonly roots: Roots
  readonly write: (files: Files) => void
  readonly remove: (path: string) => void
  readonly link: (path: string, to: string) => void
  readonly destroy: () => void
}

export const makeMachine = (files: Files): Machine => {
  const root = mkdtempSync(join(tmpdir(), "machine-"))
  const write = (more: Files): void => {
    for (const [path, content] of Object.entries(more)) {
      const at = join(root, path)
      mkdirSync(content === null ? at : dirname(at), { recursive: true })
      if (content !== null) writeFileSync(at, content)
    }
  }
  write({ proc: null, sys: null, etc: null, ...files })
  return {
    root,
    roots: { proc: join(root, "proc"), sys: join(root, "sys"), etc: join(root, "etc") },
    write,
    remove: (path) => rmSync(join(root, path), { recursive: true, force: true }),
    link: (path, to) => {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      symlinkSync(to, join(root, path))
    },
    destroy: () => rmSync(root, { recursive: true, force: true })
  }
}

/** A clock the test moves; wall clock and monotonic time move together. */
export const makeTestClock = (startMs = Date.parse("2026-06-14T08:20:00Z")): Clock & { pass: (ms: number) => void } => {
  let elapsedMs = 0
  return {
    monotonicMs: () => elapsedMs,
    now: () => new Date(startMs + elapsedMs),
    pass: (ms) => {
      elapsedMs += ms
    }
  }
}

/** statfs of a filesystem of that many 4 KiB blocks. */
export const statFs = (blocks: number, bfree: number, bavail: number, files = 1000, ffree = 900): StatFs => ({
  bsize: 4096,
  blocks,
  bfree,
  bavail,
  files,
  ffree
})

/** One line of /proc/diskstats. */
export const diskLine = (name: string, numbers: ReadonlyArray<number>): string =>
  `   8       0 ${name} ${numbers.join(" ")}\n`

/** One line of /proc/net/dev. */
export const netLine = (name: string, received: number, sent: number): string =>
  `${name}:${received} 10 1 2 0 0 0 0 ${sent} 20 3 4 0 0 0 0\n`
