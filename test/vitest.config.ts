// Owns how tests run: which file belongs to which project, how long a test may take, how many processes share the machine.
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { svelte } from "@sveltejs/vite-plugin-svelte"
import { svelteTesting } from "@testing-library/svelte/vite"
import { defineConfig } from "vitest/config"
import { programsInVite } from "../runtime/launch/program.mjs"
import { LongestFirst } from "./support/LongestFirst.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }

// Every *.test.ts under test/ belongs to exactly one project: the two lists below are complements.
const web = ["test/web/**/*.test.ts"]

export default defineConfig({
  root,
  define: { __WATCHPOST_VERSION__: JSON.stringify(version) },
  plugins: [programsInVite],
  test: {
    // A forgotten `.only` would leave out every other test of its file without a word.
    allowOnly: false,
    pool: "forks",
    poolOptions: { forks: { minForks: 1, maxForks: 2 } },
    sequence: { sequencer: LongestFirst },
    // Most tests take milliseconds; those that start the built program or a browser set their own limit.
    testTimeout: 10_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
    projects: [
      {
        extends: true,
        test: { name: "node", environment: "node", include: ["test/**/*.test.ts"], exclude: web }
      },
      {
        extends: true,
        plugins: [svelte({ configFile: false }), svelteTesting()],
        test: { name: "web", environment: "happy-dom", include: web, exclude: [] }
      }
    ]
  }
})
