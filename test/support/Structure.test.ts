// Owns the proof that the architecture rules can fail: each is shown a small repository that breaks it and one that does not.
import { describe, expect, it } from "vitest"
import type { Modules, Offences } from "./Rules.ts"
import * as Rules from "./Rules.ts"
import { lineCount, parse } from "./Structure.ts"

type Files = Readonly<Record<string, string>>

const modulesOf = (files: Files): Modules => Object.entries(files).map(([path, text]) => parse({ path, text }))

interface Row {
  readonly rule: string
  readonly judge: (modules: Modules) => Offences
  readonly bad: ReadonlyArray<readonly [path: string, text: string, offence: string]>
  readonly good: ReadonlyArray<readonly [path: string, text: string]>
}

const direction =
  (zone: keyof typeof Rules.directions) =>
  (modules: Modules): Offences =>
    Rules.againstDirection(modules, zone)

const rows: ReadonlyArray<Row> = [
  {
    rule: "schema imports nothing of ours",
    judge: direction("schema"),
    bad: [
      ["schema/Node.ts", 'import { a } from "../src/core/A.ts"', "schema/Node.ts:1 imports a from ../src/core/A.ts"]
    ],
    good: [["schema/api/Api.ts", 'import { NodeId } from "../Ids.ts"']]
  },
  {
    rule: "core imports only schema and core",
    judge: direction("core"),
    bad: [
      ["src/core/A.ts", '\nimport type { Sql } from "../store/Sql.ts"', "src/core/A.ts:2 imports Sql"],
      ["src/core/A.ts", 'export * from "../../runtime/Config.ts"', "src/core/A.ts:1 imports * from"],
      ["src/core/A.ts", 'type T = import("../auth/Vault.ts").Vault', "src/core/A.ts:1 imports *"],
      ["src/core/A.ts", 'import { version } from "../../package.json"', "package.json"]
    ],
    good: [["src/core/A.ts", 'import { b } from "./B.ts"\nimport type { C } from "../../schema/C.ts"']]
  },
  {
    rule: "services know neither the runtime nor the programs beside them",
    judge: direction("service"),
    bad: [
      ["src/store/Nodes.ts", 'import { x } from "../../runtime/Config.ts"', "runtime/Config.ts"],
      ["src/store/Nodes.ts", 'import { x } from "../agent/main.ts"', "agent/main.ts"]
    ],
    good: [["src/store/Nodes.ts", 'import { x } from "../auth/Vault.ts"\nimport { y } from "../core/A.ts"']]
  },
  {
    rule: "the agent knows only schema",
    judge: direction("agent"),
    bad: [["src/agent/push/Push.ts", 'const a = await import("../../core/A.ts")', "../../core/A.ts"]],
    good: [["src/agent/push/Push.ts", 'import { x } from "../Clock.ts"\nimport { y } from "../../../schema/Report.ts"']]
  },
  {
    rule: "the web app knows only schema",
    judge: direction("web"),
    bad: [
      [
        "src/web/App.svelte",
        '<p>1</p>\n<script lang="ts">\nimport { a } from "../core/A.ts"\n</script>',
        "App.svelte:3"
      ],
      ["src/web/live/Store.svelte.ts", 'import { a } from "../../agent/Clock.ts"', "agent/Clock.ts"]
    ],
    good: [["src/web/App.svelte", '<script lang="ts">import type { N } from "../../schema/Node.ts"</script>\n<p>x</p>']]
  },
  {
    rule: "actors do not know the HTTP edge",
    judge: direction("runtime"),
    bad: [["runtime/Intake.ts", 'import { Listener } from "./http/Listener.ts"', "http/Listener.ts"]],
    good: [["runtime/Intake.ts", 'import { Config } from "./Config.ts"']]
  },
  {
    rule: "the HTTP edge does not know the wiring",
    judge: direction("http"),
    bad: [["runtime/http/Nodes.ts", 'import { all } from "../Layers.ts"', "../Layers.ts"]],
    good: [["runtime/http/Nodes.ts", 'import { Intake } from "../Intake.ts"']]
  },
  {
    rule: "only the wiring reaches everything, except the launch scripts",
    judge: direction("wiring"),
    bad: [["runtime/main.ts", 'import "./launch/install.mjs"', "launch/install.mjs"]],
    good: [["runtime/Layers.ts", 'import { Listener } from "./http/Listener.ts"']]
  },
  {
    rule: "schema uses only effect and the declarations of the platform",
    judge: Rules.foreignSchemaImports,
    bad: [
      ["schema/A.ts", 'import { HttpApi, HttpServer } from "@effect/platform"', "HttpServer"],
      ["schema/A.ts", 'import * as Platform from "@effect/platform"', "imports *"],
      ["schema/A.ts", 'import * as HttpClient from "@effect/platform/HttpClient"', "HttpClient"],
      ["schema/A.ts", 'import fs from "node:fs"', "node:fs"]
    ],
    good: [
      ["schema/A.ts", 'import { Schema } from "effect"\nimport { HttpApiGroup, OpenApi } from "@effect/platform"'],
      ["schema/A.ts", 'import * as HttpApiSchema from "@effect/platform/HttpApiSchema"']
    ]
  },
  {
    rule: "core uses only pure modules",
    judge: Rules.impureCoreImports,
    bad: [
      ["src/core/A.ts", 'import { Option, Effect } from "effect"', "imports Option, Effect"],
      ["src/core/A.ts", 'import type { Context } from "effect"', "Context"],
      ["src/core/A.ts", 'import * as Clock from "effect/Clock"', "effect/Clock"],
      ["src/core/A.ts", 'import { readFileSync } from "node:fs"', "node:fs"]
    ],
    good: [["src/core/A.ts", 'import { DateTime, Option, pipe } from "effect"\nimport * as Order from "effect/Order"']]
  },
  {
    rule: "core takes time and chance as arguments",
    judge: Rules.ambientCoreUses,
    bad: [
      ["src/core/A.ts", "const a = Date.now()", "Date.now"],
      ["src/core/A.ts", "const a = new Date()", "new Date()"],
      ["src/core/A.ts", "const a = Math.random()", "Math.random"],
      ["src/core/A.ts", 'import { DateTime as D } from "effect"\nconst a = D.unsafeNow()', "DateTime.unsafeNow"]
    ],
    good: [["src/core/A.ts", "const a = (ms: number) => new Date(ms).toISOString() // not Date.now()"]]
  },
  {
    rule: "nothing in src starts a fiber",
    judge: Rules.forksInSource,
    bad: [
      ["src/store/A.ts", 'import { Effect } from "effect"\nx.pipe(Effect.forkScoped)', "A.ts:2 uses Effect.forkScoped"],
      ["src/store/A.ts", 'import { Effect as E } from "effect"\nE.runPromise(x)', "Effect.runPromise"],
      ["src/store/A.ts", 'import * as Eff from "effect/Effect"\nEff.repeat(x, y)', "Effect.repeat"],
      ["src/store/A.ts", 'import { fork } from "effect/Effect"', "Effect.fork"],
      ["src/store/A.ts", 'import { FiberMap } from "effect"\nFiberMap.make()', "FiberMap.make"],
      ["src/store/A.ts", 'import { Queue } from "effect"\nQueue.bounded(1)', "Queue.bounded"],
      ["src/store/A.ts", 'import { Mailbox, PubSub } from "effect"\nMailbox.make(1)', "Mailbox.make"]
    ],
    good: [
      ["src/store/A.ts", 'import { fork } from "node:child_process"\nfork("x")\n// Effect.fork'],
      ["runtime/Journal.ts", 'import { Effect } from "effect"\nx.pipe(Effect.forkScoped)']
    ]
  },
  {
    rule: "layers are put together in the wiring",
    judge: Rules.providedOutsideWiring,
    bad: [
      [
        "runtime/Journal.ts",
        'import { Layer } from "effect"\nimport { Sql } from "../src/store/Sql.ts"\nx.pipe(Layer.provide(Sql.layer))',
        "runtime/Journal.ts:3 provides Sql from ../src/store/Sql.ts"
      ],
      [
        "src/store/Nodes.ts",
        'import * as Layer from "effect/Layer"\nimport { sql } from "./Sql.ts"\nLayer.provideMerge(x, sql("file"))',
        "provides sql"
      ]
    ],
    good: [
      [
        "runtime/Layers.ts",
        'import { Layer } from "effect"\nimport { A } from "./A.ts"\nx.pipe(Layer.provide(A.layer))'
      ],
      ["test/A.test.ts", 'import { Layer } from "effect"\nimport { A } from "./A.ts"\nx.pipe(Layer.provide(A.layer))'],
      [
        "src/A.ts",
        'import { Layer } from "effect"\nimport { R } from "@effect/experimental"\nLayer.provide(x, R.layer)'
      ]
    ]
  },
  {
    rule: "the environment is read by the configuration",
    judge: Rules.environmentReads,
    bad: [
      ["runtime/Journal.ts", 'const a = process.env["HOME"]', "runtime/Journal.ts:1 uses process.env"],
      ["src/agent/Push.ts", "const a = globalThis.process.env.HOME", "process.env"],
      ["src/auth/Vault.ts", 'const a = process["env"]', "process.env"],
      ["src/auth/Vault.ts", 'import { env } from "node:process"', "process.env"]
    ],
    good: ["runtime/Config.ts", "src/agent/main.ts", "runtime/launch/test.mjs", "test/a.test.ts", "bench/a.ts"].map(
      (path) => [path, "const a = process.env"] as const
    )
  },
  {
    rule: "queues have a bound",
    judge: Rules.unboundedQueues,
    bad: [
      ["runtime/A.ts", 'import { Queue } from "effect"\nQueue.unbounded()', "Queue.unbounded"],
      ["runtime/A.ts", 'import { unbounded } from "effect/PubSub"\nunbounded()', "PubSub.unbounded"]
    ],
    good: [["runtime/A.ts", 'Queue.bounded(16)\nconst text = "unbounded("']]
  },
  {
    rule: "every fiber has an owner",
    judge: Rules.daemons,
    bad: [["runtime/A.ts", 'import { Effect } from "effect"\nx.pipe(Effect.forkDaemon)', "Effect.forkDaemon"]],
    good: [["runtime/A.ts", 'import { Effect } from "effect"\nx.pipe(Effect.forkScoped)']]
  },
  {
    rule: "relative imports name the file",
    judge: Rules.vagueImports,
    bad: [
      ["src/core/A.ts", 'import { b } from "./B"', "./B"],
      ["src/core/A.ts", 'import { b } from "./B.js"', "./B.js"],
      ["src/core/A.ts", 'import "./App.svelte"', "./App.svelte"]
    ],
    good: [["src/web/main.ts", 'import App from "./App.svelte"\nimport "./style.css?inline"\nimport x from "./X.ts"']]
  },
  {
    rule: "names say what is inside",
    judge: Rules.emptyNames,
    bad: [
      "src/store/index.ts",
      "runtime/utils.ts",
      "schema/Types.ts",
      "test/support/helpers.ts",
      "src/web/util.svelte.ts"
    ].map((path) => [path, "", path] as const),
    good: [["src/core/Bucket.ts", ""]]
  },
  {
    rule: "files stay short",
    judge: Rules.longFiles,
    bad: [
      ["src/core/A.ts", "\n".repeat(301), "src/core/A.ts has 301 lines, the limit is 300"],
      ["src/web/App.svelte", "<p></p>\n".repeat(301), "has 301 lines"],
      ["test/a.test.ts", "\n".repeat(401), "has 401 lines, the limit is 400"]
    ],
    good: [
      ["src/core/A.ts", "\n".repeat(300)],
      ["bench/a.ts", "\n".repeat(400)]
    ]
  },
  {
    rule: "functions stay short",
    judge: Rules.longFunctions,
    bad: [
      [
        "src/core/A.ts",
        `/** Doc. */\nexport const fold = () => {${"\n".repeat(60)}}`,
        "A.ts:2 fold has 61 lines, the limit is 60"
      ],
      ["runtime/A.ts", `const make = Effect.gen(function* () {${"\n".repeat(60)}})`, "make has 61 lines"],
      ["runtime/A.ts", `class A {\n  b() {${"\n".repeat(60)}}\n}`, "A.ts:2 b has 61 lines"],
      ["src/web/A.svelte", `<script>\nfunction f() {${"\n".repeat(60)}}\n</script>`, "A.svelte:2 f has 61 lines"],
      ["test/a.test.ts", `const build = () => {${"\n".repeat(60)}}`, "build has 61 lines"]
    ],
    good: [
      ["src/core/A.ts", `const f = () => {${"\n".repeat(59)}}`],
      ["test/a.test.ts", `describe("x", () => {${"\n".repeat(90)}})`],
      ["test/a.test.ts", `it.effect("x", () => Effect.gen(function* () {${"\n".repeat(90)}}).pipe(Effect.provide(a)))`]
    ]
  }
]

