// Says in our own words why a connection failed; what the other side or a library wrote is never passed on.
import { SinkError, type SinkReason } from "./Sink.ts"

/** A target whose address is not one this service may connect to. */
export class RefusedAddress extends Error {
  readonly code = "REFUSED_ADDRESS"
  constructor() {
    super("the address is refused")
  }
}

const told: Partial<Record<SinkReason, string>> = {
  refused_address: "the target's address is not public, and private targets are not allowed",
  dns: "the name of the target could not be resolved",
  connect: "no connection to the target could be made, or it was cut off",
  tls: "no trusted TLS connection to the target could be made",
  timeout: "the target did not answer in time",
  server_error: "the target's answer could not be understood"
}

const forms: ReadonlyArray<readonly [RegExp, SinkReason]> = [
  [/^REFUSED_ADDRESS$/, "refused_address"],
  [/^(ENOTFOUND|ENODATA|EDNS|EAI_\w+)$/, "dns"],
  [/^(ETIMEDOUT|UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT)$/, "timeout"],
  [/^(CERT_\w+|UNABLE_TO_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|HOSTNAME_MISMATCH|ERR_(TLS|SSL)_\w+|EPROTO|ETLS)$/, "tls"],
  [/^(HPE_\w+|HTTPParserError|UND_ERR_HEADERS_OVERFLOW|EPROTOCOL)$/, "server_error"],
  [/^(ECONN\w*|EPIPE|EHOST\w+|ENET\w+|EADDR\w+|EACCES|ESOCKET|UND_ERR_SOCKET)$/, "connect"]
]

/** The reason that the codes of an error and of its causes give; undefined when none of them is known. */
export const reasonOf = (cause: unknown, depth = 0): SinkReason | undefined => {
  if (typeof cause !== "object" || cause === null || depth > 4) return undefined
  const nested = [
    ...("cause" in cause ? [cause.cause] : []),
    ...("errors" in cause && Array.isArray(cause.errors) ? cause.errors : [])
  ]
  for (const one of nested) {
    const reason = reasonOf(one, depth + 1)
    if (reason !== undefined) return reason
  }
  // The mail library keeps the system's code beside its own; the parser of HTTP has at times nothing but its name.
  for (const member of ["originalCode", "code", "name"]) {
    const word = member in cause ? String(Reflect.get(cause, member)) : ""
    const found = forms.find(([form]) => form.test(word))
    if (found !== undefined) return found[1]
  }
  return undefined
}

/** A failed connection as a delivery that failed: another attempt can help unless the address is refused. */
export const networkError = (cause: unknown): SinkError => {
  const reason = reasonOf(cause) ?? "unknown"
  const kind = reason === "refused_address" ? "permanent" : "transient"
  return new SinkError({ kind, reason, message: told[reason] ?? "the delivery failed for an unknown reason" })
}
