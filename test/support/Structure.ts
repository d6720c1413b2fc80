// Owns the reading of source files into facts: what each imports, which members it uses, how long its functions are.
import ts from "typescript"

/** One file of the repository: `path` is relative to the root and uses forward slashes. */
export interface Source {
  readonly path: string
  readonly text: string
}

/** One import or re-export: `names` are the exported names as the other module spells them, "*" for the whole module. */
export interface Import {
  readonly specifier: string
  readonly names: ReadonlyArray<string>
  readonly line: number
}

/**
 * One mention of a member. `name` is dotted and free of local aliases ("Effect.fork", "process.env", "new Date()");
 * `module` is the package the first part was imported from, "" for a global or a local value.
 */
export interface Use {
  readonly name: string
  readonly module: string
  readonly line: number
}

/** One function body longer than nothing: its name as far as it has one, its first line and how many lines it spans. */
export interface FunctionSpan {
  readonly name: string
  readonly line: number
  readonly length: number
}

/** Everything the rules ask about one module. `provided` are the values of other modules handed to `Layer.provide*`. */
export interface Module {
  readonly path: string
  readonly lines: number
  readonly imports: ReadonlyArray<Import>
  readonly uses: ReadonlyArray<Use>
  readonly functions: ReadonlyArray<FunctionSpan>
  readonly provided: ReadonlyArray<Use>
}

/** Reads one TypeScript, JavaScript or Svelte file. Of a Svelte file only its script blocks have imports and functions. */
export const parse = (source: Source): Module => {
  const text = source.path.endsWith(".svelte") ? scriptOf(source.text) : source.text
  const file = ts.createSourceFile(source.path, text, ts.ScriptTarget.ESNext, true, ts.ScriptKind.TS)
  const imports = collect(file, (node) => importOf(file, node))
  return {
    path: source.path,
    lines: lineCount(source.text),
    imports,
    uses: usesOf(file, imports),
    functions: collect(file, (node) => spanOf(file, node, isTestPath(source.path))),
    provided: providedIn(file)
  }
}

/** Lines as an editor numbers them: the line break at the end of the file starts no new line. */
export const lineCount = (text: string): number => text.split("\n").length - (text.endsWith("\n") ? 1 : 0)

/** True for files whose test callbacks may be longer than other functions. */
export const isTestPath = (path: string): boolean => path.startsWith("test/")

const lineAt = (file: ts.SourceFile, node: ts.Node): number =>
  file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1

