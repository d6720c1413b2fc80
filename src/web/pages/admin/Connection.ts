// What the pages without live figures ask now and then, so that the bar tells the truth about the connection.
import { link } from "../../state/Link.svelte.ts"
import { session } from "../../state/Session.svelte.ts"

const pollMs = 10_000

export const followConnection = async (signal: AbortSignal): Promise<number> => {
  link.syncHeader((await session.client.call("GET", "/api/front/brand", { signal })).headers)
  return pollMs
}
