// Access tokens: held as digests in memory only, so a restart forgets them and a revocation is immediate.
import { SessionId } from "../../schema/Ids.ts"
import { accessLifetimeMs, digest, opaque } from "./Tokens.ts"

export interface AccessToken {
  readonly token: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

export interface AccessTokens {
  readonly issue: (session: SessionId, nowMs: number) => AccessToken
  /** The session of a live token, or undefined. */
  readonly sessionOf: (token: string, nowMs: number) => SessionId | undefined
  readonly revoke: (session: SessionId) => void
  readonly revokeAll: () => void
  readonly stats: () => { readonly live: number; readonly evicted: number }
}

/** One session refreshing every few seconds for a quarter of an hour; its own oldest token goes first. */
const perSessionMax = 128
/** About 5 MB when full. Only the administrator's own sessions fill it, so the oldest gives way. */
const totalMax = 20_000

const form = /^[A-Za-z0-9_-]{43}$/

interface Entry {
  readonly session: SessionId
  readonly expiresAt: number
}

/** An empty table. Every token lives equally long, so insertion order is order of expiry. */
export const make = (): AccessTokens => {
  const entries = new Map<string, Entry>()
  const sessions = new Map<SessionId, Set<string>>()
  let evicted = 0

  const drop = (key: string, entry: Entry) => {
    entries.delete(key)
    const own = sessions.get(entry.session)
    own?.delete(key)
    if (own?.size === 0) sessions.delete(entry.session)
  }
  const makeRoom = (nowMs: number) => {
    for (const [key, entry] of entries) {
      const expired = entry.expiresAt <= nowMs
      if (!expired && entries.size < totalMax) return
      drop(key, entry)
      if (!expired) evicted += 1
    }
  }
  const makeRoomInSession = (session: SessionId) => {
    const own = sessions.get(session)
    if (own === undefined || own.size < perSessionMax) return
    for (const key of own) {
      const entry = entries.get(key)
      if (entry !== undefined) drop(key, entry)
      evicted += 1
      return
    }
  }

  return {
    issue: (session, nowMs) => {
      makeRoom(nowMs)
      makeRoomInSession(session)
      const token = opaque()
      const key = digest(token)
      const expiresAt = nowMs + accessLifetimeMs
      entries.set(key, { session, expiresAt })
      const own = sessions.get(session)
      if (own === undefined) sessions.set(session, new Set([key]))
      else own.add(key)
      return { token, expiresAt }
    },
    sessionOf: (token, nowMs) => {
      if (!form.test(token)) return undefined
      const entry = entries.get(digest(token))
      return entry !== undefined && entry.expiresAt > nowMs ? entry.session : undefined
    },
    revoke: (session) => {
      for (const key of sessions.get(session) ?? []) entries.delete(key)
      sessions.delete(session)
    },
    revokeAll: () => {
      entries.clear()
      sessions.clear()
    },
    stats: () => ({ live: entries.size, evicted })
  }
}
