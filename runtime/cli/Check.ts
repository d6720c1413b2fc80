// The command `check`: everything that can be said about a home's database without changing it.
import { Console, Effect } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { parseKey } from "../../src/auth/Vault.ts"
import { filesOf } from "../../src/store/Home.ts"
import type { Shape } from "../../src/store/Integrity.ts"
import { findings } from "../../src/store/Findings.ts"
import { CommandFailed, job } from "./Job.ts"

const keyIn = (file: string) => (existsSync(file) ? parseKey(readFileSync(file, "utf8"), file) : undefined)

/** Prints counts and findings; fails when something is damaged. Works while the service runs. */
export const check = (home: string, expected: Shape) =>
  Effect.gen(function* () {
    const { database, key, ready } = filesOf(home)
    if (existsSync(ready)) {
      return yield* new CommandFailed({ message: `a restore of ${home} was cut short; start the service to finish it` })
    }
    const { faults, lines } = yield* job("the check could not be made", ({ pause, tell }) =>
      findings({ file: database, key: keyIn(key), expected, progress: tell, pause })
    )
    for (const line of lines) yield* Console.log(line)
    if (faults.length === 0) return yield* Console.log(`${database}: all is well`)
    for (const fault of faults) yield* Console.log(`damaged: ${fault}`)
    return yield* new CommandFailed({ message: `${database}: ${faults.length} findings; see watchpost restore` })
  })
