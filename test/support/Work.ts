// Computing that takes as long as it is told, for tests of who gives way to whom.

/** Keeps the thread busy for so many milliseconds. */
export const work = (ms: number): void => {
  const until = performance.now() + ms
  while (performance.now() < until);
}
