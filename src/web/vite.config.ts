// How the web app is built: root src/web, hashed files under /assets/, output in dist/web or WATCHPOST_WEB_OUT.
import { svelte } from "@sveltejs/vite-plugin-svelte"
import { fileURLToPath } from "node:url"
import { defineConfig, loadEnv } from "vite"

const folder = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

interface ModuleInfo {
  readonly isEntry: boolean
  readonly importers: ReadonlyArray<string>
}

/**
 * Whether the first page needs a module: the entry reaches it without a dynamic import. All of those go into one file;
 * left alone, everything that a lazy page shares with the first one becomes a file and a request of its own.
 */
const isInitial = (id: string, infoOf: (id: string) => ModuleInfo | null, seen = new Set<string>()): boolean => {
  if (seen.has(id)) return false
  seen.add(id)
  const info = infoOf(id)
  return info !== null && (info.isEntry || info.importers.some((importer) => isInitial(importer, infoOf, seen)))
}

export default defineConfig(({ mode }) => ({
  root: folder("."),
  publicDir: folder("./public"),
  cacheDir: folder("../../node_modules/.vite-web"),
  plugins: [svelte({ configFile: false })],
  build: {
    outDir: loadEnv(mode, folder("."), "WATCHPOST_")["WATCHPOST_WEB_OUT"] ?? folder("../../dist/web"),
    emptyOutDir: true,
    assetsDir: "assets",
    target: "es2022",
    // The page's policy allows no inline script or style, and every browser of this target preloads by itself.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      output: { manualChunks: (id, { getModuleInfo }) => (isInitial(id, getModuleInfo) ? "app" : undefined) }
    }
  }
}))
