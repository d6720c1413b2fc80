// Owns doing many independent things two at a time: as many as the smallest machine of this project has cores.

/** Does the work for every item, begun in their order, two at a time; the first failure ends it and is the outcome. */
export const twoAtOnce = async <A>(
  items: Iterable<A>,
  work: (item: A, index: number) => Promise<unknown>
): Promise<void> => {
  const waiting = [...items].entries()
  let hasFailed = false
  const lane = async () => {
    for (const [index, item] of waiting) {
      if (hasFailed) return
      await work(item, index).catch((error: unknown) => {
        hasFailed = true
        throw error
      })
    }
  }
  await Promise.all([lane(), lane()])
}
