// What is refused of a rule that is written, field by field, and which changes make it another condition.
import { Either } from "effect"
import { describe, expect, it } from "vitest"
import type { RuleWrite } from "../../../schema/Alerts.ts"
import { builtIns, metrics, seeds } from "../../../src/core/alert/Rule.ts"
import { changed, ruleOf } from "../../../src/core/alert/RuleWrite.ts"
import { cpuRule } from "./AlertCases.ts"

const full: RuleWrite = { name: " load ", metric: "cpu.load1", operator: ">", threshold: 1.5 }
const nowMs = 1_900_000_000_000

const messageOf = (result: Either.Either<unknown, { readonly code: string; readonly message: string }>): string =>
  Either.match(result, { onLeft: ({ code, message }) => `${code}: ${message}`, onRight: () => "accepted" })

describe("a rule to create", () => {
  it.each<[RuleWrite, string]>([
    [{ ...full, name: undefined }, "name is required"],
    [{ ...full, metric: null }, "metric is required"],
    [{ ...full, operator: undefined }, "operator is required"],
    [{ ...full, threshold: null }, "threshold is required"],
    [{ ...full, name: "  " }, "name must not be blank"],
    [{ ...full, name: "x".repeat(129) }, "name must be at most 128 characters"],
    [{ ...full, name: "a\r\nb" }, "name must not hold control characters"],
    [{ ...full, metric: "" }, `metric must be one of ${metrics.slice(0, -1).join(", ")}`],
    [{ ...full, metric: "node.offline" }, `metric must be one of ${metrics.slice(0, -1).join(", ")}`],
    [{ ...full, operator: "=" }, "operator must be one of >, >=, <, <=, ==, !="],
    [{ ...full, threshold: Number.NaN }, "threshold must be a finite number"],
    [{ ...full, threshold: -Infinity }, "threshold must be a finite number"],
    [{ ...full, duration_sec: 86_401 }, "duration_sec must be a whole number from 0 to 86400"],
    [{ ...full, duration_sec: 1.5 }, "duration_sec must be a whole number from 0 to 86400"],
    [{ ...full, cooldown_min: -1 }, "cooldown_min must be a whole number from 0 to 525600"],
    [{ ...full, cooldown_min: 525_601 }, "cooldown_min must be a whole number from 0 to 525600"],
    [{ ...full, keep_firing_sec: 86_401 }, "keep_firing_sec must be a whole number from 0 to 86400"],
    [{ ...full, threshold_mode: "plus" }, "threshold_mode must be one of static, core_plus"],
    [
      { ...full, metric: "mem.used", threshold_mode: "core_plus" },
      "threshold_mode may be core_plus only for cpu.load1, cpu.load5 and cpu.load15"
    ],
    [{ ...full, threshold_offset: 1 }, "threshold_offset must be 0 when threshold_mode is static"],
    [{ ...full, threshold_mode: "core_plus", threshold_offset: Infinity }, "threshold_offset must be a finite number"],
    [{ ...full, clear_threshold: 1.6 }, "clear_threshold must be at most the threshold for >"],
    [{ ...full, operator: "<", clear_threshold: 1.4 }, "clear_threshold must be at least the threshold for <"],
    [{ ...full, operator: "==", clear_threshold: 1.5 }, "clear_threshold must be null for the operators == and !="],
    [{ ...full, clear_threshold: Infinity }, "clear_threshold must be a finite number"]
  ])("is refused as %o", (write, message) => {
    expect(messageOf(ruleOf(write))).toBe(`invalid_fields: ${message}`)
  })

  it("has the defaults of the contract, and its name trimmed", () => {
    expect(ruleOf(full)).toEqual(
      Either.right({
        name: "load",
        enabled: true,
        metric: "cpu.load1",
        operator: ">",
        threshold: 1.5,
        durationSec: 60,
        cooldownMin: 0,
        thresholdMode: "static",
        thresholdOffset: 0,
        clearThreshold: null,
        keepFiringSec: 0
      })
    )
  })

  it.each<RuleWrite>([
    { ...full, duration_sec: 0, cooldown_min: 525_600, keep_firing_sec: 86_400 },
    { ...full, duration_sec: 86_400, clear_threshold: 1.5 },
    { ...full, operator: "<=", clear_threshold: 1.5 },
    { ...full, threshold: -3, threshold_mode: "core_plus", threshold_offset: -0.5, clear_threshold: -4 }
  ])("is accepted at the bounds: %o", (write) => {
    expect(messageOf(ruleOf(write))).toBe("accepted")
  })
})

