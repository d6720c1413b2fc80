// Lays a note out as one Telegram message: plain text, so that a name can format nothing.
import type { Note } from "./Sink.ts"

/** Of a message, in UTF-16 units (Bot API, sendMessage). */
export const textMax = 4096

/** Title and body, cut to what one message holds. */
export const plainText = (note: Note): string => cut(`${note.title}\n${note.body}`)

/** The same with the marks that bot messages have (contract, message layout). */
export const markedText = (note: Note): string => {
  const mark = note.transition === "opened" ? "❌ " : note.transition === "closed" ? "✅ " : ""
  const lines = note.body.split("\n").map((one) => (timeLine.test(one) ? `🕒 ${one}` : one))
  return cut(`${mark}${note.title}\n${lines.join("\n")}`)
}

/** A line that ends with a time as the messages write it: date, time, zone. */
const timeLine = /\d{4}-\d{2}-\d{2} \d{2}:\d{2}(:\d{2})?( \S{1,40})?$/

const cut = (text: string): string => {
  if (text.length <= textMax) return text
  const short = text.slice(0, textMax - 1)
  // Half a surrogate pair would be refused as no text at all.
  return `${/[\uD800-\uDBFF]$/.test(short) ? short.slice(0, -1) : short}…`
}
