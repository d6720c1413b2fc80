// Why a notification failed, in the reader's language where the reason is one of the closed set.
import { failureOf } from "../../api/Failure.ts"
import { errorText } from "../../text/ErrorTexts.ts"
import type { AlertsCatalogue } from "./AlertsEnglish.ts"

type Reasons = AlertsCatalogue["reasons"]

/** Undefined for a reason that this page does not know. */
export const reasonText = (reasons: Reasons, reason: string): string | undefined => {
  const all: Readonly<Record<string, string>> = reasons
  return Object.hasOwn(all, reason) ? all[reason] : undefined
}

/** What a test or a login ended in: the message of a `notify_error` begins with its reason. */
export const notifyText = (reasons: Reasons, thrown: unknown): string => {
  const failure = failureOf(thrown)
  if (failure.code !== "notify_error" && failure.code !== "rate_limited") return errorText(failure)
  const [, word, rest] = /^([a-z_]+)(?::\s*([\s\S]+))?$/.exec(failure.message) ?? []
  const known = word === undefined ? undefined : reasonText(reasons, word)
  if (known === undefined)
    return failure.code === "rate_limited" ? errorText(failure) : `${errorText(failure)} (${failure.message})`
  return rest === undefined ? known : `${known} (${rest})`
}
