// What the page reads: lists, groups, frames and windows of guests and administrators, and what none of them may tell.
import { describe, expect, it } from "@effect/vitest"
import { Effect, TestClock, TestContext } from "effect"
import fc from "fast-check"
import { gunzipSync } from "node:zlib"
import type { Cached } from "../../runtime/Cached.ts"
import { FrontBoard, type Selection } from "../../runtime/FrontBoard.ts"
import { GroupId, NodeId, SessionId } from "../../schema/Ids.ts"
import { Viewer } from "../../schema/Session.ts"
import type { Snapshot } from "../../schema/Snapshot.ts"
import { Groups } from "../../src/store/Groups.ts"
import { Nodes } from "../../src/store/Nodes.ts"
import { changed, epoch, inEngine, pass, send, sendStatic, staticOf, type Told } from "../support/Engine.ts"

const guest = Viewer.Guest()
const admin = Viewer.Admin({ sessionId: SessionId.make("s") })
const all = { _tag: "All" } as const
const at = (seconds: number) => epoch + seconds * 1000

const listed = (viewer: Viewer, selection: Selection = all) =>
  Effect.flatMap(FrontBoard, (board) => board.metrics(viewer, selection))
const snapshots = (answer: Cached) => JSON.parse(answer.body.toString()) as ReadonlyArray<Snapshot>
const shownTo = (viewer: Viewer, selection: Selection = all) => Effect.map(listed(viewer, selection), snapshots)
const idsOf = (shown: ReadonlyArray<Snapshot>) => shown.map(({ node }) => Number(node.id))
const frameOf = (viewer: Viewer, since?: number) => Effect.flatMap(FrontBoard, (board) => board.live(viewer, since))
const patch = (id: number, changes: Parameters<Nodes["Type"]["patch"]>[1]) =>
  changed(Effect.flatMap(Nodes, (nodes) => nodes.patch(NodeId.make(id), changes)))
const remove = (id: number) => changed(Effect.flatMap(Nodes, (nodes) => nodes.remove(NodeId.make(id))))
/** Past the time for which one look at the fleet is good enough. */
const tick = TestClock.adjust(1100)

/** Hidden nodes give themselves away by these. */
const marks = ["hidden-host", "hidden-name", "hidden-tag", "hidden-serial", "hidden-group", "hidden-nic", "9.9.9"]
const hiddenTold = (second: number): Told => ({
  at: at(second),
  hostname: "hidden-host",
  version: "9.9.9",
  nics: ["hidden-nic"],
  serial: "hidden-serial"
})

/** Everything a guest can get, and whether anything of it moved. */
const guestSees = Effect.gen(function* () {
  const board = yield* FrontBoard
  const frame = yield* board.live(guest, undefined)
  const lists = [
    yield* board.metrics(guest, all),
    yield* board.metrics(guest, { _tag: "Page", offset: 0, limit: 10 }),
    yield* board.metrics(guest, { _tag: "Ids", ids: new Set([1, 2, 3, 4, 5, 99]) })
  ]
  const { now, ...rest } = JSON.parse(frame.body.toString()) as Record<string, unknown>
  expect(typeof now).toBe("number")
  const recents = yield* Effect.forEach([1, 2, 3, 4, 5, 99], (id) =>
    Effect.map(Effect.either(board.recent(guest, id)), (result) => JSON.stringify(result))
  )
  return {
    etags: [...lists.map(({ etag }) => etag), frame.etag],
    texts: [...lists.map(({ body }) => body.toString()), JSON.stringify(rest), ...recents],
    groups: JSON.stringify(yield* board.groups(guest))
  }
})

const hiddenAct = fc.constantFrom(
  "report",
  "static",
  "rename",
  "tag",
  "order",
  "group",
  "rename group",
  "delete",
  "create"
)
type HiddenAct = typeof hiddenAct extends fc.Arbitrary<infer A> ? A : never

const actHidden = (what: HiddenAct, step: number) =>
  Effect.gen(function* () {
    const [nodes, groups] = [yield* Nodes, yield* Groups]
    // Two nodes are hidden; the second is there to be deleted.
    if (what === "report") yield* Effect.ignore(send(4, hiddenTold(step)))
    if (what === "static") yield* sendStatic(4, { ...staticOf({ hostname: "hidden-host", version: "9.9.9" }) })
    if (what === "rename") yield* patch(4, { name: `hidden-name-${step}` })
    if (what === "tag") yield* patch(4, { tags: [`hidden-tag-${step}`] })
    if (what === "order") yield* patch(4, { displayOrder: 100 + step })
    if (what === "group") {
      const id = yield* changed(groups.create({ name: `hidden-group-${step}`, remark: "" }))
      yield* patch(4, { groupIds: [id] })
    }
    if (what === "rename group") {
      yield* Effect.ignore(changed(groups.patch(GroupId.make(2), { name: `hidden-group-r${step}` })))
    }
    if (what === "delete") yield* Effect.ignore(remove(5))
    if (what === "create") yield* changed(nodes.create)
  })

