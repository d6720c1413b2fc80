// The size of the reader's type.

/** Px of one rem: rows of a windowed list grow with the type size the reader chose. */
export const remPx = (): number => parseFloat(getComputedStyle(document.documentElement).fontSize) || 16
