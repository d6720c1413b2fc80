// Which interfaces are told, and their counters and rates, from /proc/net/dev and /sys/class/net.
import { interfacesMax } from "../Collector.ts"
import { counterOf, perSecond, wholeUp } from "../Rate.ts"
import type { NetworkInterface } from "../Report.ts"
import { exists, readTrimmed, type Roots } from "./Tree.ts"

export interface InterfaceCounters {
  readonly bytesRecv: number
  readonly packetsRecv: number
  readonly errIn: number
  readonly dropIn: number
  readonly bytesSent: number
  readonly packetsSent: number
  readonly errOut: number
  readonly dropOut: number
}

/** Parses /proc/net/dev into counters by interface; a large byte count may follow the colon without a space. */
export const parseNetDev = (text: string): ReadonlyMap<string, InterfaceCounters> => {
  const interfaces = new Map<string, InterfaceCounters>()
  for (const line of text.split("\n")) {
    const at = line.lastIndexOf(":")
    const fields =
      at < 0
        ? []
        : line
            .slice(at + 1)
            .trim()
            .split(/\s+/)
    if (fields.length < 16) continue
    interfaces.set(line.slice(0, at).trim(), {
      bytesRecv: counterOf(fields[0]),
      packetsRecv: counterOf(fields[1]),
      errIn: counterOf(fields[2]),
      dropIn: counterOf(fields[3]),
      bytesSent: counterOf(fields[8]),
      packetsSent: counterOf(fields[9]),
      errOut: counterOf(fields[10]),
      dropOut: counterOf(fields[11])
    })
  }
  return interfaces
}

/** What the selection needs to know of one interface. */
export interface InterfaceTraits {
  readonly isUp: boolean
  readonly isLoopback: boolean
  /** A driver's device stands behind it. */
  readonly isBacked: boolean
  readonly isBond: boolean
  readonly isBridge: boolean
}

const flagUp = 0x1
const flagLoopback = 0x8

/** Reads the traits of one interface; without /sys (some containers) it counts as up and as virtual. */
export const readTraits = (roots: Roots, name: string): InterfaceTraits => {
  const at = [roots.sys, "class", "net", name] as const
  const text = readTrimmed(...at, "flags")
  const flags = text === null ? flagUp : Number(text)
  return {
    isUp: (flags & flagUp) !== 0,
    isLoopback: (flags & flagLoopback) !== 0 || name === "lo",
    isBacked: exists(...at, "device"),
    isBond: exists(...at, "bonding"),
    isBridge: exists(...at, "bridge")
  }
}

/**
 * The interfaces to report, sorted: the named ones if any are named; else every up interface with a device behind it
 * and every bond, never loopback or bridges; else every up one with an address but loopback; else all.
 */
export const selectInterfaces = (
  names: ReadonlyArray<string>,
  named: ReadonlyArray<string> | null,
  traitsOf: (name: string) => InterfaceTraits,
  hasAddress: (name: string) => boolean
): ReadonlyArray<string> => {
  const sorted = (chosen: ReadonlyArray<string>): ReadonlyArray<string> => [...chosen].sort().slice(0, interfacesMax)
  if (named !== null) return sorted(names.filter((name) => named.includes(name)))
  const outward = names.filter((name) => traitsOf(name).isUp && !traitsOf(name).isLoopback)
  const real = outward.filter((name) => {
    const traits = traitsOf(name)
    return (traits.isBacked || traits.isBond) && !traits.isBridge
  })
  if (real.length > 0) return sorted(real)
  const addressed = outward.filter(hasAddress)
  return sorted(addressed.length > 0 ? addressed : names)
}

/** One interface as sent; a counter that went backwards has the rate 0. */
export const interfaceReport = (
  name: string,
  before: InterfaceCounters | undefined,
  after: InterfaceCounters,
  seconds: number
): NetworkInterface => {
  const from = before ?? after
  return {
    name,
    bytes_recv: after.bytesRecv,
    bytes_sent: after.bytesSent,
    packets_recv: after.packetsRecv,
    packets_sent: after.packetsSent,
    err_in: after.errIn,
    err_out: after.errOut,
    drop_in: after.dropIn,
    drop_out: after.dropOut,
    recv_rate_bytes_per_sec: wholeUp(perSecond(from.bytesRecv, after.bytesRecv, seconds)),
    sent_rate_bytes_per_sec: wholeUp(perSecond(from.bytesSent, after.bytesSent, seconds)),
    recv_rate_packets_per_sec: wholeUp(perSecond(from.packetsRecv, after.packetsRecv, seconds)),
    sent_rate_packets_per_sec: wholeUp(perSecond(from.packetsSent, after.packetsSent, seconds))
  }
}
