// Rules, reports and moments for the tests of alerts: plain ones, of which a test says only what it is about.
import type { Details } from "../../../src/core/Details.ts"
import { Host, type Layout, layoutOf, type LayoutNames } from "../../../src/core/Layout.ts"
import type { Measured } from "../../../src/core/alert/Measures.ts"
import type { Consideration } from "../../../src/core/alert/NodeAlerts.ts"
import type { AlertRule } from "../../../src/core/alert/Rule.ts"
import type { Moment } from "../../../src/core/alert/RuleState.ts"
import type { Statics } from "../../../src/core/NodeState.ts"

export const noNames: LayoutNames = { nics: [], physical: [], logical: [], filesystems: [], baseIo: [], sensors: [] }

/** cpu.usage_ratio >= 0.9 for 60 s. */
export const cpuRule: AlertRule = {
  id: 1,
  generation: 1,
  name: "cpu_usage_high",
  enabled: true,
  metric: "cpu.usage_ratio",
  operator: ">=",
  threshold: 0.9,
  durationSec: 60,
  cooldownMin: 0,
  thresholdMode: "static",
  thresholdOffset: 0,
  clearThreshold: null,
  keepFiringSec: 0,
  createdAt: 0,
  updatedAt: 0
}

export const detailsOf = (layout: Layout, fields: Partial<Details> = {}): Details => ({
  layout,
  hostname: "host",
  version: "1.0.0",
  ip: "203.0.113.7",
  uptime: "",
  health: [],
  thermal: null,
  smart: null,
  raid: { arrays: [] },
  wide: null,
  dropped: [],
  ...fields
})

export const staticsOf = (body: Partial<Statics["body"]> = {}): Statics => ({
  receivedAt: 0,
  body: {
    version: "1.0.0",
    timestamp: "2026-01-01T00:00:00Z",
    report_interval_seconds: 3,
    system: {
      hostname: "host",
      os: "linux",
      platform: "p",
      platform_version: "1",
      kernel_version: "6",
      arch: "x86_64"
    },
    ...body
  }
})

export const measuredOf = (
  fill: (vector: Float64Array, layout: Layout) => void,
  names: Partial<LayoutNames> = {},
  rest: { readonly details?: Partial<Details>; readonly statics?: Statics } = {}
): Measured => {
  const layout = layoutOf({ ...noNames, ...names })
  const vector = new Float64Array(layout.size)
  fill(vector, layout)
  return { layout, vector, details: detailsOf(layout, rest.details), statics: rest.statics }
}

/** A report that says nothing but this usage. */
export const usageOf = (usage: number): Measured =>
  measuredOf((vector) => {
    vector[Host.cpuUsage] = usage
  })

const noEvent = (): never => {
  throw new Error("no event was to be opened")
}

export const momentAt = (nowMs: number, fields: Partial<Moment> = {}): Moment => ({
  nowMs,
  observedMs: nowMs,
  canOpen: true,
  isSilenced: false,
  channelIds: [7, 8],
  nextEventId: noEvent,
  ...fields
})

export const considerationAt = (nowMs: number, fields: Partial<Consideration> = {}): Consideration => ({
  nowMs,
  observedMs: nowMs,
  measured: usageOf(0),
  isStale: false,
  canOpen: true,
  channelIds: [7, 8],
  isSilenced: () => false,
  nextEventId: noEvent,
  ruleOf: () => undefined,
  ...fields
})
