// The one decision of who may read which node; every read of node data takes its answer from here.
import type { Viewer } from "../../schema/Session.ts"

/** What the decision needs to know of a node. */
export interface Visible {
  /** The administrator's `is_guest_visible`. */
  readonly guestVisible: boolean
  /** Milliseconds; null or absent while the node is active. */
  readonly deletedAt?: number | null
}

/** A deleted node is read by nobody, a hidden one by administrators only; an unknown one is no record. */
export const canRead = (viewer: Viewer, record: Visible | undefined): boolean => {
  if (record === undefined || (record.deletedAt ?? null) !== null) return false
  switch (viewer._tag) {
    case "Admin":
      return true
    case "Guest":
      return record.guestVisible
  }
}

/** The records that this viewer may read, in the order given. */
export const readable = <R extends Visible>(viewer: Viewer, records: Iterable<R>): ReadonlyArray<R> => {
  const kept: Array<R> = []
  for (const record of records) if (canRead(viewer, record)) kept.push(record)
  return kept
}
