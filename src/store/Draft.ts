// Backups that are not finished: under which name they stand, and what becomes of those that nobody finishes.
import { randomBytes } from "node:crypto"
import { readdirSync, rmSync, statSync, utimesSync } from "node:fs"
import { basename, dirname, join } from "node:path"

const ending = ".watchpost-draft"
/**
 * A backup touches its draft at every step, and the check of a large table is a step of minutes. A draft that nobody
 * touched for so long was left by a kill, or by the loss of power; whether its process lives cannot be told where
 * several machines or containers write to one folder.
 */
const abandonedMs = 6 * 3_600_000

/** SQLite's own files beside a database. */
const suffixes = ["", "-journal", "-wal", "-shm"]

/** Where a backup is made before it gets its name. In a container each process has the same number: chance tells apart. */
export const draftOf = (file: string): string =>
  join(dirname(file), `.${basename(file)}.${randomBytes(8).toString("hex")}${ending}`)

/** Tells others that the draft is being worked on. */
export const touchDraft = (draft: string): void => {
  const now = new Date()
  utimesSync(draft, now, now)
}

export const removeDraft = (draft: string): void => {
  for (const suffix of suffixes) rmSync(draft + suffix, { force: true })
}

const isAbandoned = (draft: string): boolean => {
  const found = statSync(draft, { throwIfNoEntry: false })
  return found?.isFile() === true && found.mtimeMs < Date.now() - abandonedMs
}

/**
 * Removes the drafts of a folder that were abandoned: each is as large as a database, and may hold its key. What cannot be
 * read or removed, such as somebody else's in a shared folder, keeps no backup from being made.
 */
export const removeAbandoned = (folder: string): void => {
  const tried = (work: () => void): void => {
    try {
      work()
    } catch {
      // Whatever is wrong with the folder itself, making the backup tells.
    }
  }
  tried(() => {
    for (const name of readdirSync(folder)) {
      const draft = join(folder, name)
      if (name.startsWith(".") && name.endsWith(ending)) tried(() => isAbandoned(draft) && removeDraft(draft))
    }
  })
}
