// The program watchpost: its commands, and one expression that runs the service until a signal.
import { Args, Command } from "@effect/cli"
import { NodeContext, NodeRuntime } from "@effect/platform-node"
import { Cause, ConfigError, Console, Context, Data, Effect, Layer, Logger, LogLevel, Option, Redacted } from "effect"
import { existsSync } from "node:fs"
import { constants, setPriority } from "node:os"
import { fileURLToPath } from "node:url"
import { isFailure, type StorageUnavailable } from "../schema/Errors.ts"
import { Password } from "../src/auth/Password.ts"
import type { Shape } from "../src/store/Integrity.ts"
import { AppConfig, layer as configLayer } from "./Config.ts"
import { backup } from "./cli/Backup.ts"
import { check } from "./cli/Check.ts"
import { CommandFailed } from "./cli/Job.ts"
import { restore } from "./cli/Restore.ts"
import { tuneCollections } from "./Garbage.ts"
import { ListenFailed } from "./http/Listener.ts"
import { Journal } from "./Journal.ts"
import { currentShape, service } from "./Layers.ts"
import { ListenAddress } from "./ListenAddress.ts"
import { serviceVersion } from "./Version.ts"

/** Printed once the service listens: where it is, the first password, and what to do next. */
const greeting = Effect.gen(function* () {
  const { localUrl } = yield* ListenAddress
  const { publicUrl } = yield* AppConfig
  const { generated } = yield* Password
  const url = Option.getOrElse(publicUrl, () => localUrl)
  yield* Console.log(`Watchpost ${serviceVersion} is listening: ${url}`)
  if (Option.isSome(generated)) {
    yield* Console.log(`Admin password, shown only this once: ${Redacted.value(generated.value)}`)
  }
  yield* Console.log(
    `To watch another machine, sign in at ${url}/admin/nodes, add a node and run the command it shows.`
  )
})

/** One line for a person about why the service cannot start. */
const reason = (failure: unknown): string => {
  if (ConfigError.isConfigError(failure)) return configReason(failure)
  if (isFailure(failure) || failure instanceof ListenFailed || failure instanceof CommandFailed) return failure.message
  return failure instanceof Error ? failure.message : String(failure)
}
const configReason = (error: ConfigError.ConfigError): string => {
  if (error._op === "And" || error._op === "Or") return configReason(error.left)
  return error.message
}

class StartFailed extends Data.TaggedError("StartFailed")<{ readonly message: string }> {}

/** Runs until a signal, or until the journal has lost touch with the disk: then everything is ended and built anew. */
const untilLost = Effect.scoped(
  Effect.gen(function* () {
    const context = yield* Layer.build(
      Layer.effectDiscard(greeting).pipe(Layer.provideMerge(service), Layer.provide(configLayer))
    )
    yield* Context.get(context, Journal).lost
    yield* Effect.logWarning("the disk answers again: the service starts anew from what is on it")
  })
)
const running = Effect.forever(untilLost)
// Two ways to fail: a setting or the surroundings (one line), or a defect of ours (everything we know).
const startFailure = (cause: Cause.Cause<unknown>) =>
  Cause.isInterruptedOnly(cause)
    ? Effect.interrupt
    : Cause.isFailType(cause)
      ? Effect.fail(new StartFailed({ message: reason(cause.error) }))
      : Effect.failCause(cause)

const serve = Command.make("serve", {}, () =>
  Effect.zipRight(Effect.sync(tuneCollections), Effect.catchAllCause(running, startFailure))
).pipe(Command.withDescription("Run the service. Settings are read from WATCHPOST_* in the environment."))

/** What shells give for SIGINT. */
const interruptedCode = 130

/** Where there are not cores enough for both, the service that runs beside this process comes first. */
const stepBack = Effect.ignore(Effect.try(() => setPriority(constants.priority.PRIORITY_LOW)))

/** Runs a command on the home of the settings; its failures end with code 1 and one line, as those of `serve`. */
const onHome = (use: (home: string, shape: Shape) => Effect.Effect<void, CommandFailed | StorageUnavailable>) =>
  Effect.gen(function* () {
    const { home } = yield* AppConfig
    yield* stepBack
    yield* use(home, yield* currentShape)
  }).pipe(
    Effect.provide(configLayer),
    Effect.catchAllCause(startFailure),
    // The service ends well on a signal; a backup that was not made must not look like one that was.
    Effect.onInterrupt(() => Effect.sync(() => process.exit(interruptedCode)))
  )

const file = Args.text({ name: "FILE" })
const backupCommand = Command.make("backup", { file }, (given) =>
  onHome((home, shape) => backup(home, given.file, shape))
).pipe(Command.withDescription("Copy database and key into one checked FILE, while the service runs or not."))
const restoreCommand = Command.make("restore", { file }, (given) =>
  onHome((home, shape) => restore(home, given.file, shape))
).pipe(Command.withDescription("Put a backup in the place of the home's data; the service must be stopped."))
const checkCommand = Command.make("check", {}, () => onHome(check)).pipe(
  Command.withDescription("Look for damage in the database and count what it holds; changes nothing.")
)

/** The agent is a program of its own, so that it starts without anything of the service. */
const agentFile = (): URL => {
  const built = new URL("./monitor-node.mjs", import.meta.url)
  return existsSync(fileURLToPath(built)) ? built : new URL("../src/agent/main.ts", import.meta.url)
}
const agent = Command.make("agent", { rest: Args.repeated(Args.text({ name: "arguments" })) }, () =>
  Effect.promise(() => import(agentFile().href))
).pipe(Command.withDescription("Run the agent of a node: push, report install|remove|update|list."))

const watchpost = Command.make("watchpost").pipe(
  Command.withDescription("A self-hosted service that watches a fleet of servers."),
  Command.withSubcommands([serve, backupCommand, restoreCommand, checkCommand, agent])
)

const cli = Command.run(watchpost, { name: "watchpost", version: serviceVersion })

if (process.argv[2] === "agent") {
  // The agent reads its own options; the parser of this program would refuse them.
  process.argv.splice(2, 1)
  await import(agentFile().href)
} else {
  cli(process.argv).pipe(
    Effect.catchIf(
      (failure): failure is StartFailed => failure instanceof StartFailed,
      (failure) =>
        Effect.andThen(
          Console.error(`watchpost: ${failure.message}`),
          Effect.sync(() => process.exit(1))
        )
    ),
    Effect.provide(
      Layer.mergeAll(
        NodeContext.layer,
        Logger.pretty,
        Logger.minimumLogLevel(LogLevel.Info),
        Layer.setTracerEnabled(false)
      )
    ),
    NodeRuntime.runMain({ disableErrorReporting: false })
  )
}
