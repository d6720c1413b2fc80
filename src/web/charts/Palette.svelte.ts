// The colours and the type of the charts as the theme gives them; read again when the theme changes.
import { createSubscriber } from "svelte/reactivity"
import { remPx } from "../parts/Rem.ts"

export interface Colours {
  /** One per series; the dash tells them apart as well. */
  readonly lines: ReadonlyArray<string>
  readonly text: string
  readonly grid: string
  readonly surface: string
  readonly font: string
}

/** Px of the canvas; a series without a dash is drawn through. */
export const dashes: ReadonlyArray<ReadonlyArray<number>> = [[], [6, 3], [1.5, 3]]

const textRem = 0.6875

class Palette {
  readonly #subscribe = createSubscriber((update) => {
    const observer = new MutationObserver(update)
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] })
    return () => observer.disconnect()
  })

  get colours(): Colours {
    this.#subscribe()
    const style = getComputedStyle(document.documentElement)
    const token = (name: string): string => style.getPropertyValue(`--mon-${name}`).trim()
    return {
      lines: [token("chart-1"), token("chart-2"), token("text-2")],
      text: token("text-2"),
      grid: token("chart-grid"),
      surface: token("surface"),
      font: `${textRem * remPx()}px ${style.fontFamily}`
    }
  }
}

export const palette = new Palette()
