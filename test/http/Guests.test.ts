// Invariant 7: a guest never sees a byte of a hidden node, nor a difference that would tell of one; whoever the guest is.
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { HttpApi } from "@effect/platform"
import { Api } from "../../schema/api/Api.ts"
import { AdminOnly } from "../../schema/api/Security.ts"
import {
  addNode,
  adminPassword,
  type Answer,
  codeOf,
  type Headers,
  json,
  type MadeNode,
  member,
  push,
  reportOf,
  type Service,
  signIn,
  startService,
  staticOf
} from "../support/Service.ts"

const halfHour = 1_800_000

let service: Service
let admin: Headers
/** Everyone who is not the administrator. */
let guests: ReadonlyArray<readonly [string, Headers]>

beforeAll(async () => {
  service = await startService()
  const login = () =>
    service.call("POST", "/api/auth/login", json, JSON.stringify({ password: adminPassword, persistence: "session" }))
  const bearer = (answer: Answer) => ({ authorization: `Bearer ${member(answer.json, "access_token")}` })
  const expired = bearer(await login())
  // Until the token is over, and on to the start of a half hour: no bucket of an online answer ends meanwhile.
  const laterMs = Date.now() + 16 * 60_000
  service.advance(16 * 60_000 + halfHour - (laterMs % halfHour) + 500)
  const revoked = bearer(await login())
  await service.call("DELETE", "/api/auth/sessions/current", revoked)
  const live = await login()
  const token = member(live.json, "access_token")
  const cookies = (live.headers["set-cookie"] ?? []).map((line) => line.split(";")[0]).join("; ")
  admin = await signIn(service)
  await setMode("by_node")
  guests = [
    ["no token", {}],
    ["an empty header", { authorization: "" }],
    ["a malformed header", { authorization: `Bearer ${token} and more` }],
    ["a token without its scheme", { authorization: token }],
    ["a wrong scheme", { authorization: `Basic ${token}` }],
    ["a wrong token", { authorization: `Bearer ${token.slice(1)}x` }],
    ["an expired token", expired],
    ["a revoked token", revoked],
    ["only the cookies of a session", { cookie: cookies }],
    ["a node's secret", { "x-node-secret": (await addNode(service, admin)).secret }]
  ]
}, 30_000)
afterAll(() => service.stop())

const send = (method: string, path: string, body?: object): Promise<Answer> =>
  service.call(method, path, { ...admin, ...json }, JSON.stringify(body ?? {}))

/** Who may read the history of visible nodes: guests too, or administrators only. */
const setMode = async (mode: "by_node" | "disabled"): Promise<void> => {
  expect((await send("PATCH", "/api/admin/system/settings", { history_guest_access_mode: mode })).status).toBe(204)
  const traffic = { guest_access_mode: mode }
  expect((await send("PATCH", "/api/statistics/traffic/settings", traffic)).status).toBe(204)
}

/** Text that could come out of its field: markup, quotes, look-alikes of our own syntax. */
const hostile = fc.constantFrom(
  "",
  "<b>",
  '"',
  "\\",
  "'--",
  "${x}",
  "%00",
  "é",
  "🜲",
  "\u202e",
  // Twice this and the mark still fit into a name of 64 characters.
  "a".repeat(20),
  "{}",
  ","
)
/** What one node is told apart by; `mark` stands in every text that only this node has. */
interface Plan {
  readonly visible: boolean
  readonly before: string
  readonly after: string
}
const plan: fc.Arbitrary<Plan> = fc.record({ visible: fc.boolean(), before: hostile, after: hostile })
const fleets = fc.array(plan, { minLength: 1, maxLength: 5 })

interface Made extends Plan, MadeNode {
  readonly mark: string
  readonly groupId: number
  readonly ip: string
}

let counter = 0
const markOf = (): string => `zq${(counter++).toString(36).padStart(6, "0")}q`

const reportFor = ({ after, before, mark }: Pick<Made, "after" | "before" | "mark">) =>
  reportOf(
    { hostname: `${mark}-host` },
    {
      network: [{ name: `${before}${mark}-if${after}`, recv_rate_bytes_per_sec: 1, sent_rate_bytes_per_sec: 2 }],
      disk: {
        physical: [],
        logical: [],
        filesystems: [{ path: `/${mark}-fs`, used: 1, free: 1, used_ratio: 0.5 }],
        base_io: [{ kind: "physical", name: `${mark}-io`, iops: 7 }],
        smart: {
          status: "ok",
          devices: [
            {
              name: `${mark}-disk`,
              source: "smartctl",
              status: "ok",
              serial: `${mark}-serial`,
              wwn: `${mark}-wwn`,
              protocol: "ATA",
              temp_c: 30
            }
          ]
        }
      }
    }
  )

