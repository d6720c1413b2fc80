// The text of an error code in the language of the page; loaded with the pages that change something.
import { locale, type LocaleName } from "../state/Locale.svelte.ts"
import type { Failure } from "../api/Failure.ts"
import { chineseErrors } from "./ChineseErrors.ts"
import { englishErrors } from "./EnglishErrors.ts"

const texts: Record<LocaleName, Readonly<Record<string, string>>> = { en: englishErrors, zh: chineseErrors }

/** What the code means to the reader, else what the service said. */
export const errorText = (failure: Failure): string => texts[locale.name][failure.code] ?? failure.message
