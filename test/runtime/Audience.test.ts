// One audience's counter, frames and deltas, on a fleet made of plain objects and a clock that is a number.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { Audience, type Source } from "../../runtime/Audience.ts"
import type { NodeRecord } from "../../runtime/NodeRoster.ts"
import { GroupId, NodeId, SessionId } from "../../schema/Ids.ts"
import { LiveFrame } from "../../schema/Live.ts"
import { Viewer } from "../../schema/Session.ts"
import { Schema } from "effect"
import { Host } from "../../src/core/Layout.ts"
import { emptyView, type NodeView } from "../../src/core/NodeView.ts"
import { smallReport, viewOf } from "../support/Reports.ts"

const guest = Viewer.Guest()
const admin = Viewer.Admin({ sessionId: SessionId.make("s") })
const start = 1_800_000_000_000
const decode = Schema.decodeUnknownSync(LiveFrame)

const template = viewOf(smallReport())

/** A fleet that is changed by hand, and the clock that its audiences are asked at. */
const makeFleet = () => {
  const records = new Map<number, NodeRecord>()
  const views = new Map<number, NodeView>()
  const fleet = { revision: 0, rosterRevision: 0, now: start, looks: 0 }
  const source: Source = {
    records: () => (fleet.looks++, [...records.values()].sort((a, b) => b.displayOrder - a.displayOrder)),
    rosterRevision: () => fleet.rosterRevision,
    view: ({ id }) => views.get(id),
    revision: () => fleet.revision,
    groups: () => [{ id: GroupId.make(1), name: "default" }],
    isOutdated: (version) => version === "0.0.1"
  }
  const add = (id: number, guestVisible = true) => {
    const record = { id: NodeId.make(id), name: `node-${id}`, tags: [], displayOrder: 1000 - id, guestVisible }
    const traffic = { trafficP95Enabled: false, trafficCycleMode: "default", trafficBillingStartDay: 1 } as const
    const billing = {
      trafficBillingAnchorDate: "",
      trafficBillingTimezone: "",
      trafficDirectionMode: "default"
    } as const
    records.set(id, { ...record, ...traffic, ...billing, groupIds: [GroupId.make(1)], createdAt: 0 })
    views.set(id, emptyView(NodeId.make(id)))
    fleet.rosterRevision++
  }
  const change = (id: number, changes: Partial<NodeRecord>) => {
    const record = records.get(id)
    if (record === undefined) return
    records.set(id, { ...record, ...changes })
    fleet.rosterRevision++
  }
  const report = (id: number, cpu: number) => {
    const view = views.get(id)
    if (view === undefined) return
    const { details, layout, version } = template
    const vector = Float64Array.from(template.vector)
    vector[Host.cpuUsage] = cpu
    Object.assign(view, { details, layout, version, vector, receivedAt: fleet.now, revision: ++fleet.revision })
  }
  const remove = (id: number) => {
    records.delete(id)
    views.delete(id)
    fleet.rosterRevision++
  }
  return { fleet, source, add, change, report, remove, views }
}
type Fleet = ReturnType<typeof makeFleet>

const frameOf = (audience: Audience, { fleet }: Fleet, since?: number): LiveFrame =>
  decode(JSON.parse(audience.frame(since, fleet.now).body.toString()))

/** Reporting nodes 1 to `count`, seen by guests. */
const fleetOf = (count: number) => {
  const fleet = makeFleet()
  for (let id = 1; id <= count; id++) {
    fleet.add(id)
    fleet.report(id, 0.5)
  }
  return fleet
}

type Columns = Record<string, ReadonlyArray<unknown>>
const columnsOf = ({ values }: LiveFrame): Columns =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, column]) => (name === "row" || column === null ? [] : [[name, column]]))
  )

/** A client as the contract asks for one: it keeps what it has and puts what it gets on top. */
const makeClient = () => {
  const client = { seq: undefined as number | undefined, ids: [] as ReadonlyArray<number>, columns: {} as Columns }
  return {
    client,
    take: (frame: LiveFrame) => {
      client.seq = frame.seq
      if (frame.roster !== null) {
        expect(frame.values.row).toBe(null)
        client.ids = frame.roster.id
        client.columns = columnsOf(frame)
        return
      }
      const rows = frame.values.row ?? []
      client.columns = Object.fromEntries(
        Object.entries(client.columns).map(([name, values]) => [
          name,
          values.map((value, i) => (rows.includes(i) ? columnsOf(frame)[name]?.[rows.indexOf(i)] : value))
        ])
      )
    }
  }
}

