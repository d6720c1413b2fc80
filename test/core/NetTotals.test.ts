// Which interfaces add up to a node's network total.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { counted } from "../../src/core/NetTotals.ts"
import { names } from "../support/ArbitraryReports.ts"

const countedNames = (...all: ReadonlyArray<string>): ReadonlyArray<string> => {
  const flags = counted(all)
  return all.filter((_, i) => flags[i])
}

describe("the network total", () => {
  it.each([
    ["a bond to its members", ["bond0", "eth0", "eth1"], ["eth0", "eth1"]],
    ["a bond with a dash to its members", ["bond-lan", "eth0"], ["eth0"]],
    ["a team to its members", ["eno1", "eno2", "team0"], ["eno1", "eno2"]],
    ["a bridge to its port", ["br0", "eth0"], ["eth0"]],
    ["a bridge of Proxmox to its port", ["eno1", "vmbr0", "vmbr1"], ["eno1"]],
    ["bridges of containers to the uplink", ["br-3f2a9c01d2e4", "docker0", "eth0", "virbr0"], ["eth0"]],
    ["a bridge over a bond to the members", ["bond0", "br0", "enp1s0", "enp2s0"], ["enp1s0", "enp2s0"]],
    ["a VLAN to its parent", ["eth0", "eth0.100", "eth0.200"], ["eth0"]],
    ["a VLAN on a bond to the members", ["bond0", "bond0.100", "eth0", "eth1"], ["eth0", "eth1"]],
    ["a VLAN in a VLAN to both parents", ["eth0", "eth0.1", "eth0.1.2"], ["eth0"]],
    ["a VLAN to its bond, even when the members are unknown", ["bond0", "bond0.100"], ["bond0"]]
  ])("does not add %s", (_, all, expected) => {
    expect(countedNames(...all)).toEqual(expected)
  })

  it.each([
    ["plain interfaces", ["eth0", "eth1", "wlan0", "wg0"]],
    ["a bond that stands alone", ["bond0"]],
    ["bonds and bridges without a plain interface", ["bond0", "br0"]],
    ["a VLAN whose parent is not reported", ["eth0.100", "eth1"]],
    ["names that only begin like a bridge", ["bridge to nowhere", "broad.band", "eth0"]],
    ["nothing", []]
  ])("is the plain sum over %s", (_, all) => {
    expect(countedNames(...all)).toEqual(all)
  })

  it("always counts something of a node that has interfaces, and answers for each in order", () => {
    fc.assert(
      fc.property(fc.uniqueArray(names, { minLength: 1, maxLength: 6 }), (all) => {
        const flags = counted(all)

        expect(flags).toHaveLength(all.length)
        expect(flags).toContain(true)
      })
    )
  })
})
