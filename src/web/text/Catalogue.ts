// The shape that every language fills; a missing or surplus text is a compile error.
import type { english } from "./English.ts"

export type Catalogue = typeof english
