// The outbox: what is due and in which order, what an attempt leaves behind, overflow, sending again, retention.
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { NodeId } from "../../../schema/Ids.ts"
import { alertWriter } from "../../../src/store/alert/AlertWrites.ts"
import { AlertDeliveries } from "../../../src/store/alert/Deliveries.ts"
import { OutboxStore } from "../../../src/store/alert/Outbox.ts"
import { JournalStore } from "../../../src/store/Journal.ts"
import { Database } from "../../../src/store/Sql.ts"
import { run } from "../Support.ts"
import { changeOf, inAlerts, outboxOf, settleOf, start, stepOf, write } from "./Support.ts"

const nextId = (channelId = 1) => Effect.map(OutboxStore, (store) => store.next(channelId)?.id)
const backlog = Effect.map(OutboxStore, (store) => store.backlogs(10))
const counted = run("SELECT count(*) AS n FROM alert_outbox WHERE state = 'pending'").pipe(
  Effect.map((rows) => (rows[0] as { n: number }).n)
)

describe("a step", () => {
  it.effect("leaves nothing behind when a later write of its transaction fails", () =>
    inAlerts(
      Effect.gen(function* () {
        const broken = { kind: "static", nodeId: NodeId.make(99), receivedAt: 1, body: "{}", hostname: "h" } as const
        const journal = yield* JournalStore
        expect(() => journal.write([stepOf([changeOf(1, "opened")], [outboxOf(1)]), broken])).toThrow(/FOREIGN KEY/)

        const store = yield* OutboxStore
        expect(store.states(0, 10)).toEqual([])
        expect(store.lastEventId()).toBe(0)
        expect(yield* nextId()).toBeUndefined()
        expect(yield* backlog).toEqual([])
      })
    )
  )

  it.effect("replaces the states of its node, and takes them away", () =>
    inAlerts(
      Effect.gen(function* () {
        const store = yield* OutboxStore
        yield* write(stepOf([], [], 2, "[1]"), stepOf([], [], 1, "[0]"))
        yield* write(stepOf([], [], 2, "[2]"))

        expect(store.states(0, 10)).toEqual([
          { nodeId: 1, body: "[0]" },
          { nodeId: 2, body: "[2]" }
        ])
        expect(store.states(NodeId.make(1), 10)).toEqual([{ nodeId: 2, body: "[2]" }])
        yield* write(stepOf([], [], 2, null))
        expect(store.states(0, 10)).toEqual([{ nodeId: 1, body: "[0]" }])
      })
    )
  )

  it.effect("tells each channel of a transition once, however often it is written", () =>
    inAlerts(
      Effect.gen(function* () {
        const rows = [outboxOf(1), outboxOf(1, { channelId: 2 }), outboxOf(1, { transition: "closed" })]
        yield* write(stepOf([changeOf(1, "opened")], rows))
        yield* write(stepOf([changeOf(1, "opened")], rows))

        expect(yield* counted).toBe(3)
        expect(yield* backlog).toEqual([
          { channelId: 1, pending: 2, overflowed: 0 },
          { channelId: 2, pending: 1, overflowed: 0 }
        ])
      })
    )
  )
})

describe("a row", () => {
  it.effect("waits while an earlier one of its event and channel does, and no longer", () =>
    inAlerts(
      Effect.gen(function* () {
        const closed = outboxOf(1, { transition: "closed", notBeforeAt: start + 1 })
        yield* write(
          stepOf([], [outboxOf(1), outboxOf(1, { channelId: 2 }), closed, outboxOf(2, { notBeforeAt: start + 5 })])
        )
        yield* write(settleOf([1], "pending"))
        // The open failed and comes back at +2000; its close is older than event 2, and still waits.
        expect(yield* nextId()).toBe(4)
        yield* write(settleOf([4], "sent"))
        expect(yield* nextId()).toBe(1)
        yield* write(settleOf([1], "failed"))
        expect(yield* nextId()).toBe(3)
        expect(yield* nextId(2)).toBe(2)
      })
    )
  )

  it.effect("that was settled stays so, but for one that made room and was delivered all the same", () =>
    inAlerts(
      Effect.gen(function* () {
        yield* write(stepOf([], [outboxOf(1), outboxOf(2)]))
        yield* write(settleOf([1], "sent"), settleOf([2], "failed"))
        yield* write(settleOf([1], "failed"), settleOf([2], "pending"))
        expect(yield* counted).toBe(0)
        yield* write(settleOf([2], "sent"))

        const { items } = yield* Effect.flatMap(AlertDeliveries, (deliveries) => deliveries.list({ limit: 10 }))
        expect(items.map(({ id, status }) => [id, status])).toEqual([
          [2, "sent"],
          [1, "sent"]
        ])
        expect(yield* backlog).toEqual([{ channelId: 1, pending: 0, overflowed: 0 }])
      })
    )
  )

  it.effect("beyond the bound takes the place of the one that was due first, which is counted", () =>
    inAlerts(
      Effect.gen(function* () {
        const { handle } = yield* Database
        const writer = alertWriter(3)
        for (let id = 1; id <= 5; id++) writer.write(handle(), stepOf([], [outboxOf(id, { notBeforeAt: start + id })]))
        writer.write(handle(), stepOf([], [outboxOf(9, { channelId: 2 })]))

        expect(yield* backlog).toEqual([
          { channelId: 1, pending: 3, overflowed: 2 },
          { channelId: 2, pending: 1, overflowed: 0 }
        ])
        expect(yield* counted).toBe(4)
        const { items } = yield* Effect.flatMap(AlertDeliveries, (on) => on.list({ limit: 10, status: "failed" }))
        expect(items.map(({ eventId, reason }) => [eventId, reason])).toEqual([
          [2, "overflow"],
          [1, "overflow"]
        ])
      })
    )
  )

  it.effect("that is sent again is as good as new, and keeps its attempts in the ledger", () =>
    inAlerts(
      Effect.gen(function* () {
        const deliveries = yield* AlertDeliveries
        yield* write(stepOf([], [outboxOf(1)]), settleOf([1], "pending"), settleOf([1], "failed"))
        yield* write({ kind: "resend", outboxId: 1, atMs: start + 9000 }, { kind: "resend", outboxId: 77, atMs: 1 })
        const store = yield* OutboxStore

        expect(store.next(1)).toMatchObject({ id: 1, attempts: 0, createdAt: start + 9000, nextAt: start + 9000 })
        // A second time changes nothing.
        yield* write({ kind: "resend", outboxId: 1, atMs: start + 9999 })
        expect(store.next(1)).toMatchObject({ createdAt: start + 9000 })
        expect(yield* backlog).toEqual([{ channelId: 1, pending: 1, overflowed: 0 }])
        expect((yield* deliveries.attempts(1)).map(({ outcome }) => outcome)).toEqual(["failed", "retry"])
        expect((yield* Effect.flip(deliveries.attempts(77))).code).toBe("not_found")
      })
    )
  )
})

