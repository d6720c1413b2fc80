// The public reads: members and order of the lists, paging, conditional and compressed answers, live frames and deltas.
import { Effect, Schema } from "effect"
import { gunzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { serviceVersion } from "../../runtime/Version.ts"
import { LiveFrame, Recent } from "../../schema/Live.ts"
import { Snapshot } from "../../schema/Snapshot.ts"
import { Settings } from "../../src/store/Settings.ts"
import { fullReport, fullStatic } from "../support/Reports.ts"
import {
  addNode,
  type Answer,
  codeOf,
  type Headers,
  json,
  type MadeNode,
  proper,
  push,
  reportOf,
  type Service,
  signIn,
  startService,
  staticOf
} from "../support/Service.ts"

let service: Service
let admin: Headers
/** Display order: c is shown first, then a and b, which share an order and are told apart by title. */
let a: MadeNode
let b: MadeNode
let c: MadeNode
let hidden: MadeNode
let silent: MadeNode

beforeAll(async () => {
  service = await startService()
  admin = await signIn(service)
  b = await addNode(service, admin, { name: "beta", is_guest_visible: true, display_order: 5, tags: ["eu", "db"] })
  a = await addNode(service, admin, { name: "alpha", is_guest_visible: true, display_order: 5 })
  c = await addNode(service, admin, { name: "zulu", is_guest_visible: true, display_order: 9 })
  hidden = await addNode(service, admin, { name: "hidden", display_order: 7 })
  silent = await addNode(service, admin, { name: "silent", is_guest_visible: true, display_order: 8 })
  for (const { secret } of [a, b, c, hidden]) await push(service, "metrics", secret, reportOf())
  await push(service, "static", b.secret, staticOf())
})
afterAll(() => service.stop())

const ask = async (path: string, headers?: Headers): Promise<Answer> => proper(await service.call("GET", path, headers))
const strict = { onExcessProperty: "error" } as const
const snapshotsIn = (answer: Answer): ReadonlyArray<Snapshot> =>
  Schema.decodeUnknownSync(Schema.Array(Snapshot), strict)(answer.json)
const titles = (answer: Answer): ReadonlyArray<string> => snapshotsIn(answer).map(({ node }) => node.title)
const list = async (query = "", headers?: Headers): Promise<ReadonlyArray<string>> =>
  titles(await ask(`/api/front/metrics${query}`, headers))
const patch = (node: MadeNode, body: object): Promise<Answer> =>
  service.call("PATCH", `/api/admin/nodes/${node.id}`, { ...admin, ...json }, JSON.stringify(body))

describe("the list", () => {
  it("has every visible node that has reported: largest order first, then by title", async () => {
    expect(await list()).toEqual(["zulu", "alpha", "beta"])
    expect(await list("", admin)).toEqual(["zulu", "hidden", "alpha", "beta"])
  })

  it("has every member of a node with the values of its reports, and none that nobody told", async () => {
    const full = await addNode(service, admin, { name: "full", is_guest_visible: true, tags: ["x"] })
    await push(service, "static", full.secret, fullStatic())
    await push(service, "metrics", full.secret, fullReport())
    const [snapshot] = snapshotsIn(await ask(`/api/front/metrics?ids=${full.id}`, admin))
    const bare = JSON.stringify((await ask(`/api/front/metrics?ids=${a.id}`)).json)

    expect(snapshot?.node).toMatchObject({ id: String(full.id), title: "full", tags: ["x"] })
    expect(snapshot?.node.search_text?.slice(0, 2)).toEqual(["full", "linux"])
    expect(snapshot?.system).toMatchObject({ os_family: "linux", arch: fullStatic().system.arch })
    expect(snapshot?.system.uptime_text).toBe(fullReport().metrics.system.uptime)
    expect(snapshot?.observation.received_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    expect(snapshot?.memory.total_bytes).toBe(fullStatic().memory?.total)
    expect(snapshot?.disk.mounts[0]?.fs_type).toBe("ext4")
    expect(snapshot?.network.by_interface?.length).toBe(fullReport().metrics.network.length)
    expect(Object.keys(snapshot ?? {})).toEqual(expect.arrayContaining(["raid", "thermal", "pressure"]))
    for (const name of ["tags", "thermal", "pressure", "raid", "temperature_devices", "model_name", "arch"]) {
      expect(bare).not.toContain(`"${name}"`)
    }
    await service.call("DELETE", `/api/admin/nodes/${full.id}`, admin)
  })

  it("takes SMART and thermal from the newest report only", async () => {
    const one = await addNode(service, admin, { name: "disks", is_guest_visible: true })
    const full = fullReport()
    await push(service, "metrics", one.secret, full)
    const before = snapshotsIn(await ask(`/api/front/metrics?ids=${one.id}`))[0]
    const { smart, ...disk } = full.metrics.disk
    const { thermal, ...metrics } = full.metrics
    const timestamp = new Date(Date.parse(full.timestamp) + 3000).toISOString()
    await push(service, "metrics", one.secret, { ...full, timestamp, metrics: { ...metrics, disk } })
    const after = snapshotsIn(await ask(`/api/front/metrics?ids=${one.id}`))[0]

    expect([smart, thermal].includes(undefined)).toBe(false)
    expect([before?.disk.smart === undefined, before?.thermal === undefined]).toEqual([false, false])
    expect([after?.disk.smart, after?.disk.temperature_devices, after?.thermal]).toEqual([
      undefined,
      undefined,
      undefined
    ])
    await service.call("DELETE", `/api/admin/nodes/${one.id}`, admin)
  })

  it("shows a new order, name and tag at the next read, without waiting for a report", async () => {
    const order = async () => snapshotsIn(await ask(`/api/front/metrics?limit=1`)).map(({ node }) => node.order)
    const first = await ask("/api/front/metrics")
    expect(await order()).toEqual([9])
    await patch(c, { display_order: 10 })

    expect(await order()).toEqual([10])
    expect(snapshotsIn(await ask("/api/front/metrics"))[0]?.node.order).toBe(10)
    expect((await ask("/api/front/metrics")).headers.etag).not.toBe(first.headers.etag)
    await patch(c, { name: "yankee", tags: ["new"] })
    expect(snapshotsIn(await ask("/api/front/metrics"))[0]?.node).toMatchObject({ title: "yankee", tags: ["new"] })
    await patch(c, { name: "zulu", tags: [], display_order: 9 })
  })
})

describe("a part of the list", () => {
  it("is a page by limit and offset, each lowered to its bound", async () => {
    expect(await list("?limit=1")).toEqual(["zulu"])
    expect(await list("?limit=2&offset=1")).toEqual(["alpha", "beta"])
    expect(await list("?limit=2&offset=1", admin)).toEqual(["hidden", "alpha"])
    expect(await list("?limit=5000")).toEqual(["zulu", "alpha", "beta"])
    expect(await list("?limit=1&offset=3")).toEqual([])
    expect(await list("?limit=1&offset=100001")).toEqual([])
    expect(await list("?offset=0&limit=3")).toEqual(["zulu", "alpha", "beta"])
  })

  it("is what ids name of the visible nodes, in the order of the list", async () => {
    expect(await list(`?ids=${b.id},${c.id}`)).toEqual(["zulu", "beta"])
    expect(await list(`?ids=${b.id},${b.id}`)).toEqual(["beta"])
    expect(await list(`?ids=${hidden.id},${silent.id},999999`)).toEqual([])
    expect(await list(`?ids=${hidden.id},${silent.id},999999`, admin)).toEqual(["hidden"])
  })

  it("is refused when it is not asked for properly", async () => {
    const wrong = ["limit=0", "limit=-1", "limit=", "limit=x", "limit=1.5", "limit=1e2", "limit=+1", "limit=%201"]
    const offsets = ["offset=0", "offset=1", "limit=1&offset=-1", "limit=1&offset=", "limit=1&offset=x"]
    const many = `ids=${Array.from({ length: 1001 }, (_, i) => i + 1).join(",")}`
    const ids = ["ids=", "ids=0", "ids=x", "ids=1,", "ids=1,x", "ids=1&limit=1", "ids=1&offset=1", many]
    for (const query of [...wrong, ...offsets, ...ids, "limit=1&limit=2", "limit=9999999999999999999"]) {
      const answer = await ask(`/api/front/metrics?${query}`)
      expect([query.slice(0, 40), codeOf(answer)]).toEqual([query.slice(0, 40), "400 invalid_request"])
    }
  })
})

describe("a conditional read", () => {
  const paths = () => ["/api/front/metrics", "/api/front/metrics?limit=2", "/api/front/groups", "/api/front/live"]

  it("is 304 for whoever has the answer, in any form that If-None-Match allows", async () => {
    for (const path of paths()) {
      const first = await ask(path)
      const etag = String(first.headers.etag)
      for (const value of [etag, `W/${etag}`, `"other", ${etag}`]) {
        const again = await ask(path, { "if-none-match": value })
        expect([path, value, again.status, again.bytes.length]).toEqual([path, value, 304, 0])
        for (const name of ["etag", "cache-control", "vary"]) expect(again.headers[name]).toBe(first.headers[name])
      }
      expect((await ask(path, { "if-none-match": '"other"' })).status).toBe(200)
    }
  })

  it("is private, revalidated, and told apart by token and encoding", async () => {
    for (const path of paths()) {
      for (const headers of [{}, admin]) {
        const answer = await ask(path, headers)
        expect(answer.headers["cache-control"]).toBe("private, no-cache")
        expect(answer.headers.vary).toBe("Authorization, Accept-Encoding")
        expect(answer.headers.etag).toMatch(/^"[^"]+"$/)
      }
    }
  })

  it("has another tag for administrators, and a new one after a report", async () => {
    for (const path of ["/api/front/metrics", "/api/front/live"]) {
      const [guest, boss] = [await ask(path), await ask(path, admin)]
      expect(guest.headers.etag).not.toBe(boss.headers.etag)
      await push(service, "metrics", a.secret, reportOf())
      expect((await ask(path)).headers.etag).not.toBe(guest.headers.etag)
      expect((await ask(path, admin)).headers.etag).not.toBe(boss.headers.etag)
    }
  })

  it("is compressed from a kilobyte on, for clients that take it", async () => {
    const plain = await ask("/api/front/metrics")
    const zipped = await ask("/api/front/metrics", { "accept-encoding": "br, gzip;q=0.8" })
    const small = await ask("/api/front/groups", { "accept-encoding": "gzip" })
    for (const refusing of ["gzip;q=0", "br, gzip; q=0.0, identity", "xgzip", "x-gzip2"]) {
      const answer = await ask("/api/front/metrics", { "accept-encoding": refusing })
      expect([refusing, answer.headers["content-encoding"]]).toEqual([refusing, undefined])
    }

    expect([zipped.headers["content-encoding"], small.headers["content-encoding"]]).toEqual(["gzip", undefined])
    expect(zipped.headers.etag).toBe(plain.headers.etag)
    expect(gunzipSync(zipped.bytes).toString()).toBe(plain.text)
    expect(plain.headers["content-encoding"]).toBeUndefined()
  })
})

describe("groups", () => {
  it("come with the nodes that the reader sees, ascending; guests get none that is empty to them", async () => {
    const make = async (name: string) => {
      const body = JSON.stringify({ name })
      const made = await service.call("POST", "/api/admin/groups", { ...admin, ...json }, body)
      return Number(made.headers.location?.split("/").at(-1))
    }
    const [mixed, dark, empty] = [await make("mixed"), await make("dark"), await make("empty")]
    await patch(b, { group_ids: [mixed] })
    await patch(a, { group_ids: [mixed, 1] })
    await patch(hidden, { group_ids: [mixed, dark] })

    const guest = (await ask("/api/front/groups")).json
    const boss = (await ask("/api/front/groups", admin)).json
    expect(guest).toEqual([
      { id: 1, name: "default", node_ids: [a.id, c.id, silent.id].toSorted((x, y) => x - y) },
      { id: mixed, name: "mixed", node_ids: [b.id, a.id] }
    ])
    expect(boss).toEqual([
      { id: 1, name: "default", node_ids: [a.id, c.id, silent.id].toSorted((x, y) => x - y) },
      { id: mixed, name: "mixed", node_ids: [b.id, a.id, hidden.id] },
      { id: dark, name: "dark", node_ids: [hidden.id] },
      { id: empty, name: "empty", node_ids: [] }
    ])
  })
})

describe("brand and version", () => {
  it("have their defaults, and a stored brand with blanks filled in", async () => {
    expect((await ask("/api/front/brand")).json).toEqual({
      logo_url: "/brandlogo.svg",
      page_title: "Monitor Dashboard",
      topbar_text: "Monitor Control"
    })
    await service.inside(
      Effect.flatMap(Settings, ({ putBrand }) => putBrand({ logo_url: " ", page_title: "Ours", topbar_text: "" }))
    )
    expect((await ask("/api/front/brand")).json).toEqual({
      logo_url: "/brandlogo.svg",
      page_title: "Ours",
      topbar_text: "Monitor Control"
    })
    expect((await ask("/api/version")).json).toEqual({ version: serviceVersion, node_version: "unknown" })
    expect((await ask("/api/version")).headers["cache-control"]).toBe("no-store")
  })
})

describe("a live frame", () => {
  const frame = async (since?: number, headers?: Headers): Promise<LiveFrame> => {
    const answer = await ask(`/api/front/live${since === undefined ? "" : `?since=${since}`}`, headers)
    const decoded = Schema.decodeUnknownSync(LiveFrame, strict)(answer.json)
    const rows = decoded.values.row?.length ?? decoded.roster?.id.length
    for (const column of Object.values(decoded.values)) if (column !== null) expect(column.length).toBe(rows)
    for (const column of Object.values(decoded.roster ?? {})) {
      if (Array.isArray(column)) expect(column.length).toBe(decoded.roster?.id.length)
    }
    return decoded
  }

  it("is whole at first: the roster in the order of the list, and every value", async () => {
    const guest = await frame()
    const boss = await frame(undefined, admin)

    expect([guest.viewer, boss.viewer, guest.poll_ms]).toEqual(["guest", "admin", 3000])
    expect(guest.roster?.title).toEqual(["zulu", "alpha", "beta"])
    expect(boss.roster?.title).toEqual(["zulu", "silent", "hidden", "alpha", "beta"])
    expect(guest.values.row).toBeNull()
    expect(boss.values.received_at[1]).toBe(0)
    expect(guest.values.cpu).toEqual([250, 250, 250])
    expect([guest.roster?.version, guest.roster?.guest_visible, guest.roster?.fault]).toEqual(Array(3).fill(undefined))
    expect(boss.roster?.guest_visible).toEqual([1, 1, 0, 1, 1])
    expect(Math.abs(guest.now - Date.now())).toBeLessThan(5000)
  })

  it("holds only what changed since the one that the client has", async () => {
    const whole = await frame()
    const nothing = await frame(whole.seq)
    await push(service, "metrics", a.secret, reportOf({}, { cpu: { usage_ratio: 0.5 } }))
    const delta = await frame(whole.seq)

    expect([nothing.seq, nothing.roster, nothing.values.row]).toEqual([whole.seq, null, []])
    expect(delta.seq).toBeGreaterThan(whole.seq)
    expect([delta.roster, delta.values.row, delta.values.cpu]).toEqual([null, [1], [500]])
    expect((await frame(delta.seq)).values.row).toEqual([])
  })

  it("brings the roster again when that changed, and for a since that it does not know", async () => {
    const whole = await frame()
    await patch(b, { name: "bravo" })
    const renamed = await frame(whole.seq)

    expect(renamed.roster?.title).toEqual(["zulu", "alpha", "bravo"])
    expect(renamed.values.row).toBeNull()
    for (const since of [0, 1, whole.seq + 1_000_000]) expect((await frame(since)).roster).not.toBeNull()
    await patch(b, { name: "beta" })
  })

  it("adds up to the whole one, whichever deltas a client happened to ask for", async () => {
    const first = await frame(undefined, admin)
    const state = new Map(first.roster?.id.map((id, row) => [id, first.values.cpu[row]]))
    let since = first.seq
    for (let i = 0; i < 20; i++) {
      const node = [a, b, c, hidden][i % 4] as MadeNode
      await push(service, "metrics", node.secret, reportOf({}, { cpu: { usage_ratio: i / 100 } }))
      if (i % 3 === 1 && i < 19) continue
      const delta = await frame(since, admin)
      since = delta.seq
      delta.values.row?.forEach((row, at) => state.set(first.roster?.id[row] as number, delta.values.cpu[at]))
    }
    const whole = await frame(undefined, admin)
    expect([...state.values()]).toEqual(whole.values.cpu)
  })

  it("is refused for a since that is no number", async () => {
    for (const since of ["", "x", "-1", "1.5", "1e3"]) {
      expect(codeOf(await ask(`/api/front/live?since=${since}`))).toBe("400 invalid_request")
    }
  })
})

describe("the last minutes", () => {
  it("are there for one node at report resolution, ascending", async () => {
    const one = await addNode(service, admin, { is_guest_visible: true })
    for (const usage of [0.1, 0.2, 0.3]) {
      await push(service, "metrics", one.secret, reportOf({}, { cpu: { usage_ratio: usage } }))
    }
    const answer = await ask(`/api/front/recent?server_id=${one.id}`)
    const recent = Schema.decodeUnknownSync(Recent, strict)(answer.json)

    expect(recent.server_id).toBe(one.id)
    // Windows hold single precision.
    expect(recent.cpu.map((usage) => Number(usage.toFixed(6)))).toEqual([0.1, 0.2, 0.3])
    expect(recent.at).toEqual(recent.at.toSorted((x, y) => x - y))
    expect(recent.recv_bps).toEqual([3, 3, 3])
  })

  it("are empty for a node that never reported", async () => {
    expect((await ask(`/api/front/recent?server_id=${silent.id}`)).json).toMatchObject({ server_id: silent.id, at: [] })
  })

  it("are refused in the order of the contract: parameters, then access, then existence", async () => {
    for (const query of ["", "?server_id=", "?server_id=0", "?server_id=x", "?server_id=1&server_id=2"]) {
      for (const headers of [{}, admin]) {
        expect([query, codeOf(await ask(`/api/front/recent${query}`, headers))]).toEqual([query, "400 invalid_request"])
      }
    }
    for (const id of [hidden.id, 999_999, Number.MAX_SAFE_INTEGER - 1]) {
      expect(codeOf(await ask(`/api/front/recent?server_id=${id}`)), String(id)).toMatch(/^(?:403 forbidden|400 )/)
    }
    expect(codeOf(await ask("/api/front/recent?server_id=999999", admin))).toBe("404 not_found")
    expect((await ask(`/api/front/recent?server_id=${hidden.id}`, admin)).status).toBe(200)
  })
})
