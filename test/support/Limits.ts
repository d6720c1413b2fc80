// The default limits of history, for services that tests start with settings of their own.
import { limitsOf } from "../../runtime/HistoryLimits.ts"

const hour = 3_600_000
const kept = (hours: number) => ({ keepMs: hours * hour, maxBytes: undefined })

export const defaultLimits = limitsOf(
  { raw: kept(24), minute: kept(7 * 24), quarter: kept(45 * 24), hour: kept(400 * 24) },
  10e9
)
