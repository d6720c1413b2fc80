// One target as a place to post to: its three URLs, its kept-alive connections, and its fall from HTTPS to HTTP.
import * as http from "node:http"
import * as https from "node:https"
import type { Log } from "../Log.ts"
import { downgradeReason } from "./Downgrade.ts"
import { ExchangeFailed, post, type Reply } from "./Exchange.ts"

export type Destination = "metrics" | "static" | "identity"

export interface EndpointOptions {
  /** Ends with /metrics. */
  readonly url: string
  readonly secret: string
  /** Forbids the fall to HTTP. */
  readonly requireHttps: boolean
  /** Certificates that replace the built-in roots; null uses those. */
  readonly ca: ReadonlyArray<string> | null
  readonly signal: AbortSignal
}

export interface Endpoint {
  /** Host and port, for messages. */
  readonly label: string
  /** Posts to one of the three URLs; rejects with ExchangeFailed. */
  readonly post: (destination: Destination, body: Buffer, timeoutMs: number) => Promise<Reply>
  readonly close: () => void
}

/** A report and a static description may be under way at once; more connections would serve nothing. */
const socketsMax = 2

/** Why a target URL cannot be used, or null. With `requireHttps` plain HTTP is refused too. */
export const urlFault = (text: string, requireHttps: boolean): string | null => {
  if (!URL.canParse(text)) return "is not a URL"
  const url = new URL(text)
  if (url.protocol !== "http:" && url.protocol !== "https:") return "must start with http:// or https://"
  if (url.username !== "" || url.password !== "") return "must not contain a user name or password"
  if (url.search !== "" || url.hash !== "" || !text.endsWith("/metrics")) return "must end with /metrics"
  return requireHttps && url.protocol !== "https:" ? "must start with https:// because of --require-https" : null
}

/** Replaces the trailing /metrics of the path. */
export const destinationUrl = (metricsUrl: URL, destination: Destination): URL => {
  const url = new URL(metricsUrl)
  url.pathname = url.pathname.replace(/\/metrics$/, `/${destination}`)
  return url
}

/** The same host and port over HTTP; the default port of HTTPS becomes explicit. */
export const plainUrl = (url: URL): URL => {
  const plain = new URL(url)
  plain.protocol = "http:"
  plain.port = url.port === "" ? "443" : url.port
  return plain
}

export const makeEndpoint = (options: EndpointOptions, log: Log): Endpoint => {
  let base = new URL(options.url)
  const label = base.host
  const limits = { keepAlive: true, maxSockets: socketsMax, maxFreeSockets: socketsMax }
  const plainAgent = new http.Agent(limits)
  const tlsAgent = new https.Agent(options.ca === null ? limits : { ...limits, ca: [...options.ca] })

  const send = (destination: Destination, body: Buffer, timeoutMs: number): Promise<Reply> =>
    post({
      url: destinationUrl(base, destination),
      secret: options.secret,
      body,
      agent: base.protocol === "https:" ? tlsAgent : plainAgent,
      timeoutMs,
      signal: options.signal
    })

  /** Switches for good (until the next start) when one of the three cases holds. */
  const fallsToPlain = async (code: string, failed: URL): Promise<boolean> => {
    if (options.requireHttps || failed.protocol !== "https:" || code === "stopped") return false
    const reason = await downgradeReason(code, failed, options.ca)
    if (reason === null || options.signal.aborted) return false
    if (base.protocol === "https:") {
      log.warn(`WARNING: ${label}: ${reason}; reports and the node secret now go over unencrypted HTTP`)
      base = plainUrl(base)
      tlsAgent.destroy()
    }
    return true
  }

  const postTo = async (destination: Destination, body: Buffer, timeoutMs: number): Promise<Reply> => {
    const used = base
    try {
      return await send(destination, body, timeoutMs)
    } catch (error) {
      const code = error instanceof ExchangeFailed ? error.code : "unknown"
      // A report is not repeated: the next round carries a newer one.
      if (!(await fallsToPlain(code, used)) || destination === "metrics") throw error
      return await send(destination, body, timeoutMs)
    }
  }
  const close = (): void => {
    plainAgent.destroy()
    tlsAgent.destroy()
  }
  return { label, post: postTo, close }
}
