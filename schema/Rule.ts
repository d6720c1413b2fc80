// Named refinements that both the Schema interpreter and the compiled validator run: one predicate, two executors.
import { Option, Schema, SchemaAST } from "effect"

/** Which answer a broken rule gets: `type` is a body that cannot be decoded (400), `meaning` a body that says nonsense (422). */
export type Breach = "type" | "meaning"

export interface Rule {
  readonly holds: (value: never) => boolean
  readonly breach: Breach
  readonly message: string
}

const RuleId: unique symbol = Symbol.for("watchpost/Rule")
const LenientId: unique symbol = Symbol.for("watchpost/Lenient")

/** Adds a predicate with its breach and its message ("must be ..."). */
export const rule =
  <A>(holds: (value: A) => boolean, breach: Breach, message: string) =>
  <I>(self: Schema.Schema<A, I>): Schema.Schema<A, I> =>
    self.pipe(
      Schema.filter((value) => holds(value) || message, { [RuleId]: { holds, breach, message } satisfies Rule })
    )

/**
 * Marks a piece of a report that is dropped and counted when it is malformed, instead of refusing the report:
 * on an array each bad element goes alone, on an object the whole piece goes.
 */
export const lenient = <A, I>(self: Schema.Schema<A, I>): Schema.Schema<A, I> => self.annotations({ [LenientId]: true })

const read = <T>(ast: SchemaAST.Annotated, id: symbol): T | undefined =>
  Option.getOrUndefined(SchemaAST.getAnnotation<T>(id)(ast))

export const ruleOf = (ast: SchemaAST.Annotated): Rule | undefined => read<Rule>(ast, RuleId)
export const isLenient = (ast: SchemaAST.Annotated): boolean => read<boolean>(ast, LenientId) === true
