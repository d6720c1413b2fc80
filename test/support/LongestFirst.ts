// Owns the order of the test files: those that are known to take long begin first, so that no process idles at the end.
import { BaseSequencer, type TestSpecification } from "vitest/node"

/**
 * The longest files under test/, in an order in which one that measures delays or fills both cores mostly has a lighter
 * one beside it. A name that no longer fits costs nothing but the order.
 */
const long = `http/Slow http/Malformed http/Guests
  runtime/cli/Restore runtime/LedgerLife runtime/Compactor runtime/HistoryFaults
  web/Pages.browser runtime/LocalNode runtime/cli/Damage web/Traffic.browser
  runtime/Crash web/Alerts.browser runtime/Checkpointer web/History.browser
  runtime/Retention web/Admin.browser runtime/Config web/AlertsChannels.browser
  http/Contract web/Overview.browser http/Injection web/TrafficAdmin.browser runtime/Sessions`.split(/\s+/)

const rankOf = ({ moduleId }: TestSpecification): number => {
  const rank = long.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
  return rank === -1 ? long.length : rank
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    return (await super.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b))
  }
}
