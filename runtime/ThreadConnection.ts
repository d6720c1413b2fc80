// The connection that a program in a thread reads on.
import type Sqlite from "better-sqlite3"

interface Opened {
  readonly db: Sqlite.Database
}

/**
 * Has something done on a connection that is opened when it is first asked for. One that met an error is not used again.
 * Throws what SQLite throws.
 */
export const onConnection = <O extends Opened>(open: () => O) => {
  let opened: O | undefined
  return <A>(work: (opened: O) => A): A => {
    const one = (opened ??= open())
    try {
      return work(one)
    } catch (cause) {
      opened = undefined
      one.db.close()
      throw cause
    }
  }
}

/** Everything that is read, is of one moment. Throws what SQLite throws. */
export const ofOneMoment = <A>({ db }: Opened, read: () => A): A => {
  db.exec("BEGIN")
  const found = read()
  db.exec("COMMIT")
  return found
}

/** Opens the file for reading, with a page cache of so many kilobytes. */
export const openToRead = (Library: typeof Sqlite, file: string, cacheKb: number): Sqlite.Database => {
  const db = new Library(file, { readonly: true, fileMustExist: true })
  db.pragma(`cache_size = -${cacheKb}`)
  return db
}
