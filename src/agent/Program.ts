// The agent as a function: arguments and environment in, exit code out.
import { parseArguments, type Command, helpText } from "./Arguments.ts"
import { systemClock } from "./Clock.ts"
import type { Collector, CollectorOptions } from "./Collector.ts"
import { type CommandContext, installTarget, listTargets, removeTarget, updateTarget } from "./config/ReportCommands.ts"
import { ConfigFault, loadConfig, secretFault } from "./config/ReportConfig.ts"
import { makeFallbackCollector } from "./FallbackCollector.ts"
import { makeLinuxCollector, thisMachine } from "./linux/LinuxCollector.ts"
import { systemRoots } from "./linux/Tree.ts"
import { makeLog } from "./Log.ts"
import { makeEndpoint, urlFault } from "./push/Endpoint.ts"
import { runPush, timingOf } from "./push/Pusher.ts"
import { agentVersion } from "./Version.ts"

/** The outside of the program. */
export interface AgentIo {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** Asks at the terminal; null when there is none. */
  readonly ask: ((question: string) => Promise<string>) | null
  /** Ends a push. */
  readonly signal: AbortSignal
  /** The runtime's name of the operating system (`linux`, `darwin`, `win32`). */
  readonly platform: string
  readonly arch: string
  /** Certificates that replace the built-in roots; null uses those. */
  readonly ca: ReadonlyArray<string> | null
}

export type Environment = Readonly<Record<string, string | undefined>>

type Push = Extract<Command, { kind: "push" }>

const exitDone = 0
const exitFailed = 1
const exitNotUnderstood = 2

/** Thrown for settings that make no sense together. */
class UsageFault extends Error {}

interface PlainTarget {
  readonly url: string
  readonly secret: string
}

const configPathOf = (env: Environment, platform: string): string => {
  const folder =
    platform === "win32" ? `${env["ProgramData"] ?? "C:\\ProgramData"}\\monitor-node` : "/var/lib/monitor-node"
  return env["MONITOR_NODE_CONFIG"] ?? `${folder}${platform === "win32" ? "\\" : "/"}report.yaml`
}

/** The one target of the environment, or null when it names none; half of it is a fault. */
const environmentTarget = (env: Environment): PlainTarget | null => {
  const url = env["MONITOR_NODE_TARGET_URL"] ?? ""
  const secret = env["MONITOR_NODE_TARGET_SECRET"] ?? ""
  if (url === "" && secret === "") return null
  if (url === "" || secret === "") {
    throw new UsageFault("MONITOR_NODE_TARGET_URL and MONITOR_NODE_TARGET_SECRET go together")
  }
  const keyFault = secretFault(secret)
  if (keyFault !== null) throw new UsageFault(`MONITOR_NODE_TARGET_SECRET ${keyFault}`)
  return { url, secret }
}

const targetsOf = (env: Environment, platform: string): ReadonlyArray<PlainTarget> => {
  const direct = environmentTarget(env)
  if (direct !== null) return [direct]
  const configPath = configPathOf(env, platform)
  const targets = loadConfig(configPath)
  if (targets.length === 0)
    throw new ConfigFault(`${configPath}: no targets; add one with: monitor-node report install`)
  return targets.map(({ key, url }) => ({ url, secret: key }))
}

const collectorOf = (command: Push, env: Environment, io: AgentIo): Collector => {
  const options: CollectorOptions = {
    intervalSeconds: command.intervalSeconds,
    interfaces: command.interfaces,
    smartCachePath: env["MONITOR_NODE_SMART_CACHE"] ?? "/run/monitor-node/smart.json"
  }
  return io.platform === "linux"
    ? makeLinuxCollector(options, thisMachine(systemRoots, systemClock))
    : makeFallbackCollector(options, systemClock, io.platform, io.arch)
}

const push = async (command: Push, env: Environment, io: AgentIo): Promise<void> => {
  const log = makeLog(io.err, command.isDebug)
  const { requireHttps } = command
  const endpoints = targetsOf(env, io.platform).map(({ secret, url }, index) => {
    const fault = urlFault(url, requireHttps)
    if (fault !== null) throw new ConfigFault(`target ${index + 1}: the URL ${fault}`)
    return makeEndpoint({ url, secret, requireHttps, ca: io.ca, signal: io.signal }, log)
  })
  log.debug(`version ${agentVersion}, every ${command.intervalSeconds} s, ${endpoints.length} target(s)`)
  const timing = timingOf(command.intervalSeconds)
  await runPush({
    collector: collectorOf(command, env, io),
    endpoints,
    timing,
    clock: systemClock,
    log,
    signal: io.signal
  })
}

const run = async (command: Command, env: Environment, io: AgentIo): Promise<number> => {
  const context: CommandContext = {
    configPath: configPathOf(env, io.platform),
    out: io.out,
    ask: io.ask,
    log: makeLog(io.err, false),
    signal: io.signal,
    ca: io.ca
  }
  switch (command.kind) {
    case "help":
      io.out(helpText)
      return exitDone
    case "version":
      io.out(`${agentVersion}\n`)
      return exitDone
    case "fault":
      io.err(`monitor-node: ${command.reason} (see monitor-node --help)\n`)
      return exitNotUnderstood
    case "push":
      await push(command, env, io)
      return exitDone
    case "install":
      await installTarget(command.url, command.secret, command.requireHttps, context)
      return exitDone
    case "remove":
      removeTarget(command.id, context)
      return exitDone
    case "update":
      updateTarget(command.id, command.secret, context)
      return exitDone
    case "list":
      listTargets(context)
      return exitDone
  }
}

/**
 * Runs one command. `argv` are the arguments after the program's name. Resolves with the exit code: 0 done (a push
 * that was told to stop included), 1 failed, 2 not understood. Failures are one line on standard error.
 */
export const runAgent = async (argv: ReadonlyArray<string>, env: Environment, io: AgentIo): Promise<number> => {
  try {
    return await run(parseArguments(argv), env, io)
  } catch (error) {
    const message = error instanceof Error ? error.message : "unknown failure"
    io.err(`monitor-node: ${message.replaceAll("\n", " ")}\n`)
    return error instanceof UsageFault ? exitNotUnderstood : exitFailed
  }
}
