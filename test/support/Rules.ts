// Owns the architecture rules: each takes the parsed modules and returns one line per offence, none where all is well.
import { posix } from "node:path"
import type { Import, Module, Use } from "./Structure.ts"
import { isTestPath } from "./Structure.ts"

export type Modules = ReadonlyArray<Module>
export type Offences = ReadonlyArray<string>

const zones = [
  ["schema", /^schema\//],
  ["core", /^src\/core\//],
  ["agent", /^src\/agent\//],
  ["web", /^src\/web\//],
  ["service", /^src\//],
  ["launch", /^runtime\/launch\//],
  ["wiring", /^runtime\/(Layers|main)\.ts$/],
  ["http", /^runtime\/http\//],
  ["runtime", /^runtime\//],
  ["test", /^test\//],
  ["bench", /^bench\//]
] as const

/** A part of the repository with its own rules about what it may import. */
export type Zone = (typeof zones)[number][0]

/** The zone of a path relative to the root; undefined for files outside every zone, such as package.json. */
export const zoneOf = (path: string): Zone | undefined => zones.find(([, pattern]) => pattern.test(path))?.[0]

/** The whole direction drawing: what each zone may import besides packages. Tests and benchmarks may import everything. */
export const directions = {
  schema: ["schema"],
  core: ["schema", "core"],
  service: ["schema", "core", "service"],
  agent: ["schema", "agent"],
  web: ["schema", "web"],
  runtime: ["schema", "core", "service", "runtime"],
  http: ["schema", "core", "service", "runtime", "http"],
  wiring: ["schema", "core", "service", "runtime", "http", "wiring"],
  launch: ["launch"]
} as const satisfies Partial<Record<Zone, ReadonlyArray<Zone>>>

const isRelative = (specifier: string): boolean => /^\.{0,2}\//.test(specifier)

// Vite reads a question mark and what follows as a wish about the same file.
const withoutQuery = (specifier: string): string => specifier.replace(/\?.*$/, "")

const resolve = (module: Module, specifier: string): string =>
  posix.join(posix.dirname(module.path), withoutQuery(specifier))

const at = (module: Module, place: { readonly line: number }, text: string): string =>
  `${module.path}:${place.line} ${text}`

const importsWhere = (
  modules: Modules,
  isConcerned: (module: Module) => boolean,
  isOffence: (found: Import, module: Module) => boolean
): Offences =>
  modules
    .filter(isConcerned)
    .flatMap((module) =>
      module.imports
        .filter((found) => isOffence(found, module))
        .map((found) => at(module, found, `imports ${found.names.join(", ")} from ${found.specifier}`))
    )

const usesWhere = (
  modules: Modules,
  isConcerned: (module: Module) => boolean,
  isOffence: (use: Use) => boolean
): Offences =>
  modules
    .filter(isConcerned)
    .flatMap((module) => module.uses.filter(isOffence).map((use) => at(module, use, `uses ${use.name}`)))

/** Imports of our own files that go against the direction drawing. */
export const againstDirection = (modules: Modules, zone: keyof typeof directions): Offences => {
  const allowed: ReadonlyArray<Zone | undefined> = directions[zone]
  return importsWhere(
    modules,
    ({ path }) => zoneOf(path) === zone,
    ({ specifier }, module) => isRelative(specifier) && !allowed.includes(zoneOf(resolve(module, specifier)))
  )
}

const DECLARATIONS = /^(HttpApi\w*|OpenApi\w*|Multipart)$/

/** Packages in `schema` other than effect and the declaring half of @effect/platform. */
export const foreignSchemaImports = (modules: Modules): Offences =>
  importsWhere(
    modules,
    ({ path }) => zoneOf(path) === "schema",
    ({ names, specifier }) =>
      !isRelative(specifier) &&
      !/^effect(\/|$)/.test(specifier) &&
      !(specifier === "@effect/platform" && names.every((name) => DECLARATIONS.test(name))) &&
      !(specifier.startsWith("@effect/platform/") && DECLARATIONS.test(specifier.slice("@effect/platform/".length)))
  )

// Values and pure functions over them. Everything else in effect runs, waits, schedules, or carries services.
const PURE_EFFECT = new Set(
  `Array BigDecimal BigInt Boolean Brand Chunk Data DateTime Duration Either Encoding Equal Equivalence Function Hash
  HashMap HashSet Iterable List Match MutableHashMap MutableList Number Option Order Ordering Predicate Record RegExp
  Schema SchemaAST SortedMap SortedSet String Struct Trie Tuple Types absurd flow hole identity pipe`.split(/\s+/)
)

// Pure computation that happens to be published as packages.
const PURE_PACKAGES = new Set(["semver", "ipaddr.js"])

/** Imports of `src/core` that could run, wait or touch the world. */
export const impureCoreImports = (modules: Modules): Offences =>
  importsWhere(
    modules,
    ({ path }) => zoneOf(path) === "core",
    ({ names, specifier }) => {
      if (isRelative(specifier) || PURE_PACKAGES.has(specifier)) return false
      if (specifier === "effect") return !names.every((name) => PURE_EFFECT.has(name))
      return !(specifier.startsWith("effect/") && PURE_EFFECT.has(specifier.slice("effect/".length)))
    }
  )

const AMBIENT =
  /^(Date\.now|new Date\(\)|performance\.now|process\.\w+|Math\.random|crypto\.\w+|console\.\w+|(setTimeout|setInterval|setImmediate|queueMicrotask|fetch)\(\)|DateTime\.(now|unsafeNow|nowAsDate|nowInCurrentZone))$/

/** Clock, chance and IO in `src/core`, where time is an argument and the same input gives the same output. */
export const ambientCoreUses = (modules: Modules): Offences =>
  usesWhere(
    modules,
    ({ path }) => zoneOf(path) === "core",
    ({ name }) => AMBIENT.test(name)
  )

const isEffectModule = (module: string): boolean => /^@?effect(\/|$)/.test(module)

const STARTS_FIBERS =
  /^(Effect\.(fork\w*|repeat\w*|run(Fork|Promise|Sync|Callback)\w*)|Runtime\.run\w+|(FiberMap|FiberSet|FiberHandle|Queue|PubSub)\.\w+|Mailbox\.make)$/

/** Everything in `src` that starts a fiber or makes what only a fiber could drain. */
export const forksInSource = (modules: Modules): Offences =>
  usesWhere(
    modules,
    ({ path }) => path.startsWith("src/"),
    ({ module, name }) => isEffectModule(module) && STARTS_FIBERS.test(name)
  )

/** Layers of our own put together outside the wiring, where the order of start and shutdown could not be read. */
export const providedOutsideWiring = (modules: Modules): Offences =>
  modules
    .filter(({ path }) => !/^(test|bench)\//.test(path) && !/(^|\/)(main|Layers)\.ts$/.test(path))
    .flatMap((module) =>
      module.provided
        .filter((use) => isRelative(use.module))
        .map((use) => at(module, use, `provides ${use.name} from ${use.module}`))
    )

const READS_ENVIRONMENT = /^(runtime\/Config\.ts|src\/agent\/main\.ts|(runtime\/launch|test|bench)\/.*)$/

/** The environment read outside the configuration. */
export const environmentReads = (modules: Modules): Offences =>
  usesWhere(
    modules,
    ({ path }) => !READS_ENVIRONMENT.test(path),
    ({ name }) => name === "process.env"
  )

/** Queues without a bound. */
export const unboundedQueues = (modules: Modules): Offences =>
  usesWhere(
    modules,
    () => true,
    ({ name }) => /(^|\.)unbounded(\(\))?$/.test(name)
  )

/** Fibers that nobody owns. */
export const daemons = (modules: Modules): Offences =>
  usesWhere(
    modules,
    () => true,
    ({ name }) => /(^|\.)(forkDaemon|runForkDaemon)$/.test(name)
  )

const suffixesOf = (path: string): RegExp => {
  if (/^(src\/web|test\/web)\//.test(path)) return /\.(ts|svelte|css)$/
  return path.startsWith("runtime/launch/") || isTestPath(path) ? /\.(ts|mjs)$/ : /\.ts$/
}

/** Relative imports that do not name the file they mean. */
export const vagueImports = (modules: Modules): Offences =>
  importsWhere(
    modules,
    () => true,
    ({ specifier }, module) => isRelative(specifier) && !suffixesOf(module.path).test(withoutQuery(specifier))
  )

/** Groups of modules that import each other, as one path that ends where it began. */
export const cycles = (modules: Modules): Offences => {
  const known = new Map(modules.map((module) => [module.path, module]))
  const settled = new Set<string>()
  const found: Array<string> = []
  const visit = (path: string, trail: ReadonlyArray<string>): void => {
    if (trail.includes(path)) {
      found.push([...trail.slice(trail.indexOf(path)), path].join(" -> "))
      return
    }
    const module = known.get(path)
    if (module === undefined || settled.has(path)) return
    for (const { specifier } of module.imports) {
      if (isRelative(specifier)) visit(resolve(module, specifier), [...trail, path])
    }
    settled.add(path)
  }
  for (const path of known.keys()) visit(path, [])
  return found
}

/** File names that say nothing about what is inside. */
export const emptyNames = (modules: Modules): Offences =>
  modules.map(({ path }) => path).filter((path) => /(^|\/)(index|utils?|types?|helpers?)\.[a-z.]+$/i.test(path))

const LINES_MAX = 300
const TEST_LINES_MAX = 400
const FUNCTION_LINES_MAX = 60

/** Files past their limit. */
export const longFiles = (modules: Modules): Offences =>
  modules.flatMap(({ lines, path }) => {
    const limit = /^(test|bench)\//.test(path) ? TEST_LINES_MAX : LINES_MAX
    return lines > limit ? [`${path} has ${lines} lines, the limit is ${limit}`] : []
  })

/** Functions past the limit, wherever they are; callbacks of tests are not counted. */
export const longFunctions = (modules: Modules): Offences =>
  modules.flatMap((module) =>
    module.functions
      .filter(({ length }) => length > FUNCTION_LINES_MAX)
      .map((span) => at(module, span, `${span.name} has ${span.length} lines, the limit is ${FUNCTION_LINES_MAX}`))
  )

/** Test files under a name that the test runner does not look for. */
export const strayTests = (paths: ReadonlyArray<string>): Offences =>
  paths.filter((path) => /\.(test|spec)\.\w+$/.test(path) && !/^test\/.*\.test\.ts$/.test(path))
