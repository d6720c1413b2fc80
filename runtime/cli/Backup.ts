// The command `backup`: a proved copy of a home in one file, beside a service that runs or not.
import { Clock, Console, Effect } from "effect"
import { resolve } from "node:path"
import type { Shape } from "../../src/store/Integrity.ts"
import { snapshot } from "../../src/store/Snapshot.ts"
import { job } from "./Job.ts"

const megabyte = 1_048_576

/** Writes FILE; refuses to overwrite one, and leaves none behind when it fails. */
export const backup = (home: string, target: string, expected: Shape) =>
  Effect.gen(function* () {
    const file = resolve(target)
    const madeAt = yield* Clock.currentTimeMillis
    const bytes = yield* job(`no backup was made`, ({ pause, tell }) =>
      snapshot({ home, file, expected, madeAt, progress: tell, pause })
    )
    const tookMs = (yield* Clock.currentTimeMillis) - madeAt
    yield* Console.log(`${file}: ${(bytes / megabyte).toFixed(1)} MB, checked, in ${(tookMs / 1000).toFixed(1)} s`)
    yield* Console.log("It holds this installation's encryption key and every secret: keep it as safe as the home.")
  })
