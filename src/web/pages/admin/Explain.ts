// What went wrong with a change, in the reader's language, and at which field.
import { failureOf } from "../../api/Failure.ts"
import { notice } from "../../state/Notice.svelte.ts"
import { errorText } from "../../text/ErrorTexts.ts"

const fieldOf: Readonly<Record<string, string>> = {
  invalid_name: "name",
  invalid_tags: "tags",
  invalid_group_ids: "groups",
  invalid_secret: "secret",
  duplicate_secret: "secret",
  // Of a group: its name is the only field that can be wrong.
  invalid_fields: "name"
}

export interface Explained {
  /** Name of the field, or empty for the form as a whole. */
  readonly field: string
  readonly text: string
}

export const explain = (thrown: unknown): Explained => {
  const failure = failureOf(thrown)
  return { field: fieldOf[failure.code] ?? "", text: errorText(failure) }
}

/** For changes without a form: says it at the foot of the page. */
export const report = (thrown: unknown): void => notice.show(explain(thrown).text, "bad")
