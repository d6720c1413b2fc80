// Text that people type: trimmed, bounded in characters, without control characters.
import { Either } from "effect"

// Line and paragraph separators break a line like CR and LF; a lone surrogate has no UTF-8 form and would be replaced.
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u
const unprintableInText = /(?![\t\n\r])[\p{Cc}\p{Cs}]/u

const isLongerThan = (text: string, max: number): boolean => {
  if (text.length <= max) return false
  // A character takes at most two units.
  return text.length > 2 * max || Array.from(text).length > max
}

const bounded = (text: string, max: number, refused: RegExp): Either.Either<string, string> => {
  if (isLongerThan(text, max)) return Either.left(`must be at most ${max} characters`)
  return refused.test(text) ? Either.left("must not hold control characters") : Either.right(text)
}

/** One trimmed line of 1 to `max` characters, or what is wrong with it ("must not be blank"). */
export const lineOf = (text: string, max: number): Either.Either<string, string> => {
  const trimmed = text.trim()
  return trimmed === "" ? Either.left("must not be blank") : bounded(trimmed, max, unprintable)
}

/** Trimmed free text of at most `max` characters, in which lines and tabs may stand. */
export const paragraphOf = (text: string, max: number): Either.Either<string, string> =>
  bounded(text.trim(), max, unprintableInText)

const everyUnprintable = new RegExp(unprintable, "gu")

/** A stranger's text as one line that `lineOf` would take: control characters left out, cut to `max` characters. */
export const labelOf = (text: string, max: number): string =>
  Array.from(text.replace(everyUnprintable, "").trim()).slice(0, max).join("").trim()
