// What a thread runs to answer questions about history, on a connection of its own. It is bundled into a text.
import type Sqlite from "better-sqlite3"
import { historyReader } from "../src/store/HistoryReader.ts"
import { chart, type ChartQuestion, count, type CountQuestion, toolsOf } from "./HistoryGathering.ts"

/** 4 MB of pages: the chunks that are read again are kept by themselves, and the system caches the file as well. */
const cacheKb = 4096

/**
 * Each question is answered of one moment, in a transaction that only reads. A connection that met an error is not used
 * again. Throws what SQLite throws.
 */
export const commandsOf = (Library: typeof Sqlite, file: string) => {
  const open = () => {
    const db = new Library(file, { readonly: true, fileMustExist: true })
    db.pragma(`cache_size = -${cacheKb}`)
    const tools = toolsOf(historyReader(() => db))
    return { db, tools }
  }
  let opened: ReturnType<typeof open> | undefined
  const reading = <A>(read: (tools: ReturnType<typeof toolsOf>) => A): A => {
    const { db, tools } = (opened ??= open())
    try {
      db.exec("BEGIN")
      const found = read(tools)
      db.exec("COMMIT")
      return found
    } catch (cause) {
      opened = undefined
      db.close()
      throw cause
    }
  }
  return {
    chart: (question: ChartQuestion) => reading((tools) => chart(tools, question)),
    count: (question: CountQuestion) => reading((tools) => count(tools, question))
  }
}
