// The key of this installation: seals secrets at rest and makes the keyed digests they are looked up by.
import { Context, Effect, Layer } from "effect"
import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from "node:crypto"
import { chmodSync, existsSync, readFileSync } from "node:fs"
import { dirname } from "node:path"
import { StorageUnavailable } from "../../schema/Errors.ts"
import { makeFolder, writeWhole } from "../store/Home.ts"

const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16

export class Vault extends Context.Tag("auth/Vault")<
  Vault,
  {
    /**
     * SHA-256 of this installation's digest key and the text, base64url: what a secret is looked up by.
     * The key fills exactly one block. A plain prefix is enough for look-ups: appending to a digest one cannot see
     * wins nothing. One call without a Hash object, because every report makes one: 0.4 µs against 1.7 µs of an HMAC.
     */
    readonly digest: (text: string) => string
    /** AES-256-GCM; `context` (table and row, for instance) is authenticated and must be given again to open. */
    readonly seal: (text: string, context: string) => string
    /** The sealed text, or undefined when the key, the context or a byte is not the one it was sealed with. */
    readonly open: (sealed: string, context: string) => string | undefined
  }
>() {}

/** Both halves of the vault from one 32-byte master key, each under a key of its own. */
export const make = (master: Uint8Array): Context.Tag.Service<typeof Vault> => {
  const derive = (purpose: string) => Buffer.from(hkdfSync("sha256", master, "", `watchpost/${purpose}`, keyBytes))
  const digestKey = derive("digest").toString("hex")
  const sealKey = derive("seal")
  return Vault.of({
    digest: (text) => hash("sha256", digestKey + text, "base64url"),
    seal: (text, context) => {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv("aes-256-gcm", sealKey, nonce).setAAD(Buffer.from(context))
      const body = Buffer.concat([cipher.update(text, "utf8"), cipher.final()])
      return `v1.${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString("base64url")}`
    },
    open: (sealed, context) => {
      if (!sealed.startsWith("v1.")) return undefined
      const bytes = Buffer.from(sealed.slice(3), "base64url")
      if (bytes.length < nonceBytes + tagBytes) return undefined
      try {
        const decipher = createDecipheriv("aes-256-gcm", sealKey, bytes.subarray(0, nonceBytes))
          .setAAD(Buffer.from(context))
          .setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
        return decipher.update(bytes.subarray(nonceBytes + tagBytes), undefined, "utf8") + decipher.final("utf8")
      } catch {
        return undefined
      }
    }
  })
}

/** The key in the text of a key file; throws when it is none. */
export const parseKey = (text: string, file: string): Uint8Array => {
  const key = Buffer.from(text.trim(), "base64")
  if (key.length !== keyBytes) throw new Error(`${file} does not hold a 32-byte key`)
  return key
}

/**
 * Reads the key file, or creates it (mode 0600, flushed, whole or not at all) when there is none. A home is in use from
 * then on, so this comes after its tables are made.
 */
const masterKey = (file: string): Uint8Array => {
  if (!existsSync(file)) {
    makeFolder(dirname(file))
    writeWhole(file, `${randomBytes(keyBytes).toString("base64")}\n`)
  }
  chmodSync(file, 0o600)
  return parseKey(readFileSync(file, "utf8"), file)
}

export const layer = (file: string) =>
  Layer.effect(
    Vault,
    Effect.try({
      try: () => make(masterKey(file)),
      catch: (cause) => new StorageUnavailable({ message: `the key file cannot be used: ${String(cause)}` })
    })
  )
