// One node through crashes, failed commits, repeats and upgrades, on the real journal and a real database.
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { checkpointEvery, mailboxMax } from "../../runtime/NodeActor.ts"
import { Intake } from "../../runtime/Intake.ts"
import { NodeDirectory } from "../../runtime/NodeDirectory.ts"
import { Journal } from "../../runtime/Journal.ts"
import { NodeId } from "../../schema/Ids.ts"
import { Host } from "../../src/core/Layout.ts"
import { decode } from "../../src/core/VectorCode.ts"
import { JournalStore } from "../../src/store/Journal.ts"
import { full } from "../support/Disk.ts"
import {
  actorOf,
  type Answer,
  epoch,
  inEngine,
  journalRows,
  killedCopy,
  makeFaults,
  onDisk,
  pass,
  post,
  postStatic,
  reportOf,
  send,
  sendStatic,
  staticOf,
  turns,
  until,
  viewOf
} from "../support/Engine.ts"

const ok: Answer = { _tag: "Acknowledged", update: null }
const refused: Answer = { _tag: "Refused" }
const poison = 0.666
const at = (seconds: number) => epoch + seconds * 1000
const manifest = { id: "u1", version: "2.0.0", url: "/deploy/agent", sha256: "0".repeat(64), size: 1 }

/** Posts reports to node 1 in one turn; gives the answers of each, so far. */
const postAll = (...told: ReadonlyArray<Parameters<typeof reportOf>[0]>) =>
  Effect.map(Intake, (intake) => told.map((one) => post(intake, 1, reportOf(one))))

const request = Effect.flatMap(NodeDirectory, (directory) => directory.requestUpgrade(NodeId.make(1), manifest))

describe("a crash", { timeout: 30_000 }, () => {
  it.effect("refuses the report that caused it; what waits is acknowledged after the restart, once", () => {
    const faults = makeFaults()
    faults.poison = poison
    return inEngine(
      Effect.gen(function* () {
        yield* send(1, { at: at(1) })
        const answers = yield* postAll({ at: at(2), cpu: poison }, { at: at(3) }, { at: at(4) })
        const actor = yield* actorOf(1)
        expect(answers).toEqual([[refused], [], []])
        expect([actor.status, actor.depth]).toEqual(["restarting", 2])
        yield* pass(150, 50)
        yield* until("the answers", () => answers.every(({ length }) => length > 0))
        yield* turns(20)

        expect(answers).toEqual([[refused], [ok], [ok]])
        expect((yield* journalRows).map((row) => row.reportedAt)).toEqual([at(1), at(3), at(4)])
        expect((yield* viewOf(1))?.vector[0]).toBe(at(4))
        expect(actor).toMatchObject({ status: "running", restarts: 1, lastError: "poison" })
      }),
      faults
    )
  })

  it.effect("lets no more wait than the mailbox holds", () => {
    const faults = makeFaults()
    faults.poison = poison
    return inEngine(
      Effect.gen(function* () {
        yield* send(1, { at: at(1) })
        const seconds = Array.from({ length: mailboxMax + 2 }, (_, i) => i + 3)
        const [first, ...rest] = yield* postAll(
          { at: at(2), cpu: poison },
          ...seconds.map((second) => ({ at: at(second) }))
        )

        expect(first).toEqual([refused])
        expect(rest).toEqual([...Array.from({ length: mailboxMax }, () => []), [refused], [refused]])
        yield* pass(150, 50)
        yield* until("the answers", () => rest.every(({ length }) => length > 0))
        expect(rest.flat()).toEqual([...Array.from({ length: mailboxMax }, () => ok), refused, refused])
      }),
      faults
    )
  })

  it.effect("takes nothing from a report and a Static that were already on their way to the disk", () => {
    const faults = makeFaults()
    faults.poison = poison
    return inEngine(
      Effect.gen(function* () {
        const intake = yield* Intake
        const stated = postStatic(intake, 1, staticOf({ hostname: "edge" }))
        const [before, crash] = yield* postAll({ at: at(1) }, { at: at(2), cpu: poison })
        yield* until("the commit", () => before?.length === 1)

        expect([stated, before, crash]).toEqual([[ok], [ok], [refused]])
        // The actor is still away: what it said is seen all the same.
        expect((yield* actorOf(1)).status).toBe("restarting")
        const during = yield* viewOf(1)
        expect([during?.vector[0], during?.statics?.body.system.hostname]).toEqual([at(1), "edge"])
        yield* pass(150, 50)
        expect(yield* viewOf(1)).toEqual(during)
        expect(yield* send(1, { at: at(1) })).toEqual(ok)
        expect((yield* journalRows).length).toBe(1)
      }),
      faults
    )
  })
})

