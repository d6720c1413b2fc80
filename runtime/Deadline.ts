// A wait that has an end, for those who are called back.

/** Calls `late` after so many milliseconds, unless what it gives is called before. */
export const deadline = (ms: number, late: () => void): (() => void) => {
  const timer = setTimeout(late, ms)
  return () => clearTimeout(timer)
}
