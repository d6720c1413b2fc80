// The vault: what is sealed opens only with the same key, context and bytes, and the key file is kept private.
import { describe, expect, it } from "@effect/vitest"
import { Effect, Either } from "effect"
import fc from "fast-check"
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Vault from "../../src/auth/Vault.ts"

const vault = Vault.make(new Uint8Array(32).fill(1))
const other = Vault.make(new Uint8Array(32).fill(2))

const inFolder = <A, E>(body: (folder: string) => Effect.Effect<A, E>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "vault-"))),
    body,
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )
const digestWith = (file: string) =>
  Effect.map(Vault.Vault, ({ digest }) => digest("text")).pipe(Effect.provide(Vault.layer(file)))

describe("Vault", () => {
  it("opens nothing with another key, another context, or one byte changed", () => {
    const sealed = vault.seal("the secret", "nodes/1")
    const bytes = Buffer.from(sealed.slice(3), "base64url")

    expect(other.open(sealed, "nodes/1")).toBeUndefined()
    expect(vault.open(sealed, "nodes/2")).toBeUndefined()
    for (let i = 0; i < bytes.length; i++) {
      const changed = Buffer.from(bytes)
      changed[i] = (changed[i] ?? 0) ^ 1
      expect(vault.open(`v1.${changed.toString("base64url")}`, "nodes/1")).toBeUndefined()
    }
    for (const junk of ["", "v1.", "v2.AAAA", sealed.slice(3), sealed.slice(0, 30)]) {
      expect(vault.open(junk, "nodes/1")).toBeUndefined()
    }
  })

  it("opens what it sealed, and never seals alike twice", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string(), (text, context) => {
        const sealed = vault.seal(text, context)

        expect(vault.open(sealed, context)).toBe(text)
        expect(vault.seal(text, context)).not.toBe(sealed)
      })
    )
  })

  it("digests alike under one key and unlike under two", () => {
    expect(vault.digest("text")).toBe(Vault.make(new Uint8Array(32).fill(1)).digest("text"))
    expect(vault.digest("text")).not.toBe(other.digest("text"))
    expect(vault.digest("text")).not.toBe(vault.digest("text "))
  })

  it.effect("refuses a key file of the wrong size and leaves it as it is", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const file = join(folder, "key")
        writeFileSync(file, "too short\n")

        const result = yield* Effect.either(digestWith(file))

        expect(Either.isLeft(result) && result.left._tag).toBe("StorageUnavailable")
        expect(readFileSync(file, "utf8")).toBe("too short\n")
      })
    )
  )

  it.effect("makes a private key file once and keeps to it", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const file = join(folder, "deep", "key")

        const first = yield* digestWith(file)

        expect(statSync(file).mode & 0o777).toBe(0o600)
        expect(yield* digestWith(file)).toBe(first)
      })
    )
  )

  it.effect("makes the key file whole or not at all: what a kill left of the first attempt is no key", () =>
    inFolder((folder) =>
      Effect.gen(function* () {
        const file = join(folder, "key")
        writeFileSync(`${file}.new`, "half a k")

        const first = yield* digestWith(file)

        expect(readdirSync(folder)).toEqual(["key"])
        expect(yield* digestWith(file)).toBe(first)
      })
    )
  )
})