const id = fc.integer({ min: 1, max: 6 })
const act = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant("report" as const), id, cpu: fc.integer({ min: 0, max: 9 }) })
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("add", "remove", "hide", "show", "rename"), id }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.constantFrom(0, 1, 900, 1500) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom("poll", "poll a stranger's", "poll and compare") }) }
)
type Act = typeof act extends fc.Arbitrary<infer A> ? A : never

const perform = (fleet: Fleet, one: Act): void => {
  if ("ms" in one) fleet.fleet.now += one.ms
  else if ("cpu" in one) fleet.report(one.id, one.cpu / 10)
  else if ("id" in one) {
    if (one.kind === "add") fleet.add(one.id)
    if (one.kind === "remove") fleet.remove(one.id)
    if (one.kind === "hide") fleet.change(one.id, { guestVisible: false })
    if (one.kind === "show") fleet.change(one.id, { guestVisible: true })
    if (one.kind === "rename") fleet.change(one.id, { name: `renamed-${fleet.fleet.rosterRevision}` })
  }
}

describe("frames since", () => {
  it.each([guest, admin])("add up to what a whole frame says, for viewer $_tag, however clients poll", (viewer) => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 80 }), (acts) => {
        const fleet = fleetOf(3)
        const audience = new Audience(viewer, fleet.source, "boot", start)
        const { client, take } = makeClient()
        let seq = 0
        for (const one of acts) {
          perform(fleet, one)
          if (one.kind === "poll a stranger's") frameOf(audience, fleet, start - 5)
          if (one.kind === "poll") take(frameOf(audience, fleet, client.seq))
          if (one.kind !== "poll and compare") continue
          fleet.fleet.now += 1500
          take(frameOf(audience, fleet, client.seq))
          const whole = frameOf(audience, fleet)
          expect([client.seq, client.ids, client.columns]).toEqual([whole.seq, whole.roster?.id, columnsOf(whole)])
          expect(whole.seq).toBeGreaterThanOrEqual(seq)
          seq = whole.seq
        }
      }),
      { numRuns: 150 }
    )
  })

  it("an unknown counter, of another start for instance, is answered with a whole frame", () => {
    const fleet = fleetOf(3)
    const audience = new Audience(guest, fleet.source, "boot", start)
    const { seq } = frameOf(audience, fleet)
    for (const since of [0, -1, seq + 1, start - 1_000_000, Number.NaN]) {
      expect(frameOf(audience, fleet, since)).toMatchObject({ seq, roster: { id: [1, 2, 3] }, values: { row: null } })
    }
    expect(frameOf(audience, fleet, seq)).toMatchObject({ seq, roster: null, values: { row: [] } })
  })

  it("a counter is forgotten after 64 changes, so that what is kept of the past is bounded", () => {
    const fleet = fleetOf(3)
    const audience = new Audience(guest, fleet.source, "boot", start)
    const { seq } = frameOf(audience, fleet)
    const moved = (times: number) => {
      for (let i = 0; i < times; i++) {
        fleet.fleet.now += 1500
        fleet.report(2, i / 100)
        frameOf(audience, fleet)
      }
    }
    moved(63)
    expect(frameOf(audience, fleet, seq)).toMatchObject({ seq: seq + 63, roster: null, values: { row: [1] } })
    moved(1)
    expect(frameOf(audience, fleet, seq)).toMatchObject({ seq: seq + 64, values: { row: null } })
  })

  it("carry the roster again only to those who have an older one", () => {
    const fleet = fleetOf(2)
    const audience = new Audience(guest, fleet.source, "boot", start)
    const first = frameOf(audience, fleet)
    fleet.change(2, { name: "renamed" })
    const second = frameOf(audience, fleet, first.seq)
    fleet.fleet.now += 1500
    fleet.report(1, 0.9)
    const third = frameOf(audience, fleet, second.seq)

    expect(second.roster?.title).toEqual(["node-1", "renamed"])
    expect(third).toMatchObject({ roster: null, values: { row: [0], cpu: [900] } })
    expect(frameOf(audience, fleet, first.seq).roster?.title).toEqual(["node-1", "renamed"])
  })
})

