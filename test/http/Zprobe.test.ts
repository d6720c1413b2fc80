import { it, expect } from "vitest"
import { subscribe } from "node:diagnostics_channel"
import type { Socket } from "node:net"
import * as S from "../support/Service.ts"
import * as R from "../support/Raw.ts"
it("probes", async () => {
  const s = await S.startService()
  const admin = await S.signIn(s)
  const n = await S.addNode(s, admin, { name: "a", is_guest_visible: true })
  const sockets: Socket[] = []
  subscribe("http.server.request.start", (m: any) => sockets.push(m.socket))
  const big = Buffer.alloc(1_048_577, 32)
  const seen: Record<string, number> = {}
  for (let i = 0; i < 60; i++) {
    for (const [p, h] of [["/api/node/metrics", S.agentOf(n.secret)], ["/api/admin/groups", {...admin, ...S.json}], ["/api/node/metrics", {...S.json}]] as const) {
    try { const a = await s.call("POST", p, h as any, big); seen[p+Object.keys(h).length+a.status] = (seen[p+Object.keys(h).length+a.status] ?? 0) + 1 } catch (e) { const k = p + String(e); seen[k] = (seen[k] ?? 0) + 1 }
    }
  }
  console.log(seen)
  // chunked, forever
  for (const [p, extra] of [["/api/node/metrics", `X-Node-Secret: ${n.secret}`], ["/api/admin/groups", `Authorization: ${admin.authorization}`], ["/api/node/identity", `X-Node-Secret: ${n.secret}`], ["/api/admin/nodes", `Authorization: ${admin.authorization}`], ["/api/version", "A: b"], ["/", "A: b"]] as const) {
    sockets.length = 0
    const c = R.open(s.port)
    c.send(R.head(`POST ${p} HTTP/1.1`, "Host: x", "Content-Type: application/json", extra, "Transfer-Encoding: chunked"))
    const piece = Buffer.concat([Buffer.from("10000\r\n"), Buffer.alloc(65536, 32), Buffer.from("\r\n")])
    const t = performance.now()
    let sent = 0
    while (!c.isClosed && performance.now() - t < 2500) { 
      if (c.socket.writableLength < 1e6) { c.send(piece); sent += piece.length }
      await new Promise((r) => setImmediate(r)) }
    console.log(p, "closed", c.isClosed, Math.round(performance.now() - t), "sent", sent, "read", sockets[0]?.bytesRead, c.answers.map((a) => a.status + a.body))
    c.destroy()
  }
  // half-open with garbage
  const g = R.open(s.port, { halfOpen: true })
  g.send("GARBAGE\r\n\r\n")
  await g.answered()
  await new Promise((r) => setTimeout(r, 1500))
  console.log("half open closed:", g.isClosed, g.answers[0]?.status)
  g.destroy()
  await s.stop()
}, 60000)
