// The spoof matrix: which of socket and forwarding headers decides who the client is.
import { describe, expect, it } from "@effect/vitest"
import fc from "fast-check"
import { clientOf, type HeaderMap, trust } from "../../runtime/http/ClientAddress.ts"

const proxies = trust(["10.0.0.0/8", "fd00::/8", "192.0.2.10", "::1"])
const stranger = "203.0.113.5"
const forged: HeaderMap = {
  host: "own.example",
  "x-forwarded-for": "6.6.6.6",
  forwarded: "for=6.6.6.6;proto=https;host=evil.example",
  "x-real-ip": "6.6.6.6",
  "x-forwarded-proto": "https",
  "x-forwarded-host": "evil.example"
}
const addressOf = (peer: string | undefined, headers: HeaderMap) => clientOf(proxies, peer, false, headers).address

describe("ClientAddress", () => {
  it.each([stranger, `::ffff:${stranger}`, "::ffff:cb00:7105"])(
    "believes no header of the untrusted peer %s",
    (peer) => {
      expect(clientOf(proxies, peer, false, forged)).toEqual({ address: stranger, secure: false, host: "own.example" })
      expect(clientOf([], "10.0.0.1", true, forged)).toEqual({ address: "10.0.0.1", secure: true, host: "own.example" })
    }
  )

  it.each<[string, string, HeaderMap, string]>([
    ["takes the only hop", "10.0.0.1", { "x-forwarded-for": "198.51.100.1" }, "198.51.100.1"],
    [
      "ignores what the client wrote itself",
      "10.0.0.1",
      { "x-forwarded-for": "6.6.6.6, 198.51.100.1" },
      "198.51.100.1"
    ],
    ["goes through trusted hops", "10.0.0.1", { "x-forwarded-for": "6.6.6.6, 198.51.100.1, 10.9.9.9" }, "198.51.100.1"],
    ["stops at a forged trusted address", "10.0.0.1", { "x-forwarded-for": "10.1.1.1, 198.51.100.1" }, "198.51.100.1"],
    ["takes the leftmost when all are trusted", "10.0.0.1", { "x-forwarded-for": "10.0.0.3, 10.0.0.2" }, "10.0.0.3"],
    ["stops at an unreadable hop", "10.0.0.1", { "x-forwarded-for": "6.6.6.6, unknown, 10.0.0.2" }, "10.0.0.2"],
    ["keeps the peer when nothing is readable", "10.0.0.1", { "x-forwarded-for": "unknown" }, "10.0.0.1"],
    [
      "does not turn to other headers after an unreadable one",
      "10.0.0.1",
      { ...forged, "x-forwarded-for": "_x" },
      "10.0.0.1"
    ],
    ["reads ports", "10.0.0.1", { "x-forwarded-for": "198.51.100.1:4711" }, "198.51.100.1"],
    ["reads bracketed IPv6 with port", "10.0.0.1", { "x-forwarded-for": "[2001:db8::1]:4711" }, "2001:db8::1"],
    ["unmaps IPv4 in IPv6", "::ffff:10.0.0.1", { "x-forwarded-for": "::ffff:198.51.100.1" }, "198.51.100.1"],
    ["reads repeated headers", "10.0.0.1", { "x-forwarded-for": ["6.6.6.6", "198.51.100.1"] }, "198.51.100.1"],
    ["refuses unusual spellings", "10.0.0.1", { "x-forwarded-for": "0x06.6" }, "10.0.0.1"],
    ["knows an IPv6 proxy", "fd12::1", { "x-forwarded-for": "2001:db8::2" }, "2001:db8::2"],
    ["knows a single IPv6 address", "::1", { "x-forwarded-for": "2001:db8::3" }, "2001:db8::3"],
    ["drops the zone", "fd12::1%eth0", {}, "fd12::1"],
    ["prefers X-Forwarded-For", "10.0.0.1", { ...forged, "x-forwarded-for": "198.51.100.1" }, "198.51.100.1"],
    [
      "then reads Forwarded",
      "10.0.0.1",
      { ...forged, "x-forwarded-for": "", forwarded: "for=198.51.100.2" },
      "198.51.100.2"
    ],
    ["reads quoted Forwarded", "10.0.0.1", { forwarded: 'For="[2001:db8::9]:80";proto=http' }, "2001:db8::9"],
    [
      "walks Forwarded from the right",
      "10.0.0.1",
      { forwarded: "for=6.6.6.6, for=198.51.100.1, for=10.0.0.2" },
      "198.51.100.1"
    ],
    ["survives an open quote", "10.0.0.1", { forwarded: 'for=6.6.6.6;x=", for="[2001:db8::9]:80"' }, "2001:db8::9"],
    ["stops at an obfuscated Forwarded", "10.0.0.1", { forwarded: "for=6.6.6.6, for=_gateway" }, "10.0.0.1"],
    ["reads X-Real-IP last", "10.0.0.1", { "x-real-ip": "198.51.100.3" }, "198.51.100.3"],
    ["reads no list in X-Real-IP", "10.0.0.1", { "x-real-ip": "6.6.6.6, 198.51.100.3" }, "10.0.0.1"],
    ["knows a proxy named by address", "192.0.2.10", { "x-forwarded-for": "198.51.100.1" }, "198.51.100.1"],
    ["does not know its neighbour", "192.0.2.11", { "x-forwarded-for": "198.51.100.1" }, "192.0.2.11"]
  ])("%s", (_name, peer, headers, expected) => {
    expect(addressOf(peer, headers)).toBe(expected)
  })

  it("has a name for a peer that is gone", () => {
    expect(addressOf(undefined, forged)).toBe("unknown")
  })

  it("reads a range given in mapped IPv6 as the IPv4 range it means", () => {
    const mapped = trust(["::ffff:10.0.0.0/104"])

    expect(clientOf(mapped, "10.1.2.3", false, forged).address).toBe("6.6.6.6")
    expect(clientOf(mapped, "11.1.2.3", false, forged).address).toBe("11.1.2.3")
  })

  it.each<[string, HeaderMap, boolean]>([
    ["nothing said", {}, false],
    ["https", { "x-forwarded-proto": "https" }, true],
    ["upper case", { "x-forwarded-proto": "HTTPS" }, true],
    ["http", { "x-forwarded-proto": "http" }, false],
    [
      "written by the client, then by the proxy",
      { "x-forwarded-for": "1.2.3.4", "x-forwarded-proto": "https, http" },
      false
    ],
    [
      "https to the outer of two proxies",
      { "x-forwarded-for": "1.2.3.4, 10.0.0.2", "x-forwarded-proto": "https, http" },
      true
    ],
    ["Forwarded", { forwarded: "for=1.2.3.4;proto=https" }, true],
    ["Forwarded of another hop", { forwarded: "for=6.6.6.6;proto=https, for=1.2.3.4;proto=http" }, false],
    ["Forwarded without proto", { forwarded: "for=1.2.3.4", "x-forwarded-proto": "https" }, true]
  ])("secure: %s", (_name, headers, expected) => {
    expect(clientOf(proxies, "10.0.0.1", false, headers).secure).toBe(expected)
  })

  it("never answers with an address left of the first untrusted hop, whatever the client wrote before it", () => {
    const junk = fc.array(fc.oneof(fc.string(), fc.ipV4(), fc.ipV6(), fc.constant("10.0.0.9")), { maxLength: 40 })
    const honest = fc.ipV4().filter((ip) => !ip.startsWith("10.") && ip !== "192.0.2.10")
    fc.assert(
      fc.property(junk, honest, fc.constantFrom("x-forwarded-for", "forwarded"), (written, real, name) => {
        const appended = name === "forwarded" ? `for=${real}` : real
        const header = [...written, appended].join(", ")

        expect(addressOf("10.0.0.1", { [name]: header })).toBe(real)
      })
    )
  })
})
