// Where reports enter: secret to node, text to report, report to the node's mailbox; every report is accounted for once.
import { Context, Effect, Layer } from "effect"
import type { NodeId } from "../schema/Ids.ts"
import type { IntakeStatus } from "../schema/System.ts"
import type { UpdateManifest } from "../schema/Upgrade.ts"
import { type Reading, readReport, readStatic } from "../src/core/Reading.ts"
import { Journal } from "./Journal.ts"
import type { Mail, Reply } from "./NodeActor.ts"
import { NodeRoster } from "./NodeRoster.ts"
import { NodeSupervisor } from "./NodeSupervisor.ts"

/** What becomes of one report; exactly one of these ends it. */
export interface Ending {
  /** On disk (or a repeat of what is). */
  readonly acknowledged: (update: UpdateManifest | null) => void
  /** Not taken now; the agent may try again: 503. */
  readonly refused: () => void
  /** Wrong in itself: 400 for `undecodable`, 422 for `meaningless`. */
  readonly rejected: (breach: "undecodable" | "meaningless", message: string) => void
}

/** One request on the node lane, opened when it arrives so that the account is exact from the first byte. */
export interface Ticket {
  /** Ends the account of a request that the edge turned away (401, 413, 415, 429, or the client left). */
  readonly reject: () => void
  readonly report: (id: NodeId, text: string, ip: string, ending: Ending) => void
  readonly statics: (id: NodeId, text: string, ending: Ending) => void
}

export class Intake extends Context.Tag("runtime/Intake")<
  Intake,
  {
    /** The node whose secret this is. Empty, unknown and deleted nodes' secrets are nobody's. */
    readonly identify: (secret: string) => NodeId | undefined
    readonly open: () => Ticket
    readonly figures: () => IntakeStatus
  }
>() {}

interface Account {
  received: number
  /** Counted on its own, so that `received = acknowledged + refused + rejected + in flight` can be checked. */
  inFlight: number
  acknowledged: number
  refused: number
  rejected: number
  notApplied: number
  droppedPieces: number
}

const make = Effect.gen(function* () {
  const journal = yield* Journal
  const supervisor = yield* NodeSupervisor
  const roster = yield* NodeRoster
  const clock = yield* Effect.clock
  const account: Account = { received: 0, inFlight: 0, acknowledged: 0, refused: 0, rejected: 0, notApplied: 0, droppedPieces: 0 }

  const refuse = (ending: Ending) => {
    account.inFlight--
    account.refused++
    ending.refused()
  }
  const reject = (reading: Exclude<Reading<never>, { _tag: "Read" }>, ending: Ending) => {
    account.inFlight--
    account.rejected++
    ending.rejected(reading._tag === "Undecodable" ? "undecodable" : "meaningless", reading.message)
  }
  const replyTo = (ending: Ending): Reply => ({
    acknowledge: (update, applied) => {
      account.inFlight--
      account.acknowledged++
      if (!applied) account.notApplied++
      ending.acknowledged(update)
    },
    refuse: () => refuse(ending)
  })
  /** Asked before anything is parsed: a service that cannot write does not burn its time on reading. */
  const closed = () => !journal.room()
  const deliver = (id: NodeId, mail: Mail, ending: Ending) => {
    const actor = supervisor.actor(id)
    if (actor === undefined || !actor.offer(mail)) refuse(ending)
  }

  const ticket: Ticket = {
    reject: () => {
      account.inFlight--
      account.rejected++
    },
    report: (id, text, ip, ending) => {
      if (closed()) return refuse(ending)
      const reading = readReport(text)
      if (reading._tag !== "Read") return reject(reading, ending)
      const { dropped, value, wide } = reading
      account.droppedPieces += dropped.length
      const receivedAt = clock.unsafeCurrentTimeMillis()
      deliver(id, { _tag: "Report", report: value, arrival: { ip, wide, dropped }, receivedAt, reply: replyTo(ending) }, ending)
    },
    statics: (id, text, ending) => {
      if (closed()) return refuse(ending)
      const reading = readStatic(text)
      if (reading._tag !== "Read") return reject(reading, ending)
      const receivedAt = clock.unsafeCurrentTimeMillis()
      deliver(id, { _tag: "Static", body: reading.value, receivedAt, reply: replyTo(ending) }, ending)
    }
  }

  return Intake.of({
    identify: (secret) => roster.bySecret(secret)?.id,
    open: () => {
      account.received++
      account.inFlight++
      return ticket
    },
    figures: () => {
      const { acknowledged, droppedPieces, inFlight, notApplied, received, refused, rejected } = account
      return {
        received,
        acknowledged,
        refused,
        rejected,
        in_flight: inFlight,
        not_applied: notApplied,
        dropped_pieces: droppedPieces
      }
    }
  })
})

export const layer = Layer.effect(Intake, make)
