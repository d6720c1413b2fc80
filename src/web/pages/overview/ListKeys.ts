// What the keys of the list do.

/** Rows that Page Up and Page Down move by. */
const pageRows = 10

/**
 * The row that `key` leads to, -1 for the search field above the list, null when the key means nothing here.
 * Letters work from anywhere; keys that scroll a page work only inside the list.
 */
export const moveIn = (
  key: string,
  current: number,
  count: number,
  isFocused: boolean,
  isInside: boolean
): number | null => {
  const last = count - 1
  // The first press from outside lands on the current row instead of beside it.
  const step = isFocused ? 1 : 0
  if (key === "j" || (isInside && key === "ArrowDown")) return Math.min(last, current + step)
  if (key === "k" || (isInside && key === "ArrowUp"))
    return current === 0 && isFocused ? -1 : Math.max(0, current - step)
  if (!isInside) return null
  if (key === "Home") return 0
  if (key === "End") return last
  if (key === "PageDown") return Math.min(last, current + pageRows)
  if (key === "PageUp") return Math.max(0, current - pageRows)
  return null
}
