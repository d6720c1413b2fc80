// Which interface of a node is worth a look first: the one with the most traffic among those that leave the machine.
import type { TrafficSummary } from "../../../../schema/Traffic.ts"

/** Loops, containers' ends and tunnels: what they carry passes another interface as well, or never leaves. */
const inner =
  /^(lo\d*|veth|docker|br-|virbr|cali|flannel|cni|cilium|kube|fwbr|fwpr|fwln|tap|ifb|dummy|sit\d|ip6tnl|gre|utun|awdl|llw|anpi|gif\d|stf\d|bridge\d|vEthernet|Loopback|isatap|Teredo)/i

/** Interfaces that are read to find the busiest; hosts of many containers have hundreds. */
export const candidatesMax = 8

/** Names to read: those that leave the machine, else all, at most {@link candidatesMax}. */
export const candidatesOf = (names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const outer = names.filter((name) => !inner.test(name))
  return (outer.length > 0 ? outer : names).slice(0, candidatesMax)
}

/** The summary with the most counted bytes; of equal ones the first. */
export const busiestOf = (summaries: ReadonlyArray<TrafficSummary>): TrafficSummary | undefined =>
  summaries.reduce<TrafficSummary | undefined>(
    (best, one) => (best === undefined || one.stats.selected_bytes > best.stats.selected_bytes ? one : best),
    undefined
  )
