// Single-key shortcuts: never inside a field, and the reader can turn them off.

const storageKey = "shortcuts"

class Shortcuts {
  isOn = $state(localStorage.getItem(storageKey) !== "off")

  set(isOn: boolean): void {
    this.isOn = isOn
    localStorage.setItem(storageKey, isOn ? "on" : "off")
  }

  /** The key to act on, or null: no modifier, not while typing, not behind a dialog. */
  keyOf(event: KeyboardEvent): string | null {
    if (!this.isOn || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing)
      return null
    const target = event.target
    if (target instanceof HTMLElement && target.closest("input, select, textarea, dialog, [contenteditable]") !== null)
      return null
    return document.querySelector("dialog[open]") === null ? event.key : null
  }
}

export const shortcuts = new Shortcuts()
