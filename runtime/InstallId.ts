// The identity of this installation: a random id in a file, made by the first call that asks for it.
import { Context, Effect, Layer, Schema } from "effect"
import { randomBytes } from "node:crypto"
import { link, mkdir, open, readFile, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { ServiceUnavailable } from "../schema/Errors.ts"
import { InstallId as InstallIdText } from "../schema/Ids.ts"

/** The answer of the identity endpoint. */
export interface Identity {
  readonly install_id: InstallIdText
  /** True for exactly one call in the life of the installation. */
  readonly created: boolean
}

export class InstallId extends Context.Tag("runtime/InstallId")<
  InstallId,
  {
    /** The id of this installation; an unreadable or malformed file fails, and is never overwritten. */
    readonly get: Effect.Effect<Identity, ServiceUnavailable>
  }
>() {
  /** `home` is the data folder; the file in it is `install_id`. */
  static readonly layer = (home: string) => Layer.effect(this, make(join(home, "install_id")))
}

const make = (file: string) =>
  Effect.gen(function* () {
    const turn = yield* Effect.makeSemaphore(1)
    let known: InstallIdText | undefined
    const settle = Effect.gen(function* () {
      if (known !== undefined) return { install_id: known, created: false }
      const identity = yield* Effect.tryPromise(() => readOrCreate(file)).pipe(
        Effect.tapError(({ error }) =>
          Effect.logError("the install id cannot be used", { file, cause: String(error) })
        ),
        Effect.mapError(() => new ServiceUnavailable({ message: "the install id cannot be read or created" }))
      )
      known = identity.install_id
      return identity
    })
    // Once begun it is finished, so that whoever comes next finds a whole file and no draft.
    return InstallId.of({ get: Effect.uninterruptible(turn.withPermits(1)(settle)) })
  })

const readOrCreate = async (file: string): Promise<Identity> => {
  const found = await readExisting(file)
  if (found !== undefined) return { install_id: found, created: false }
  const installId = InstallIdText.make(`server_${randomBytes(16).toString("hex")}`)
  if (await createExclusively(file, `${installId}\n`)) return { install_id: installId, created: true }
  // Another process was first.
  const theirs = await readExisting(file)
  if (theirs === undefined) throw new Error("the file was there and is gone")
  return { install_id: theirs, created: false }
}

const readExisting = async (file: string): Promise<InstallIdText | undefined> => {
  try {
    return Schema.decodeSync(InstallIdText)((await readFile(file, "utf8")).trim())
  } catch (cause) {
    if (hasCode(cause, "ENOENT")) return undefined
    throw cause
  }
}

/** Flushed under another name and then linked, so that the file is never seen empty; false when it already exists. */
const createExclusively = async (file: string, text: string): Promise<boolean> => {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const draft = `${file}.${randomBytes(8).toString("hex")}`
  try {
    await writeFlushed(draft, text)
    await link(draft, file)
    await flushFolder(dirname(file))
    return true
  } catch (cause) {
    if (hasCode(cause, "EEXIST")) return false
    // Some network and memory-card file systems know no links.
    if (hasCode(cause, "EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS")) return createInPlace(file, text)
    throw cause
  } finally {
    await rm(draft, { force: true })
  }
}

const createInPlace = async (file: string, text: string): Promise<boolean> => {
  try {
    await writeFlushed(file, text)
    await flushFolder(dirname(file))
    return true
  } catch (cause) {
    if (hasCode(cause, "EEXIST")) return false
    throw cause
  }
}

const writeFlushed = async (file: string, text: string): Promise<void> => {
  const handle = await open(file, "wx", 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Without it a power cut can take the new name away. Windows cannot open a folder and does not need to. */
const flushFolder = async (folder: string): Promise<void> => {
  if (process.platform === "win32") return
  const handle = await open(folder, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const hasCode = (cause: unknown, ...codes: ReadonlyArray<string>): boolean =>
  cause instanceof Error && "code" in cause && codes.some((code) => code === cause.code)
