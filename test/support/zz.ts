import { makeHome, run, start, sleep, removeHomes } from "./Program.ts"
import { writeFileSync, mkdirSync } from "node:fs"
import { createServer } from "node:net"
const cases: Array<Record<string,string>> = [
 {WATCHPOST_LISTEN:"nonsense"},{WATCHPOST_LISTEN:"127.0.0.1:99999"},{WATCHPOST_PUBLIC_URL:"ftp://x"},{WATCHPOST_PUBLIC_URL:"https://x/y"},{WATCHPOST_ADMIN_PASSWORD:"short"},{WATCHPOST_TRUSTED_PROXIES:"10.0.0.0/8,xx"},{WATCHPOST_TIMEZONE:"Mars/Olympus"},{WATCHPOST_LOCAL_NODE:"maybe"},{WATCHPOST_LISTEN:"203.0.113.7:8080"},
 {WATCHPOST_LISTEN:"bad",WATCHPOST_LOCAL_NODE:"maybe"}
]
for (const env of [] as typeof cases) {const h="" ;const e=env }
const s = createServer(); await new Promise<void>(r=>s.listen(0,"127.0.0.1",()=>r())); const port=(s.address() as any).port
console.log("inuse", JSON.stringify(await run(makeHome(), {WATCHPOST_LISTEN:`127.0.0.1:${port}`})))
s.close()
writeFileSync("/tmp/scratch/file","x")
console.log("home is file", JSON.stringify(await run("/tmp/scratch/file")))
const h=makeHome(); writeFileSync(h+"/watchpost.db","this is not a database at all, really".repeat(100))
console.log("garbage db", JSON.stringify(await run(h)))
const h2=makeHome(); writeFileSync(h2+"/secret.key","short")
console.log("bad key", JSON.stringify(await run(h2)))
const h3=makeHome(); mkdirSync(h3+"/watchpost.db")
console.log("db is dir", JSON.stringify(await run(h3)))
const h4=makeHome()
const p=start(h4); console.log(await p.url, p.said()); const t=performance.now(); p.kill("SIGTERM"); console.log(await p.ended, performance.now()-t)
const p2=start(h4); console.log(await p2.url, p2.said()); p2.kill("SIGTERM"); await p2.ended
removeHomes()
