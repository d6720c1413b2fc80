// The install id: made once, agreed on by all who ask, never overwritten.
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { link } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, vi } from "vitest"
import { InstallId } from "../../runtime/InstallId.ts"
import { quiet } from "../store/Support.ts"

vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof import("node:fs/promises")>()
  return { ...real, link: vi.fn(real.link) }
})

let home: string
const file = () => join(home, "install_id")
const valid = `server_${"0123456789abcdef".repeat(2)}`

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "install-"))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

/** Asks as a process of its own would, after its start. */
const ask = Effect.suspend(() =>
  Effect.flatMap(InstallId, ({ get }) => get).pipe(Effect.provide([InstallId.layer(home), quiet]))
)

describe("an install id", () => {
  for (const text of [
    "",
    "\n",
    "server_",
    "server_0123",
    `${valid}0`,
    valid.toUpperCase(),
    `x${valid}`,
    `${valid}\nmore`
  ]) {
    it.effect(`that reads ${JSON.stringify(text)} is unavailable and left as it is`, () =>
      Effect.gen(function* () {
        writeFileSync(file(), text)

        expect((yield* Effect.flip(ask)).code).toBe("service_unavailable")
        expect(readFileSync(file(), "utf8")).toBe(text)
      })
    )
  }

  it.effect("that cannot be read is unavailable, and answered again once it can", () =>
    Effect.gen(function* () {
      mkdirSync(file())
      const failure = yield* Effect.flip(ask)
      rmSync(file(), { recursive: true })

      expect([failure.code, failure.message.includes(home)]).toEqual(["service_unavailable", false])
      expect((yield* ask).created).toBe(true)
    })
  )

  it.effect("that cannot be written is unavailable and leaves no draft", () =>
    Effect.gen(function* () {
      const refused = Object.assign(new Error("no space"), { code: "ENOSPC" })
      vi.mocked(link).mockRejectedValueOnce(refused)

      expect((yield* Effect.flip(ask)).code).toBe("service_unavailable")
      expect(readdirSync(home)).toEqual([])
    })
  )

  it.effect("is made by the first call, readable by its owner alone, and the same ever after", () =>
    Effect.gen(function* () {
      const first = yield* ask
      const second = yield* ask

      expect(first).toEqual({ install_id: expect.stringMatching(/^server_[0-9a-f]{32}$/), created: true })
      expect(second).toEqual({ install_id: first.install_id, created: false })
      expect(readFileSync(file(), "utf8")).toBe(`${first.install_id}\n`)
      expect(statSync(file()).mode & 0o777).toBe(0o600)
      expect(readdirSync(home)).toEqual(["install_id"])
    })
  )

  it.effect("is another one in another home, which is made when it is missing", () =>
    Effect.gen(function* () {
      const here = yield* ask
      home = join(home, "deeper", "still")
      const there = yield* ask

      expect(there.created && there.install_id !== here.install_id).toBe(true)
    })
  )

  it.effect("is kept when somebody put it there, with or without the newline", () =>
    Effect.gen(function* () {
      writeFileSync(file(), valid)
      chmodSync(file(), 0o400)

      expect(yield* ask).toEqual({ install_id: valid, created: false })
    })
  )

  it.effect("is agreed on by calls at the same time, of which exactly one made it", () =>
    Effect.gen(function* () {
      const { get } = yield* InstallId
      const answers = yield* Effect.all(
        Array.from({ length: 50 }, () => get),
        { concurrency: 50 }
      )

      expect(new Set(answers.map(({ install_id }) => install_id)).size).toBe(1)
      expect(answers.filter(({ created }) => created)).toHaveLength(1)
    }).pipe((body) => Effect.suspend(() => Effect.provide(body, InstallId.layer(home))))
  )

  it.effect("is agreed on by processes that start at the same time", () =>
    Effect.gen(function* () {
      const answers = yield* Effect.all(
        Array.from({ length: 20 }, () => ask),
        { concurrency: 20 }
      )

      expect(new Set(answers.map(({ install_id }) => install_id)).size).toBe(1)
      expect(answers.filter(({ created }) => created)).toHaveLength(1)
      expect(readdirSync(home)).toEqual(["install_id"])
    })
  )

  it.effect("is made as well where the file system knows no links", () =>
    Effect.gen(function* () {
      vi.mocked(link).mockRejectedValueOnce(Object.assign(new Error("no links"), { code: "EPERM" }))
      const first = yield* ask

      expect(first.created).toBe(true)
      expect(yield* ask).toEqual({ install_id: first.install_id, created: false })
      expect(statSync(file()).mode & 0o777).toBe(0o600)
      expect(readdirSync(home)).toEqual(["install_id"])
    })
  )

  it.effect("is finished once begun, when the caller leaves, and told to the next one", () =>
    Effect.gen(function* () {
      const { get } = yield* InstallId
      const asking = yield* Effect.fork(get)
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(asking)

      expect(readdirSync(home)).toEqual(["install_id"])
      expect(yield* get).toEqual({ install_id: readFileSync(file(), "utf8").trim(), created: false })
    }).pipe((body) => Effect.suspend(() => Effect.provide(body, InstallId.layer(home))))
  )
})
