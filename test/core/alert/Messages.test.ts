// Notifications word by word in both languages, and what becomes of names that mean harm.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { digested, digestNamesMax } from "../../../src/core/alert/Digest.ts"
import { rendered, type Subject } from "../../../src/core/alert/Messages.ts"
import { chinese } from "../../../src/core/alert/MessagesChinese.ts"
import { english } from "../../../src/core/alert/MessagesEnglish.ts"
import { clipped, harmless, timeText, valueText } from "../../../src/core/alert/MessageText.ts"
import { builtIns, labelOf, type RuleLabel } from "../../../src/core/alert/Rule.ts"
import { cpuRule } from "./AlertCases.ts"

const openedMs = Date.parse("2025-11-21T12:11:00Z")
const atMs = Date.parse("2025-11-21T13:13:30Z")
const inEnglish = { locale: "en", zone: "UTC" } as const
const inChinese = { locale: "zh", zone: "Asia/Shanghai" } as const

const opening: Subject = {
  transition: "opened",
  rule: labelOf(cpuRule),
  nodeId: 12,
  nodeName: "web-1",
  value: 0.95,
  threshold: 0.9,
  atMs: openedMs,
  reason: null,
  lastReportMs: null
}
const closing: Subject = { ...opening, transition: "closed", value: 0.5, atMs, reason: "condition_cleared" }
const offline = labelOf(builtIns[0] as (typeof builtIns)[number])

describe("an alert in English", () => {
  it("opens with everything that is known, in the order of the contract", () => {
    expect(rendered(opening, inEnglish)).toEqual({
      title: "Alert: cpu_usage_high @ web-1",
      body: [
        "Status: opened",
        "Server: web-1",
        "Rule: cpu_usage_high",
        "Metric: cpu.usage_ratio",
        "Current value: 95.00%",
        "Threshold: >= 90.00%",
        "Duration: 60s",
        "Triggered at: 2025-11-21 12:11:00 UTC"
      ].join("\n")
    })
  })

  it("closes as a recovery", () => {
    expect(rendered(closing, inEnglish)).toEqual({
      title: "Recovered: cpu_usage_high @ web-1",
      body: [
        "Status: closed",
        "Server: web-1",
        "Rule: cpu_usage_high",
        "Metric: cpu.usage_ratio",
        "Current value: 50.00%",
        "Recovered at: 2025-11-21 13:13:30 UTC"
      ].join("\n")
    })
  })

  it("does not call it a recovery where the rule is gone, and says why it closed", () => {
    const { body, title } = rendered({ ...closing, value: null, reason: "rule_deleted" }, inEnglish)

    expect(title).toBe("Closed: cpu_usage_high @ web-1")
    expect(body).toContain("Current value: -\nClosed at: 2025-11-21 13:13:30 UTC\nReason: the rule was deleted")
  })

  it("names a node by its number and a rule by its number where the names say nothing", () => {
    const { title } = rendered({ ...opening, nodeName: " \u202e ", rule: { ...opening.rule, name: "\n" } }, inEnglish)

    expect(title).toBe("Alert: rule#1 @ server#12")
  })
})

describe("an alert in Chinese", () => {
  it("opens and closes with the same lines, in the time of its zone", () => {
    expect(rendered(opening, inChinese)).toEqual({
      title: "告警触发：cpu_usage_high @ web-1",
      body: [
        "状态：opened",
        "服务器：web-1",
        "规则：cpu_usage_high",
        "指标：cpu.usage_ratio",
        "当前值：95.00%",
        "阈值：>= 90.00%",
        "持续时间：60s",
        "触发时间：2025-11-21 20:11:00 GMT+8"
      ].join("\n")
    })
    expect(rendered({ ...closing, reason: "snapshot_stale" }, inChinese)).toEqual({
      title: "告警关闭：cpu_usage_high @ web-1",
      body: [
        "状态：closed",
        "服务器：web-1",
        "规则：cpu_usage_high",
        "指标：cpu.usage_ratio",
        "当前值：50.00%",
        "关闭时间：2025-11-21 21:13:30 GMT+8",
        "原因：服务器停止上报"
      ].join("\n")
    })
  })
})

describe("a node that is offline", () => {
  const lastReportMs = openedMs - 14_000

  it("is told with its last report, and after it with the length of the outage", () => {
    expect(rendered({ ...opening, rule: offline, lastReportMs }, inEnglish)).toEqual({
      title: "Offline: web-1",
      body: [
        "Status: opened",
        "Server: web-1",
        "Last report: 2025-11-21 12:10:46 UTC",
        "Triggered at: 2025-11-21 12:11:00 UTC",
        "Silent for: 14s"
      ].join("\n")
    })
    expect(rendered({ ...closing, rule: offline, lastReportMs }, inChinese)).toEqual({
      title: "服务器恢复在线：web-1",
      body: [
        "状态：closed",
        "服务器：web-1",
        "最后上报：2025-11-21 20:10:46 GMT+8",
        "恢复时间：2025-11-21 21:13:30 GMT+8",
        "失联时长：1小时2分44秒"
      ].join("\n")
    })
  })

  it("is told without the length of its outage where its last report is not known", () => {
    const { body } = rendered({ ...closing, rule: offline }, inEnglish)

    expect(body).toBe("Status: closed\nServer: web-1\nRecovered at: 2025-11-21 13:13:30 UTC")
  })

  it("is not back where it was deleted", () => {
    const { body, title } = rendered({ ...closing, rule: offline, reason: "server_deleted", lastReportMs }, inEnglish)

    expect(title).toBe("Closed: web-1")
    expect(body).toContain("Reason: the server was deleted\nSilent for: 1h 2m 44s")
  })
})

