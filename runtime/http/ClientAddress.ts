// Who is really calling: the client's address and scheme behind trusted proxies, from the socket and the headers.
import ipaddr from "ipaddr.js"

/** Header names in lower case; repeated headers joined by commas, as node does, or as a list. */
export type HeaderMap = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

export interface Client {
  /** Canonical text of the address, without zone; IPv4 in its own notation even when mapped into IPv6. */
  readonly address: string
  /** True when the client's own connection is encrypted. */
  readonly secure: boolean
  /** The authority that the client asked for, or undefined when it named none. */
  readonly host: string | undefined
}

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Range = readonly [Address, number]

/** Proxies whose forwarding headers are believed; made once from the setting. */
export type Trust = ReadonlyArray<Range>

/** More hops than any real chain; what lies further left is not looked at. */
const hopsMax = 32

const parseAddress = (text: string): Address | undefined => {
  const bare = text.replace(/%.*$/, "")
  // Only the usual notations: the parser would also take "0x7f.1", which no proxy writes.
  const usual = ipaddr.IPv4.isValidFourPartDecimal(bare) || (bare.includes(":") && ipaddr.IPv6.isValid(bare))
  return usual ? ipaddr.process(bare) : undefined
}

const toRange = (text: string): Range => {
  const [address, bits] = text.includes("/") ? ipaddr.parseCIDR(text) : toHostRange(ipaddr.parse(text))
  // ::ffff:10.0.0.0/104 means 10.0.0.0/8.
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96) {
    return [address.toIPv4Address(), bits - 96]
  }
  return [address, bits]
}

const toHostRange = (address: Address): [Address, number] => [address, address.kind() === "ipv4" ? 32 : 128]

/** Addresses and CIDR ranges as the setting holds them (checked there); throws on anything else. */
export const trust = (proxies: ReadonlyArray<string>): Trust => proxies.map(toRange)

const isTrusted = (ranges: Trust, address: Address): boolean =>
  ranges.some(([range, bits]) => range.kind() === address.kind() && address.match([range, bits]))

const valueOf = (headers: HeaderMap, name: string): string => {
  const value = headers[name]
  return typeof value === "string" ? value : (value ?? []).join(",")
}

const listOf = (headers: HeaderMap, name: string): ReadonlyArray<string> => {
  const text = valueOf(headers, name)
  return text.trim() === "" ? [] : text.split(",").map((part) => part.trim())
}

/** "192.0.2.1", "192.0.2.1:80", "2001:db8::1" or "[2001:db8::1]:80". */
const parseHop = (text: string): Address | undefined => {
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)
  if (bracketed !== null) return parseAddress(bracketed[1] ?? "")
  return parseAddress(/^[^:]*:\d{1,5}$/.test(text) ? text.slice(0, text.indexOf(":")) : text)
}

interface Hop {
  readonly address: Address
  /** How many entries of the list, counted from the right, were used up to and including this one. */
  readonly used: number
}

/** From the right to the first untrusted hop; an unreadable entry ends the walk at the hop that vouched for it. */
const walk = (ranges: Trust, peer: Address, entries: ReadonlyArray<string>): Hop => {
  let hop: Hop = { address: peer, used: 0 }
  const last = Math.max(0, entries.length - hopsMax)
  for (let i = entries.length - 1; i >= last; i--) {
    const address = parseHop(entries[i] ?? "")
    if (address === undefined) return hop
    hop = { address, used: entries.length - i }
    if (!isTrusted(ranges, address)) return hop
  }
  return hop
}

/** What the hop next to the client wrote into a parallel list; a single entry speaks for the whole chain. */
const besideHop = (entries: ReadonlyArray<string>, used: number): string | undefined =>
  entries[Math.max(0, entries.length - Math.max(1, used))]

/**
 * Elements of RFC 7239, order kept. Commas and semicolons split even inside quotes: no address, scheme or authority
 * holds one, and a quote left open by the client must not swallow what the proxy appended.
 */
const parseForwarded = (text: string): ReadonlyArray<Readonly<Record<string, string>>> =>
  (text.trim() === "" ? [] : text.split(",")).map((element) =>
    Object.fromEntries(
      element.split(";").map((pair) => {
        const [name = "", ...value] = pair.split("=")
        return [
          name.trim().toLowerCase(),
          value
            .join("=")
            .trim()
            .replace(/^"(.*)"$/, "$1")
        ]
      })
    )
  )

interface Claim {
  readonly address: Address
  readonly proto: string | undefined
  readonly host: string | undefined
}

const claimOf = (ranges: Trust, peer: Address, headers: HeaderMap): Claim => {
  const hops = listOf(headers, "x-forwarded-for")
  const protos = listOf(headers, "x-forwarded-proto")
  const hosts = listOf(headers, "x-forwarded-host")
  const elements = parseForwarded(valueOf(headers, "forwarded"))
  if (hops.length > 0 || elements.length === 0) {
    const realIp = hops.length > 0 ? undefined : parseHop(valueOf(headers, "x-real-ip").trim())
    const hop = walk(ranges, peer, hops)
    return {
      address: realIp ?? hop.address,
      proto: besideHop(protos, hop.used),
      host: besideHop(hosts, hop.used)
    }
  }
  const hop = walk(
    ranges,
    peer,
    elements.map((element) => element["for"] ?? "")
  )
  const element = elements[Math.max(0, elements.length - Math.max(1, hop.used))]
  return {
    address: hop.address,
    proto: element?.["proto"] ?? besideHop(protos, hop.used),
    host: element?.["host"] ?? besideHop(hosts, hop.used)
  }
}

/**
 * The client of one request. `peer` is the socket's address (undefined once it is closed), `encrypted` says whether
 * the socket itself is TLS. Forwarding headers count only when the peer is trusted: X-Forwarded-For from the right
 * to the first untrusted hop, else Forwarded, else X-Real-IP.
 */
export const clientOf = (ranges: Trust, peer: string | undefined, encrypted: boolean, headers: HeaderMap): Client => {
  const socket = peer === undefined ? undefined : parseAddress(peer)
  const host = valueOf(headers, "host") || undefined
  if (socket === undefined) return { address: peer ?? "unknown", secure: encrypted, host }
  if (!isTrusted(ranges, socket)) return { address: socket.toString(), secure: encrypted, host }
  const claim = claimOf(ranges, socket, headers)
  return {
    address: claim.address.toString(),
    secure: encrypted || claim.proto?.toLowerCase() === "https",
    host: claim.host ?? host
  }
}
