// Owns the proof that no way to write an address leads into the service's own network unasked.
import { describe, expect, it } from "vitest"
import { isAllowedTarget, judgeAddress, literalOf } from "../../../src/core/alert/Address.ts"

const denied = {
  "the metadata of a cloud": ["169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192"],
  "the metadata of a cloud on IPv6": ["fd00:ec2::254", "fd20:ce::254"],
  "metadata inside IPv6": ["::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "::ffff:a9fe:a9fe"],
  "link-local addresses": ["169.254.1.1", "fe80::1", "fe80::1%eth0", "febf::1"],
  "no address in particular": ["0.0.0.0", "::", "0.1.2.3"],
  "many at once": ["224.0.0.1", "255.255.255.255", "ff02::1"],
  "reserved and documentation ranges": [
    "240.0.0.1",
    "192.0.2.1",
    "198.51.100.1",
    "203.0.113.9",
    "198.18.0.1",
    "2001:db8::1"
  ],
  "old ways to write IPv4 in IPv6": ["::127.0.0.1", "::ffff:0:7f00:1", "64:ff9b:1::7f00:1", "2001:0:1::1"],
  "IPv6 that nobody has": ["fec0::1", "100::1", "4000::1", "5f00::1"],
  "what is no address": ["", "localhost", "1.2.3", "1.2.3.4.5", "[::1]", "0x7f000001x"]
}

const inside = [
  "127.0.0.1",
  "127.255.255.254",
  "10.0.0.1",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "100.64.0.1",
  "::1",
  "fc00::1",
  "fdff::1",
  "::ffff:127.0.0.1",
  "::ffff:10.0.0.1",
  "64:ff9b::7f00:1",
  "64:ff9b::10.0.0.1",
  "2002:7f00:1::",
  "2002:c0a8:101::1"
]

describe("an address as a target", () => {
  for (const [what, addresses] of Object.entries(denied)) {
    it(`is denied, private targets allowed or not, when it is ${what}`, () => {
      expect(addresses.filter((one) => judgeAddress(one) !== "denied")).toEqual([])
      expect(addresses.filter((one) => isAllowedTarget(one, true))).toEqual([])
    })
  }

  it("is inside the own network in every form that leads there, and allowed only by the setting", () => {
    expect(inside.filter((one) => judgeAddress(one) !== "private")).toEqual([])
    expect(inside.filter((one) => isAllowedTarget(one, false))).toEqual([])
    expect(inside.filter((one) => !isAllowedTarget(one, true))).toEqual([])
  })

  it("is allowed when it is public, also written inside IPv6", () => {
    const addresses = ["1.1.1.1", "8.8.8.8", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]

    expect(addresses.filter((one) => !isAllowedTarget(one, false))).toEqual([])
  })
})

describe("a host", () => {
  it("is a literal only in the plain forms", () => {
    expect(["127.0.0.1", "[::1]", "::1"].map(literalOf)).toEqual(["127.0.0.1", "::1", "::1"])
    expect(["example.com", "0x7f.1", "2130706433", "127.1", ""].map(literalOf)).toEqual(Array(5).fill(undefined))
  })

  it("is written in the plain forms by every URL, whatever was typed", () => {
    const typed = ["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "１２７.0.0.1", "127.0.0.1.", "[::ffff:127.0.0.1]"]
    const judged = typed.map((host) => judgeAddress(literalOf(new URL(`http://${host}/`).hostname) ?? "none"))

    expect(judged).toEqual(typed.map(() => "private"))
  })
})
