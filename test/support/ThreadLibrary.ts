// The library that threads load, as tests need it: the real one, with something else before each statement.
import { writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"

export const realLibrary = createRequire(import.meta.url).resolve("better-sqlite3")

/** What the threads load: the real library, which does `prepare` before each statement; \`read\` holds what it prepared. */
export const libraryWith = (folder: string, prepare: string): string => {
  const library = join(folder, "library.cjs")
  writeFileSync(
    library,
    `const Real = require(${JSON.stringify(realLibrary)})
const { appendFileSync } = require("node:fs")
const sleep = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
module.exports = class extends Real {
  prepare(sql) {
    ${prepare}
    const statement = super.prepare(sql)
    appendFileSync(${JSON.stringify(join(folder, "read"))}, sql + "\\n")
    return statement
  }
}
`
  )
  return library
}
