// @vitest-environment node
// The token of a tab: refusals, outages, one refresh for many callers and tabs, and what stays in the storages.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { Auth, csrfOf, markerKey, type AuthPorts } from "../../src/web/api/Auth.ts"
import { Client } from "../../src/web/api/Client.ts"
import { Failure } from "../../src/web/api/Failure.ts"

beforeEach(() => void vi.useFakeTimers({ now: 1_900_000_000_000 }))
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

const storage = (initial: Record<string, string> = {}) => {
  const map = new Map(Object.entries(initial))
  return {
    map,
    getItem: (key: string) => map.get(key) ?? null,
    setItem: (key: string, value: string) => void map.set(key, value),
    removeItem: (key: string) => void map.delete(key)
  }
}

const grant = (token: string, ttlMs: number, dateMs = Date.now()): Response =>
  Response.json(
    { access_token: token, csrf_token: "c", expires_at: new Date(dateMs + ttlMs).toISOString() },
    { headers: { date: new Date(dateMs).toUTCString() } }
  )
const refusal = (status: number, code: string): Response => Response.json({ code, message: code }, { status })

/** A browser with several tabs over one service. */
const browser = (answer: (path: string, init: RequestInit) => Response | Promise<Response>, local = storage()) => {
  const calls: Array<{ path: string; csrf: string | null }> = []
  const tabs: Array<Auth> = []
  let queue: Promise<unknown> = Promise.resolve()
  let waiting = 0
  const open = () => {
    const changes: Array<boolean> = []
    const session = storage()
    const ports: AuthPorts = {
      fetch: async (path, init) => {
        calls.push({ path, csrf: new Headers(init.headers).get("x-csrf-token") })
        return answer(path, init)
      },
      readCookie: () => "theme=dark; csrf=c%3D1",
      local,
      session,
      exclusive: (task) => {
        const hadToWait = waiting++ > 0
        const run = queue.then(() => task(hadToWait)).finally(() => waiting--)
        queue = run.catch(() => null)
        return run
      },
      post: (word) => {
        for (const tab of tabs) if (tab !== auth) queueMicrotask(() => tab.hear(structuredClone(word)))
      },
      nowMs: () => Date.now()
    }
    const auth = new Auth(ports, (isAdmin) => changes.push(isAdmin))
    tabs.push(auth)
    return { auth, changes, session }
  }
  return { calls, local, open }
}

const minute = 60_000
const settle = () => vi.advanceTimersByTimeAsync(100)

describe("a tab", () => {
  it("makes no auth call without a marker", async () => {
    const { calls, open } = browser(() => grant("a", minute))
    const { auth } = open()
    await auth.bootstrap()

    expect(calls).toEqual([])
    expect(auth.token).toBeNull()
  })

  it("is a guest after a refused bootstrap and forgets the marker", async () => {
    const { calls, local, open } = browser(() => refusal(401, "unauthorized"), storage({ [markerKey]: "persistent" }))
    const { auth, changes } = open()
    await auth.bootstrap()

    expect(calls).toEqual([{ path: "/api/auth/refresh", csrf: "c=1" }])
    expect([auth.token, changes, local.map.size]).toEqual([null, [false], 0])
  })

  it("keeps the marker when the session store is out, and tries again later", async () => {
    let isOut = true
    const { local, open } = browser(
      () => (isOut ? refusal(503, "auth_unavailable") : grant("a", 15 * minute)),
      storage({ [markerKey]: "persistent" })
    )
    const { auth } = open()
    await auth.bootstrap()
    expect([auth.token, local.map.size]).toEqual([null, 1])
    isOut = false
    await vi.advanceTimersByTimeAsync(15_000)
    expect(auth.token).toBe("a")
  })

  it("says what the service said when the password is wrong, and remembers nothing", async () => {
    const { local, open } = browser(() => refusal(401, "unauthorized"))
    const { auth, session } = open()
    const failed = await auth.login("x", "persistent").catch((thrown: unknown) => thrown)

    expect(failed).toBeInstanceOf(Failure)
    expect(failed).toMatchObject({ status: 401, code: "unauthorized" })
    expect([auth.token, local.map.size, session.map.size]).toEqual([null, 0, 0])
  })

  it("keeps the token out of every storage and the marker where the choice says", async () => {
    for (const persistence of ["session", "persistent"] as const) {
      const { local, open } = browser(() => grant("secret-token", 15 * minute))
      const { auth, session } = open()
      await auth.login("x", persistence)
      const stored = [...local.map, ...session.map]

      expect(stored).toEqual([[markerKey, persistence]])
      expect(local.map.size).toBe(persistence === "persistent" ? 1 : 0)
    }
  })

  it("renews a minute ahead by the service's clock, however wrong the own one is", async () => {
    const { calls, open } = browser(() => grant("a", 15 * minute, Date.now() + 5 * 3_600_000))
    const { auth } = open()
    await auth.login("x", "session")
    await vi.advanceTimersByTimeAsync(14 * minute - 1000)
    expect(calls).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(2000)
    expect(calls).toHaveLength(2)
    await auth.logout()
  })

  it("renews on waking up when it slept through its timer", async () => {
    const { calls, open } = browser(() => grant("a", 15 * minute))
    const { auth } = open()
    await auth.login("x", "session")
    await auth.refreshIfDue()
    expect(calls).toHaveLength(1)
    vi.setSystemTime(Date.now() + 20 * minute)
    await auth.refreshIfDue()
    expect(calls).toHaveLength(2)
    await auth.logout()
  })

  it("is a guest after signing out even when the service does not answer", async () => {
    const { open } = browser((path) =>
      path.endsWith("login") ? grant("a", 15 * minute) : Promise.reject(new Error("down"))
    )
    const { auth, changes } = open()
    await auth.login("x", "persistent")
    await auth.logout()

    expect([auth.token, changes]).toEqual([null, [true, false]])
  })
})

