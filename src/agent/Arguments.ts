// The command line: what was asked for, or why it is not understood.

export type Command =
  | { readonly kind: "help" }
  | { readonly kind: "version" }
  | {
      readonly kind: "push"
      readonly intervalSeconds: number
      readonly interfaces: ReadonlyArray<string> | null
      readonly isDebug: boolean
      readonly requireHttps: boolean
    }
  | { readonly kind: "install"; readonly url: string; readonly secret: string; readonly requireHttps: boolean }
  | { readonly kind: "remove"; readonly id: string }
  | { readonly kind: "update"; readonly id: string; readonly secret: string }
  | { readonly kind: "list" }
  | { readonly kind: "fault"; readonly reason: string }

export const helpText = `Usage:
  monitor-node push [interval_seconds] [--net a,b] [--debug] [--require-https]
      Send a report to every target, every 3 seconds unless told otherwise.
      --net a,b         report these interfaces only
      --debug           log every request
      --require-https   refuse targets without HTTPS and never fall back to HTTP
  monitor-node report install <url> <secret> [--require-https]
      Add a target; the URL ends with /metrics.
  monitor-node report remove <id>
  monitor-node report update <id> <secret>
  monitor-node report list
  monitor-node --version
  monitor-node --help

Environment:
  MONITOR_NODE_CONFIG         file of the targets (default /var/lib/monitor-node/report.yaml)
  MONITOR_NODE_TARGET_URL     with MONITOR_NODE_TARGET_SECRET: push to this target only, without the file
  MONITOR_NODE_SMART_CACHE    SMART cache to read (default /run/monitor-node/smart.json)
  MONITOR_NODE_PARENT_WATCH   1: end when standard input is closed

Exit codes: 0 done, 1 failed, 2 not understood.
`

const intervalSecondsDefault = 3
/** A day; longer intervals are surely a mistake of units. */
const intervalSecondsMax = 86_400

const fault = (reason: string): Command => ({ kind: "fault", reason })

interface Split {
  readonly words: ReadonlyArray<string>
  readonly flags: ReadonlySet<string>
  readonly net: string | null
  readonly unknown: string | null
}

/** Separates options from words; `allowed` names the flags this command knows. */
const split = (args: ReadonlyArray<string>, allowed: ReadonlyArray<string>): Split => {
  const words: Array<string> = []
  const flags = new Set<string>()
  let net: string | null = null
  let unknown: string | null = null
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? ""
    if (!arg.startsWith("--")) words.push(arg)
    else if (arg === "--net" && allowed.includes("--net")) net = args[++at] ?? ""
    else if (arg.startsWith("--net=") && allowed.includes("--net")) net = arg.slice("--net=".length)
    else if (arg !== "--net" && allowed.includes(arg)) flags.add(arg)
    else unknown ??= arg.split("=")[0] ?? arg
  }
  return { words, flags, net, unknown }
}

const parsePush = (args: ReadonlyArray<string>): Command => {
  const { flags, net, unknown, words } = split(args, ["--net", "--debug", "--require-https"])
  if (unknown !== null) return fault(`unknown option ${unknown}`)
  if (words.length > 1) return fault("push takes one interval at most")
  const text = words[0] ?? String(intervalSecondsDefault)
  const intervalSeconds = /^\d+$/.test(text) ? Number(text) : 0
  if (intervalSeconds < 1 || intervalSeconds > intervalSecondsMax) {
    return fault(`the interval must be a whole number of seconds from 1 to ${intervalSecondsMax}`)
  }
  const interfaces =
    net === null
      ? null
      : net
          .split(",")
          .map((name) => name.trim())
          .filter((name) => name !== "")
  if (interfaces !== null && interfaces.length === 0) return fault("--net needs interface names")
  const requireHttps = flags.has("--require-https")
  return { kind: "push", intervalSeconds, interfaces, isDebug: flags.has("--debug"), requireHttps }
}

const parseReport = (args: ReadonlyArray<string>): Command => {
  const [action, ...rest] = args
  const { flags, unknown, words } = split(rest, action === "install" ? ["--require-https"] : [])
  // Not repeated: it may be a secret that happens to start with two hyphens.
  if (unknown !== null) return fault("unknown option")
  const [first, second] = words
  if (action === "install" && first !== undefined && second !== undefined && words.length === 2) {
    return { kind: "install", url: first, secret: second, requireHttps: flags.has("--require-https") }
  }
  if (action === "remove" && first !== undefined && words.length === 1) return { kind: "remove", id: first }
  if (action === "update" && first !== undefined && second !== undefined && words.length === 2) {
    return { kind: "update", id: first, secret: second }
  }
  if (action === "list" && words.length === 0) return { kind: "list" }
  const usages: Record<string, string> = {
    install: "report install needs <url> <secret>",
    remove: "report remove needs <id>",
    update: "report update needs <id> <secret>",
    list: "report list takes nothing"
  }
  return fault(usages[action ?? ""] ?? "report needs install, remove, update or list")
}

/** Reads the arguments after the program's name. */
export const parseArguments = (args: ReadonlyArray<string>): Command => {
  const [command, ...rest] = args
  if (args.includes("--help")) return { kind: "help" }
  switch (command) {
    case "push":
      return parsePush(rest)
    case "report":
      return parseReport(rest)
    case "--version":
    case "-v":
    case "version":
      return { kind: "version" }
    case "-h":
    case "help":
      return { kind: "help" }
    case undefined:
      return fault("a command is missing")
    default:
      return fault("unknown command")
  }
}
