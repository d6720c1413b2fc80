// The system settings as a form: what was changed, which field was refused, and a file as a logo.
import type { SystemSettings } from "../../../../schema/System.ts"
import type { Failure } from "../../api/Failure.ts"

export type SettingsField = keyof SystemSettings

/** What the service takes, in bytes. */
export const logoBytesMax = 786_432
/** Where every picture that is kept in the settings themselves begins. */
export const isKept = (logo: string): boolean => /^\s*data:/i.test(logo)

/** Only what differs, trimmed as the service does it: another administrator's other changes stay. */
export const changedSettings = (stored: SystemSettings, form: SystemSettings): Partial<SystemSettings> => {
  const names: ReadonlyArray<SettingsField> = ["history_guest_access_mode", "logo_url", "page_title", "topbar_text"]
  return Object.fromEntries(
    names.filter((name) => form[name].trim() !== stored[name]).map((name) => [name, form[name].trim()])
  )
}

/** The field that the service refused: its message begins with the name. Empty for the form as a whole. */
export const refusedField = (failure: Failure): "logo_url" | "page_title" | "topbar_text" | "" => {
  if (failure.code !== "invalid_fields") return ""
  const names = ["logo_url", "page_title", "topbar_text"] as const
  return names.find((name) => failure.message.startsWith(name)) ?? ""
}

/** Bytes of the picture in a data URL. */
export const keptBytes = (logo: string): number => {
  const body = logo.slice(logo.indexOf(",") + 1).replace(/=+$/, "")
  return Math.floor((body.length * 3) / 4)
}

/** A file as a data URL, or why it cannot be the logo. */
export const logoOfFile = async (file: Blob): Promise<{ readonly logo: string } | "tooLarge" | "notPicture"> => {
  if (!/^image\/[\w.+-]+$/.test(file.type)) return "notPicture"
  const head = `data:${file.type};base64,`
  if (head.length + 4 * Math.ceil(file.size / 3) > logoBytesMax) return "tooLarge"
  const bytes = new Uint8Array(await file.arrayBuffer())
  if (bytes.length === 0) return "notPicture"
  let text = ""
  for (const byte of bytes) text += String.fromCharCode(byte)
  return { logo: head + btoa(text) }
}
