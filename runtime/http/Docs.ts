// The API in words: /api/openapi.json from the declaration, and a readable page of it that needs no network or script.
import { OpenApi } from "@effect/platform"
import { createHash } from "node:crypto"
import { Api } from "../../schema/api/Api.ts"
import { catalogue } from "../../schema/Errors.ts"
import { serviceVersion } from "../Version.ts"
import { type Prepared, securityHeaders } from "./Answer.ts"

type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

/** The framework declares its own decode error beside ours; on the wire every error is {code, message}. */
const withoutDecodeError = (value: Json): Json => {
  if (Array.isArray(value)) {
    const items = (value as ReadonlyArray<Json>).filter((item) => !JSON.stringify(item).includes("HttpApiDecodeError"))
    return items.map(withoutDecodeError)
  }
  if (value === null || typeof value !== "object") return value
  const entries = Object.entries(value as { readonly [key: string]: Json })
    .filter(([key]) => key !== "HttpApiDecodeError" && key !== "Issue" && key !== "PropertyKey")
    .map(([key, inner]) => {
      const refers = typeof inner === "object" && inner !== null && !Array.isArray(inner) && "$ref" in inner
      if (refers && String(inner["$ref"]).includes("HttpApiDecodeError")) return [key, errorSchema] as const
      return [key, withoutDecodeError(inner)] as const
    })
  return Object.fromEntries(entries)
}
const errorSchema: Json = {
  type: "object",
  required: ["code", "message"],
  properties: { code: { type: "string", enum: ["invalid_request"] }, message: { type: "string" } }
}

interface Operation {
  readonly tags?: ReadonlyArray<string>
  readonly description?: string
  readonly security?: ReadonlyArray<unknown>
  readonly parameters?: ReadonlyArray<{ name: string; in: string; required?: boolean; description?: string }>
  readonly requestBody?: Json
  readonly responses: Readonly<Record<string, { description?: string; content?: Json }>>
}
export interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components?: Json
}

/** The document with our version and only our errors; the golden file of the tests. */
export const document = (): Document => {
  const made = withoutDecodeError(JSON.parse(JSON.stringify(OpenApi.fromApi(Api))) as Json) as unknown as Document
  return { ...made, info: { ...made.info, version: serviceVersion } }
}

const escape = (text: string): string => text.replace(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`)

const pretty = (value: Json | undefined): string =>
  value === undefined
    ? ""
    : `<details><summary>Schema</summary><pre>${escape(JSON.stringify(value, null, 2))}</pre></details>`

const operationHtml = (path: string, method: string, operation: Operation): string => {
  const secured = (operation.security ?? []).length > 0
  const parameters = (operation.parameters ?? []).map(
    (one) =>
      `<li><code>${escape(one.name)}</code> in ${escape(one.in)}${one.required === true ? ", required" : ""} ${escape(one.description ?? "")}</li>`
  )
  const responses = Object.entries(operation.responses).map(
    ([status, one]) => `<li><b>${escape(status)}</b> ${escape(one.description ?? "")}${pretty(one.content)}</li>`
  )
  return `<article><h3><span class="m ${method}">${method.toUpperCase()}</span> <code>${escape(path)}</code>${secured ? " <small>bearer</small>" : ""}</h3>
<p>${escape(operation.description ?? "")}</p>${parameters.length > 0 ? `<ul>${parameters.join("")}</ul>` : ""}
${operation.requestBody === undefined ? "" : `<h4>Body</h4>${pretty(operation.requestBody)}`}<h4>Answers</h4><ul>${responses.join("")}</ul></article>`
}

const style = `:root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif}body{max-width:60rem;margin:2rem auto;padding:0 1rem}
article{border-top:1px solid #8885;padding:.5rem 0}h3{margin:.4rem 0}code,pre{font:13px ui-monospace,monospace}pre{overflow:auto;max-height:24rem}
.m{display:inline-block;min-width:4.5rem;font-weight:600}small{border:1px solid #8888;border-radius:4px;padding:0 .4em}table{border-collapse:collapse}td{padding:.1rem 1rem .1rem 0}`

const pageHtml = (made: Document): string => {
  const groups = new Map<string, Array<string>>()
  for (const [path, methods] of Object.entries(made.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const tag = operation.tags?.[0] ?? "Other"
      const html = operationHtml(path, method, operation)
      groups.set(tag, [...(groups.get(tag) ?? []), html])
    }
  }
  const errors = catalogue.map((one) => `<tr><td>${one.status}</td><td><code>${one.code}</code></td></tr>`).join("")
  const body = [...groups].map(([tag, articles]) => `<h2>${escape(tag)}</h2>${articles.join("")}`).join("")
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Watchpost API</title><style>${style}</style>
<h1>Watchpost API ${escape(made.info.version)}</h1><p>${escape(made.info.description ?? "")} <a href="/api/openapi.json">openapi.json</a></p>${body}<h2>Error codes</h2><table>${errors}</table></html>\n`
}

const styleHash = `'sha256-${createHash("sha256").update(style).digest("base64")}'`
const policy = securityHeaders["content-security-policy"].replace("style-src 'self'", `style-src ${styleHash}`)

const ready = (type: string, body: string): Prepared => {
  const headers = {
    ...securityHeaders,
    "content-security-policy": policy,
    "content-type": type,
    "cache-control": "no-store"
  }
  return {
    status: 200,
    headers: [...Object.entries(headers).flat(), "content-length", String(Buffer.byteLength(body))],
    body
  }
}

/** Both answers, made once at start. */
export const documents = (): { readonly json: Prepared; readonly page: Prepared } => {
  const made = document()
  return {
    json: ready("application/json; charset=utf-8", `${JSON.stringify(made)}\n`),
    page: ready("text/html; charset=utf-8", pageHtml(made))
  }
}