describe("Invariant 7: a guest never sees a byte of a hidden node", { timeout: 30_000 }, () => {
  it.live(
    "nor an answer, a counter or an ETag that moved, whatever hidden nodes do",
    () => {
      const body = (acts: ReadonlyArray<HiddenAct>) =>
        inEngine(
          Effect.gen(function* () {
            for (const id of [1, 2, 3]) yield* send(id, { at: at(1), hostname: `h${id}` })
            yield* tick
            const before = yield* guestSees
            for (const [step, what] of acts.entries()) {
              yield* actHidden(what, step + 2)
              yield* tick
              const after = yield* guestSees
              expect(after, what).toEqual(before)
              for (const mark of marks) for (const text of after.texts) expect(text).not.toContain(mark)
            }
          }),
          { nodes: 5, visible: 3 }
        )
      return Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(fc.array(hiddenAct, { minLength: 1, maxLength: 12 }), (acts) =>
            Effect.runPromise(Effect.provide(Effect.scoped(body(acts)), TestContext.TestContext))
          ),
          {
            numRuns: 15,
            endOnFailure: true,
            examples: [[["report", "static", "rename", "tag", "order", "group", "rename group", "delete", "create"]]]
          }
        )
      )
    },
    60_000
  )

  it.effect("also after it was seen: one that is hidden leaves every answer at once", () =>
    inEngine(
      Effect.gen(function* () {
        yield* send(1, { at: at(1), hostname: "h1" })
        yield* send(2, hiddenTold(1))
        yield* patch(2, { name: "hidden-name" })
        expect(idsOf(yield* shownTo(guest))).toEqual([1, 2])
        const { seq } = JSON.parse((yield* frameOf(guest)).body.toString()) as { seq: number }
        yield* patch(2, { guestVisible: false })

        expect(idsOf(yield* shownTo(guest))).toEqual([1])
        const frame = JSON.parse((yield* frameOf(guest, seq)).body.toString()) as {
          roster: { id: ReadonlyArray<number> }
        }
        expect(frame.roster.id).toEqual([1])
        for (const text of (yield* guestSees).texts) for (const mark of marks) expect(text).not.toContain(mark)
        expect(idsOf(yield* shownTo(admin))).toEqual([1, 2])
      }),
      { nodes: 2 }
    )
  )

  it.effect("nor whether it is there: hidden, deleted and never made are refused alike", () =>
    inEngine(
      Effect.gen(function* () {
        const { recent } = yield* FrontBoard
        for (const id of [1, 2, 3]) yield* send(id, { at: at(1) })
        yield* remove(3)
        const refusals = yield* Effect.forEach([2, 3, 99], (id) => Effect.flip(recent(guest, id)))

        expect(new Set(refusals.map((one) => JSON.stringify([one._tag, one.message]))).size).toBe(1)
        expect(refusals[0]?._tag).toBe("Forbidden")
        const told = yield* Effect.forEach([3, 99], (id) => Effect.flip(recent(admin, id)))
        expect(told.map(({ _tag }) => _tag)).toEqual(["NotFound", "NotFound"])
        expect((yield* recent(admin, 2)).at).toEqual([epoch])
        expect((yield* recent(guest, 1)).at).toEqual([epoch])
      }),
      { nodes: 3, visible: 1 }
    )
  )

  it.effect("nor the serial numbers of one that is visible", () =>
    inEngine(
      Effect.gen(function* () {
        yield* send(1, { at: at(1), serial: "WD-1234567" })
        const texts = yield* Effect.forEach([guest, admin], (viewer) =>
          Effect.map(listed(viewer), ({ body }) => body.toString().includes("WD-1234567"))
        )
        expect(texts).toEqual([false, true])
      })
    )
  )
})

