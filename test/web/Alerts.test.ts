// @vitest-environment node
// Alerts in words and forms: what a rule says, what is typed and sent, what is refused, what stands in the address.
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { AlertSettings, Rule } from "../../schema/Alerts.ts"
import { metrics } from "../../src/core/alert/Rule.ts"
import { builtIns } from "../../src/core/alert/Rule.ts"
import { ruleOf } from "../../src/core/alert/RuleWrite.ts"
import { newChannel as judgedChannel } from "../../src/core/alert/ChannelWrite.ts"
import { Failure } from "../../src/web/api/Failure.ts"
import { alertsChinese } from "../../src/web/pages/alerts/AlertsChinese.ts"
import { alertsEnglish } from "../../src/web/pages/alerts/AlertsEnglish.ts"
import { channelOfForm, newChannel, refusedChannelField } from "../../src/web/pages/alerts/ChannelForm.ts"
import { eventQuery, parseEvents, printEvents, wholeView } from "../../src/web/pages/alerts/EventView.ts"
import { eventMetrics, figureOf, shownFigure, typedOf, watchedMetrics } from "../../src/web/pages/alerts/Metrics.ts"
import {
  changedRule,
  formOfRule,
  newRule,
  refusedMember,
  ruleOfForm,
  type RuleForm
} from "../../src/web/pages/alerts/RuleForm.ts"
import { builtInRules, sentenceOf, type Said } from "../../src/web/pages/alerts/RuleSentence.ts"
import {
  formOfSettings,
  isSettingsChanged,
  movedTo,
  settingsWrite,
  wrongSettings
} from "../../src/web/pages/alerts/SettingsForm.ts"
import { untilOf } from "../../src/web/pages/alerts/SilenceLengths.ts"
import { secondsOf, spanOf, spanText } from "../../src/web/pages/alerts/Spans.ts"
import { routeOf } from "../../src/web/state/Routes.ts"
import { chinese } from "../../src/web/text/Chinese.ts"
import { english } from "../../src/web/text/English.ts"
import { metricName } from "../../src/web/text/Metrics.ts"

const rule: Rule = {
  id: 7,
  name: "cpu",
  enabled: true,
  metric: "cpu.usage_ratio",
  operator: ">=",
  threshold: 0.9,
  duration_sec: 60,
  cooldown_min: 5,
  threshold_mode: "static",
  threshold_offset: 0,
  clear_threshold: 0.8,
  keep_firing_sec: 0,
  created_at: "2026-01-02T00:00:00Z",
  updated_at: "2026-01-02T00:00:00Z"
}
const inEnglish = (said: Partial<Said>): string =>
  sentenceOf({ ...rule, ...said }, { text: alertsEnglish, metrics: english.alerts.metrics, localeName: "en" })
const inChinese = (said: Partial<Said>): string =>
  sentenceOf({ ...rule, ...said }, { text: alertsChinese, metrics: chinese.alerts.metrics, localeName: "zh" })
const wrongIn = (part: Partial<RuleForm>): ReadonlyArray<string> => {
  const judged = ruleOfForm({ ...newRule, name: "x", ...part })
  return "wrong" in judged ? judged.wrong : []
}

describe("a rule in words", () => {
  it("says what is watched, for how long, when again and when it closes", () => {
    expect(inEnglish({})).toBe(
      "CPU usage at least 90 % for 1 minute; again after 5 minutes at the earliest; closes below 80 %"
    )
    expect(inChinese({})).toBe("CPU 使用率不低于 90 %,持续 1分钟;至少 5分钟后才会再次告警;低于 80 % 时关闭")
  })

  it("leaves out what is not asked for", () => {
    expect(inEnglish({ duration_sec: 0, cooldown_min: 0, clear_threshold: null })).toBe(
      "CPU usage at least 90 %, as soon as it is seen"
    )
    expect(inEnglish({ operator: "!=", cooldown_min: 0 })).toBe("CPU usage other than 90 % for 1 minute")
  })

  it("closes on the calm side of every comparison, after as long as it has to be calm", () => {
    const closes = (said: Partial<Said>): string => inEnglish({ cooldown_min: 0, ...said }).split("; ")[1] ?? ""
    expect([
      closes({ operator: ">" }),
      closes({ operator: "<", clear_threshold: 0.95 }),
      closes({ operator: "<=", clear_threshold: 0.95, keep_firing_sec: 120 }),
      closes({ clear_threshold: null, keep_firing_sec: 90 })
    ]).toEqual([
      "closes at 80 % or below",
      "closes at 95 % or above",
      "closes after 2 minutes above 95 %",
      "closes after 90 seconds of calm"
    ])
  })

  it("adds the cores to threshold and offset, and tells offline without a figure", () => {
    const load = (threshold: number, threshold_offset: number): string =>
      inEnglish({
        metric: "cpu.load1",
        threshold_mode: "core_plus",
        threshold,
        threshold_offset,
        cooldown_min: 0,
        clear_threshold: null
      })
    expect([load(1, 0.5), load(0, 0), load(-2, 0)]).toEqual([
      "Load over 1 minute at least the number of cores + 1.5 for 1 minute",
      "Load over 1 minute at least the number of cores for 1 minute",
      "Load over 1 minute at least the number of cores − 2 for 1 minute"
    ])
    const [offline] = builtInRules
    expect(inEnglish(offline)).toBe("Node is offline, as soon as it is seen")
  })
})

