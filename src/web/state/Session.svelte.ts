// Whether an administrator is signed in, as a signal; owns the Auth and the Client of this tab.
import { Auth, type Persistence } from "../api/Auth.ts"
import { Client } from "../api/Client.ts"

const lockName = "watchpost.refresh"
const channelName = "watchpost.auth"

const exclusive = async <A>(task: (hadToWait: boolean) => Promise<A>): Promise<A> => {
  if (!("locks" in navigator)) return task(false)
  const free = await navigator.locks.request(lockName, { ifAvailable: true }, async (lock) =>
    lock === null ? null : { done: await task(false) }
  )
  return free === null ? navigator.locks.request(lockName, () => task(true)) : free.done
}

class Session {
  /** `unknown` until a remembered session was resumed or not. */
  viewer = $state<"unknown" | "guest" | "admin">("unknown")
  /** The session ended without the administrator's doing; shown as a banner until dismissed. */
  isExpired = $state(false)
  isAdmin = $derived(this.viewer === "admin")
  readonly #channel = "BroadcastChannel" in window ? new BroadcastChannel(channelName) : null
  readonly #auth = new Auth(
    {
      fetch: (path, init) => fetch(path, { ...init, signal: AbortSignal.timeout(15_000) }),
      readCookie: () => document.cookie,
      local: localStorage,
      session: sessionStorage,
      exclusive,
      post: (word) => this.#channel?.postMessage(word),
      nowMs: () => Date.now()
    },
    (isAdmin) => this.#set(isAdmin)
  )
  readonly client = new Client(this.#auth, () => this.expire())
  /** Settles when the viewer is known. */
  ready: Promise<void> = Promise.resolve()

  get token(): string | null {
    return this.#auth.token
  }

  start(): void {
    this.#channel?.addEventListener("message", (event) => this.#auth.hear(event.data))
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) void this.#auth.refreshIfDue()
    })
    this.ready = this.#auth.bootstrap().then(() => {
      if (this.viewer === "unknown") this.viewer = "guest"
    })
  }

  login(password: string, persistence: Persistence): Promise<void> {
    return this.#auth.login(password, persistence)
  }

  logout(): Promise<void> {
    return this.#auth.logout()
  }

  /**
   * For reads that answer a bad token with the guest's view instead of 401, as was `used`: true when a new token was had
   * and the read is worth repeating; otherwise the guest's view stands.
   */
  async recover(used: string | null): Promise<boolean> {
    const outcome = await this.#auth.renew(used)
    if (outcome === "refused") this.isExpired = true
    return outcome === "refreshed"
  }

  /** The service no longer knows us although it just renewed us, or refused twice. */
  expire(): void {
    this.#auth.drop()
    this.isExpired = true
  }

  #set(isAdmin: boolean): void {
    if (isAdmin) this.isExpired = false
    this.viewer = isAdmin ? "admin" : "guest"
  }
}

export const session = new Session()
