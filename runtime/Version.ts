// The version of this service, put in by the build and read from package.json when run from a checkout.
import { readFileSync } from "node:fs"

declare const __WATCHPOST_VERSION__: string | undefined

const fromCheckout = (): string => {
  try {
    const text = readFileSync(new URL("../package.json", import.meta.url), "utf8")
    return (JSON.parse(text) as { version: string }).version
  } catch {
    return "0.0.0-dev"
  }
}

/** Strict SemVer without `v`. */
export const serviceVersion: string = typeof __WATCHPOST_VERSION__ === "string" ? __WATCHPOST_VERSION__ : fromCheckout()
