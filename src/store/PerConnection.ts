// Prepared statements belong to a connection, which may be opened again.
import type Sqlite from "better-sqlite3"

/** What `make` gives for a connection, made anew after the database was opened again. */
export const perConnection = <A extends { readonly db: Sqlite.Database }>(make: (db: Sqlite.Database) => A) => {
  let kept: A | undefined
  return (db: Sqlite.Database): A => {
    if (kept?.db !== db) kept = make(db)
    return kept
  }
}