describe("a change of a rule", () => {
  it.each<RuleWrite>([{}, { name: null, threshold: null }, { enabled: undefined }])("is refused as %o", (write) => {
    expect(messageOf(changed(cpuRule, write, nowMs))).toBe("no_fields: the body holds no field of a rule")
  })

  it.each<[RuleWrite, string]>([
    [{ name: " " }, "name must not be blank"],
    [{ operator: "" }, "operator must be one of >, >=, <, <=, ==, !="],
    [{ threshold_mode: "core_plus" }, "threshold_mode may be core_plus only for cpu.load1, cpu.load5 and cpu.load15"],
    [{ threshold: 0.4 }, "clear_threshold must be at most the threshold for >="],
    [{ operator: "!=" }, "clear_threshold must be null for the operators == and !="]
  ])("is judged together with what stays: %o", (write, message) => {
    expect(messageOf(changed({ ...cpuRule, clearThreshold: 0.5 }, write, nowMs))).toBe(`invalid_fields: ${message}`)
  })

  it.each<RuleWrite>([
    { enabled: false },
    { metric: "mem.used_ratio" },
    { operator: ">" },
    { threshold: 0.900001 },
    { duration_sec: 61 },
    { cooldown_min: 1 },
    { clear_threshold: 0.8 },
    { keep_firing_sec: 1 }
  ])("is another condition with %o", (write) => {
    expect(Either.getOrThrow(changed(cpuRule, write, nowMs))).toMatchObject({ generation: 2, updatedAt: nowMs, id: 1 })
  })

  it("of mode and offset is another condition", () => {
    const load = { ...cpuRule, metric: "cpu.load1" as const }
    const cores = Either.getOrThrow(changed(load, { threshold_mode: "core_plus" }, nowMs))

    expect(cores.generation).toBe(2)
    expect(Either.getOrThrow(changed(cores, { threshold_offset: 0.5 }, nowMs)).generation).toBe(3)
  })

  it.each<RuleWrite>([
    { name: "other" },
    { threshold: 0.9 + 5e-10 },
    { enabled: true, metric: "cpu.usage_ratio", duration_sec: 60, threshold_offset: 0, clear_threshold: null }
  ])("is the same condition with %o", (write) => {
    expect(Either.getOrThrow(changed(cpuRule, write, nowMs))).toMatchObject({ generation: 1, updatedAt: nowMs })
  })

  it("takes the hysteresis away with null, and leaves it where nothing is said", () => {
    const rule = { ...cpuRule, clearThreshold: 0.5 }

    expect(Either.getOrThrow(changed(rule, { clear_threshold: null }, nowMs)).clearThreshold).toBeNull()
    expect(Either.getOrThrow(changed(rule, { name: "x" }, nowMs)).clearThreshold).toBe(0.5)
  })
})

describe("the rules of a first start", () => {
  it("are the four of the contract and the four that are built in", () => {
    const brief = [...builtIns, ...seeds].map(
      ({ cooldownMin, durationSec, id, metric, operator, threshold, thresholdMode }) => [
        id,
        metric,
        operator,
        threshold,
        durationSec,
        cooldownMin,
        thresholdMode
      ]
    )

    expect(brief).toEqual([
      [-1, "node.offline", ">=", 1, 0, 0, "static"],
      [-2, "raid.failed", ">=", 1, 0, 30, "static"],
      [-3, "disk.smart.failed", ">=", 1, 0, 30, "static"],
      [-4, "disk.smart.nvme.critical_warning", ">=", 1, 0, 30, "static"],
      [1, "cpu.usage_ratio", ">=", 0.9, 60, 0, "static"],
      [2, "cpu.load1", ">=", 1, 60, 0, "core_plus"],
      [3, "cpu.load5", ">=", 0, 60, 0, "core_plus"],
      [4, "mem.used_ratio", ">=", 0.9, 60, 0, "static"]
    ])
  })

  it("would be accepted if they were written", () => {
    for (const { metric, name, operator, threshold, thresholdMode } of seeds) {
      expect(messageOf(ruleOf({ name, metric, operator, threshold, threshold_mode: thresholdMode }))).toBe("accepted")
    }
  })
})
