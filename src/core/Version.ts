// Versions of nodes: strict SemVer 2.0 without a leading v, their order, and what the order means for updates.
import type { VersionStatus } from "../../schema/Node.ts"

/** Longer texts are no version: nothing that is released needs them, and every node's version is kept in memory. */
export const versionLengthMax = 64

/** The lowest version that can update itself; a pre-release of it cannot. */
export const autoUpdateFloor = "0.2.1"

const number = "(?:0|[1-9][0-9]*)"
const identifier = `(?:${number}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)`
const strict = new RegExp(
  `^(${number})\\.(${number})\\.(${number})` +
    `(?:-(${identifier}(?:\\.${identifier})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`
)
const digits = /^[0-9]+$/

interface Parsed {
  /** Major, minor and patch as digits: they may exceed what a double holds. */
  readonly release: ReadonlyArray<string>
  /** Empty for a release, which stands above all its pre-releases. */
  readonly preRelease: ReadonlyArray<string>
}

const parse = (text: string): Parsed | undefined => {
  const match = text.length <= versionLengthMax ? strict.exec(text) : null
  if (match === null) return undefined
  const [, major = "0", minor = "0", patch = "0", preRelease] = match
  return { release: [major, minor, patch], preRelease: preRelease === undefined ? [] : preRelease.split(".") }
}

type Order = -1 | 0 | 1

const compareTexts = (a: string, b: string): Order => (a < b ? -1 : a > b ? 1 : 0)

/** Digits without leading zeros: the longer number is the larger one. */
const compareNumbers = (a: string, b: string): Order =>
  a.length === b.length ? compareTexts(a, b) : a.length < b.length ? -1 : 1

const compareIdentifiers = (a: string, b: string): Order => {
  const isNumberA = digits.test(a)
  const isNumberB = digits.test(b)
  if (isNumberA && isNumberB) return compareNumbers(a, b)
  return isNumberA ? -1 : isNumberB ? 1 : compareTexts(a, b)
}

const compareLists = (
  a: ReadonlyArray<string>,
  b: ReadonlyArray<string>,
  by: (a: string, b: string) => Order
): Order => {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const one = a[i]
    const other = b[i]
    if (one === undefined) return -1
    if (other === undefined) return 1
    const order = by(one, other)
    if (order !== 0) return order
  }
  return 0
}

const compareParsed = (a: Parsed, b: Parsed): Order => {
  const order = compareLists(a.release, b.release, compareNumbers)
  if (order !== 0) return order
  if (a.preRelease.length === 0) return b.preRelease.length === 0 ? 0 : 1
  return b.preRelease.length === 0 ? -1 : compareLists(a.preRelease, b.preRelease, compareIdentifiers)
}

/** True for strict SemVer 2.0: no leading v, no leading zeros, three numbers, no surrounding space. */
export const isVersion = (text: string): boolean => parse(text) !== undefined

/** SemVer precedence (build metadata does not count); undefined when either text is no version. */
export const compareVersions = (a: string, b: string): Order | undefined => {
  const one = parse(a)
  const other = parse(b)
  return one === undefined || other === undefined ? undefined : compareParsed(one, other)
}

/** Missing, invalid, or older than the bundled version; while that one is unknown only the first two count. */
export const isOutdated = (version: string | undefined, bundled: string | undefined): boolean => {
  if (version === undefined || !isVersion(version)) return true
  return bundled !== undefined && compareVersions(version, bundled) === -1
}

/** Whether an update can be delivered from the console; `0.2.1-rc.1` is below the floor, `0.2.1+x` is not. */
export const supportsAutoUpdate = (version: string | undefined): boolean => {
  const order = version === undefined ? undefined : compareVersions(version, autoUpdateFloor)
  return order !== undefined && order >= 0
}

/** The target itself, or something newer. Other build metadata of the same precedence keeps the task pending. */
export const clearsUpgrade = (reported: string, target: string): boolean =>
  reported === target || compareVersions(reported, target) === 1

/** What the node list says of a version; a node that never reported one has the empty version. */
export const versionStatus = (version: string | undefined, bundled: string | undefined): VersionStatus => ({
  version: version ?? "",
  is_outdated: isOutdated(version, bundled),
  supports_auto_update: supportsAutoUpdate(version)
})
