// Who we are to the service: the access token in memory, its timely refresh, and the same across all tabs.
import type { Grant } from "../../../schema/Session.ts"
import { Failure, failureOf, failureOfResponse } from "./Failure.ts"

export type Persistence = "session" | "persistent"
export type Refreshed = "refreshed" | "refused" | "failed"

/** What tabs tell each other; a token never leaves the origin's memory. */
type Word =
  | { readonly kind: "grant"; readonly token: string; readonly ttlMs: number; readonly persistence: Persistence }
  | { readonly kind: "out" }
  | { readonly kind: "ask" }

/** The browser's half, so that tests can stand in for it. */
export interface AuthPorts {
  readonly fetch: (path: string, init: RequestInit) => Promise<Response>
  readonly readCookie: () => string
  readonly local: Pick<Storage, "getItem" | "setItem" | "removeItem">
  readonly session: Pick<Storage, "getItem" | "setItem" | "removeItem">
  /** Runs one task at a time over all tabs; in one tab only where the browser has no lock manager. */
  readonly exclusive: <A>(task: (hadToWait: boolean) => Promise<A>) => Promise<A>
  readonly post: (word: unknown) => void
  readonly nowMs: () => number
}

/** Remembers that there is a session to resume; a first-time visitor makes no auth call. */
export const markerKey = "auth.login_persistence"
/** A token is renewed this long before it ends. */
const aheadMs = 60_000
/** Never busier than this, whatever lifetime the service grants. */
const refreshMsMin = 5_000
/** After a refresh that failed for another reason than 401. */
const retryMs = 15_000
/** How long a neighbour tab's word may take to arrive once its lock is free. */
const neighbourMs = 30

export class Auth {
  readonly #ports: AuthPorts
  readonly #onChange: (isAdmin: boolean) => void
  #token: string | null = null
  #endsAtMs = 0
  #grants = 0
  #flight: Promise<Refreshed> | null = null
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(ports: AuthPorts, onChange: (isAdmin: boolean) => void) {
    this.#ports = ports
    this.#onChange = onChange
  }

  get token(): string | null {
    return this.#token
  }

  /** On page load: resumes a remembered session, else asks the other tabs. Never rejects. */
  async bootstrap(): Promise<void> {
    if (this.#marker() === null) this.#post({ kind: "ask" })
    else await this.refresh()
  }

  async login(password: string, persistence: Persistence): Promise<void> {
    const response = await this.#call("/api/auth/login", JSON.stringify({ password, persistence }))
    if (!response.ok) throw await failureOfResponse(response)
    const storage = persistence === "persistent" ? this.#ports.local : this.#ports.session
    this.#forget()
    storage.setItem(markerKey, persistence)
    this.#accept(await this.#read(response))
    this.#announce()
  }

  /** Ends the session here and in every tab; the service's answer does not matter for that. */
  async logout(): Promise<void> {
    const call = this.#call("/api/auth/logout", null).catch(() => null)
    this.drop()
    this.#post({ kind: "out" })
    await call
  }

  /** Forgets the token without telling the service: it ended the session already. */
  drop(): void {
    clearTimeout(this.#timer)
    this.#forget()
    this.#token = null
    this.#onChange(false)
  }

  /** A new token, with one request however many callers and tabs ask. */
  refresh(): Promise<Refreshed> {
    this.#flight ??= this.#refreshOnce().finally(() => (this.#flight = null))
    return this.#flight
  }

  /** The same for whoever was refused with this token: another tab may have brought a new one meanwhile. */
  async renew(used: string | null): Promise<Refreshed> {
    return this.#token !== null && this.#token !== used ? "refreshed" : this.refresh()
  }

  /** For a tab that slept through its timer. */
  async refreshIfDue(): Promise<void> {
    if (this.#token !== null && this.#ports.nowMs() >= this.#endsAtMs - aheadMs) await this.refresh()
  }

  /** A word from another tab. */
  hear(word: unknown): void {
    if (!isWord(word)) return
    if (word.kind === "ask") this.#announce()
    else if (word.kind === "out") {
      if (this.#token !== null) this.drop()
    } else {
      if (this.#marker() === null) this.#ports.session.setItem(markerKey, word.persistence)
      this.#accept({ token: word.token, ttlMs: word.ttlMs })
    }
  }

  async #refreshOnce(): Promise<Refreshed> {
    const seen = this.#grants
    return this.#ports.exclusive(async (hadToWait) => {
      if (hadToWait) await new Promise((done) => setTimeout(done, neighbourMs))
      if (this.#grants !== seen) return "refreshed"
      const response = await this.#call("/api/auth/refresh", null).catch(() => null)
      if (response?.status === 401) return this.#refuse()
      const grant = response?.ok ? await this.#read(response).catch(() => null) : null
      if (grant === null) return this.#postpone()
      this.#accept(grant)
      this.#announce()
      return "refreshed"
    })
  }

  #refuse(): Refreshed {
    this.drop()
    return "refused"
  }

  /** The service could not say; the token in hand may still be good. */
  #postpone(): Refreshed {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.refresh(), retryMs)
    return "failed"
  }

  #accept(grant: { readonly token: string; readonly ttlMs: number }): void {
    this.#token = grant.token
    this.#endsAtMs = this.#ports.nowMs() + grant.ttlMs
    this.#grants++
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.refresh(), Math.max(refreshMsMin, grant.ttlMs - aheadMs))
    this.#onChange(true)
  }

  #announce(): void {
    const persistence = this.#marker()
    if (this.#token === null || persistence === null) return
    this.#post({ kind: "grant", token: this.#token, ttlMs: this.#endsAtMs - this.#ports.nowMs(), persistence })
  }

  /** Lifetime by the service's own clock, so that a wrong clock here does no harm. */
  async #read(response: Response): Promise<{ token: string; ttlMs: number }> {
    const grant = (await response.json()) as Grant
    const date = Date.parse(response.headers.get("date") ?? "")
    const sentAtMs = Number.isNaN(date) ? Date.now() : date
    return { token: grant.access_token, ttlMs: Math.max(0, Date.parse(grant.expires_at) - sentAtMs) }
  }

  async #call(path: string, body: string | null): Promise<Response> {
    const headers: Record<string, string> = {}
    const csrf = csrfOf(this.#ports.readCookie())
    if (csrf !== null) headers["x-csrf-token"] = csrf
    if (body !== null) headers["content-type"] = "application/json"
    try {
      return await this.#ports.fetch(path, { method: "POST", headers, body, credentials: "same-origin" })
    } catch (thrown) {
      const { code, message } = failureOf(thrown)
      throw new Failure(0, code, message)
    }
  }

  #marker(): Persistence | null {
    const text = this.#ports.local.getItem(markerKey) ?? this.#ports.session.getItem(markerKey)
    return text === "persistent" || text === "session" ? text : null
  }

  #forget(): void {
    this.#ports.local.removeItem(markerKey)
    this.#ports.session.removeItem(markerKey)
  }

  #post(word: Word): void {
    this.#ports.post(word)
  }
}

const isWord = (value: unknown): value is Word =>
  typeof value === "object" &&
  value !== null &&
  "kind" in value &&
  (value.kind === "out" || value.kind === "ask" || (value.kind === "grant" && "token" in value && "ttlMs" in value))

/** The value of the cookie `csrf`, or null. */
export const csrfOf = (cookies: string): string | null => {
  const match = /(?:^|;\s*)csrf=([^;]*)/.exec(cookies)
  return match?.[1] ? decodeURIComponent(match[1]) : null
}
