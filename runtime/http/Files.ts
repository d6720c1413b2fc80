// The web app: its built files are read once at start into a table, so no URL ever reaches the file system.
import { Context, Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import type { IncomingMessage, ServerResponse } from "node:http"
import { extname, join } from "node:path"
import { gzipSync } from "node:zlib"
import { hasTag, securityHeaders, takesGzip } from "./Answer.ts"

interface Asset {
  readonly body: Buffer
  readonly gzipped: Buffer | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly etag: string
}

export class Files extends Context.Tag("runtime/http/Files")<
  Files,
  { readonly handle: (path: string, request: IncomingMessage, response: ServerResponse) => void }
>() {}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".json": "application/json; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".txt": "text/plain; charset=utf-8"
}

/** The app is about 1 MB in some dozens of files; a folder with more than this is not our build. */
const filesMax = 2000

const assetOf = (name: string, body: Buffer): Asset => {
  const type = types[extname(name)] ?? "application/octet-stream"
  const zipped = /text|json|svg|javascript/.test(type) ? gzipSync(body, { level: 9 }) : undefined
  // Built names carry a hash of their content; everything else is asked about each time.
  const cache = name.startsWith("assets/") ? "public, max-age=31536000, immutable" : "no-cache"
  const etag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`
  return {
    body,
    gzipped: zipped,
    etag,
    headers: { ...securityHeaders, "content-type": type, "cache-control": cache, etag }
  }
}

const load = (folder: string): Map<string, Asset> => {
  const table = new Map<string, Asset>()
  if (!existsSync(folder)) return table
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  for (const entry of entries.slice(0, filesMax)) {
    const file = join(entry.parentPath, entry.name)
    const name = file.slice(folder.length + 1).replaceAll("\\", "/")
    if (name.endsWith(".map")) continue
    table.set(`/${name}`, assetOf(name, readFileSync(file)))
  }
  return table
}

const plain = (response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void => {
  response.writeHead(status, { ...securityHeaders, "content-type": "text/plain; charset=utf-8", ...headers })
  response.end(text)
}

const serve = (asset: Asset, request: IncomingMessage, response: ServerResponse): void => {
  if (hasTag(request.headers["if-none-match"], asset.etag)) {
    response.writeHead(304, asset.headers)
    return void response.end()
  }
  const zipped = asset.gzipped !== undefined && takesGzip(String(request.headers["accept-encoding"] ?? ""))
  const body = zipped ? (asset.gzipped as Buffer) : asset.body
  response.writeHead(200, {
    ...asset.headers,
    vary: "Accept-Encoding",
    "content-length": String(body.length),
    ...(zipped ? { "content-encoding": "gzip" } : {})
  })
  response.end(request.method === "HEAD" ? undefined : body)
}

const unbuilt = assetOf(
  "index.html",
  Buffer.from(
    "<!doctype html><title>Watchpost</title><p>The page is not built yet: run <code>npm run build</code>.</p>\n"
  )
)

const make = (folder: string) =>
  Effect.gen(function* () {
    const table = load(folder)
    const index = table.get("/index.html")
    if (index === undefined) yield* Effect.logWarning("the page is not built; only the API is served")
    return Files.of({
      handle: (path, request, response) => {
        if (request.method !== "GET" && request.method !== "HEAD") {
          return plain(response, 405, "method not allowed\n", { allow: "GET, HEAD" })
        }
        const asset = table.get(path)
        if (asset !== undefined) return serve(asset, request, response)
        // Nothing is installed or themed yet at these paths, and they never fall through to the app.
        if (/^\/(?:theme|deploy|assets)(?:\/|$)/.test(path)) return plain(response, 404, "not found\n")
        serve(index ?? unbuilt, request, response)
      }
    })
  })

/** `folder` holds the built web app; without it a line says how to build it. */
export const layer = (folder: string) => Layer.effect(Files, make(folder))
