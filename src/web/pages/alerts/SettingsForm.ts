// The alert settings as a form: numbers as typed, what is wrong with them, and what is sent.
import type { AlertSettings, AlertSettingsWrite } from "../../../../schema/Alerts.ts"

export const settingsNumbers = ["group_offline_over", "group_offline_window_sec", "offline_after_sec"] as const
export type SettingsNumber = (typeof settingsNumbers)[number]

export type SettingsForm = Pick<
  AlertSettings,
  "enabled" | "channel_ids" | "group_offline" | "allow_private_targets"
> & {
  readonly [K in SettingsNumber]: string
}

/** What the service takes. */
const bounds: Readonly<Record<SettingsNumber, readonly [number, number]>> = {
  group_offline_over: [0, 10_000],
  group_offline_window_sec: [5, 300],
  offline_after_sec: [3, 3600]
}

export const formOfSettings = (settings: AlertSettings): SettingsForm => ({
  enabled: settings.enabled,
  channel_ids: settings.channel_ids,
  group_offline: settings.group_offline,
  allow_private_targets: settings.allow_private_targets,
  group_offline_over: String(settings.group_offline_over),
  group_offline_window_sec: String(settings.group_offline_window_sec),
  offline_after_sec: String(settings.offline_after_sec)
})

export const wrongSettings = (form: SettingsForm): ReadonlyArray<SettingsNumber> =>
  settingsNumbers.filter((name) => {
    const [least, most] = bounds[name]
    const text = form[name].trim()
    return !/^\d{1,5}$/.test(text) || Number(text) < least || Number(text) > most
  })

/** What is required, and what differs. */
export const settingsWrite = (stored: AlertSettings, form: SettingsForm): AlertSettingsWrite => ({
  enabled: form.enabled,
  channel_ids: form.channel_ids,
  ...(form.group_offline === stored.group_offline ? {} : { group_offline: form.group_offline }),
  ...(form.allow_private_targets === stored.allow_private_targets
    ? {}
    : { allow_private_targets: form.allow_private_targets }),
  ...Object.fromEntries(
    settingsNumbers
      .filter((name) => form[name].trim() !== String(stored[name]))
      .map((name) => [name, Number(form[name])])
  )
})

export const isSettingsChanged = (stored: AlertSettings, form: SettingsForm): boolean => {
  const { channel_ids, enabled, ...rest } = settingsWrite(stored, form)
  return enabled !== stored.enabled || channel_ids?.join() !== stored.channel_ids.join() || Object.keys(rest).length > 0
}

/** The same list with one of them elsewhere. */
export const movedTo = (ids: ReadonlyArray<number>, from: number, to: number): ReadonlyArray<number> => {
  const rest = ids.filter((_, index) => index !== from)
  const id = ids[from]
  return id === undefined ? ids : [...rest.slice(0, to), id, ...rest.slice(to)]
}
