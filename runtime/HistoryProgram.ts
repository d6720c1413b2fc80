// What a thread runs to answer questions about history, on a connection of its own. It is bundled into a text.
import type Sqlite from "better-sqlite3"
import { historyReader } from "../src/store/HistoryReader.ts"
import { chart, type ChartQuestion, count, type CountQuestion, type Tools, toolsOf } from "./HistoryGathering.ts"
import { ofOneMoment, onConnection, openToRead } from "./ThreadConnection.ts"

/** 4 MB of pages: the chunks that are read again are kept by themselves, and the system caches the file as well. */
const cacheKb = 4096

/** Each question is answered of one moment. Throws what SQLite throws. */
export const commandsOf = (Library: typeof Sqlite, file: string) => {
  const connection = onConnection(() => {
    const db = openToRead(Library, file, cacheKb)
    return { db, tools: toolsOf(historyReader(() => db)) }
  })
  const reading = <A>(read: (tools: Tools) => A): A =>
    connection((opened) => ofOneMoment(opened, () => read(opened.tools)))
  return {
    chart: (question: ChartQuestion) => reading((tools) => chart(tools, question)),
    count: (question: CountQuestion) => reading((tools) => count(tools, question))
  }
}