for (const { bad, good, judge, rule } of rows) {
  describe(`the rule that ${rule}`, () => {
    it.each(bad)("is broken by %s: %j", (path, text, offence) => {
      expect(judge(modulesOf({ [path]: text })).join("\n")).toContain(offence)
    })

    it.each(good)("is kept by %s: %j", (path, text) => {
      expect(judge(modulesOf({ [path]: text }))).toEqual([])
    })
  })
}

describe("the rule against cycles", () => {
  it("shows a cycle as a path that ends where it began, type imports included", () => {
    const modules = modulesOf({
      "src/core/A.ts": 'import { b } from "./B.ts"',
      "src/core/B.ts": 'import type { C } from "../core/C.ts"',
      "src/core/C.ts": 'export { a } from "./A.ts"'
    })

    expect(Rules.cycles(modules)).toEqual(["src/core/A.ts -> src/core/B.ts -> src/core/C.ts -> src/core/A.ts"])
  })

  it("accepts two ways to the same module", () => {
    const modules = modulesOf({
      "src/core/A.ts": 'import { b } from "./B.ts"\nimport { c } from "./C.ts"',
      "src/core/B.ts": 'import { c } from "./C.ts"',
      "src/core/C.ts": ""
    })

    expect(Rules.cycles(modules)).toEqual([])
  })
})

describe("the rule against stray tests", () => {
  it("finds tests that the runner would pass over", () => {
    const strays = ["src/core/A.test.ts", "test/b.spec.ts", "test/c.test.mjs"]

    expect(Rules.strayTests([...strays, "test/core/A.test.ts", "test/support/Structure.ts"])).toEqual(strays)
  })
})

describe("a line count", () => {
  it.each([
    ["", 1],
    ["a", 1],
    ["a\n", 1],
    ["a\nb", 2],
    ["a\n\n", 2]
  ])("of %j is %i", (text, lines) => {
    expect(lineCount(text)).toBe(lines)
  })
})
