// How serious a health word of a disk or an array is.

const good = new Set(["passed", "ok", "healthy", "good", "clean", "active", "optimal"])
const bad = new Set(["failed", "failing", "critical", "broken", "inactive"])

/** The class of the badge; words nobody knows are no reason for alarm but for a look. */
export const toneOfHealth = (word: string): "ok" | "warn" | "bad" => {
  const plain = word.trim().toLowerCase()
  return good.has(plain) ? "ok" : bad.has(plain) ? "bad" : "warn"
}
