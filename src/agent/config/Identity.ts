// Asking a target which service it is, when it is installed.
import type { Log } from "../Log.ts"
import { makeEndpoint } from "../push/Endpoint.ts"
import { ExchangeFailed } from "../push/Exchange.ts"
import { ConfigFault } from "./ReportConfig.ts"

export interface IdentityOptions {
  readonly url: string
  readonly secret: string
  readonly requireHttps: boolean
  readonly ca: ReadonlyArray<string> | null
  readonly signal: AbortSignal
}

const requestTimeoutMs = 15_000
const installIdLengthMax = 256

const installIdOf = (text: string | null): string | null => {
  try {
    const body: unknown = JSON.parse(text ?? "")
    const id = typeof body === "object" && body !== null && "install_id" in body ? body.install_id : null
    return typeof id === "string" && id.trim() !== "" && id.length <= installIdLengthMax ? id.trim() : null
  } catch {
    return null
  }
}

/** The install id of the service at the URL; throws ConfigFault when it does not answer 200 with one. */
export const fetchInstallId = async (options: IdentityOptions, log: Log): Promise<string> => {
  const endpoint = makeEndpoint(options, log)
  try {
    const reply = await endpoint.post("identity", Buffer.from("{}"), requestTimeoutMs)
    if (reply.status === 401) throw new ConfigFault(`${endpoint.label} does not know this secret (401)`)
    if (reply.status !== 200)
      throw new ConfigFault(`${endpoint.label} answered ${reply.status} to the identity request`)
    const installId = installIdOf(reply.text)
    if (installId === null) throw new ConfigFault(`${endpoint.label} gave no install id`)
    return installId
  } catch (error) {
    if (error instanceof ExchangeFailed) throw new ConfigFault(`${endpoint.label} cannot be reached (${error.code})`)
    throw error
  } finally {
    endpoint.close()
  }
}
