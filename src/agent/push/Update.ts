// The update manifest in a metrics reply: reading it, checking it, and agreeing on it across targets.

export interface UpdateManifest {
  readonly id: string
  readonly version: string
  readonly url: string
  readonly sha256: string
  /** Bytes. */
  readonly size: number
}

export type Agreement =
  | { readonly kind: "none" }
  | { readonly kind: "disagreed" }
  | { readonly kind: "invalid"; readonly reason: string }
  | { readonly kind: "agreed"; readonly manifest: UpdateManifest }

/** The manifest when all five members have their type; further members are ignored. */
export const readManifest = (value: unknown): UpdateManifest | null => {
  if (typeof value !== "object" || value === null) return null
  const { id, sha256, size, url, version } = value as Record<keyof UpdateManifest, unknown>
  if (typeof id !== "string" || typeof version !== "string" || typeof url !== "string") return null
  if (typeof sha256 !== "string" || typeof size !== "number") return null
  return { id, version, url, sha256, size }
}

/** Why a manifest must not be acted on, or null. The version becomes a folder name, hence its rules. */
export const manifestFault = ({ sha256, size, url, version }: UpdateManifest): string | null => {
  if (version.trim() === "" || version === "." || version === ".." || /[\\/]/.test(version)) return "version"
  if (!/^[0-9a-fA-F]{64}$/.test(sha256)) return "sha256"
  if (!Number.isSafeInteger(size) || size <= 0) return "size"
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url) || new URL(url).hostname === "") return "url"
  return null
}

const isSame = (a: UpdateManifest, b: UpdateManifest): boolean =>
  a.id === b.id && a.version === b.version && a.url === b.url && a.sha256 === b.sha256 && a.size === b.size

/**
 * What the replies of one round ask for. Manifests of the running version are dropped first; all others must be equal
 * in every member, and the one they agree on must be valid.
 */
export const agreeOnUpdate = (responses: ReadonlyArray<UpdateManifest | null>, currentVersion: string): Agreement => {
  const asked = responses.filter((manifest) => manifest !== null && manifest.version !== currentVersion)
  const first = asked[0]
  if (first === undefined || first === null) return { kind: "none" }
  if (!asked.every((manifest) => manifest !== null && isSame(first, manifest))) return { kind: "disagreed" }
  const fault = manifestFault(first)
  return fault === null ? { kind: "agreed", manifest: first } : { kind: "invalid", reason: fault }
}
