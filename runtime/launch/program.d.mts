// What TypeScript needs to know of program.mjs, which has to run before anything is compiled.
import type { Plugin as BundlePlugin } from "esbuild"
import type { Plugin as VitePlugin } from "vite"

export declare const programsInBundle: BundlePlugin
export declare const programsInVite: VitePlugin
