// Owns what a run is asked for: which benchmarks, for how long, and in which form the figures are printed.

export const names = ["ingest", "fleet", "actors", "journal", "restart", "history", "traffic", "alerts"] as const
export type Name = (typeof names)[number]

export interface Options {
  readonly chosen: ReadonlyArray<Name>
  /** One figure per line as JSON instead of tables. */
  readonly json: boolean
  /** Length of the measured part; undefined leaves each benchmark its short form. */
  readonly seconds: number | undefined
  /** Folder for CPU profiles of the server, or undefined. */
  readonly profile: string | undefined
}

export const usage = `usage: npm run bench -- NAME [--json] [--seconds N] [--profile FOLDER]
  NAME       one of ${names.join(", ")}, or all
  --json     one figure per line: {"name", "value", "unit"} (with \`npm run --silent\`, nothing else is printed)
  --seconds  length of the measured part (1 to 3600); of every timed part of history;
             the short forms take less than a minute each, history some five, traffic some four, alerts some three
  --profile  writes a CPU profile of the server into this folder (ingest and fleet)`

/** Longer runs fill the disk with a database that nobody reads. */
const secondsMax = 3600

const isName = (word: string): word is Name => (names as ReadonlyArray<string>).includes(word)

const secondsIn = (text: string | undefined): number => {
  const seconds = Number(text)
  if (!(seconds >= 1 && seconds <= secondsMax)) throw new Error(`--seconds must be 1 to ${secondsMax}`)
  return seconds
}

/** Throws an Error whose message is for a person. */
export const parseOptions = (args: ReadonlyArray<string>): Options => {
  const chosen: Array<Name> = []
  let json = false
  let seconds: number | undefined
  let profile: string | undefined
  for (let i = 0; i < args.length; i++) {
    const word = args[i] as string
    if (word === "--json") json = true
    else if (word === "--seconds") seconds = secondsIn(args[++i])
    else if (word === "--profile") profile = args[++i]
    else if (word === "all") chosen.push(...names)
    else if (isName(word)) chosen.push(word)
    else throw new Error(`there is no benchmark or option ${word}`)
  }
  if (chosen.length === 0) throw new Error("no benchmark was named")
  return { chosen: [...new Set(chosen)], json, seconds, profile }
}