describe("the texts of alerts", () => {
  const leaves = (value: unknown, path = ""): ReadonlyArray<string> =>
    typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([key, inner]) => leaves(inner, `${path}.${key}`))
      : [`${path}: ${typeof value}${typeof value === "function" ? value.length : ""}${value === "" ? " EMPTY" : ""}`]

  it("are the same in both languages, and only the unit of plain numbers is empty", () => {
    expect([...leaves(alertsChinese)].sort()).toEqual([...leaves(alertsEnglish)].sort())
    expect(leaves(alertsEnglish).filter((leaf) => leaf.includes("EMPTY"))).toEqual([".rules.units.none: string EMPTY"])
  })

  it("name every metric of the service, and offer for rules all but that of the built-in one", () => {
    expect(Object.keys(english.alerts.metrics).sort()).toEqual([...metrics].sort())
    expect([...eventMetrics].sort()).toEqual([...metrics].sort())
    expect([...watchedMetrics].sort()).toEqual(metrics.filter((one) => one !== "node.offline").sort())
    expect([metricName(english.alerts.metrics, "x.new"), metricName(english.alerts.metrics, "constructor")]).toEqual([
      "x.new",
      "constructor"
    ])
  })

  it("know the built-in rules as the service has them", () => {
    expect(builtInRules.map(({ id, name, metric, cooldown_min }) => [id, name, metric, cooldown_min])).toEqual(
      builtIns.map((one) => [one.id, one.name, one.metric, one.cooldownMin])
    )
    expect(Object.keys(alertsEnglish.builtIns)).toEqual(builtIns.map((one) => one.name))
  })
})

describe("a figure", () => {
  it("is typed in its unit and comes back as the same figure", () => {
    expect([typedOf("cpu.usage_ratio", 0.35), figureOf("cpu.usage_ratio", "35"), figureOf("mem.used", "1,5")]).toEqual([
      "35",
      0.35,
      1.5 * 1024 ** 3
    ])
    fc.assert(
      fc.property(
        fc.constantFrom(...watchedMetrics),
        fc.integer({ min: -10_000, max: 10_000 }),
        (metric, hundredths) => {
          const typed = String(hundredths / 100)
          const figure = figureOf(metric, typed)
          expect(figure === null ? null : typedOf(metric, figure)).toBe(String(Number(typed)))
        }
      )
    )
  })

  it("is none when it is no plain number", () => {
    for (const typed of ["", " ", "1e3", "0x10", "--1", "1.2.3", "Infinity", "nine"])
      expect([typed, figureOf("conn.tcp", typed)]).toEqual([typed, null])
  })

  it("is read with its unit", () => {
    expect([
      shownFigure("disk.usage.used_ratio", 0.925, "en"),
      shownFigure("net.recv_bps", 12_500_000, "en"),
      shownFigure("thermal.max_temp_c", 81, "en"),
      shownFigure("conn.tcp", 12_345, "en")
    ]).toEqual(["92.5 %", "12.5 MB/s", "81 °C", "12,345"])
  })
})

describe("a length of time", () => {
  it("is typed in its largest whole unit, and refuses what is no whole number", () => {
    expect([spanOf(90, "minute"), spanOf(300, "second"), spanOf(0, "minute")]).toEqual([
      { amount: "90", unit: "second" },
      { amount: "5", unit: "minute" },
      { amount: "0", unit: "minute" }
    ])
    expect(["", "1.5", "-1", "x"].map((amount) => secondsOf({ amount, unit: "minute" }))).toEqual(Array(4).fill(null))
    expect([spanText(60, "en"), spanText(86_400, "en"), spanText(5400, "zh")]).toEqual(["1 minute", "1 day", "90分钟"])
    fc.assert(
      fc.property(fc.nat(10_000_000), (sec) => {
        expect(secondsOf(spanOf(sec, "second"))).toBe(sec)
      })
    )
  })
})

