// The bounds of a node's tags (schema/Node.ts) and how a new one is taken in.

export const tagsMax = 32
export const tagLengthMax = 64

/** The tags with what `text` holds: trimmed, split at commas, without blanks and repetitions, within the bounds. */
export const withTag = (tags: ReadonlyArray<string>, text: string): ReadonlyArray<string> => {
  const fresh = text
    .split(",")
    .map((one) => one.trim().slice(0, tagLengthMax))
    .filter((one) => one !== "")
  return [...new Set([...tags, ...fresh])].slice(0, tagsMax)
}
