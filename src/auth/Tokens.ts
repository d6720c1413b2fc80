// Refresh tokens: how they are made, which family they name, and how a family judges one that is shown.
import type { Context } from "effect"
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { SessionId } from "../../schema/Ids.ts"
import type { Vault } from "./Vault.ts"

export const accessLifetimeMs = 15 * 60_000
/** Slides: every refresh grants it anew. */
export const refreshLifetimeMs = 14 * 86_400_000
/** How long the immediate parent still gets its successor: a lost answer, or two tabs at once. */
export const graceMs = 10_000

const familyBytes = 16
const randomPart = 32
const markBytes = 16
const tokenBytes = familyBytes + randomPart + markBytes

/** SHA-256, base64url: the only form in which a token is kept. Enough for 256 random bits. */
export const digest = (token: string): string => createHash("sha256").update(token).digest("base64url")

/** 256 random bits, base64url. */
export const opaque = (): string => randomBytes(32).toString("base64url")

type VaultService = Context.Tag.Service<typeof Vault>

const mark = (vault: VaultService, body: Uint8Array): Buffer =>
  Buffer.from(vault.digest(`refresh/${Buffer.from(body).toString("base64url")}`), "base64url").subarray(0, markBytes)

/**
 * A new refresh token of a family (whose id is a UUID): family, 256 random bits, and a mark under this
 * installation's key. Thanks to the mark a consumed token of any age is recognised without being stored,
 * and nobody who merely knows a session id can make the family look stolen.
 */
export const makeRefresh = (vault: VaultService, family: SessionId): string => {
  const body = Buffer.concat([Buffer.from(family.replaceAll("-", ""), "hex"), randomBytes(randomPart)])
  return Buffer.concat([body, mark(vault, body)]).toString("base64url")
}

/** The family that a token names, or undefined when this installation never made it. */
export const familyOf = (vault: VaultService, token: string): SessionId | undefined => {
  if (token.length !== Math.ceil((tokenBytes * 4) / 3)) return undefined
  const bytes = Buffer.from(token, "base64url")
  // Re-encoding refuses a second spelling of the same bytes, which would have another digest.
  if (bytes.length !== tokenBytes || bytes.toString("base64url") !== token) return undefined
  const body = bytes.subarray(0, familyBytes + randomPart)
  if (!timingSafeEqual(mark(vault, body), bytes.subarray(familyBytes + randomPart))) return undefined
  const hex = body.toString("hex")
  return SessionId.make(
    [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join("-")
  )
}

/** What a family remembers of its tokens; times in milliseconds since 1970. */
export interface Family {
  readonly tokenDigest: string
  readonly parentDigest: string | null
  readonly rotatedAt: number | null
  readonly expiresAt: number
  readonly revokedAt: number | null
}

/** `lost`: the parent within its grace; `reused`: consumed before that; `gone`: the family itself is over. */
export type Standing = "current" | "lost" | "reused" | "gone"

/** Judges a token that carries the family's mark, by its digest (decision 36). */
export const standing = (family: Family | undefined, tokenDigest: string, nowMs: number): Standing => {
  if (family === undefined || family.revokedAt !== null || family.expiresAt <= nowMs) return "gone"
  if (family.tokenDigest === tokenDigest) return "current"
  const isParent = family.parentDigest === tokenDigest
  return isParent && family.rotatedAt !== null && nowMs - family.rotatedAt <= graceMs ? "lost" : "reused"
}
