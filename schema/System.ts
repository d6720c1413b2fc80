// What the service says of itself: versions, brand, identity and the status of its long-lived fibers.
import { Schema } from "effect"
import { AlertDispatchStatus } from "./AlertEvents.ts"

export const VersionAnswer = Schema.Struct({
  version: Schema.String,
  node_version: Schema.String
}).annotations({ identifier: "Version" })

export const Brand = Schema.Struct({
  logo_url: Schema.String,
  page_title: Schema.String,
  topbar_text: Schema.String
}).annotations({ identifier: "Brand" })
export type Brand = typeof Brand.Type

export const IdentityAnswer = Schema.Struct({ install_id: Schema.String, created: Schema.Boolean }).annotations({
  identifier: "Identity"
})

/** One long-lived fiber: what waits for it, how often it was restarted and what it last died of. */
export const FiberStatus = Schema.Struct({
  name: Schema.String,
  state: Schema.Literal("running", "restarting", "parked", "stopped"),
  depth: Schema.Int,
  depth_max: Schema.Int,
  restarts: Schema.Int,
  last_error: Schema.NullOr(Schema.String),
  last_error_at: Schema.NullOr(Schema.String)
}).annotations({ identifier: "FiberStatus" })
export type FiberStatus = typeof FiberStatus.Type

/** `received = acknowledged + refused + rejected + in_flight` holds at every moment. */
export const IntakeStatus = Schema.Struct({
  received: Schema.Int,
  acknowledged: Schema.Int,
  refused: Schema.Int,
  rejected: Schema.Int,
  in_flight: Schema.Int,
  not_applied: Schema.Int,
  dropped_pieces: Schema.Int
}).annotations({ identifier: "IntakeStatus" })
export type IntakeStatus = typeof IntakeStatus.Type

/** What history holds, what it did since the start, and what it lost; nothing goes unsaid. */
export const HistoryStatus = Schema.Struct({
  tiers: Schema.Array(
    Schema.Struct({
      tier: Schema.String,
      chunks: Schema.Int,
      bytes: Schema.Int,
      bytes_max: Schema.Int,
      keep_sec: Schema.Int
    })
  ),
  /** Nodes that wait to be sealed or folded. */
  behind: Schema.Int,
  seals: Schema.Int,
  folds: Schema.Int,
  sealed_values: Schema.Int,
  sealed_bytes: Schema.Int,
  damaged_chunks: Schema.Int,
  lost_rows: Schema.Int,
  dropped_by_age: Schema.Int,
  dropped_by_bytes: Schema.Int,
  /** Answers by who read: the thread, or the event loop where there is no thread or it failed. */
  answered_by_thread: Schema.Int,
  answered_on_loop: Schema.Int,
  /** Questions that were refused, because too many waited or it took too long. */
  questions_refused: Schema.Int
}).annotations({ identifier: "HistoryStatus" })
export type HistoryStatus = typeof HistoryStatus.Type

export const SystemStatus = Schema.Struct({
  version: Schema.String,
  started_at: Schema.String,
  ready: Schema.Boolean,
  ready_reason: Schema.NullOr(Schema.String),
  rss_bytes: Schema.Int,
  event_loop_block_ms: Schema.Number,
  intake: IntakeStatus,
  journal: Schema.Struct({
    rows: Schema.Int,
    commits: Schema.Int,
    failures: Schema.Int,
    commit_ms_last: Schema.Number,
    commit_ms_max: Schema.Number,
    database_bytes: Schema.Int
  }),
  history: HistoryStatus,
  alerts: AlertDispatchStatus,
  nodes: Schema.Struct({ total: Schema.Int, running: Schema.Int, restarting: Schema.Int, parked: Schema.Int }),
  fibers: Schema.Array(FiberStatus)
}).annotations({ identifier: "SystemStatus" })
export type SystemStatus = typeof SystemStatus.Type

/** Bounds of the settings; the logo may be a picture of its own, written out as a data URL. */
export const pageTitleMax = 120
export const topbarTextMax = 64
export const logoBytesMax = 786_432

/** Whether guests may read the history of the nodes that they see, or no history at all. */
export const HistoryAccess = Schema.Literal("disabled", "by_node")
export type HistoryAccess = typeof HistoryAccess.Type

export const SystemSettings = Schema.Struct({
  history_guest_access_mode: HistoryAccess,
  ...Brand.fields
}).annotations({ identifier: "SystemSettings" })
export type SystemSettings = typeof SystemSettings.Type

const written = Schema.optional(Schema.NullOr(Schema.String))

/** Write form; `src/core/SystemSettings` judges the values. */
export const SystemSettingsWrite = Schema.Struct({
  history_guest_access_mode: written,
  logo_url: written,
  page_title: written,
  topbar_text: written
}).annotations({
  identifier: "SystemSettingsWrite",
  description:
    "`history_guest_access_mode` is `disabled` or `by_node`, and PUT requires it. Omitted members stay unchanged; a blank logo, title or text takes its default again."
})
export type SystemSettingsWrite = typeof SystemSettingsWrite.Type
