// Copying text, also where the page is served over plain http and the clipboard interface is absent.

/** True when the text is on the clipboard. */
export const copyText = async (text: string): Promise<boolean> => {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copyBySelection(text)
  }
}

/** The field has to stand inside an open dialog, or the dialog keeps the selection away from it. */
const copyBySelection = (text: string): boolean => {
  const area = document.createElement("textarea")
  const focused = document.activeElement
  area.value = text
  area.className = "sr-only"
  const parent = document.querySelector("dialog[open]") ?? document.body
  parent.append(area)
  area.select()
  const isDone = document.execCommand("copy")
  area.remove()
  if (focused instanceof HTMLElement) focused.focus()
  return isDone
}
