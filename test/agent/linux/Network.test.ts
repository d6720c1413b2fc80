import { describe, expect, it } from "vitest"
import {
  interfaceReport,
  type InterfaceTraits,
  parseNetDev,
  selectInterfaces
} from "../../../src/agent/linux/Network.ts"
import { netLine } from "../support/Machine.ts"

const virtual: InterfaceTraits = { isUp: true, isLoopback: false, isBacked: false, isBond: false, isBridge: false }
const traits: Record<string, InterfaceTraits> = {
  lo: { ...virtual, isLoopback: true },
  eth0: { ...virtual, isBacked: true },
  eth1: { ...virtual, isBacked: true },
  eth2: { ...virtual, isBacked: true, isUp: false },
  bond0: { ...virtual, isBond: true },
  br0: { ...virtual, isBridge: true },
  veth1: virtual,
  tun0: virtual
}
const traitsOf = (name: string): InterfaceTraits => traits[name] ?? virtual
const select = (names: ReadonlyArray<string>, named: ReadonlyArray<string> | null, addressed: ReadonlyArray<string>) =>
  selectInterfaces(names, named, traitsOf, (name) => addressed.includes(name))

describe("parseNetDev", () => {
  it("leaves out the two head lines and short lines", () => {
    expect(parseNetDev("Inter-|   Receive\n face |bytes packets\n eth9: 1 2 3\n").size).toBe(0)
  })

  it("reads a line whose bytes touch the colon, and counters past 2^53", () => {
    const counters = parseNetDev(`  eth0:18014398509481984 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n`).get("eth0")
    expect(counters).toEqual({
      bytesRecv: 18014398509481984,
      packetsRecv: 2,
      errIn: 3,
      dropIn: 4,
      bytesSent: 5,
      packetsSent: 6,
      errOut: 7,
      dropOut: 8
    })
  })
})

describe("selectInterfaces", () => {
  it("takes exactly the named ones that exist", () => {
    expect(select(["lo", "eth0", "tun0"], ["tun0", "lo", "gone"], [])).toEqual(["lo", "tun0"])
    expect(select(["eth0"], ["gone"], [])).toEqual([])
  })

  it("takes up ones with a device, and bonds with their members, sorted", () => {
    const all = ["tun0", "lo", "eth2", "eth1", "eth0", "bond0", "br0", "veth1"]
    expect(select(all, null, all)).toEqual(["bond0", "eth0", "eth1"])
  })

  it("takes what has an address where no interface is real, as in a container", () => {
    expect(select(["lo", "veth1", "tun0"], null, ["lo", "tun0"])).toEqual(["tun0"])
  })

  it("takes all where none of that helps", () => {
    expect(select(["lo", "veth1"], null, [])).toEqual(["lo", "veth1"])
  })

  it("takes no more than a report may carry", () => {
    const many = Array.from({ length: 400 }, (_, n) => `veth${n}`)
    expect(select(many, null, many)).toHaveLength(256)
  })
})

describe("interfaceReport", () => {
  const counters = (received: number, sent: number) => {
    const found = parseNetDev(netLine("eth0", received, sent)).get("eth0")
    if (found === undefined) throw new Error("not parsed")
    return found
  }

  it("has rate 0 for a counter that went backwards and keeps the others", () => {
    expect(interfaceReport("eth0", counters(1000, 1000), counters(10, 2000), 3)).toMatchObject({
      bytes_recv: 10,
      bytes_sent: 2000,
      recv_rate_bytes_per_sec: 0,
      sent_rate_bytes_per_sec: 334
    })
  })

  it("has no rates at first sight", () => {
    expect(interfaceReport("eth0", undefined, counters(7, 8), 3)).toEqual({
      name: "eth0",
      bytes_recv: 7,
      bytes_sent: 8,
      packets_recv: 10,
      packets_sent: 20,
      err_in: 1,
      err_out: 3,
      drop_in: 2,
      drop_out: 4,
      recv_rate_bytes_per_sec: 0,
      sent_rate_bytes_per_sec: 0,
      recv_rate_packets_per_sec: 0,
      sent_rate_packets_per_sec: 0
    })
  })
})
