// The entrance of reports: who is known, what is turned away and why, and an account that is exact at every moment.
import { describe, expect, it } from "@effect/vitest"
import { type Context, Effect, Either, TestContext } from "effect"
import fc from "fast-check"
import { Intake } from "../../runtime/Intake.ts"
import { NodeDirectory } from "../../runtime/NodeDirectory.ts"
import { NodeSupervisor } from "../../runtime/NodeSupervisor.ts"
import { NodeId } from "../../schema/Ids.ts"
import { Nodes } from "../../src/store/Nodes.ts"
import { Database } from "../../src/store/Sql.ts"
import { full, ioError } from "../support/Disk.ts"
import {
  type Answer,
  changed,
  epoch,
  inEngine,
  journalRows,
  makeFaults,
  pass,
  post,
  postStatic,
  reportOf,
  secretOf,
  send,
  staticOf,
  turns,
  until
} from "../support/Engine.ts"

type Service = Context.Tag.Service<typeof Intake>

const ok: Answer = { _tag: "Acknowledged", update: null }
const refused: Answer = { _tag: "Refused" }
const at = (seconds: number) => epoch + seconds * 1000
const poison = 0.666

/** What the account says against what it must say, given how many tickets have no ending yet. */
const balance = (intake: Service, open: number) => {
  const { acknowledged, in_flight, received, refused: turnedAway, rejected } = intake.figures()
  return [received - acknowledged - turnedAway - rejected - in_flight, in_flight - open]
}

const kind = fc.constantFrom(
  "report",
  "report",
  "report",
  "repeat",
  "static",
  "crash",
  "undecodable",
  "meaningless",
  "stranger",
  "turned away",
  "never sent",
  "full disk",
  "broken disk",
  "good disk",
  "wait",
  "wait"
)
type Kind = typeof kind extends fc.Arbitrary<infer A> ? A : never
const nodes = 5

/** Does all of it and looks at the account after each. */
const balances = (steps: ReadonlyArray<readonly [Kind, number]>) => {
  const faults = makeFaults()
  faults.poison = poison
  return inEngine(
    Effect.gen(function* () {
      const intake = yield* Intake
      const tickets: Array<ReadonlyArray<Answer>> = []
      let [abandoned, turnedAway, second] = [0, 0, 0]
      const act = (what: Kind, id: number): ReadonlyArray<Answer> | undefined => {
        const report = reportOf({ at: at(++second), hostname: `h${id}`, cpu: what === "crash" ? poison : 0.2 })
        if (what === "report" || what === "crash") return post(intake, id, report)
        if (what === "repeat") return post(intake, id, reportOf({ at: at(1), hostname: `h${id}` }))
        if (what === "static") return postStatic(intake, id, staticOf())
        if (what === "undecodable") return post(intake, id, "{")
        if (what === "meaningless") return post(intake, id, { ...report, version: "one" })
        if (what === "stranger") return post(intake, 99, report)
        if (what === "turned away") intake.open().reject()
        if (what === "turned away") turnedAway++
        if (what === "never sent") intake.open()
        if (what === "never sent") abandoned++
        if (what === "full disk") faults.fault = full()
        if (what === "broken disk") faults.fault = ioError()
        if (what === "good disk") faults.fault = undefined
        return undefined
      }
      const openTickets = () => abandoned + tickets.filter(({ length }) => length === 0).length
      for (const [what, id] of steps) {
        const ticket = act(what, id)
        if (ticket !== undefined) tickets.push(ticket)
        expect(balance(intake, openTickets())).toEqual([0, 0])
        if (what === "wait") yield* pass(300, 100)
        expect(balance(intake, openTickets())).toEqual([0, 0])
      }
      faults.fault = undefined
      yield* pass(1500, 250)
      yield* until("every ending", () => tickets.every(({ length }) => length > 0))

      expect(tickets.filter(({ length }) => length !== 1)).toEqual([])
      expect(balance(intake, abandoned)).toEqual([0, 0])
      const { acknowledged, not_applied, received } = intake.figures()
      expect(received).toBe(tickets.length + turnedAway + abandoned)
      expect(tickets.flat().filter(({ _tag }) => _tag === "Acknowledged").length).toBe(acknowledged)
      expect(not_applied).toBeLessThanOrEqual(acknowledged)
    }),
    { ...faults, nodes }
  )
}

