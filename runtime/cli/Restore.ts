// The command `restore`: puts a backup in the place of a home's data, for a home that no service runs on.
import { Clock, Console, Effect } from "effect"
import { resolve } from "node:path"
import { homeLock } from "../../src/store/HomeLock.ts"
import type { Shape } from "../../src/store/Integrity.ts"
import { finish, prepare } from "../../src/store/Restoration.ts"
import { proved } from "../../src/store/Snapshot.ts"
import { job } from "./Job.ts"

/** Checks FILE as a whole before it touches anything. */
export const restore = (home: string, source: string, expected: Shape) =>
  Effect.scoped(
    Effect.gen(function* () {
      const file = resolve(source)
      yield* homeLock(home)
      const at = yield* Clock.currentTimeMillis
      const carried = yield* job("nothing was restored and nothing was changed", async ({ pause, tell }) => {
        // One that was cut short is finished first, so that it is not mistaken for this one.
        finish(home)
        const found = await proved(file, expected, tell, pause)
        await prepare(home, file, found, at, tell)
        return found
      })
      const aside = yield* job("the restore is decided; start the service, or run this again, to finish it", async () =>
        finish(home)
      )
      yield* Console.log(`${home} is as it was when the backup was made, ${new Date(carried.madeAt).toISOString()}`)
      if (aside !== undefined) yield* Console.log(`What was there before is kept in ${aside}`)
    })
  )
