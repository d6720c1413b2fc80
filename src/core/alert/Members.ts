// How the members of a channel's write form are read: each as a checked value or as the failure that names it.
import { Either } from "effect"
import { InvalidFields } from "../../../schema/Errors.ts"
import { lineOf } from "../Line.ts"

export type Checked<A> = Either.Either<A, InvalidFields>
export type Members = Readonly<Record<string, unknown>>

export const refuse = (member: string, why: string): Either.Either<never, InvalidFields> =>
  Either.left(new InvalidFields({ message: `${member} ${why}` }))

export const isMember = <A extends string>(all: ReadonlyArray<A>, value: unknown): value is A =>
  all.some((one) => one === value)

/** The members of a JSON object. */
export const membersOf = (name: string, value: unknown): Checked<Members> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Either.right(Object.fromEntries(Object.entries(value)))
    : refuse(name, "must be an object")

/** A required line of text, trimmed, of 1 to `max` characters. */
export const line = (members: Members, name: string, max: number): Checked<string> => {
  const value = members[name]
  return typeof value === "string" ? checkedLine(name, value, max) : refuse(`config.${name}`, "must be a text")
}

/** A line of text that must be there and may be blank. */
export const lineOrBlank = (members: Members, name: string, max: number): Checked<string> => {
  const value = members[name]
  if (typeof value !== "string") return refuse(`config.${name}`, "must be a text")
  return value.trim() === "" ? Either.right("") : checkedLine(name, value, max)
}

/** A secret: where it is missing or blank the one before stays, and without one before it is required. */
export const kept = (members: Members, name: string, max: number, before: string | undefined): Checked<string> => {
  const value = members[name] ?? ""
  if (typeof value !== "string") return refuse(`config.${name}`, "must be a text")
  return value.trim() === "" && before !== undefined ? Either.right(before) : checkedLine(name, value, max)
}

const checkedLine = (name: string, value: string, max: number): Checked<string> =>
  Either.mapLeft(lineOf(value, max), (why) => new InvalidFields({ message: `config.${name} ${why}` }))
