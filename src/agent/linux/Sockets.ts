// Open TCP and UDP sockets, from /proc/net/sockstat and sockstat6.

export interface SocketCounts {
  readonly tcp: number
  readonly udp: number
}

/** The value after `key` in the line of `protocol`; 0 when it is not there. */
const valueOf = (text: string, protocol: string, key: string): number => {
  const line = text.split("\n").find((candidate) => candidate.startsWith(`${protocol}: `))
  const words = line?.trim().split(/\s+/) ?? []
  const at = words.indexOf(key)
  const value = at < 0 ? 0 : Number(words[at + 1])
  return Number.isFinite(value) && value > 0 ? value : 0
}

/**
 * Counts sockets in every state of this network namespace. Sockets in TIME_WAIT are not in use any more but still
 * counted; `tw` of the first file covers both protocol versions. `v6` is empty where IPv6 is off.
 */
export const parseSockstat = (v4: string, v6: string): SocketCounts => ({
  tcp: valueOf(v4, "TCP", "inuse") + valueOf(v4, "TCP", "tw") + valueOf(v6, "TCP6", "inuse"),
  udp: valueOf(v4, "UDP", "inuse") + valueOf(v6, "UDP6", "inuse")
})