const collect = <A>(file: ts.SourceFile, pick: (node: ts.Node) => A | undefined): ReadonlyArray<A> => {
  const found: Array<A> = []
  const visit = (node: ts.Node): void => {
    const picked = pick(node)
    if (picked !== undefined) found.push(picked)
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

// Everything outside the script blocks becomes empty lines, so that line numbers stay true.
const scriptOf = (text: string): string => {
  let script = ""
  let at = 0
  for (const match of text.matchAll(/<script\b[^>]*>([\s\S]*?)<\/script>/g)) {
    const body = match[1] ?? ""
    const start = match.index + match[0].length - "</script>".length - body.length
    script += text.slice(at, start).replace(/[^\n]/g, "") + body
    at = start + body.length
  }
  return script
}

const isText = (node: ts.Node | undefined): node is ts.StringLiteralLike =>
  node !== undefined && ts.isStringLiteralLike(node)

const importOf = (file: ts.SourceFile, node: ts.Node): Import | undefined => {
  const line = lineAt(file, node)
  if (ts.isImportDeclaration(node) && isText(node.moduleSpecifier)) {
    return { specifier: node.moduleSpecifier.text, names: clauseNames(node.importClause), line }
  }
  if (ts.isExportDeclaration(node) && isText(node.moduleSpecifier)) {
    const named =
      node.exportClause !== undefined && ts.isNamedExports(node.exportClause) ? node.exportClause : undefined
    return { specifier: node.moduleSpecifier.text, names: named?.elements.map(exportedName) ?? ["*"], line }
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument) && isText(node.argument.literal)) {
    return { specifier: node.argument.literal.text, names: ["*"], line }
  }
  const isLoad = ts.isCallExpression(node) && /^(import|require)$/.test(node.expression.getText(file))
  return isLoad && isText(node.arguments[0]) ? { specifier: node.arguments[0].text, names: ["*"], line } : undefined
}

const exportedName = (element: ts.ImportSpecifier | ts.ExportSpecifier): string =>
  (element.propertyName ?? element.name).text

const clauseNames = (clause: ts.ImportClause | undefined): ReadonlyArray<string> => {
  if (clause === undefined) return []
  const { namedBindings } = clause
  const others =
    namedBindings === undefined
      ? []
      : ts.isNamespaceImport(namedBindings)
        ? ["*"]
        : namedBindings.elements.map(exportedName)
  return clause.name === undefined ? others : ["default", ...others]
}

interface Origin {
  readonly name: string
  readonly module: string
}

const lastPart = (specifier: string): string => specifier.slice(specifier.lastIndexOf("/") + 1)

// A subpath module is known by its last part, so `effect/Effect` and `effect` speak of the same `Effect`.
const packageOf = (specifier: string): string => specifier.replace(/^node:/, "")
const isSubpath = (specifier: string): boolean => /^(effect|@effect\/[^/]+)\/./.test(specifier)

/** What each imported local name stands for: `import { Effect as E } from "effect"` gives E -> Effect. */
const originsOf = (file: ts.SourceFile): ReadonlyMap<string, Origin> => {
  const origins = new Map<string, Origin>()
  for (const statement of file.statements) {
    if (!ts.isImportDeclaration(statement) || !isText(statement.moduleSpecifier)) continue
    const specifier = statement.moduleSpecifier.text
    const module = packageOf(specifier)
    const { name, namedBindings } = statement.importClause ?? {}
    if (name !== undefined) origins.set(name.text, { name: lastPart(module), module })
    if (namedBindings === undefined) continue
    if (ts.isNamespaceImport(namedBindings)) {
      origins.set(namedBindings.name.text, { name: isSubpath(specifier) ? lastPart(module) : "", module })
      continue
    }
    for (const element of namedBindings.elements) {
      const exported = exportedName(element)
      const isMember = isSubpath(specifier) || specifier.startsWith("node:")
      origins.set(element.name.text, { name: isMember ? `${lastPart(module)}.${exported}` : exported, module })
    }
  }
  return origins
}

const usesOf = (file: ts.SourceFile, imports: ReadonlyArray<Import>): ReadonlyArray<Use> => {
  const origins = originsOf(file)
  const members = collect(file, (node) => memberOf(file, node, origins))
  const direct = imports.flatMap(({ specifier, names, line }) =>
    isSubpath(specifier) || specifier.startsWith("node:")
      ? names
          .filter((name) => name !== "*" && name !== "default")
          .map((name) => ({ name: `${lastPart(packageOf(specifier))}.${name}`, module: packageOf(specifier), line }))
      : []
  )
  return [...direct, ...members]
}

const memberOf = (file: ts.SourceFile, node: ts.Node, origins: ReadonlyMap<string, Origin>): Use | undefined => {
  const line = lineAt(file, node)
  if (ts.isNewExpression(node) && (node.arguments ?? []).length === 0) {
    return { name: `new ${node.expression.getText(file)}()`, module: "", line }
  }
  if (ts.isCallExpression(node) && ts.isIdentifier(node.expression)) {
    const origin = origins.get(node.expression.text)
    return { name: `${origin?.name ?? node.expression.text}()`, module: origin?.module ?? "", line }
  }
  const member = ts.isPropertyAccessExpression(node)
    ? node.name.text
    : ts.isElementAccessExpression(node) && isText(node.argumentExpression)
      ? node.argumentExpression.text
      : undefined
  if (member === undefined) return undefined
  const owner = (node as ts.PropertyAccessExpression | ts.ElementAccessExpression).expression
  return { ...ownerOf(owner, member, origins), line }
}

const ownerOf = (owner: ts.Expression, member: string, origins: ReadonlyMap<string, Origin>): Origin => {
  if (ts.isPropertyAccessExpression(owner)) return { name: `${owner.name.text}.${member}`, module: "" }
  if (!ts.isIdentifier(owner)) return { name: `?.${member}`, module: "" }
  const origin = origins.get(owner.text)
  if (origin === undefined) return { name: `${owner.text}.${member}`, module: "" }
  return { name: origin.name === "" ? member : `${origin.name}.${member}`, module: origin.module }
}

/** The imported names inside the arguments of `Layer.provide(...)` and `Layer.provideMerge(...)`. */
const providedIn = (file: ts.SourceFile): ReadonlyArray<Use> => {
  const origins = originsOf(file)
  const isProvide = (node: ts.Node): node is ts.CallExpression =>
    ts.isCallExpression(node) &&
    ts.isPropertyAccessExpression(node.expression) &&
    ts.isIdentifier(node.expression.expression) &&
    origins.get(node.expression.expression.text)?.name === "Layer" &&
    node.expression.name.text.startsWith("provide")
  return collect(file, (node) => {
    if (!ts.isIdentifier(node)) return undefined
    // What a layer's own function body mentions is its implementation, not a layer it is given.
    const call = ts.findAncestor(node, (at) => isProvide(at) || (ts.isFunctionLike(at) ? "quit" : false))
    const origin = call === undefined ? undefined : origins.get(node.text)
    return origin === undefined ? undefined : { ...origin, line: lineAt(file, node) }
  })
}

const spanOf = (file: ts.SourceFile, node: ts.Node, inTests: boolean): FunctionSpan | undefined => {
  if (!ts.isFunctionLike(node) || !("body" in node) || node.body === undefined) return undefined
  if (inTests && isTestCallback(node)) return undefined
  const line = lineAt(file, node)
  const end = file.getLineAndCharacterOfPosition(node.getEnd()).line + 1
  return { name: nameOf(node), line, length: end - line + 1 }
}

// A function is called what it is assigned to, through any call that wraps it: `const make = Effect.gen(function* ...)`.
const nameOf = (node: ts.Node): string => {
  for (let at: ts.Node | undefined = node; at !== undefined; at = at.parent) {
    const name = (at as { readonly name?: ts.Node }).name
    if (name !== undefined && (at === node || !ts.isFunctionLike(at))) return name.getText()
    if (at !== node && ts.isFunctionLike(at)) break
  }
  return "a function"
}

const TEST_CALLS = /^(describe|it|test|suite|layer|beforeAll|beforeEach|afterAll|afterEach)\b/

/**
 * True for a callback handed to a test or hook call, and for a generator that is the whole body of such a callback:
 * `it.effect("...", () => Effect.gen(function* () { ... }).pipe(...))`.
 */
const isTestCallback = (node: ts.Node): boolean => {
  for (let child = node, at = node.parent; at !== undefined; child = at, at = at.parent) {
    const isArgument = ts.isCallExpression(at) && at.expression !== child
    if (isArgument && TEST_CALLS.test((at as ts.CallExpression).expression.getText())) return true
    if (ts.isArrowFunction(at)) return at.body === child && isTestCallback(at)
    if (!ts.isCallExpression(at) && !ts.isPropertyAccessExpression(at) && !ts.isParenthesizedExpression(at))
      return false
  }
  return false
}
