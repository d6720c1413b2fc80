// Owns programs that run in threads: what is imported with "?program" behind its name is that file, bundled, as a text.
import { resolve } from "node:path"

const mark = "?program"

/** A script that defines `program`, the exports of the file. Whoever runs it provides `require`, for Node's own modules. */
const textOf = async (file) => {
  const { build } = await import("esbuild")
  const { outputFiles } = await build({
    entryPoints: [file],
    bundle: true,
    write: false,
    platform: "node",
    format: "iife",
    globalName: "program",
    target: "node20",
    logLevel: "warning"
  })
  return outputFiles[0].text
}

/** For esbuild. */
export const programsInBundle = {
  name: "programs",
  setup: (build) => {
    build.onResolve({ filter: /\?program$/ }, ({ path, resolveDir }) => ({
      path: resolve(resolveDir, path.slice(0, -mark.length)),
      namespace: "program"
    }))
    build.onLoad({ filter: /./, namespace: "program" }, async ({ path }) => ({
      contents: await textOf(path),
      loader: "text"
    }))
  }
}

/** For Vite, which runs the tests. */
export const programsInVite = {
  name: "programs",
  enforce: "pre",
  load: async (id) =>
    id.endsWith(mark) ? `export default ${JSON.stringify(await textOf(id.slice(0, -mark.length)))}` : undefined
}
