// Which agent version this installation brings along; what is older than it counts as outdated.
import { Context, Layer } from "effect"

export class BundledVersion extends Context.Tag("runtime/BundledVersion")<
  BundledVersion,
  {
    /** Strict SemVer, or undefined while no release is bundled. */
    readonly version: string | undefined
  }
>() {
  /** Nothing is bundled: no node is outdated for being older. */
  static readonly none = Layer.succeed(this, { version: undefined })
}