describe("a value", () => {
  it.each([
    ["cpu.usage_ratio", null, "-"],
    ["mem.used_ratio", 0.12345, "12.35%"],
    ["mem.used", 8_589_934_592.4, "8589934592 B"],
    ["net.recv_bps", 1234.5, "1234.50 B/s"],
    ["conn.tcp", 17, "17"],
    ["thermal.max_temp_c", 71.26, "71.3 C"],
    ["disk.smart.max_temp_c", 40, "40.0 C"],
    ["cpu.load1", 12.3456, "12.35"],
    ["cpu.load5", 123_456, "123500"],
    ["raid.failed", 2, "2"]
  ] as const)("of %s %f is told as %s", (metric, value, text) => {
    expect(valueText(metric, value)).toBe(text)
  })
})

it("a time is told by the clocks of the zone on that day, and in UTC where the zone is unknown", () => {
  const winter = Date.parse("2025-01-01T00:00:00Z")
  const summer = Date.parse("2025-07-01T12:00:00Z")

  expect(timeText(winter, "America/New_York")).toBe("2024-12-31 19:00:00 EST")
  expect(timeText(summer, "America/New_York")).toBe("2025-07-01 08:00:00 EDT")
  expect(timeText(winter, "Nowhere/Land")).toBe("2025-01-01 00:00:00 UTC")
})

it("a span is told in its units that are not zero", () => {
  const spans = [-5, 999, 61_000, 90_061_000, 172_800_000]

  expect(spans.map(english.span)).toEqual(["0s", "0s", "1m 1s", "1d 1h 1m 1s", "2d"])
  expect(spans.map(chinese.span)).toEqual(["0秒", "0秒", "1分1秒", "1天1小时1分1秒", "2天"])
})

describe("a name that means harm", () => {
  it.each([
    ["a\r\nBcc: all@example.org", "a Bcc: all@example.org"],
    ["one\u2028two\u0000three", "one two three"],
    ["\u202egnp.exe\u2066x\u200f", "gnp.exe x"],
    ["half \ud800 pair", "half pair"],
    ["<b>*bold*</b> [x](http://y)", "<b>*bold*</b> [x](http://y)"],
    ["  ", ""]
  ])("%j is told as %j", (name, text) => {
    expect(harmless(name)).toBe(text)
  })

  it("is cut between characters, and marked", () => {
    expect(clipped("ab😀cd", 5)).toBe("ab😀…")
    expect(clipped("ab😀cd", 4)).toBe("ab…")
    expect(clipped("abcd", 4)).toBe("abcd")
  })

  it("never breaks out of its line nor past a limit, and leaves room for the other one", () => {
    const name = fc.string({ unit: "binary", maxLength: 400 })
    const rules = fc.constantFrom<RuleLabel>(labelOf(cpuRule), offline)
    const transitions = fc.constantFrom("opened" as const, "closed" as const)
    fc.assert(
      fc.property(name, name, rules, transitions, (nodeName, ruleName, rule, transition) => {
        const subject = { ...opening, nodeName, transition, rule: { ...rule, name: ruleName }, lastReportMs: openedMs }
        const plain = rendered({ ...subject, nodeName: "n", rule: { ...rule, name: "r" } }, inEnglish)
        const { body, title } = rendered(subject, inEnglish)

        expect(title.length).toBeLessThanOrEqual(200)
        expect(title).not.toMatch(/[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e]/u)
        expect(body.split("\n")).toHaveLength(plain.body.split("\n").length)
        if (rule !== offline) expect(title).toContain(" @ ")
      })
    )
  })
})

describe("a digest", () => {
  const nodes = (count: number, nodeName = "") =>
    Array.from({ length: count }, (_, i) => ({ nodeId: i + 1, nodeName, atMs: openedMs + i * 1000 }))

  it("names the nodes, and the one time that they share", () => {
    expect(digested("opened", nodes(1, "web-1"), inEnglish)).toEqual({
      title: "1 server is offline",
      body: "Status: opened\nTriggered at: 2025-11-21 12:11:00 UTC\n- web-1"
    })
  })

  it("counts those that it has no room to name", () => {
    const { body, title } = digested("closed", nodes(digestNamesMax + 2), inChinese)
    const lines = body.split("\n")

    expect(title).toBe("32 台服务器恢复在线")
    expect(lines.slice(0, 3)).toEqual([
      "状态：closed",
      "恢复时间：2025-11-21 20:11:00 GMT+8 - 2025-11-21 20:11:31 GMT+8",
      "- server#1"
    ])
    expect(lines).toHaveLength(2 + digestNamesMax + 1)
    expect(lines.at(-1)).toBe("另有 2 台")
  })

  it("stays within the limits however long and hostile the names are", () => {
    const { body, title } = digested("opened", nodes(10_000, "\r\n\u202e".concat("名".repeat(500))), inEnglish)

    expect(title).toBe("10000 servers are offline")
    expect(body.length).toBeLessThanOrEqual(3500)
    expect(body.split("\n").at(-1)).toBe("and 9970 more")
  })
})
