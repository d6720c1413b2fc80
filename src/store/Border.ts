// The border of the stores: whatever SQL refuses, or a stored row says wrong, is one failure that callers know.
import { SqlError } from "@effect/sql"
import { Effect, ParseResult } from "effect"
import { StorageUnavailable } from "../../schema/Errors.ts"

/** What can go wrong inside a store without being anybody's mistake. */
export type StorageFault = SqlError.SqlError | ParseResult.ParseError

/** Names the cause in the log; callers, and through them clients, learn only that the database failed. */
export const atBorder =
  (what: string) =>
  <A, E, R>(
    self: Effect.Effect<A, E, R>
  ): Effect.Effect<A, Exclude<E, Extract<E, StorageFault>> | StorageUnavailable, R> =>
    Effect.catchIf(self, isFault<E>, (fault) =>
      Effect.zipRight(
        Effect.logError("the database failed", { what, cause: causeOf(fault) }),
        Effect.fail(new StorageUnavailable({ message: `the database failed: ${what}` }))
      )
    )

const isFault = <E>(error: E): error is Extract<E, StorageFault> =>
  error instanceof SqlError.SqlError || ParseResult.isParseError(error)

/** A row's content may be a secret in some form, so a parse error is told by its place alone. */
const causeOf = (error: StorageFault): string =>
  ParseResult.isParseError(error)
    ? ParseResult.ArrayFormatter.formatErrorSync(error)
        .map(({ path }) => `unreadable at ${path.map(String).join(".")}`)
        .join(", ")
    : String(error.cause)
