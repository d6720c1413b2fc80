// Where reports enter: secret to node, text to report, report to the node's mailbox; every report is accounted for once.
import { type Clock, Context, Effect, Layer } from "effect"
import type { NodeId } from "../schema/Ids.ts"
import type { IntakeStatus } from "../schema/System.ts"
import type { UpdateManifest } from "../schema/Upgrade.ts"
import { type Reading, readReport, readStatic } from "../src/core/Reading.ts"
import { Journal } from "./Journal.ts"
import type { Mail, Reply } from "./NodeProtocol.ts"
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

/** The account and the four ways a report can end in it. */
class Ledger {
  readonly account: Account = {
    received: 0,
    inFlight: 0,
    acknowledged: 0,
    refused: 0,
    rejected: 0,
    notApplied: 0,
    droppedPieces: 0
  }
  open(): void {
    this.account.received++
    this.account.inFlight++
  }
  reject(): void {
    this.account.inFlight--
    this.account.rejected++
  }
  acknowledge(ending: Ending, update: UpdateManifest | null, applied: boolean): void {
    this.account.inFlight--
    this.account.acknowledged++
    if (!applied) this.account.notApplied++
    ending.acknowledged(update)
  }
  refuse(ending: Ending): void {
    this.account.inFlight--
    this.account.refused++
    ending.refused()
  }
  rejectReading(reading: Exclude<Reading<never>, { _tag: "Read" }>, ending: Ending): void {
    this.reject()
    ending.rejected(reading._tag === "Undecodable" ? "undecodable" : "meaningless", reading.message)
  }
}

/** Ends the account of one report with its answer. */
class Accounted implements Reply {
  private readonly tools: Tools
  private readonly ending: Ending

  constructor(tools: Tools, ending: Ending) {
    this.tools = tools
    this.ending = ending
  }
  acknowledge(update: UpdateManifest | null, applied: boolean): void {
    const { journal, ledger } = this.tools
    // It is committed, or the repeat of what is: the agent may forget it once the disk has it.
    journal.onDisk((isOnDisk) => {
      if (isOnDisk) ledger.acknowledge(this.ending, update, applied)
      else this.refuse()
    })
  }
  refuse(): void {
    this.tools.ledger.refuse(this.ending)
  }
}

interface Tools {
  readonly ledger: Ledger
  readonly journal: Context.Tag.Service<typeof Journal>
  readonly supervisor: Context.Tag.Service<typeof NodeSupervisor>
  readonly clock: Clock.Clock
}

const deliver = ({ ledger, supervisor }: Tools, id: NodeId, mail: Mail, ending: Ending): void => {
  const actor = supervisor.actor(id)
  if (actor === undefined || !actor.offer(mail)) ledger.refuse(ending)
}

const takeReport = (tools: Tools, id: NodeId, text: string, ip: string, ending: Ending): void => {
  const { clock, journal, ledger } = tools
  // Asked before anything is parsed: a service that cannot write does not burn its time on reading.
  if (!journal.room()) return ledger.refuse(ending)
  const reading = readReport(text)
  if (reading._tag !== "Read") return ledger.rejectReading(reading, ending)
  const { dropped, lost, value, wide } = reading
  ledger.account.droppedPieces += lost
  const receivedAt = clock.unsafeCurrentTimeMillis()
  const reply = new Accounted(tools, ending)
  deliver(tools, id, { _tag: "Report", report: value, arrival: { ip, wide, dropped }, receivedAt, reply }, ending)
}

const takeStatic = (tools: Tools, id: NodeId, text: string, ending: Ending): void => {
  const { clock, journal, ledger } = tools
  if (!journal.room()) return ledger.refuse(ending)
  const reading = readStatic(text)
  if (reading._tag !== "Read") return ledger.rejectReading(reading, ending)
  const receivedAt = clock.unsafeCurrentTimeMillis()
  deliver(tools, id, { _tag: "Static", body: reading.value, receivedAt, reply: new Accounted(tools, ending) }, ending)
}

const statusOf = ({
  acknowledged,
  droppedPieces,
  inFlight,
  notApplied,
  received,
  refused,
  rejected
}: Account): IntakeStatus => ({
  received,
  acknowledged,
  refused,
  rejected,
  in_flight: inFlight,
  not_applied: notApplied,
  dropped_pieces: droppedPieces
})

const make = Effect.gen(function* () {
  const roster = yield* NodeRoster
  const ledger = new Ledger()
  const tools: Tools = {
    ledger,
    journal: yield* Journal,
    supervisor: yield* NodeSupervisor,
    clock: yield* Effect.clock
  }
  const ticket: Ticket = {
    reject: () => ledger.reject(),
    report: (id, text, ip, ending) => takeReport(tools, id, text, ip, ending),
    statics: (id, text, ending) => takeStatic(tools, id, text, ending)
  }
  return Intake.of({
    identify: roster.idBySecret,
    open: () => {
      ledger.open()
      return ticket
    },
    figures: () => statusOf(ledger.account)
  })
})

export const layer = Layer.effect(Intake, make)
