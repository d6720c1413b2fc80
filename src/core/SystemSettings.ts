// Checks the write form of the system settings: the mode of guests' history, and the brand member by member.
import { Either } from "effect"
import { InvalidFields, NoFields } from "../../schema/Errors.ts"
import {
  type Brand,
  HistoryAccess,
  logoBytesMax,
  pageTitleMax,
  type SystemSettingsWrite,
  topbarTextMax
} from "../../schema/System.ts"
import { lineOf } from "./Line.ts"

/** Absent members stay as they are; an empty text of the brand stands for its default. */
export interface SettingsChanges {
  readonly historyAccess?: HistoryAccess
  readonly brand: Partial<Brand>
}

/** What a PUT sets: the mode is required, the brand is not (contract, system settings). */
export const settingsReplacement = (write: SystemSettingsWrite): Either.Either<SettingsChanges, InvalidFields> =>
  Either.flatMap(judged(write), (changes) =>
    changes.historyAccess === undefined
      ? Either.left(new InvalidFields({ message: "history_guest_access_mode is required" }))
      : Either.right(changes)
  )

/** What a PATCH changes: any of the four, at least one. */
export const settingsChanges = (write: SystemSettingsWrite): Either.Either<SettingsChanges, InvalidFields | NoFields> =>
  Either.flatMap(judged(write), (changes) =>
    changes.historyAccess === undefined && Object.keys(changes.brand).length === 0
      ? Either.left(new NoFields({ message: "the body holds no system setting" }))
      : Either.right(changes)
  )

/** The address of a picture, trimmed, or what is wrong with it. What counts is how it begins; nothing is fetched. */
export const logoOf = (text: string): Either.Either<string, string> => {
  const logo = text.trim()
  if (isLargerThan(logo, logoBytesMax)) return Either.left(`must be at most ${logoBytesMax} bytes`)
  if (!pictures.some((form) => form.test(logo))) {
    return Either.left("must be a path of this site, an http or https address, or a data:image/...;base64, picture")
  }
  if (/^http/i.test(logo) && !URL.canParse(logo)) return Either.left("is not an address: check its host and port")
  return lineOf(logo, logoBytesMax)
}

const pictures: ReadonlyArray<RegExp> = [
  // Browsers read a backslash as a slash, and two of either begin the name of another host.
  /^\/(?![/\\])/,
  /^https?:\/\/./i,
  /^data:image\/[^,]+;base64,./i
]

/** In bytes of UTF-8, of which a unit of text takes three at most. */
const isLargerThan = (text: string, bytes: number): boolean =>
  text.length * 3 > bytes && new TextEncoder().encode(text).length > bytes

const accessOf = (text: string): Either.Either<HistoryAccess, string> =>
  Either.fromNullable(
    HistoryAccess.literals.find((one) => one === text),
    () => `must be one of ${HistoryAccess.literals.join(", ")}`
  )

const brandChecks: { readonly [K in keyof Brand]: (text: string) => Either.Either<string, string> } = {
  logo_url: logoOf,
  page_title: (text) => lineOf(text, pageTitleMax),
  topbar_text: (text) => lineOf(text, topbarTextMax)
}

/** Null means "not given", as everywhere. */
const judged = (write: SystemSettingsWrite): Either.Either<SettingsChanges, InvalidFields> =>
  Either.gen(function* () {
    const refuse = (member: string) => (why: string) => new InvalidFields({ message: `${member} ${why}` })
    const mode = write.history_guest_access_mode ?? undefined
    const access =
      mode === undefined
        ? {}
        : { historyAccess: yield* Either.mapLeft(accessOf(mode), refuse("history_guest_access_mode")) }
    const brand: { -readonly [K in keyof Brand]?: string } = {}
    for (const member of ["logo_url", "page_title", "topbar_text"] as const) {
      const text = write[member] ?? undefined
      if (text === undefined) continue
      const isReset = text.trim() === ""
      brand[member] = isReset ? "" : yield* Either.mapLeft(brandChecks[member](text), refuse(member))
    }
    return { ...access, brand }
  })
