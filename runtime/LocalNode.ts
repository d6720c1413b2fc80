// Watches this very machine: the first node, reported by the real agent in a child process that dies with us.
import { Data, Effect, Layer, Option, Schedule } from "effect"
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { hostname } from "node:os"
import { fileURLToPath } from "node:url"
import { NodeId } from "../schema/Ids.ts"
import { nodeNameMax } from "../schema/Node.ts"
import { Nodes } from "../src/store/Nodes.ts"
import { Settings } from "../src/store/Settings.ts"
import { AppConfig, inheritedEnvironment, type Settings as AppSettings } from "./Config.ts"
import { FiberRegister, supervised } from "./FiberStatus.ts"
import { ListenAddress } from "./ListenAddress.ts"
import { NodeDirectory } from "./NodeDirectory.ts"
import { NodeRoster } from "./NodeRoster.ts"

/** Remembers which node is this machine, so that one that was deleted stays deleted. */
const settingName = "local_node_id"
/** How often the secret is looked at: an administrator who changes it expects the machine back within seconds. */
const secretEvery = "2 seconds"
/** How long the agent may take to end before it is killed. */
const stopMs = 1000

/** Keeps the agent's heap small: it holds a few kilobytes and would otherwise let garbage pile up to 100 MB. */
const lean = ["--max-semi-space-size=1", "--max-old-space-size=32"]

class AgentEnded extends Data.TaggedError("AgentEnded")<{ readonly message: string }> {}

const restartPolicy = Schedule.exponential("1 second").pipe(
  Schedule.union(Schedule.spaced("1 minute")),
  Schedule.jittered,
  Schedule.resetAfter("5 minutes")
)

/** Shown to guests only where nobody else can look: on the loopback address, with no proxy in front. */
const isPrivate = (settings: AppSettings): boolean =>
  /^(?:127\.|::1$|localhost$)/.test(settings.listenHost) &&
  Option.isNone(settings.publicUrl) &&
  settings.trustedProxies.length === 0

/** The agent as built beside this program. */
const agentFile = (): string | undefined => {
  const file = fileURLToPath(new URL("./monitor-node.mjs", import.meta.url))
  return existsSync(file) ? file : undefined
}

/** Runs the agent until it ends or we are interrupted. The secret goes through the environment, not the arguments. */
const runAgent = (file: string, url: string, secret: string) =>
  Effect.async<never, AgentEnded>((resume) => {
    const child = spawn(process.execPath, [...lean, file, "push"], {
      stdio: ["pipe", "ignore", "ignore"],
      env: {
        ...inheritedEnvironment(),
        MONITOR_NODE_TARGET_URL: url,
        MONITOR_NODE_TARGET_SECRET: secret,
        MONITOR_NODE_PARENT_WATCH: "1"
      }
    })
    child.on("error", (cause) => resume(new AgentEnded({ message: cause.message })))
    child.on("exit", (code, signal) => resume(new AgentEnded({ message: `the agent ended with ${signal ?? code}` })))
    return Effect.async<void>((stopped) => {
      if (child.exitCode !== null || child.signalCode !== null) return stopped(Effect.void)
      child.removeAllListeners("exit")
      const kill = setTimeout(() => child.kill("SIGKILL"), stopMs)
      child.on("exit", () => {
        clearTimeout(kill)
        stopped(Effect.void)
      })
      child.kill("SIGTERM")
    })
  })

/** Ends when the node's secret is no longer the one that the agent was started with. */
const secretChanged = (current: () => string | undefined, secret: string) =>
  Effect.sync(current).pipe(
    Effect.repeat({ schedule: Schedule.spaced(secretEvery), while: (one) => one === secret }),
    Effect.andThen(new AgentEnded({ message: "the secret of this machine's node was changed" }))
  )

const createNode = Effect.gen(function* () {
  const nodes = yield* Nodes
  const settings = yield* Settings
  const roster = yield* NodeRoster
  const directory = yield* NodeDirectory
  const id = yield* nodes.create
  const name = hostname().trim().slice(0, nodeNameMax) || "this machine"
  yield* nodes.patch(id, { name, guestVisible: isPrivate(yield* AppConfig) })
  yield* settings.put(settingName, String(id))
  yield* roster.refresh
  yield* directory.reconcile
  return id
})

const make = Effect.gen(function* () {
  const { localNode } = yield* AppConfig
  if (!localNode) return
  const file = agentFile()
  if (file === undefined) {
    return yield* Effect.logWarning("this machine is not watched: the agent is not built")
  }
  const settings = yield* Settings
  const roster = yield* NodeRoster
  const { localUrl } = yield* ListenAddress
  const register = yield* FiberRegister
  const known = yield* settings.get(settingName)
  const id = Option.isSome(known) ? NodeId.make(Number(known.value)) : yield* createNode
  if (roster.secret(id) === undefined) {
    return yield* Effect.logInfo("this machine's node was deleted, so it is not watched")
  }
  const watch = register.register("LocalNode", () => 0, 0)
  const loop = Effect.suspend(() => {
    const secret = roster.secret(id)
    // Deleted in the meantime: it stays so.
    if (secret === undefined) return Effect.never
    return Effect.raceFirst(
      runAgent(file, `${localUrl}/api/node/metrics`, secret),
      secretChanged(() => roster.secret(id), secret)
    )
  }).pipe(
    Effect.tapError((ended) =>
      Effect.logWarning("the agent of this machine ended and is started again").pipe(
        Effect.annotateLogs({ reason: ended.message })
      )
    ),
    Effect.retry(restartPolicy),
    Effect.orDie
  )
  yield* Effect.forkScoped(supervised(watch, loop))
})

export const layer = Layer.scopedDiscard(make)