const make = async (one: Plan, everyone: number): Promise<Made> => {
  const mark = markOf()
  const title = `${one.before}${mark}-name${one.after}`
  const group = await send("POST", "/api/admin/groups", { name: `${mark}-group` })
  const groupId = Number(group.headers.location?.split("/").at(-1))
  const tags = [`${one.before}${mark}-tag`, "shared"]
  const patch = { name: title, tags, is_guest_visible: one.visible, group_ids: [groupId, everyone] }
  const node = await addNode(service, admin, patch)
  const made = { ...one, ...node, mark, groupId, ip: `203.0.${counter % 250}.${node.id % 250}` }
  await report(made)
  const headers = { ...json, "x-node-secret": made.secret, "x-forwarded-for": made.ip }
  const statics = staticOf({}, { hostname: `${mark}-host`, platform: `${mark}-platform` })
  expect((await service.call("POST", "/api/node/static", headers, JSON.stringify(statics))).status).toBe(200)
  return made
}
const report = async (made: Made): Promise<void> => {
  const headers = { ...json, "x-node-secret": made.secret, "x-forwarded-for": made.ip }
  const answer = await service.call("POST", "/api/node/metrics", headers, JSON.stringify(reportFor(made)))
  expect([answer.status, answer.text]).toEqual([200, '{"ok":true,"update":null}\n'])
}

/** Every public read, asked in ways that could tell of the given ids. */
const reads = (ids: ReadonlyArray<number>): ReadonlyArray<string> => [
  "/api/version",
  "/api/front/brand",
  "/api/front/metrics",
  "/api/front/metrics?limit=2",
  "/api/front/metrics?limit=1000&offset=1",
  ...(ids.length === 0 ? [] : [`/api/front/metrics?ids=${ids.join(",")}`]),
  "/api/front/groups",
  "/api/front/live",
  "/api/front/live?since=1",
  "/api/statistics/access",
  "/api/statistics/traffic/settings",
  "/api/statistics/traffic/calendar?at=0",
  ...ids.flatMap((id) => [
    `/api/front/recent?server_id=${id}`,
    `/api/metrics/history?server_id=${id}&metric=net.recv_bps&range=30m`,
    `/api/metrics/online?server_id=${id}&range=24h`,
    `/api/metrics/online?server_id=${id}&range=7d`,
    `/api/statistics/traffic/ifaces?server_id=${id}`,
    `/api/statistics/traffic/summary?server_id=${id}&iface=eth0`,
    `/api/statistics/traffic/monthly?server_id=${id}&iface=eth0`,
    `/api/statistics/traffic/daily?server_id=${id}&iface=eth0`,
    `/api/statistics/traffic/explain?server_id=${id}&iface=eth0`,
    `/api/statistics/traffic/export?server_id=${id}&iface=eth0&kind=facts`
  ])
]
/** The history of each node's own devices, by all the names that only it has. */
const deviceReads = (fleet: ReadonlyArray<Made>): ReadonlyArray<string> =>
  fleet.flatMap(({ after, before, id, mark }) => {
    const named = (metric: string, device: string) =>
      `/api/metrics/history?server_id=${id}&range=30d&metric=${metric}&device=${encodeURIComponent(device)}`
    return [
      named("net.sent_bps", `${before}${mark}-if${after}`),
      named("disk.used", `/${mark}-fs`),
      named("disk.iops", `${mark}-io`),
      named("disk.temp_c", `${mark}-disk`)
    ]
  })

/** Ids of nodes, wherever one stands in an answer; in the list of groups `id` is the group's. */
const nodeIdsIn = (path: string, value: unknown): ReadonlySet<number> => {
  const names = path.startsWith("/api/front/groups") ? ["node_ids"] : ["id", "server_id", "node_ids"]
  const found = new Set<number>()
  const visit = (at: unknown, key: string): void => {
    if (Array.isArray(at)) for (const each of at) visit(each, key)
    else if (typeof at === "object" && at !== null) for (const [name, each] of Object.entries(at)) visit(each, name)
    else if (names.includes(key)) found.add(Number(at))
  }
  visit(value, "")
  return found
}

