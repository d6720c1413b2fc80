// What the body of an accepted report may say.
import type { Reply } from "./Exchange.ts"
import { readManifest, type UpdateManifest } from "./Update.ts"

export type Answer =
  | { readonly kind: "silent" }
  | { readonly kind: "unreadable"; readonly what: string }
  | { readonly kind: "update"; readonly manifest: UpdateManifest }

const silent: Answer = { kind: "silent" }

/**
 * Reads the reply to a report. Only application/json is looked at; an empty body, the text `ok`, unknown members and
 * a missing `ok` mean nothing. Invalid JSON and a malformed manifest are told, so that they can be logged.
 */
export const readAnswer = (reply: Reply): Answer => {
  if (reply.mediaType !== "application/json" || reply.text === null) return silent
  const text = reply.text.trim()
  if (text === "" || text === "ok") return silent
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return { kind: "unreadable", what: "JSON" }
  }
  const update = typeof body === "object" && body !== null && "update" in body ? body.update : null
  if (update === null || update === undefined) return silent
  const manifest = readManifest(update)
  return manifest === null ? { kind: "unreadable", what: "update manifest" } : { kind: "update", manifest }
}