describe("a commit that fails", { timeout: 30_000 }, () => {
  it.effect("Invariant 1: an acknowledged report is on disk: it is refused, and nothing of it is ever shown", () => {
    const faults = makeFaults()
    return inEngine(
      Effect.gen(function* () {
        yield* send(1, { at: at(1), cpu: 0.1 })
        const before = yield* viewOf(1)
        faults.fault = full()
        const answers = yield* postAll({ at: at(2), cpu: 0.9 }, { at: at(2), cpu: 0.9 }, { at: at(3), cpu: 0.8 })
        yield* until("the answers", () => answers.every(({ length }) => length > 0))
        yield* turns(20)

        expect(answers).toEqual([[refused], [refused], [refused]])
        expect(yield* viewOf(1)).toEqual(before)
        expect((yield* journalRows).length).toBe(1)
        faults.fault = undefined
        yield* pass(300, 150)
        expect(yield* send(1, { at: at(2), cpu: 0.9 })).toEqual(ok)
        expect((yield* viewOf(1))?.vector[1]).toBe(0.9)
      }),
      faults
    )
  })

  it.effect("rolls the state back to what is on the disk, so that later rows can be read without it", () =>
    onDisk((filename) => {
      const faults = makeFaults()
      return Effect.gen(function* () {
        const live = yield* inEngine(
          Effect.gen(function* () {
            yield* send(1, { at: at(1), version: "1.0.0" })
            faults.fault = full()
            // Version, serial number and devices change in the report that is lost, and stay so in the next.
            const changed = { version: "1.1.0", nics: ["eth0", "eth1"], serial: "s-1" }
            expect(yield* send(1, { at: at(2), ...changed })).toEqual(refused)
            expect(yield* sendStatic(1, staticOf({ hostname: "lost" }))).toEqual(refused)
            faults.fault = undefined
            yield* pass(300, 150)
            expect(yield* send(1, { at: at(3), ...changed })).toEqual(ok)
            yield* pass(40)
            killedCopy(filename)
            return yield* viewOf(1)
          }),
          { ...faults, filename }
        )
        const again = yield* inEngine(viewOf(1), { filename: `${filename}.killed` })

        expect(live?.details).toMatchObject({ version: "1.1.0", smart: { devices: [{ serial: "s-1" }] } })
        expect(live?.layout?.nics).toEqual(["eth0", "eth1"])
        expect(live?.statics).toBe(undefined)
        expect(again).toEqual(live)
      })
    })
  )
})

describe("Invariant 2: a report is applied once", { timeout: 30_000 }, () => {
  it.effect("a repeat, early or late, is acknowledged with the first copy and leaves no trace", () =>
    inEngine(
      Effect.gen(function* () {
        const answers = yield* postAll({ at: at(1) }, { at: at(1) }, { at: at(1) })
        expect(answers.flat()).toEqual([])
        yield* until("the answers", () => answers.every(({ length }) => length > 0))
        const view = yield* viewOf(1)
        yield* pass(3000, 1000)
        expect(yield* send(1, { at: at(1) })).toEqual(ok)

        expect(answers).toEqual([[ok], [ok], [ok]])
        expect(yield* viewOf(1)).toEqual(view)
        expect((yield* journalRows).length).toBe(1)
        expect((yield* actorOf(1)).window?.length).toBe(1)
        expect((yield* Intake).figures()).toMatchObject({ received: 4, acknowledged: 4, not_applied: 3 })
      })
    )
  )

  it.effect("one that arrives behind a newer one is acknowledged and changes no figure", () =>
    inEngine(
      Effect.gen(function* () {
        yield* send(1, { at: at(1), cpu: 0.1 })
        yield* send(1, { at: at(3), cpu: 0.3 })
        const view = yield* viewOf(1)
        yield* pass(1000, 1000)

        expect(yield* send(1, { at: at(2), cpu: 0.2 })).toEqual(ok)
        expect(yield* viewOf(1)).toEqual(view)
        expect((yield* actorOf(1)).window?.length).toBe(2)
        expect((yield* Intake).figures().not_applied).toBe(1)
      })
    )
  )

  it.effect("those of a second agent on the same secret are acknowledged, not shown, and told as a fault", () =>
    inEngine(
      Effect.gen(function* () {
        const rival = { hostname: "other", bootAt: epoch - 5_000_000, cpu: 0.9 }
        yield* send(1, { at: at(1) })
        yield* send(1, { at: at(2), ...rival })
        expect((yield* viewOf(1))?.faults).toEqual([])
        expect(yield* send(1, { at: at(4) })).toEqual(ok)
        const view = yield* viewOf(1)
        expect([view?.details?.hostname, view?.vector[1]]).toEqual(["other", 0.9])
        expect(view?.faults.map(({ kind }) => kind)).toEqual(["two_agents"])

        yield* send(1, { at: at(5), ...rival })
        expect((yield* viewOf(1))?.vector[0]).toBe(at(5))
        expect((yield* viewOf(1))?.faults).toEqual(view?.faults)
      })
    )
  )
})