interface Seen {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}
/** An answer without what is merely the time of asking. */
const timeless = ({ headers, status, text }: Answer): Seen => {
  const { date: _, ...rest } = headers
  return { status, headers: rest, text: text.replace(/"now":\d+|"from":"[^"]*","to":"[^"]*"/, "") }
}

const look = async (paths: ReadonlyArray<string>, headers: Headers): Promise<ReadonlyArray<Answer>> => {
  const answers: Array<Answer> = []
  for (const path of paths) answers.push(await service.call("GET", path, headers))
  return answers
}

/** The traffic of each node's own interface. */
const trafficReads = (fleet: ReadonlyArray<Made>): ReadonlyArray<string> =>
  fleet.flatMap(({ after, before, id, mark }) =>
    ["summary", "explain", "export"].map((read) => {
      const iface = encodeURIComponent(`${before}${mark}-if${after}`)
      return `/api/statistics/traffic/${read}?server_id=${id}&iface=${iface}&kind=facts`
    })
  )

describe("a hidden node", () => {
  it("stands in no answer to any guest, and its deletion changes none", { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fleets, async (plans) => {
        const everyone = await send("POST", "/api/admin/groups", { name: "everyone" })
        const groupId = Number(everyone.headers.location?.split("/").at(-1))
        const fleet: Array<Made> = []
        for (const one of plans) fleet.push(await make(one, groupId))
        const hidden = fleet.filter(({ visible }) => !visible)
        const shown = fleet.filter(({ visible }) => visible)
        const paths = [...reads(fleet.map(({ id }) => id)), ...deviceReads(fleet), ...trafficReads(fleet)]

        const boss = (await look(paths, admin)).map(({ text }) => text).join("\n")
        for (const { mark } of fleet) {
          for (const what of ["name", "tag", "if", "group", "serial", "wwn", "fs", "platform"]) {
            expect(boss).toContain(`${mark}-${what}`)
          }
        }
        const first = (await look(paths, {})).map(timeless)
        for (const [who, headers] of guests) {
          const answers = await look(paths, headers)
          expect([who, answers.map(timeless)]).toEqual([who, first])
          for (const [i, { json: body, rawHeaders, text }] of answers.entries()) {
            const path = String(paths[i])
            const everything = `${rawHeaders.join("\n")}\n${text}`
            for (const { id, ip, mark } of hidden) {
              expect([path, everything.includes(mark), everything.includes(ip)]).toEqual([path, false, false])
              expect([path, nodeIdsIn(path, body).has(id)]).toEqual([path, false])
            }
            for (const { mark, ip } of shown) {
              for (const what of ["serial", "wwn", "host"]) expect(text).not.toContain(`${mark}-${what}`)
              expect(text).not.toContain(ip)
            }
          }
        }
        const told = first.map(({ text }) => text).join("\n")
        for (const { mark } of shown)
          for (const what of ["name", "tag", "if", "group"]) expect(told).toContain(`${mark}-${what}`)
        for (const path of deviceReads(fleet)) {
          const { status, text } = first[paths.indexOf(path)] as Seen
          const isShown = shown.some(({ id }) => path.includes(`server_id=${id}&`))
          expect([path, status, /"value":\d/.test(text)]).toEqual([path, isShown ? 200 : 403, isShown])
        }

        for (const path of trafficReads(fleet)) {
          const isShown = shown.some(({ id }) => path.includes(`server_id=${id}&`))
          expect([path, first[paths.indexOf(path)]?.status]).toEqual([path, isShown ? 200 : 403])
        }

        for (const one of hidden) await report(one)
        expect((await look(paths, {})).map(timeless)).toEqual(first)
        for (const { id } of hidden) await send("DELETE", `/api/admin/nodes/${id}`)
        expect((await look(paths, {})).map(timeless)).toEqual(first)

        for (const { id } of shown) await send("DELETE", `/api/admin/nodes/${id}`)
        for (const { groupId: own } of fleet) await send("DELETE", `/api/admin/groups/${own}`)
        await send("DELETE", `/api/admin/groups/${groupId}`)
      }),
      { numRuns: 12 }
    )
  })

  it("looks on every read like a deleted one and like one that never was", async () => {
    const hidden = await addNode(service, admin, { name: "hidden" })
    const deleted = await addNode(service, admin, { name: "deleted", is_guest_visible: true })
    await push(service, "metrics", hidden.secret, reportOf())
    await push(service, "metrics", deleted.secret, reportOf())
    await send("DELETE", `/api/admin/nodes/${deleted.id}`)

    const figures = ["history?metric=cpu.load1&range=30m&server_id=", "online?range=7d&server_id="]
    const front = ["/api/front/recent?server_id=", "/api/front/metrics?ids="]
    for (const path of [...front, ...figures.map((one) => `/api/metrics/${one}`)]) {
      const told = async (id: number): Promise<string> => {
        const { headers, status, text } = timeless(await service.call("GET", path + id))
        // The tag of a chosen list repeats the question.
        return JSON.stringify([status, text, { ...headers, etag: String(headers["etag"]).replace(`-g${id}.`, "-g?.") }])
      }
      const answers = [await told(hidden.id), await told(deleted.id), await told(987_654)]
      expect([path, new Set(answers).size]).toEqual([path, 1])
    }
    const refused = await service.call("GET", `/api/front/recent?server_id=${hidden.id}`)
    expect(codeOf(refused)).toBe("403 forbidden")
  })

  it("moves no tag and wakes no poller when it reports, is renamed, tagged, grouped or created", async () => {
    const seen = await addNode(service, admin, { name: "seen", is_guest_visible: true })
    const hidden = await addNode(service, admin, { name: "hidden" })
    await push(service, "metrics", seen.secret, reportOf())
    const before = (await look(reads([seen.id]), {})).map(timeless)
    const steps: ReadonlyArray<() => Promise<unknown>> = [
      () => push(service, "metrics", hidden.secret, reportOf()),
      () => push(service, "static", hidden.secret, staticOf()),
      () => push(service, "metrics", hidden.secret, reportOf({ version: "9.9.9" })),
      () => send("PATCH", `/api/admin/nodes/${hidden.id}`, { name: "other", tags: ["secret-tag"], display_order: 1 }),
      () => send("PATCH", `/api/admin/nodes/${hidden.id}`, { group_ids: [] }),
      () => addNode(service, admin, { name: "another" }),
      () => send("POST", "/api/admin/groups", { name: "empty to guests" }),
      () => send("DELETE", `/api/admin/nodes/${hidden.id}`)
    ]

    for (const [i, step] of steps.entries()) {
      await step()
      expect([i, (await look(reads([seen.id]), {})).map(timeless)]).toEqual([i, before])
    }
    const live = before[reads([]).indexOf("/api/front/live") + 1]
    expect(live?.text).toContain('"viewer":"guest"')
  })

  it("appears to guests when it is shown, and is gone at the next read after it was hidden again", async () => {
    const node = await addNode(service, admin, { name: "blinking" })
    await push(service, "metrics", node.secret, reportOf())
    const isSeen = async () => (await look(reads([node.id]), {})).some(({ text }) => text.includes("blinking"))

    expect(await isSeen()).toBe(false)
    await send("PATCH", `/api/admin/nodes/${node.id}`, { is_guest_visible: true })
    expect(await isSeen()).toBe(true)
    await send("PATCH", `/api/admin/nodes/${node.id}`, { is_guest_visible: false })
    expect(await isSeen()).toBe(false)
    const etag = String((await service.call("GET", "/api/front/metrics", admin)).headers.etag)
    const crossed = await service.call("GET", "/api/front/metrics", { "if-none-match": etag })
    expect(crossed.status).toBe(200)
  })
})

describe("the list of public reads in this file", () => {
  it("is every GET of the API that needs no administrator", () => {
    const declared: Array<string> = []
    HttpApi.reflect(Api, {
      onGroup: () => {},
      onEndpoint: ({ endpoint, middleware }) => {
        const isPublic = ![...middleware].some((tag) => tag.key === AdminOnly.key)
        if (endpoint.method === "GET" && isPublic) declared.push(endpoint.path)
      }
    })
    const covered = new Set(reads([1]).map((path) => path.split("?")[0]))
    expect([...covered].toSorted()).toEqual(declared.toSorted())
  })
})