describe("groups", () => {
  it.effect("are told apart by transition, with what is due and since when", () =>
    inAlerts(
      Effect.gen(function* () {
        const at = (eventId: number, ms: number) => outboxOf(eventId, { group: "offline", notBeforeAt: start + ms })
        yield* write(
          stepOf([changeOf(1, "opened"), changeOf(2, "opened")], [at(1, 0), at(2, 900), at(3, 5000), outboxOf(4)])
        )
        const store = yield* OutboxStore

        expect(store.groups(1, start + 1000)).toEqual([
          { transition: "opened", due: 2, firstAt: start, lastAt: start + 5000, nextAt: start }
        ])
        const members = store.members(1, "opened", start + 1000, 10)
        expect(members.map(({ eventId, nodeId, serverName }) => [eventId, nodeId, serverName])).toEqual([
          [1, 1, "node-1"],
          [2, 1, "node-1"]
        ])
        expect(store.nextSingle(1)?.eventId).toBe(4)
        expect(store.nextOfGroup(1, "opened")?.eventId).toBe(1)
      })
    )
  )

  it.effect("share the ledger row of their one attempt, also across commits", () =>
    inAlerts(
      Effect.gen(function* () {
        const deliveries = yield* AlertDeliveries
        yield* write(stepOf([], [outboxOf(1), outboxOf(2), outboxOf(3)]))
        const first = settleOf([1, 2], "sent")
        yield* write(first)
        yield* write({ ...settleOf([3], "sent"), leadId: 1 })

        const rows = yield* run("SELECT count(*) AS n FROM alert_deliveries")
        expect(rows).toEqual([{ n: 1 }])
        for (const id of [1, 2, 3]) {
          expect((yield* deliveries.attempts(id)).map(({ outcome, rowCount }) => [outcome, rowCount])).toEqual([
            ["sent", 2]
          ])
        }
      })
    )
  )
})

describe("retention", () => {
  it.effect("takes ended events, settled rows and attempts by slices, and nothing that is open or pending", () =>
    inAlerts(
      Effect.gen(function* () {
        const store = yield* OutboxStore
        yield* write(
          stepOf([changeOf(1, "opened"), changeOf(2, "opened"), changeOf(3, "opened")], [outboxOf(1), outboxOf(2)]),
          stepOf([changeOf(1, "closed"), changeOf(3, "closed")]),
          settleOf([1], "sent")
        )
        expect(store.hasEnded(start)).toBe(false)
        expect(store.hasEnded(start + 1)).toBe(true)
        const before = start + 100
        yield* write({ kind: "dropAlerts", endedBefore: before, limit: 1 })
        expect(yield* run("SELECT id FROM alert_events")).toEqual([{ id: 2 }, { id: 3 }])
        yield* write({ kind: "dropAlerts", endedBefore: before, limit: 1 })

        expect(yield* run("SELECT id FROM alert_events")).toEqual([{ id: 2 }])
        expect(yield* run("SELECT event_id FROM alert_outbox")).toEqual([{ event_id: 2 }])
        expect(yield* run("SELECT count(*) AS n FROM alert_deliveries")).toEqual([{ n: 0 }])
        expect(store.hasEnded(before)).toBe(false)
        expect(yield* backlog).toEqual([{ channelId: 1, pending: 1, overflowed: 0 }])
        // Receivers tell repeats by the id, so it never comes again.
        expect(store.lastEventId()).toBe(3)
      })
    )
  )

  it.effect("takes the mounts of deleted nodes", () =>
    inAlerts(
      Effect.gen(function* () {
        yield* run("INSERT INTO alert_mounts (rule_id, node_id, mounted) VALUES (1, 1, 1), (1, 2, 1)")
        yield* run("UPDATE nodes SET deleted_at = 1 WHERE id = 2")
        yield* write({ kind: "dropAlerts", endedBefore: 0, limit: 10 })

        expect(yield* run("SELECT node_id FROM alert_mounts")).toEqual([{ node_id: 1 }])
      })
    )
  )
})
