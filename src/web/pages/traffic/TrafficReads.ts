// The reads of the traffic pages: a bad token gets the guest's refusal, so that one is worth a second try.
import { failureOf } from "../../api/Failure.ts"
import { link } from "../../state/Link.svelte.ts"
import { session } from "../../state/Session.svelte.ts"

export type Params = Readonly<Record<string, string>>

export const addressOf = (kind: string, params: Params): string =>
  `/api/statistics/traffic/${kind}?${new URLSearchParams(params).toString()}`

/** Rejects with a Failure. The caller names the type that the contract gives to the read. */
export const readTraffic = async <A>(kind: string, params: Params, signal: AbortSignal): Promise<A> => {
  const ask = async (): Promise<A> => {
    const answer = await session.client.call("GET", addressOf(kind, params), { signal })
    link.syncHeader(answer.headers)
    return answer.body as A
  }
  const { token } = session
  try {
    return await ask()
  } catch (thrown) {
    if (failureOf(thrown).status === 403 && session.isAdmin && (await session.recover(token))) return ask()
    throw thrown
  }
}
