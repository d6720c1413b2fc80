// Which rows of a long list stand in the document: fixed row height, a margin above and below.

export interface RowWindow {
  readonly first: number
  /** One past the last row. */
  readonly end: number
}

/** Rows drawn beyond each edge, so that a short scroll shows no gap. */
const overscan = 6

/**
 * `top` is how far the start of the list lies above the top of the viewport (negative when below), in px;
 * `height` is the viewport's.
 */
export const windowOf = (top: number, height: number, rowHeight: number, count: number): RowWindow => {
  const first = Math.max(0, Math.min(Math.floor(top / rowHeight) - overscan, count - 1))
  const end = Math.min(count, Math.max(0, Math.ceil((top + height) / rowHeight) + overscan))
  return first >= end ? { first: 0, end: 0 } : { first, end }
}

/** How far to scroll, in px, so that row `index` is wholly visible between `inset` and the lower edge. */
export const scrollDelta = (top: number, height: number, rowHeight: number, index: number, inset: number): number => {
  const start = index * rowHeight - top
  if (start < inset) return start - inset
  const end = start + rowHeight
  return end > height ? end - height : 0
}