describe("several tabs", () => {
  it("make one refresh when all of them ask at once", async () => {
    let made = 0
    const { calls, open } = browser(() => grant(`token-${++made}`, 15 * minute), storage({ [markerKey]: "persistent" }))
    const tabs = [open(), open(), open()]
    const outcomes = tabs.flatMap(({ auth }) => [auth.refresh(), auth.refresh()])
    await settle()

    expect(await Promise.all(outcomes)).toEqual(Array(6).fill("refreshed"))
    expect(calls).toHaveLength(1)
    expect(tabs.map(({ auth }) => auth.token)).toEqual(["token-1", "token-1", "token-1"])
  })

  it("ask for nothing when the refused token was replaced by another tab meanwhile", async () => {
    let made = 0
    const { calls, open } = browser(() => grant(`token-${++made}`, 15 * minute))
    const [one, two] = [open(), open()]
    await one.auth.login("x", "session")
    await settle()
    const used = two.auth.token
    await one.auth.refresh()
    await settle()

    // The refusal of what the second tab asked for with the first token comes only now.
    expect([used, await two.auth.renew(used), two.auth.token]).toEqual(["token-1", "refreshed", "token-2"])
    expect(calls).toHaveLength(2)
    expect(await two.auth.renew("token-2")).toBe("refreshed")
    expect(calls).toHaveLength(3)
  })

  it("sign out together", async () => {
    const { open } = browser(() => grant("a", 15 * minute))
    const [one, two] = [open(), open()]
    await one.auth.login("x", "session")
    await settle()
    expect(two.auth.token).toBe("a")
    await one.auth.logout()
    await settle()
    expect(two.auth.token).toBeNull()
  })

  it("hand the session to a tab that opens later", async () => {
    const { calls, open } = browser(() => grant("a", 15 * minute))
    await open().auth.login("x", "session")
    const late = open()
    await late.auth.bootstrap()
    await settle()

    expect(late.auth.token).toBe("a")
    expect(calls).toHaveLength(1)
  })

  it("ignore words that are none of theirs", () => {
    const { open } = browser(() => grant("a", minute))
    const { auth, changes } = open()
    for (const word of [null, "out", 7, {}, { kind: "grant" }, { kind: "else", token: "x" }]) auth.hear(word)

    expect([auth.token, changes]).toEqual([null, []])
  })
})

describe("a call", () => {
  const setUp = async (refresh: () => Response, answers: Array<Response>) => {
    const { open } = browser((path) => (path.endsWith("login") ? grant("old", 15 * minute) : refresh()))
    const { auth } = open()
    await auth.login("x", "session")
    const bearers: Array<string | null> = []
    vi.stubGlobal("fetch", async (_: string, init: RequestInit) => {
      bearers.push(new Headers(init.headers).get("authorization"))
      return answers.shift() ?? Response.error()
    })
    const expired = vi.fn()
    return { auth, bearers, expired, client: new Client(auth, expired) }
  }

  it("is repeated once with a new token after a 401", async () => {
    const { bearers, client, expired } = await setUp(
      () => grant("new", 15 * minute),
      [refusal(401, "unauthorized"), Response.json([1])]
    )

    expect(await client.get("/api/x")).toEqual([1])
    expect(bearers).toEqual(["Bearer old", "Bearer new"])
    expect(expired).not.toHaveBeenCalled()
  })

  it("reports the end of the session when it stays refused, after a refresh as without one", async () => {
    for (const refresh of [() => grant("new", 15 * minute), () => refusal(401, "unauthorized")]) {
      const { client, expired } = await setUp(refresh, [refusal(401, "unauthorized"), refusal(401, "unauthorized")])
      await expect(client.get("/api/x")).rejects.toMatchObject({ status: 401, code: "unauthorized" })
      expect(expired).toHaveBeenCalledTimes(1)
    }
  })

  it("does not end the session when the refresh could not be made", async () => {
    const { auth, client, expired } = await setUp(
      () => refusal(503, "auth_unavailable"),
      [refusal(401, "unauthorized")]
    )

    await expect(client.get("/api/x")).rejects.toMatchObject({ code: "unauthorized" })
    expect([expired.mock.calls.length, auth.token]).toEqual([0, "old"])
  })

  it("names a proxy's page and a broken body as failures of their own", async () => {
    const { client } = await setUp(
      () => grant("new", minute),
      [new Response("<h1>Bad gateway</h1>", { status: 502 }), new Response("{", { status: 200 })]
    )

    await expect(client.get("/api/x")).rejects.toMatchObject({ status: 502, code: "http_502" })
    await expect(client.get("/api/x")).rejects.toMatchObject({ code: "invalid_json_response" })
  })
})

describe("the csrf cookie", () => {
  it("is found by its exact name", () => {
    expect([csrfOf(""), csrfOf("xcsrf=1"), csrfOf("csrf="), csrfOf("a=b; csrf=x%20y")]).toEqual([
      null,
      null,
      null,
      "x y"
    ])
  })
})
