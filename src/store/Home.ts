// The data folder of an installation: which files it has, and how one is written so that a kill leaves all or nothing.
import { chownSync, closeSync, fsyncSync, mkdirSync, openSync, renameSync, statSync, writeSync } from "node:fs"
import { dirname, join } from "node:path"

/** Where each file of an installation lies inside its home. */
export const filesOf = (home: string) => ({
  database: join(home, "watchpost.db"),
  key: join(home, "secret.key"),
  installId: join(home, "install_id"),
  /** Locked as long as a process may change the home; its contents mean nothing. */
  lock: join(home, "watchpost.lock"),
  /** A restore being prepared; worth nothing. */
  draft: join(home, "restore.draft"),
  /** A restore that is decided: whoever comes next finishes it. */
  ready: join(home, "restore.ready")
})

/** Without it a power cut can take a new name away. Windows cannot open a folder and does not need to. */
export const flushFolder = (folder: string): void => {
  if (process.platform !== "win32") flushFile(folder)
}

export const flushFile = (file: string): void => {
  const descriptor = openSync(file, "r")
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** What the superuser makes in a home belongs to whoever the home belongs to: the service must be able to use it. */
export const ownLike = (model: string, ...files: ReadonlyArray<string>): void => {
  if (process.getuid?.() !== 0) return
  const { gid, uid } = statSync(model)
  if (uid !== 0 || gid !== 0) for (const file of files) chownSync(file, uid, gid)
}

export const makeFolder = (folder: string): void => void mkdirSync(folder, { recursive: true, mode: 0o700 })

/** Writes a private file (mode 0600) under a draft's name, flushes it and renames it: never seen in part. */
export const writeWhole = (file: string, content: string | Uint8Array): void => {
  const draft = `${file}.new`
  const bytes = typeof content === "string" ? Buffer.from(content) : content
  const descriptor = openSync(draft, "w", 0o600)
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  ownLike(dirname(file), draft)
  renameSync(draft, file)
  flushFolder(dirname(file))
}
