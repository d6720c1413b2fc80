// When an HTTPS target may be spoken to over plain HTTP: three narrow cases, as the contract allows them.
import { X509Certificate } from "node:crypto"
import { connect as connectPlain, isIP } from "node:net"
import { connect as connectTls, type DetailedPeerCertificate, rootCertificates } from "node:tls"

/** Codes of a certificate that could not be verified, as the TLS library names them. */
const verificationCodes = new Set(
  (
    "UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_ISSUER_CERT_LOCALLY UNABLE_TO_VERIFY_LEAF_SIGNATURE CERT_SIGNATURE_FAILURE " +
    "CERT_NOT_YET_VALID CERT_HAS_EXPIRED ERROR_IN_CERT_NOT_BEFORE_FIELD ERROR_IN_CERT_NOT_AFTER_FIELD " +
    "DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN CERT_CHAIN_TOO_LONG CERT_REVOKED INVALID_CA " +
    "PATH_LENGTH_EXCEEDED INVALID_PURPOSE CERT_UNTRUSTED CERT_REJECTED HOSTNAME_MISMATCH " +
    "ERR_TLS_CERT_ALTNAME_INVALID UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY UNABLE_TO_DECRYPT_CERT_SIGNATURE"
  ).split(" ")
)

export const isVerificationFailure = (code: string): boolean => verificationCodes.has(code)

/** Codes of a peer whose first bytes were no TLS. */
const isProtocolFailure = (code: string): boolean => code === "EPROTO" || code.startsWith("ERR_SSL_")

/** Both probes run inside a failed exchange, so they must end soon. */
const probeLimitMs = 3000
const depthMax = 10
const serverAuthUsage = "1.3.6.1.5.5.7.3.1"

/**
 * The head of a TLS record whose content is line ends: a TLS peer answers it with an alert, a plain HTTP peer with a
 * status line. It carries no secret.
 */
const probeBytes = Buffer.from([0x16, 0x03, 0x01, 0x00, 0x05, 0x0d, 0x0a, 0x0d, 0x0a, 0x0a])

const portOf = (url: URL): number => Number(url.port === "" ? 443 : url.port)
const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "")

/** True when the port answers a broken TLS record with an HTTP status line. Never rejects. */
export const answersPlainHttp = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connectPlain({ host, port })
    let seen = ""
    const end = (isHttp: boolean): void => {
      socket.destroy()
      resolve(isHttp)
    }
    socket.setTimeout(probeLimitMs, () => end(false))
    socket.on("connect", () => socket.write(probeBytes))
    socket.on("data", (bytes) => {
      seen += bytes.toString("latin1")
      if (seen.length >= 5) end(seen.startsWith("HTTP/"))
    })
    socket.on("error", () => end(false))
    socket.on("close", () => end(false))
  })

const chainOf = (leaf: DetailedPeerCertificate): ReadonlyArray<X509Certificate> => {
  const chain: Array<X509Certificate> = []
  let next: DetailedPeerCertificate | undefined = leaf
  while (next?.raw !== undefined && chain.length < depthMax) {
    chain.push(new X509Certificate(next.raw))
    next = next.issuerCertificate === next ? undefined : next.issuerCertificate
  }
  return chain
}

const isValidAt = (certificate: X509Certificate, atMs: number): boolean =>
  Date.parse(certificate.validFrom) <= atMs && atMs <= Date.parse(certificate.validTo)

const isIssuedBy = (certificate: X509Certificate, issuer: X509Certificate, atMs: number): boolean =>
  issuer.ca && isValidAt(issuer, atMs) && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)

/** True when the chain leads from its first certificate to one of the roots, all of them valid at that time. */
export const verifiesAt = (
  chain: ReadonlyArray<X509Certificate>,
  roots: ReadonlyArray<X509Certificate>,
  atMs: number
): boolean => {
  let current = chain[0]
  for (let depth = 0; current !== undefined && depth < depthMax; depth++) {
    const certificate: X509Certificate = current
    if (!isValidAt(certificate, atMs)) return false
    if (roots.some((root) => isIssuedBy(certificate, root, atMs))) return true
    current = chain.slice(1).find((issuer) => issuer !== certificate && isIssuedBy(certificate, issuer, atMs))
  }
  return false
}

/** True when the leaf names the host, serves TLS, has expired, and its chain verified one second before that. */
export const wasValidUntilExpiry = (
  chain: ReadonlyArray<X509Certificate>,
  roots: ReadonlyArray<X509Certificate>,
  host: string,
  nowMs: number
): boolean => {
  const leaf = chain[0]
  if (leaf === undefined || leaf.checkHost(host) === undefined) return false
  const usages: ReadonlyArray<string> | undefined = leaf.keyUsage
  if (usages !== undefined && !usages.includes(serverAuthUsage)) return false
  const expiryMs = Date.parse(leaf.validTo)
  return expiryMs < nowMs && verifiesAt(chain, roots, expiryMs - 1000)
}

/** Fetches the chain a peer presents, without sending anything to it; empty when it cannot be had. Never rejects. */
const presentedChain = (host: string, port: number): Promise<ReadonlyArray<X509Certificate>> =>
  new Promise((resolve) => {
    const socket = connectTls({ host, port, servername: host, rejectUnauthorized: false })
    const end = (chain: ReadonlyArray<X509Certificate>): void => {
      socket.destroy()
      resolve(chain)
    }
    socket.setTimeout(probeLimitMs, () => end([]))
    socket.on("secureConnect", () => end(chainOf(socket.getPeerCertificate(true))))
    socket.on("error", () => end([]))
    socket.on("close", () => end([]))
  })

/**
 * The reason an HTTPS target that failed with `code` may be spoken to over HTTP, or null when it may not: the peer
 * speaks plain HTTP; the host is an address and its certificate cannot be verified; the host is a name and its
 * certificate did nothing worse than expire. `ca` replaces the built-in roots. Never rejects.
 */
export const downgradeReason = async (
  code: string,
  url: URL,
  ca: ReadonlyArray<string> | null
): Promise<string | null> => {
  const host = hostOf(url)
  if (isProtocolFailure(code) && (await answersPlainHttp(host, portOf(url)))) return "the peer answers plain HTTP"
  if (isIP(host) !== 0) return isVerificationFailure(code) ? `the certificate of an address failed (${code})` : null
  if (code !== "CERT_HAS_EXPIRED") return null
  const chain = await presentedChain(host, portOf(url))
  const roots = (ca ?? rootCertificates).map((pem) => new X509Certificate(pem))
  return wasValidUntilExpiry(chain, roots, host, Date.now()) ? "the certificate has expired" : null
}
