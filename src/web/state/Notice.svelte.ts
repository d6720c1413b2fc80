// One short message at a time, shown at the foot of the page and read out.

const shownMs = 5000

class Notice {
  text = $state("")
  tone = $state<"ok" | "bad">("ok")
  #timer: ReturnType<typeof setTimeout> | undefined

  show(text: string, tone: "ok" | "bad" = "ok"): void {
    clearTimeout(this.#timer)
    this.text = text
    this.tone = tone
    this.#timer = setTimeout(() => (this.text = ""), shownMs)
  }
}

export const notice = new Notice()
