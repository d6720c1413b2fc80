// Queries that come at their moments, as those of open pages do, whatever the answers take.
import { askedRanges, Asker, pageQueries } from "./Asker.ts"

/** A service under full load answers slower than it is asked; beyond this the next ones are left out and counted. */
export const waitingMax = 40
/** Each range until its code is compiled, as in a service that has run for a while. */
const warmupAsks = 100

/** Signed in, at a service that is warm. Fails on an answer that has less than this share of its points. */
export const warmAsker = async (
  port: number,
  series: ReadonlyArray<string>,
  connections: number,
  shareMin = 0
): Promise<Asker> => {
  const asker = new Asker(port, series, connections)
  await asker.signIn()
  for (let i = 0; i < warmupAsks; i++) for (const range of askedRanges) await asker.ask(range, shareMin)
  return asker
}

/** Asks at its moments until it is stopped, whatever the answers do. */
export const asking = (asker: Asker, queriesPerSec: number) => {
  const figures = { asked: 0, left: 0, waiting: 0 }
  const taken: Array<number> = []
  let failure: unknown
  let n = 0
  const timer = setInterval(() => {
    const range = askedRanges[Math.floor(n++ / pageQueries) % askedRanges.length] as (typeof askedRanges)[number]
    if (figures.waiting >= waitingMax) return void figures.left++
    figures.asked++
    figures.waiting++
    asker
      .page(range)
      .then(
        (ms) => void taken.push(ms),
        (cause: unknown) => (failure ??= cause)
      )
      .finally(() => figures.waiting--)
  }, 1000 / queriesPerSec)
  return {
    figures,
    taken,
    stop: () => {
      clearInterval(timer)
      if (failure !== undefined) throw failure
    }
  }
}