describe("the list", { timeout: 30_000 }, () => {
  it.effect("is made once for all who ask together, and again only when something changed", () =>
    inEngine(
      Effect.gen(function* () {
        for (const id of [1, 2, 3]) yield* send(id, { at: at(1), hostname: `h${id}` })
        const together = yield* Effect.all(
          Array.from({ length: 30 }, () => listed(guest)),
          { concurrency: 30 }
        )
        expect(new Set(together).size).toBe(1)
        yield* tick
        expect(yield* listed(guest)).toBe(together[0])
        yield* send(2, { at: at(2), hostname: "h2" })
        yield* tick
        const after = yield* listed(guest)

        expect(after.etag).not.toBe(together[0]?.etag)
        expect(snapshots(after).map(({ observation }) => observation.observed_at.slice(17, 19))).toEqual([
          "01",
          "02",
          "01"
        ])
      }),
      { nodes: 3 }
    )
  )

  it.effect("tells guests, administrators and another start of the service apart by its ETag", () =>
    Effect.gen(function* () {
      const etags = yield* Effect.forEach([1, 2], () =>
        inEngine(
          Effect.gen(function* () {
            yield* send(1, { at: at(1) })
            return [yield* listed(guest), yield* listed(admin), yield* frameOf(guest), yield* frameOf(admin)]
          })
        )
      )

      expect(new Set(etags.flat().map(({ etag }) => etag)).size).toBe(8)
    })
  )

  it.effect("holds the nodes that have reported, as they are ordered, whole or in part", () =>
    inEngine(
      Effect.gen(function* () {
        for (const id of [1, 2, 4, 5]) yield* send(id, { at: at(1), hostname: `h${id}` })
        const page = (offset: number, limit: number) => ({ _tag: "Page", offset, limit }) as const
        const chosen = (...ids: ReadonlyArray<number>) => ({ _tag: "Ids", ids: new Set(ids) }) as const

        expect(idsOf(yield* shownTo(guest))).toEqual([1, 2, 4])
        expect(idsOf(yield* shownTo(admin))).toEqual([1, 2, 4, 5])
        expect(idsOf(yield* shownTo(admin, page(1, 2)))).toEqual([2, 4])
        expect(idsOf(yield* shownTo(admin, page(9, 2)))).toEqual([])
        expect(idsOf(yield* shownTo(guest, chosen(5, 3, 4, 99)))).toEqual([4])
        expect(idsOf(yield* shownTo(admin, chosen(5, 3, 4, 99)))).toEqual([4, 5])
        yield* patch(4, { displayOrder: 99 })
        expect(idsOf(yield* shownTo(guest))).toEqual([4, 1, 2])
        expect((yield* shownTo(guest))[0]?.node.order).toBe(99)
        // Still first: only the number itself changes.
        yield* patch(4, { displayOrder: 77 })
        expect((yield* shownTo(guest))[0]?.node.order).toBe(77)
      }),
      { nodes: 5, visible: 4 }
    )
  )

  it.effect("is compressed once, to the same text", () =>
    inEngine(
      Effect.gen(function* () {
        yield* send(1, { at: at(1) })
        const answer = yield* listed(guest)
        const [first, second] = [yield* answer.gzipped, yield* answer.gzipped]

        expect(first).toBe(second)
        expect(gunzipSync(first).equals(answer.body)).toBe(true)
      })
    )
  )

  it.effect("is whole however many nodes there are", () =>
    inEngine(
      Effect.gen(function* () {
        const ids = Array.from({ length: 600 }, (_, i) => i + 1)
        yield* Effect.forEach(ids, (id) => send(id, { at: at(1), hostname: `h${id}` }), { concurrency: 600 })
        yield* tick
        expect(idsOf(yield* shownTo(guest))).toEqual(ids)
      }),
      { nodes: 600 }
    )
  )
})

describe("groups", { timeout: 30_000 }, () => {
  it.effect("show guests only those with a node they see, and of these only such nodes", () =>
    inEngine(
      Effect.gen(function* () {
        const { groups } = yield* FrontBoard
        const store = yield* Groups
        const mixed = yield* changed(store.create({ name: "mixed", remark: "" }))
        const hidden = yield* changed(store.create({ name: "hidden-group", remark: "" }))
        for (const id of [2, 3]) yield* patch(id, { groupIds: [mixed] })
        yield* patch(4, { groupIds: [hidden, mixed] })

        expect(yield* groups(guest)).toEqual([
          { id: 1, name: "default", node_ids: [1] },
          { id: mixed, name: "mixed", node_ids: [2] }
        ])
        expect(yield* groups(admin)).toEqual([
          { id: 1, name: "default", node_ids: [1] },
          { id: mixed, name: "mixed", node_ids: [2, 3, 4] },
          { id: hidden, name: "hidden-group", node_ids: [4] }
        ])
      }),
      { nodes: 4, visible: 2 }
    )
  )
})

describe("the window", { timeout: 30_000 }, () => {
  it.effect(
    "of a node is shown oldest first in the service's time, and empty before a report and while it restarts",
    () =>
      inEngine(
        Effect.gen(function* () {
          const { recent } = yield* FrontBoard
          expect(yield* recent(guest, 1)).toMatchObject({ server_id: 1, at: [], cpu: [] })
          for (const n of [1, 2, 3]) {
            yield* send(1, { at: at(n), cpu: n / 8 })
            yield* pass(3000, 3000)
          }

          const { at: times, cpu } = yield* recent(guest, 1)
          expect([times, cpu]).toEqual([
            [epoch, epoch + 3000, epoch + 6000],
            [0.125, 0.25, 0.375]
          ])
        })
      )
  )
})
