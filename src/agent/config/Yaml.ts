// The strict corner of YAML the configuration needs: top-level scalars, and lists of flat scalar maps.

/** A scalar with the way it was written, because only a plain `1` is the number 1. */
export interface Scalar {
  readonly text: string
  readonly isQuoted: boolean
}

export type ScalarMap = ReadonlyMap<string, Scalar>

export interface YamlDocument {
  readonly scalars: ScalarMap
  readonly lists: ReadonlyMap<string, ReadonlyArray<ScalarMap>>
}

/** Thrown for everything outside the subset; the message names the line but never repeats its content. */
export class YamlFault extends Error {
  constructor(line: number, reason: string) {
    super(`line ${line}: ${reason}`)
  }
}

interface Line {
  readonly number: number
  readonly indent: number
  readonly text: string
}

const linesOf = (text: string): ReadonlyArray<Line> =>
  text.split(/\r?\n/).flatMap((raw, index) => {
    const number = index + 1
    const body = raw.trimStart()
    if (body === "" || body.startsWith("#") || (index === 0 && body.trimEnd() === "---")) return []
    const indentation = raw.slice(0, raw.length - body.length)
    if (/[^ ]/.test(indentation)) throw new YamlFault(number, "only spaces may indent")
    return [{ number, indent: indentation.length, text: body.trimEnd() }]
  })

/** Words that another reader would take for null or a boolean. */
const ambiguous = /^(?:~|null|true|false|yes|no|on|off)$/i

const plainScalar = (text: string, line: number): Scalar => {
  const value = text.replace(/\s+#.*$/, "")
  if (/^[!&*[\]{}|>@%`"',?:#]|^-(?:\s|$)/.test(value)) throw new YamlFault(line, "a value must be quoted")
  if (/:\s|:$/.test(value) || ambiguous.test(value)) throw new YamlFault(line, "a value must be quoted")
  return { text: value, isQuoted: false }
}

const quotedEnd = /^\s*(?:#.*)?$/

const doubleQuoted = (text: string, line: number): Scalar => {
  const match = /^"(?:[^"\\]|\\.)*"/.exec(text)
  if (match === null || !quotedEnd.test(text.slice(match[0].length))) throw new YamlFault(line, "a quote is not closed")
  try {
    return { text: String(JSON.parse(match[0])), isQuoted: true }
  } catch {
    throw new YamlFault(line, "an escape in double quotes is not known")
  }
}

const singleQuoted = (text: string, line: number): Scalar => {
  const match = /^'((?:[^']|'')*)'/.exec(text)
  if (match === null || !quotedEnd.test(text.slice(match[0].length))) throw new YamlFault(line, "a quote is not closed")
  return { text: (match[1] ?? "").replaceAll("''", "'"), isQuoted: true }
}

const scalarOf = (text: string, line: number): Scalar => {
  if (text === "" || text.startsWith("#")) throw new YamlFault(line, "a value is missing")
  if (text.startsWith('"')) return doubleQuoted(text, line)
  return text.startsWith("'") ? singleQuoted(text, line) : plainScalar(text, line)
}

/** Splits `key: value`; the value may be empty. */
const pairOf = (text: string, line: number): readonly [string, string] => {
  const match = /^([A-Za-z_][A-Za-z0-9_]*):(?:\s+(.*))?$/.exec(text)
  if (match === null) throw new YamlFault(line, "expected `key: value`")
  return [match[1] ?? "", match[2] ?? ""]
}

const put = <T>(map: Map<string, T>, key: string, value: T, line: number): void => {
  if (map.has(key)) throw new YamlFault(line, `the key ${key} is repeated`)
  map.set(key, value)
}

interface ItemState {
  /** Column of the dashes, and of the keys of the item that is open. */
  dashIndent: number | null
  keyIndent: number
}

const addToList = (items: Array<Map<string, Scalar>>, state: ItemState, line: Line): void => {
  const dash = /^-(\s+)(.*)$/.exec(line.text)
  if (dash !== null) {
    state.dashIndent ??= line.indent
    if (line.indent !== state.dashIndent) throw new YamlFault(line.number, "list items must line up")
    state.keyIndent = line.indent + 1 + (dash[1] ?? "").length
    items.push(new Map())
  } else if (items.length === 0 || line.indent !== state.keyIndent) {
    throw new YamlFault(line.number, "the indentation is not understood")
  }
  const [key, value] = pairOf(dash?.[2] ?? line.text, line.number)
  const item = items[items.length - 1]
  if (item !== undefined) put(item, key, scalarOf(value, line.number), line.number)
}

/** Parses a document; throws {@link YamlFault}. `name:` without a value and `name: []` are empty lists. */
export const parseYaml = (text: string): YamlDocument => {
  const scalars = new Map<string, Scalar>()
  const lists = new Map<string, Array<Map<string, Scalar>>>()
  let open: Array<Map<string, Scalar>> | null = null
  let state: ItemState = { dashIndent: null, keyIndent: 0 }
  for (const line of linesOf(text)) {
    if (line.indent > 0 || line.text.startsWith("-")) {
      if (open === null) throw new YamlFault(line.number, "the indentation is not understood")
      addToList(open, state, line)
      continue
    }
    const [key, value] = pairOf(line.text, line.number)
    open = null
    if (lists.has(key)) throw new YamlFault(line.number, `the key ${key} is repeated`)
    if (value === "" || value.startsWith("#") || /^\[\s*\]\s*(?:#.*)?$/.test(value)) {
      const items: Array<Map<string, Scalar>> = []
      if (scalars.has(key)) throw new YamlFault(line.number, `the key ${key} is repeated`)
      lists.set(key, items)
      if (!value.startsWith("[")) open = items
      state = { dashIndent: null, keyIndent: 0 }
    } else put(scalars, key, scalarOf(value, line.number), line.number)
  }
  return { scalars, lists }
}

/** Double quotes with the escapes of JSON, which YAML shares. */
const quoted = (text: string): string => JSON.stringify(text)

/** Writes one plain integer and one list of text maps; {@link parseYaml} reads it back unchanged. */
export const writeYaml = (
  number: readonly [string, number],
  list: readonly [string, ReadonlyArray<ReadonlyArray<readonly [string, string]>>]
): string => {
  const items = list[1].flatMap((item) =>
    item.map(([key, value], index) => `${index === 0 ? "  - " : "    "}${key}: ${quoted(value)}`)
  )
  const head = items.length === 0 ? `${list[0]}: []` : `${list[0]}:`
  return [`${number[0]}: ${number[1]}`, head, ...items, ""].join("\n")
}
