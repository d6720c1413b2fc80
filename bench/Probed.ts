// The service with a probe of its event loop inside.
import { pathToFileURL } from "node:url"
import { message } from "./Children.ts"
import { type Service, startService } from "./Service.ts"
import type { Blocks } from "./Turns.ts"
import { programFile } from "./Workshop.ts"

export const startProbed = (home: string, env: Readonly<Record<string, string>> = {}): Promise<Service> =>
  startService(home, { env, preload: pathToFileURL(programFile("Probe")).href })

/** What held the loop since the last time it was asked for. */
export const blocksOf = async ({ child }: Service): Promise<Blocks> => {
  child.process.send({})
  return message<Blocks>(child, 30_000, "the service's probe")
}