describe("an upgrade", { timeout: 30_000 }, () => {
  it.effect("stands in every answer until the node reports the version, also after a crash of its actor", () => {
    const faults = makeFaults()
    faults.poison = poison
    const pending: Answer = { _tag: "Acknowledged", update: manifest }
    return inEngine(
      Effect.gen(function* () {
        expect(yield* send(1, { at: at(1) })).toEqual(ok)
        yield* request
        expect(yield* send(1, { at: at(2) })).toEqual(pending)
        expect(yield* send(1, { at: at(2) })).toEqual(pending)
        expect(yield* send(1, { at: at(3), cpu: poison })).toEqual(refused)
        yield* pass(150, 50)
        expect(yield* send(1, { at: at(4) })).toEqual(pending)
        faults.fault = full()
        expect(yield* send(1, { at: at(5) })).toEqual(refused)
        faults.fault = undefined
        yield* pass(300, 150)
        expect(yield* send(1, { at: at(6) })).toEqual(pending)

        expect(yield* send(1, { at: at(7), version: "2.0.0" })).toEqual(ok)
        expect(yield* send(1, { at: at(8), version: "2.0.0" })).toEqual(ok)
        expect((yield* viewOf(1))?.version).toBe("2.0.0")
      }),
      faults
    )
  })

  it.effect("asked for while the actor is away is not forgotten", () => {
    const faults = makeFaults()
    faults.poison = poison
    return inEngine(
      Effect.gen(function* () {
        yield* send(1, { at: at(1), cpu: poison })
        expect((yield* actorOf(1)).status).toBe("restarting")
        yield* request
        yield* pass(150, 50)

        expect(yield* send(1, { at: at(2) })).toEqual({ _tag: "Acknowledged", update: manifest })
      }),
      faults
    )
  })
})

describe("a checkpoint", { timeout: 30_000 }, () => {
  it.effect("goes along with every so many applied reports, so that replay folds no more than those", () =>
    inEngine(
      Effect.gen(function* () {
        const store = yield* JournalStore
        const seqs: Array<number | undefined> = []
        for (let second = 1; second <= 2 * checkpointEvery + 1; second++) {
          yield* send(1, { at: at(second) })
          seqs.push(store.checkpoint(NodeId.make(1))?.seq)
        }

        expect(seqs.indexOf(checkpointEvery)).toBe(checkpointEvery - 1)
        expect(seqs.at(-1)).toBe(2 * checkpointEvery)
        expect(new Set(seqs)).toEqual(new Set([undefined, checkpointEvery, 2 * checkpointEvery]))
      })
    )
  )

  it.effect("of a quiet node is written on demand, once, and never while a report is on its way", () =>
    inEngine(
      Effect.gen(function* () {
        const [store, journal, actor] = [yield* JournalStore, yield* Journal, yield* actorOf(1)]
        const covered = () => store.checkpoint(NodeId.make(1))?.seq
        expect(actor.coverUpTo(100)).toBe("covered")
        yield* send(1, { at: at(1), cpu: 0.1 })
        // Two in the same millisecond: the newer one is not published yet.
        const [answers] = yield* postAll({ at: at(2), cpu: 0.2 })
        expect(actor.coverUpTo(100)).toBe("busy")
        yield* until("the answer", () => answers?.length === 1)
        expect(covered()).toBe(undefined)

        expect(actor.coverUpTo(100)).toBe("offered")
        yield* journal.flushed
        expect([covered(), actor.coverUpTo(100), actor.coverUpTo(1)]).toEqual([2, "covered", "covered"])
        const { rows } = journal.figures
        yield* journal.flushed
        expect(journal.figures.rows).toBe(rows)
        const { vector } = store.checkpoint(NodeId.make(1)) ?? { vector: Buffer.alloc(0) }
        expect(decode(vector)[Host.cpuUsage]).toBe(0.2)
      })
    )
  )
})
