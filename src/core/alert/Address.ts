// Which addresses this service may be made to connect to by a setting, so that it is no way into the network around it.
import ipaddr from "ipaddr.js"

/** private: reachable only from inside, for operators that allow it; denied: never a target. */
export type AddressVerdict = "public" | "private" | "denied"

// Where clouds hand out the credentials of a machine. Most of them are link-local and denied as such already.
const metadata = new Set(["100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"])

const inside = new Set(["private", "loopback", "uniqueLocal", "carrierGradeNat"])

/**
 * What an IP address is as a target. An IPv4 address inside an IPv6 one (mapped, 64:ff9b::/96, 6to4) counts as the
 * IPv4 address, since that is where the packets arrive. Everything that is not plainly unicast is denied.
 */
export const judgeAddress = (text: string): AddressVerdict => {
  const literal = literalOf(text)
  // A zone names an interface; only link-local addresses have one. The parser takes ::1.2.3.4 for ::ffff:1.2.3.4.
  if (literal === undefined || literal !== text || /%|^::[0-9]+\./.test(text)) return "denied"
  const address = unwrapped(ipaddr.parse(literal))
  if (metadata.has(address.toString())) return "denied"
  const range = address.range()
  if (inside.has(range)) return "private"
  return range === "unicast" && isAllocated(address) ? "public" : "denied"
}

/** Whether a connection to this address may be made; `allowPrivate` is the operator's setting. */
export const isAllowedTarget = (text: string, allowPrivate: boolean): boolean => {
  const verdict = judgeAddress(text)
  return verdict === "public" || (allowPrivate && verdict === "private")
}

type Ip = ReturnType<typeof ipaddr.parse>

const unwrapped = (address: Ip): Ip => {
  if (!(address instanceof ipaddr.IPv6)) return address
  const bytes = address.toByteArray()
  const range = address.range()
  if (range === "ipv4Mapped") return ipaddr.fromByteArray(bytes.slice(12))
  if (range === "6to4") return ipaddr.fromByteArray(bytes.slice(2, 6))
  // The local-use prefix 64:ff9b:1::/48 leaves open where the address stands and stays wrapped, so denied.
  if (range === "rfc6052" && bytes.slice(4, 12).every((byte) => byte === 0)) {
    return ipaddr.fromByteArray(bytes.slice(12))
  }
  return address
}

/** Of IPv6 only 2000::/3 is handed out for global unicast (RFC 4291); the rest holds old ways to write IPv4. */
const isAllocated = (address: Ip): boolean =>
  !(address instanceof ipaddr.IPv6) || (address.parts[0] !== undefined && address.parts[0] >> 13 === 1)

/** The text of an IP literal as a URL or a setting writes it, without the brackets; undefined for names. */
export const literalOf = (host: string): string | undefined => {
  const bare = host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host
  // The loose forms of IPv4 (0x7f.1, 2130706433) are names to this function: a URL is normalised before, and any
  // other host is resolved and judged by what it resolves to.
  return ipaddr.IPv4.isValidFourPartDecimal(bare) || ipaddr.IPv6.isValid(bare) ? bare : undefined
}
