// Shares one layout between all nodes that have the same devices.
import { type Layout, layoutOf, type LayoutNames } from "./Layout.ts"
import type { Intern } from "./NodeState.ts"

/** Distinct sets of devices shared between nodes; past it sharing starts anew, which only costs memory. */
const layoutsMax = 4096

export const makeIntern = (): Intern => {
  const known = new Map<string, Layout>()
  return (names: LayoutNames): Layout => {
    const key = JSON.stringify([
      names.nics,
      names.physical,
      names.logical,
      names.filesystems,
      names.baseIo,
      names.sensors
    ])
    let layout = known.get(key)
    if (layout === undefined) {
      if (known.size >= layoutsMax) known.clear()
      known.set(key, (layout = layoutOf(names)))
    }
    return layout
  }
}
