// Whether the window is narrow, as a signal; one listener per question.

export class Narrow {
  current = $state(false)

  /** `width` in rem. */
  constructor(width: number) {
    const list = matchMedia(`(max-width: ${width}rem)`)
    this.current = list.matches
    list.addEventListener("change", () => (this.current = list.matches))
  }
}

/** The list of nodes shows cards. */
export const cardWidth = new Narrow(45)
/** The administrator's list shows cards: its rows need more room. */
export const bookWidth = new Narrow(56)
