// The figures of the summary strip, over the nodes that are online.
import type { Fleet } from "./Fleet.ts"
import { states } from "./Freshness.ts"

export interface Totals {
  /** 0..1, or null when nobody is online. */
  readonly cpu: number | null
  /** Bytes per second. */
  readonly recv: number
  readonly sent: number
}

const online = states.indexOf("online")

export const totalsOf = (fleet: Fleet, codes: Uint8Array): Totals => {
  let cpu = 0
  let recv = 0
  let sent = 0
  let size = 0
  for (let row = 0; row < fleet.count; row++) {
    if (codes[row] !== online) continue
    size++
    cpu += Math.max(0, fleet.value("cpu", row))
    recv += Math.max(0, fleet.value("recv_bps", row))
    sent += Math.max(0, fleet.value("sent_bps", row))
  }
  return { cpu: size === 0 ? null : cpu / size / 1000, recv, sent }
}