describe("Invariant 6: received = acknowledged + refused + rejected + in flight", { timeout: 30_000 }, () => {
  it.live(
    "holds at every moment, whatever is sent and whatever fails, and every report ends exactly once",
    () =>
      Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(fc.array(fc.tuple(kind, fc.integer({ min: 1, max: nodes })), { maxLength: 60 }), (steps) =>
            Effect.runPromise(Effect.provide(Effect.scoped(balances(steps)), TestContext.TestContext))
          ),
          { numRuns: 25, endOnFailure: true }
        )
      ),
    120_000
  )

  it.effect(
    "holds through a herd: everybody at once, three times each, is answered 200 or 503 and nothing is lost",
    () =>
      inEngine(
        Effect.gen(function* () {
          const intake = yield* Intake
          const { handle } = yield* Database
          const herd = Array.from({ length: 2000 }, (_, i) => i + 1)
          // The disk is slow: an administrator's transaction stands while all of them come.
          handle().exec("BEGIN")
          const tickets = [1, 2, 3].flatMap((n) =>
            herd.map((id) => post(intake, id, reportOf({ at: at(n), hostname: `h${id}` })))
          )
          expect(intake.figures()).toMatchObject({ received: 6000, in_flight: 4096, refused: 1904 })
          handle().exec("COMMIT")
          yield* pass(10, 1)
          yield* until("the answers", () => tickets.every(({ length }) => length > 0))

          expect(intake.figures()).toMatchObject({ received: 6000, acknowledged: 4096, refused: 1904, in_flight: 0 })
          expect((yield* journalRows).length).toBe(4096)
          yield* pass(20)
          expect((yield* NodeSupervisor).counts()).toEqual({ total: 2000, running: 2000, restarting: 0, parked: 0 })
          for (const id of [1, 1000, 2000]) expect(yield* send(id, { at: at(4), hostname: `h${id}` })).toEqual(ok)
        }),
        { nodes: 2000 }
      ),
    30_000
  )
})

describe("a report", { timeout: 30_000 }, () => {
  it.effect("is refused before it is read while the disk cannot take it", () => {
    const faults = makeFaults()
    return inEngine(
      Effect.gen(function* () {
        const intake = yield* Intake
        faults.fault = full()
        expect(yield* send(1, { at: at(1) })).toEqual(refused)

        expect(post(intake, 1, "not even JSON")).toEqual([refused])
        expect(postStatic(intake, 1, "nor this")).toEqual([refused])
        expect(intake.figures()).toMatchObject({ received: 3, refused: 3, rejected: 0 })
      }),
      faults
    )
  })

  it.effect("that cannot be decoded is told from one that says nonsense, and neither reaches the node", () =>
    inEngine(
      Effect.gen(function* () {
        const intake = yield* Intake
        const good = reportOf({ at: at(1) })
        const breachOf = ([answer]: ReadonlyArray<Answer>) =>
          answer?._tag === "Rejected" ? `${answer.breach}: ${answer.message}` : answer?._tag

        expect(breachOf(post(intake, 1, ""))).toMatch(/^undecodable: /)
        expect(breachOf(post(intake, 1, "null"))).toMatch(/^undecodable: /)
        expect(breachOf(post(intake, 1, { ...good, hostname: 7 }))).toMatch(/^undecodable: hostname /)
        expect(breachOf(post(intake, 1, { ...good, hostname: " " }))).toMatch(/^meaningless: hostname /)
        expect(breachOf(post(intake, 1, { ...good, metrics: undefined }))).toMatch(/^meaningless: metrics /)
        expect(breachOf(postStatic(intake, 1, { ...staticOf(), report_interval_seconds: 0 }))).toMatch(
          /^meaningless: report_interval_seconds /
        )
        yield* turns(10)
        expect(yield* journalRows).toEqual([])
        expect(intake.figures()).toMatchObject({ received: 6, rejected: 6 })
      })
    )
  )

  it.effect("loses malformed optional pieces, which are counted, and is taken", () =>
    inEngine(
      Effect.gen(function* () {
        const intake = yield* Intake
        const good = reportOf({ at: at(1) })
        const thermal = { status: "ok", sensors: [{ name: 5 }, "x"] }
        const answers = post(intake, 1, { ...good, metrics: { ...good.metrics, thermal } })
        yield* until("the answer", () => answers.length > 0)

        expect(answers).toEqual([ok])
        expect(intake.figures().dropped_pieces).toBe(2)
        const facts = (yield* NodeDirectory).facts(NodeId.make(1))
        expect(facts?.faults).toMatchObject([{ kind: "malformed_pieces" }])
      })
    )
  )
})

describe("a secret", { timeout: 30_000 }, () => {
  it.effect("names its node, spaces around it left out; nothing else names one", () =>
    inEngine(
      Effect.gen(function* () {
        const { identify } = yield* Intake
        expect([identify(secretOf(2)), identify(`  ${secretOf(2)}\t`)]).toEqual([2, 2])
        for (const other of [
          "",
          " ",
          "secret-of-9",
          secretOf(2).toUpperCase(),
          secretOf(2).slice(1),
          "x".repeat(5000)
        ]) {
          expect(identify(other)).toBe(undefined)
        }
      }),
      { nodes: 3 }
    )
  )

  it.effect("is nobody's any more once the node has another one or is deleted", () =>
    inEngine(
      Effect.gen(function* () {
        const nodes = yield* Nodes
        const { identify } = yield* Intake
        yield* changed(nodes.patch(NodeId.make(1), { secret: Either.right("another secret of 16+") }))
        yield* changed(nodes.remove(NodeId.make(2)))

        expect([secretOf(1), secretOf(2), "another secret of 16+", secretOf(3)].map(identify)).toEqual([
          undefined,
          undefined,
          1,
          3
        ])
      }),
      { nodes: 3 }
    )
  )
})