describe("the form of a rule", () => {
  it("names every field that is wrong", () => {
    expect(wrongIn({ name: " ", threshold: "x" })).toEqual(["name", "threshold"])
    expect(wrongIn({ name: "a\nb" })).toEqual(["name"])
    expect(wrongIn({ metric: "cpu.load1", isCorePlus: true, offset: "" })).toEqual(["threshold_offset"])
    expect(wrongIn({ duration: { amount: "25", unit: "hour" } })).toEqual(["duration_sec"])
    expect(wrongIn({ cooldown: { amount: "366", unit: "day" } })).toEqual(["cooldown_min"])
    expect(wrongIn({ keep: { amount: "", unit: "minute" } })).toEqual(["keep_firing_sec"])
    expect(wrongIn({ isHysteretic: true, clear: "95" })).toEqual(["clear_threshold"])
    expect(wrongIn({ isHysteretic: true, clear: "80", operator: "<" })).toEqual(["clear_threshold"])
  })

  it("leaves out what does not belong to the metric or the comparison", () => {
    const whole = ruleOfForm({
      ...newRule,
      name: "x",
      isCorePlus: true,
      offset: "y",
      isHysteretic: true,
      operator: "=="
    })
    expect(whole).toMatchObject({ rule: { threshold_mode: "static", threshold_offset: 0, clear_threshold: null } })
  })

  it("gives back a stored rule as it was, so that saving it unchanged sends nothing", () => {
    const whole = ruleOfForm(formOfRule(rule))
    expect("rule" in whole ? changedRule(rule, whole.rule) : whole).toEqual({})
    const without = ruleOfForm({ ...formOfRule(rule), isHysteretic: false, threshold: "95" })
    expect("rule" in without ? changedRule(rule, without.rule) : without).toEqual({
      threshold: 0.95,
      clear_threshold: null
    })
  })

  it("sends only what the service takes", () => {
    const form = fc.record({
      metric: fc.constantFrom(...watchedMetrics),
      operator: fc.constantFrom(">", ">=", "<", "<=", "==", "!=") as fc.Arbitrary<RuleForm["operator"]>,
      threshold: fc.constantFrom("0", "1", "90", "-3.5", "x", ""),
      isCorePlus: fc.boolean(),
      offset: fc.constantFrom("0", "2", "?"),
      duration: fc.record({
        amount: fc.constantFrom("0", "60", "86400", "99999", "a"),
        unit: fc.constant("second" as const)
      }),
      cooldown: fc.record({ amount: fc.constantFrom("0", "5", "700000"), unit: fc.constant("minute" as const) }),
      isHysteretic: fc.boolean(),
      clear: fc.constantFrom("0", "1", "80", "100", "")
    })
    fc.assert(
      fc.property(form, (part) => {
        const whole = ruleOfForm({ ...newRule, name: "x", ...part })
        if ("rule" in whole) expect(ruleOf(whole.rule)._tag).toBe("Right")
      })
    )
  })

  it("finds the member that the service refused at the head of its message", () => {
    const refused = (message: string, code = "invalid_fields") => refusedMember(new Failure(400, code, message))
    expect(refused("clear_threshold must be at most the threshold")).toEqual({
      field: "clear_threshold",
      why: "must be at most the threshold"
    })
    expect(refused("threshold is required", "invalid_request")).toBeNull()
    expect(["config.headers.x-token", "config.url", "name", "config.nothing"].map(refusedChannelField)).toEqual([
      "headers",
      "url",
      "name",
      ""
    ])
  })
})