describe("the counter", () => {
  it("Invariant 7: a guest never sees a byte of a hidden node: neither it nor an ETag moves with one", () => {
    const fleet = fleetOf(2)
    fleet.add(3, false)
    const audience = new Audience(guest, fleet.source, "boot", start)
    const seen = () => {
      fleet.fleet.now += 1500
      const answer = audience.frame(undefined, fleet.fleet.now)
      const { now: _, ...frame } = decode(JSON.parse(answer.body.toString()))
      return [answer.etag, frame, audience.mark, audience.groups()]
    }
    const before = seen()
    fleet.report(3, 0.1)
    expect(seen()).toEqual(before)
    fleet.report(3, 0.2)
    fleet.change(3, { name: "another", displayOrder: 5000, tags: ["secret"] })
    expect(seen()).toEqual(before)
    fleet.remove(3)
    expect(seen()).toEqual(before)
    fleet.add(4, false)
    fleet.report(4, 0.3)
    expect(seen()).toEqual(before)

    fleet.change(4, { guestVisible: true })
    expect(seen()).not.toEqual(before)
  })

  it("moves once for all that changed between two looks, which are the rarer the larger the fleet", () => {
    const fleet = fleetOf(2000)
    const audience = new Audience(admin, fleet.source, "boot", start)
    const { seq } = frameOf(audience, fleet)
    for (let i = 1; i <= 199; i++) {
      fleet.fleet.now++
      fleet.report(i, 0.1)
      expect(frameOf(audience, fleet).seq).toBe(seq)
    }
    fleet.fleet.now++
    const next = frameOf(audience, fleet, seq)

    expect(next.seq).toBe(seq + 1)
    expect(next.values.row).toEqual(Array.from({ length: 199 }, (_, i) => i))
  })

  it("moves at once with the roster, and goes on when the clock is set back", () => {
    const fleet = fleetOf(2000)
    const audience = new Audience(admin, fleet.source, "boot", start)
    const { seq } = frameOf(audience, fleet)
    fleet.change(7, { name: "renamed" })
    expect(frameOf(audience, fleet).seq).toBe(seq + 1)
    fleet.fleet.now -= 3_600_000
    fleet.report(1, 0.9)

    expect(frameOf(audience, fleet, seq + 1)).toMatchObject({ seq: seq + 2, values: { row: [0] } })
  })
})

describe("answers", () => {
  it("are shared by all who know the same, and their clock is never older than a second", () => {
    const fleet = fleetOf(2)
    const audience = new Audience(guest, fleet.source, "boot", start)
    const first = audience.frame(undefined, fleet.fleet.now)
    fleet.fleet.now += 999
    expect(audience.frame(undefined, fleet.fleet.now)).toBe(first)
    expect(audience.frame(17, fleet.fleet.now)).toBe(first)
    fleet.fleet.now += 1
    const later = audience.frame(undefined, fleet.fleet.now)

    expect(later).not.toBe(first)
    expect(later.etag).toBe(first.etag)
    expect(decode(JSON.parse(later.body.toString())).now).toBe(fleet.fleet.now)
  })

  it("give administrators the nodes that never reported and the columns that are theirs, and guests neither", () => {
    const fleet = fleetOf(1)
    fleet.add(2)
    const [forGuests, forAdmins] = [guest, admin].map((who) =>
      frameOf(new Audience(who, fleet.source, "boot", start), fleet)
    )
    const own = ["version", "outdated", "guest_visible", "fault"]

    expect(forGuests).toMatchObject({ viewer: "guest", roster: { id: [1] }, values: { received_at: [start] } })
    expect(forAdmins).toMatchObject({ viewer: "admin", roster: { id: [1, 2] }, values: { received_at: [start, 0] } })
    expect(Object.keys(forGuests?.roster ?? {}).filter((name) => own.includes(name))).toEqual([])
    expect(Object.keys(forAdmins?.roster ?? {}).filter((name) => own.includes(name))).toEqual(own)
  })

  it("cost no look at the fleet while nothing changed", () => {
    const fleet = fleetOf(50)
    const audience = new Audience(guest, fleet.source, "boot", start)
    const { seq } = frameOf(audience, fleet)
    const { looks } = fleet.fleet
    for (let i = 0; i < 20; i++) {
      fleet.fleet.now += 700
      expect(frameOf(audience, fleet, i % 2 === 0 ? seq : undefined).seq).toBe(seq)
    }

    expect(fleet.fleet.looks).toBe(looks)
  })
})
