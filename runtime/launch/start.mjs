// Owns `npm start`: from a fresh clone to a running server, with nothing installed by hand.
import { spawn } from "node:child_process"
import { constants } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { fail, install, requireNode, root, say } from "./install.mjs"
import { buildIfStale } from "./stamp.mjs"

requireNode()
install()
const buildCode = buildIfStale()
if (buildCode !== 0) process.exit(buildCode)

say("starting")
const preload = pathToFileURL(join(root, "runtime/launch/signals.mjs")).href
const args = ["--import", preload, join(root, "dist/watchpost.mjs"), "serve", ...process.argv.slice(2)]
const server = spawn(process.execPath, args, { stdio: "inherit" })

for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => server.kill(signal))
server.on("error", (error) => fail(`the server could not be started: ${error.message}`))
server.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
