// The yardstick: a bare node:http server that reads a report and says yes, with the answer of the real service.
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

/** Text, which node sends together with the head: the cheapest answer there is. */
const body = '{"ok":true,"update":null}\n'
const headers = [
  "Content-Type",
  "application/json; charset=utf-8",
  "Content-Length",
  String(body.length),
  "Cache-Control",
  "no-store",
  "X-Content-Type-Options",
  "nosniff"
]

const server = createServer({ keepAliveTimeout: 75_000, noDelay: true }, (request, response) => {
  let first: Buffer | undefined
  let rest: Array<Buffer> | undefined
  request.on("data", (chunk: Buffer) => {
    if (first === undefined) first = chunk
    else (rest ??= [first]).push(chunk)
  })
  request.on("end", () => {
    const text = rest === undefined ? (first?.toString("utf8") ?? "") : Buffer.concat(rest).toString("utf8")
    const report = JSON.parse(text) as { readonly hostname?: unknown }
    const status = typeof report.hostname === "string" ? 200 : 400
    response.writeHead(status, headers)
    response.end(body)
  })
})

process.on("disconnect", () => process.exit())
server.listen({ host: "127.0.0.1", port: 0, backlog: 4096 }, () =>
  process.send?.({ port: (server.address() as AddressInfo).port })
)
