// Refresh tokens and how a family judges one; access tokens and their bounds.
import { describe, expect, it } from "@effect/vitest"
import fc from "fast-check"
import { randomBytes, randomUUID } from "node:crypto"
import { SessionId } from "../../schema/Ids.ts"
import * as AccessTokens from "../../src/auth/AccessTokens.ts"
import * as Tokens from "../../src/auth/Tokens.ts"
import * as Vault from "../../src/auth/Vault.ts"

const vault = Vault.make(randomBytes(32))
const uuid = fc.uuid({ version: 4 }).map((id) => SessionId.make(id))
const nowMs = 1_900_000_000_000

describe("refresh tokens", () => {
  it("are refused when a single character differs, is missing, or stands for the same bytes in another way", () => {
    const token = Tokens.makeRefresh(vault, SessionId.make(randomUUID()))
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

    for (let i = 0; i < token.length; i++) {
      for (const letter of letters) {
        if (letter === token[i]) continue
        expect(Tokens.familyOf(vault, token.slice(0, i) + letter + token.slice(i + 1))).toBeUndefined()
      }
    }
    for (const other of ["", token.slice(1), `${token}A`, `${token}=`, ` ${token}`]) {
      expect(Tokens.familyOf(vault, other)).toBeUndefined()
    }
  })

  it("mean nothing under another key", () => {
    const token = Tokens.makeRefresh(vault, SessionId.make(randomUUID()))

    expect(Tokens.familyOf(Vault.make(randomBytes(32)), token)).toBeUndefined()
  })

  it("name their family and are never alike", () => {
    fc.assert(
      fc.property(uuid, (id) => {
        const token = Tokens.makeRefresh(vault, id)

        expect(Tokens.familyOf(vault, token)).toBe(id)
        expect(Tokens.makeRefresh(vault, id)).not.toBe(token)
        expect(token).toMatch(/^[A-Za-z0-9_-]{86}$/)
      })
    )
  })

  it.each([
    ["the live token", "t2", 60_000, "current"],
    ["the parent at once", "t1", 0, "lost"],
    ["the parent at the end of its grace", "t1", 10_000, "lost"],
    ["the parent after its grace", "t1", 10_001, "reused"],
    ["the grandparent within the grace", "t0", 0, "reused"],
    ["the live token when the family expires", "t2", Tokens.refreshLifetimeMs, "gone"]
  ])("%s is judged as it should", (_name, shown, afterMs, expected) => {
    const family: Tokens.Family = {
      tokenDigest: "t2",
      parentDigest: "t1",
      rotatedAt: nowMs,
      expiresAt: nowMs + Tokens.refreshLifetimeMs,
      revokedAt: null
    }

    expect(Tokens.standing(family, shown, nowMs + afterMs)).toBe(expected)
    expect(Tokens.standing({ ...family, revokedAt: nowMs }, shown, nowMs + afterMs)).toBe("gone")
    expect(Tokens.standing(undefined, shown, nowMs + afterMs)).toBe("gone")
  })
})

describe("access tokens", () => {
  const session = () => SessionId.make(randomUUID())

  it("end with their quarter of an hour, not before", () => {
    const access = AccessTokens.make()
    const id = session()
    const { token, expiresAt } = access.issue(id, nowMs)

    expect(expiresAt).toBe(nowMs + 900_000)
    expect(access.sessionOf(token, expiresAt - 1)).toBe(id)
    expect(access.sessionOf(token, expiresAt)).toBeUndefined()
  })

  it("end with their session and leave the others alone", () => {
    const access = AccessTokens.make()
    const [mine, other] = [session(), session()]
    const tokens = [access.issue(mine, nowMs), access.issue(mine, nowMs)]
    const foreign = access.issue(other, nowMs)

    access.revoke(mine)

    for (const { token } of tokens) expect(access.sessionOf(token, nowMs)).toBeUndefined()
    expect(access.sessionOf(foreign.token, nowMs)).toBe(other)
    access.revokeAll()
    expect(access.sessionOf(foreign.token, nowMs)).toBeUndefined()
    expect(access.stats().live).toBe(0)
  })

  it("of one session push out that session's oldest only", () => {
    const access = AccessTokens.make()
    const [busy, calm] = [session(), session()]
    const kept = access.issue(calm, nowMs)
    const issued = Array.from({ length: 130 }, () => access.issue(busy, nowMs))

    expect(access.stats()).toEqual({ live: 129, evicted: 2 })
    expect(issued.map(({ token }) => access.sessionOf(token, nowMs) === busy).indexOf(true)).toBe(2)
    expect(access.sessionOf(kept.token, nowMs)).toBe(calm)
  })

  it("stay within their bound, oldest first, and expired ones make room without being counted", () => {
    const access = AccessTokens.make()
    const first = access.issue(session(), nowMs)
    for (let i = 1; i < 20_050; i++) access.issue(session(), nowMs)

    expect(access.stats()).toEqual({ live: 20_000, evicted: 50 })
    expect(access.sessionOf(first.token, nowMs)).toBeUndefined()
    access.issue(session(), nowMs + 900_000)
    expect(access.stats()).toEqual({ live: 1, evicted: 50 })
  })

  it("answer nothing to what is no token", () => {
    const access = AccessTokens.make()
    const { token } = access.issue(session(), nowMs)

    for (const text of ["", "x", token.slice(1), `${token}x`, "a".repeat(43), "a".repeat(100_000)]) {
      expect(access.sessionOf(text, nowMs)).toBeUndefined()
    }
  })
})