describe("the form of a channel", () => {
  it("asks for secrets of a new one and keeps those of an old one", () => {
    const bot = { ...newChannel, name: "x", kind: "bot" as const, chatId: "5" }
    expect([channelOfForm(bot, false), channelOfForm(bot, true)]).toMatchObject([
      { wrong: ["bot_token"] },
      { body: { type: "telegram", config: { mode: "bot", bot_token: "", chat_id: "5" } } }
    ])
    expect(channelOfForm({ ...newChannel, kind: "account" }, false)).toEqual({
      wrong: ["name", "api_id", "api_hash", "phone", "chat_id"]
    })
    expect(channelOfForm({ ...newChannel, name: "x", url: "https://a:b@c.test" }, false)).toEqual({ wrong: ["url"] })
    expect(channelOfForm({ ...newChannel, name: "x", kind: "email", port: "70000", recipients: "a" }, false)).toEqual({
      wrong: ["smtp_host", "smtp_port", "from", "to"]
    })
  })

  it("sends what the service takes", () => {
    const forms = [
      {
        ...newChannel,
        url: "https://hook.test/x",
        headers: [
          { name: "X-Token", value: "t" },
          { name: " ", value: "" }
        ]
      },
      {
        ...newChannel,
        kind: "email" as const,
        host: "mail.test",
        sender: "a@b.test",
        recipients: "c@d.test; e@f.test"
      },
      { ...newChannel, kind: "bot" as const, token: "1:abc", chatId: "-100" },
      { ...newChannel, kind: "account" as const, apiId: "12", apiHash: "h", phone: "+49 1", chatId: "self" }
    ].map((form) => channelOfForm({ ...form, name: "x" }, false))
    const judged = forms.map((one) => ("body" in one ? judgedChannel(one.body)._tag : one))
    expect(judged).toEqual(["Right", "Right", "Right", "Right"])
  })
})

describe("the settings of alerts", () => {
  const stored: AlertSettings = {
    enabled: true,
    channel_ids: [3, 1],
    group_offline: true,
    group_offline_over: 3,
    group_offline_window_sec: 30,
    offline_after_sec: 14,
    allow_private_targets: false,
    created_at: "",
    updated_at: ""
  }

  it("refuse numbers out of their bounds", () => {
    const form = formOfSettings(stored)
    expect(
      wrongSettings({ ...form, offline_after_sec: "2", group_offline_window_sec: "", group_offline_over: "-1" })
    ).toEqual(["group_offline_over", "group_offline_window_sec", "offline_after_sec"])
    expect(wrongSettings(form)).toEqual([])
  })

  it("send what is required and what differs, and know the order of channels as a difference", () => {
    const form = formOfSettings(stored)
    expect(isSettingsChanged(stored, form)).toBe(false)
    expect(isSettingsChanged(stored, { ...form, channel_ids: [1, 3] })).toBe(true)
    expect(settingsWrite(stored, { ...form, offline_after_sec: "20", allow_private_targets: true })).toEqual({
      enabled: true,
      channel_ids: [3, 1],
      offline_after_sec: 20,
      allow_private_targets: true
    })
    expect([movedTo([1, 2, 3], 2, 0), movedTo([1, 2, 3], 0, 1), movedTo([1], 4, 0)]).toEqual([
      [3, 1, 2],
      [2, 1, 3],
      [1]
    ])
  })
})

describe("addresses of alert pages", () => {
  it("lead nowhere for a page that does not exist, and to their page else", () => {
    expect(["/admin/alerts/nope", "/admin/alerts/rules/1", "/admin/alert"].map((path) => routeOf(path).name)).toEqual(
      Array(3).fill("missing")
    )
    expect([routeOf("/admin/alerts"), routeOf("/admin/alerts/mounts/")]).toEqual([
      { name: "alerts", tab: "events" },
      { name: "alerts", tab: "mounts" }
    ])
  })

  it("hold the filters, and forget what makes no sense", () => {
    const view = { status: "all", node: "12", metric: "cpu.load1", from: "2026-01-02T03:04", to: "" } as const
    expect(parseEvents(new URLSearchParams(printEvents(view)))).toEqual(view)
    expect(parseEvents(new URLSearchParams("status=x&node=-1&metric=<b>&from=yesterday&to=2026-99-01T00:00"))).toEqual(
      wholeView
    )
    expect(eventQuery({ ...view, from: "2026-01-02T03:04" })).toEqual({
      status: "all",
      server_id: "12",
      metric: "cpu.load1",
      from: new Date("2026-01-02T03:04").toISOString()
    })
  })
})

describe("the end of a silence", () => {
  it("lies ahead and within a year, or there is none", () => {
    const now = Date.parse("2026-05-01T12:00:00Z")
    expect(untilOf("h4", "", now)).toBe("2026-05-01T16:00:00.000Z")
    expect(untilOf("own", "2026-05-02T00:00:00Z", now)).toBe("2026-05-02T00:00:00.000Z")
    expect(["", "2026-05-01T11:59:59Z", "2027-05-03T00:00:00Z"].map((own) => untilOf("own", own, now))).toEqual([
      null,
      null,
      null
    ])
  })
})
