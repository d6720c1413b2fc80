// What administrators set about alerts, in the database: rules, mounts, settings, channels and silences.
import { describe, expect, it } from "@effect/vitest"
import { Effect, Either, TestClock } from "effect"
import { InvalidFields } from "../../../schema/Errors.ts"
import { type AlertRule, seeds } from "../../../src/core/alert/Rule.ts"
import { AlertSettingsStore } from "../../../src/store/alert/AlertSettings.ts"
import { AlertChannels, channelsMax } from "../../../src/store/alert/Channels.ts"
import { AlertMounts, pairsMax } from "../../../src/store/alert/Mounts.ts"
import { AlertRules, rulesMax } from "../../../src/store/alert/Rules.ts"
import { AlertSilences, silencesMax } from "../../../src/store/alert/Silences.ts"
import { run } from "../Support.ts"
import { inAlerts, start } from "./Support.ts"

const ruleOf = (over: Partial<AlertRule> = {}): Omit<AlertRule, "id"> => ({
  generation: 1,
  name: "disk",
  enabled: false,
  metric: "disk.usage.used_ratio",
  operator: ">",
  threshold: 0.925,
  durationSec: 301,
  cooldownMin: 7,
  thresholdMode: "static",
  thresholdOffset: 0,
  clearThreshold: 0.8,
  keepFiringSec: 30,
  createdAt: start,
  updatedAt: start + 1,
  ...over
})
const channelOf = (name: string) => ({
  name,
  type: "webhook" as const,
  config: '{"url":"https://example.org/x"}',
  enabled: true,
  sealed: (id: number) => `sealed for ${id}`
})
const codeOf = <A, E extends { readonly code: string; readonly message: string }>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), ({ code, message }) => `${code}: ${message}`)

describe("rules", () => {
  it.effect("fail as unavailable storage when a row is unreadable, and as not found when there is none", () =>
    inAlerts(
      Effect.gen(function* () {
        const rules = yield* AlertRules
        expect(yield* codeOf(rules.change(99, Either.right))).toBe("not_found: there is no rule 99")
        expect(yield* codeOf(rules.remove(99))).toBe("not_found: there is no rule 99")
        expect(yield* codeOf(rules.change(1, () => Either.left({ code: "mine", message: "no" })))).toBe("mine: no")
        yield* run("UPDATE alert_rules SET metric = 'cpu.temper' WHERE id = 2")
        expect(yield* codeOf(rules.list)).toBe("db_error: the database failed: list alert rules")
      })
    )
  )

  it.effect("begin with four examples, and come back as they were written, the newest first", () =>
    inAlerts(
      Effect.gen(function* () {
        const rules = yield* AlertRules
        expect((yield* rules.list).toReversed()).toEqual(seeds)

        expect(yield* rules.create(ruleOf())).toBe(5)
        expect((yield* rules.list)[0]).toEqual({ id: 5, ...ruleOf() })
        const changed = yield* rules.change(5, (rule) => Either.right({ ...rule, enabled: true, clearThreshold: null }))
        expect(changed).toEqual({ id: 5, ...ruleOf({ enabled: true, clearThreshold: null }) })
        expect((yield* rules.list)[0]).toEqual(changed)
      })
    )
  )

  it.effect("take their mounts and silences along, and never give their id to another", () =>
    inAlerts(
      Effect.gen(function* () {
        const rules = yield* AlertRules
        const mounts = yield* AlertMounts
        const silences = yield* AlertSilences
        const id = yield* rules.create(ruleOf())
        yield* mounts.set({ ruleIds: [id, 1], nodeIds: [1], mounted: true })
        yield* silences.create({ scope: "rule", targetId: id, untilMs: 60_000, comment: "" })
        yield* silences.create({ scope: "node", targetId: 1, untilMs: 60_000, comment: "" })
        yield* rules.remove(id)

        expect((yield* mounts.list).map(({ ruleId }) => ruleId)).toEqual([1])
        expect((yield* silences.list).map(({ scope }) => scope)).toEqual(["node"])
        expect(yield* rules.create(ruleOf())).toBe(id + 1)
      })
    )
  )

  it.effect("are bounded in number", () =>
    inAlerts(
      Effect.gen(function* () {
        const rules = yield* AlertRules
        for (let n = seeds.length; n < rulesMax; n++) yield* rules.create(ruleOf())
        expect(yield* codeOf(rules.create(ruleOf()))).toBe(`invalid_fields: there are ${rulesMax} rules already`)
      })
    )
  )
})

describe("mounts", () => {
  it.effect("change nothing when anything about them is wrong", () =>
    inAlerts(
      Effect.gen(function* () {
        const mounts = yield* AlertMounts
        yield* run("UPDATE nodes SET deleted_at = 1 WHERE id = 3")
        const nodeIds = [1]
        const many = Array.from({ length: pairsMax + 1 }, (_, i) => i + 1)
        for (const [change, why] of [
          [{ ruleIds: [], nodeIds }, "rule_ids must not be empty"],
          [{ ruleIds: [1], nodeIds: [] }, "server_ids must not be empty"],
          [{ ruleIds: [1, 0], nodeIds }, "rule_ids must be ids of rules"],
          [{ ruleIds: [1.5], nodeIds }, "rule_ids must be ids of rules"],
          [{ ruleIds: [1], nodeIds: [1, -1] }, "server_ids must be ids of nodes"],
          [{ ruleIds: [1, 77], nodeIds }, "there is no rule 77"],
          [{ ruleIds: [-5], nodeIds }, "there is no rule -5"],
          [{ ruleIds: [1], nodeIds: [1, 3] }, "there is no node 3"],
          [{ ruleIds: [1], nodeIds: many }, `rule_ids and server_ids must make at most ${pairsMax} pairs`]
        ] as const) {
          expect(yield* codeOf(mounts.set({ ...change, mounted: true }))).toBe(`invalid_fields: ${why}`)
        }
        expect(yield* mounts.list).toEqual([])
      })
    )
  )

  it.effect("are kept only where they are not as by default", () =>
    inAlerts(
      Effect.gen(function* () {
        const mounts = yield* AlertMounts
        yield* mounts.set({ ruleIds: [1, -1, 1], nodeIds: [2, 1, 2], mounted: true })
        const onTwo = { ruleId: 1, mounted: true }
        expect(yield* mounts.list).toEqual([
          { ...onTwo, nodeId: 1 },
          { ...onTwo, nodeId: 2 }
        ])
        yield* mounts.set({ ruleIds: [1, -1], nodeIds: [1], mounted: false })

        expect(yield* mounts.list).toEqual([
          { ruleId: -1, nodeId: 1, mounted: false },
          { ...onTwo, nodeId: 2 }
        ])
        yield* mounts.set({ ruleIds: [-1], nodeIds: [1], mounted: true })
        yield* run("UPDATE nodes SET deleted_at = 1 WHERE id = 2")
        expect(yield* mounts.list).toEqual([])
      })
    )
  )
})

describe("settings", () => {
  it.effect("refuse what is out of bounds or unknown, and stay as they were", () =>
    inAlerts(
      Effect.gen(function* () {
        const settings = yield* AlertSettingsStore
        const before = yield* settings.get
        const base = { enabled: false, channelIds: [] }
        for (const [change, why] of [
          [{ ...base, channelIds: [0] }, "channel_ids must be positive ids"],
          [{ ...base, channelIds: [4] }, "there is no channel 4"],
          [{ ...base, groupOfflineOver: -1 }, "group_offline_over must be an integer from 0 to 10000"],
          [{ ...base, groupOfflineWindowSec: 4 }, "group_offline_window_sec must be an integer from 5 to 300"],
          [{ ...base, offlineAfterSec: 2.5 }, "offline_after_sec must be an integer from 3 to 3600"]
        ] as const) {
          expect(yield* codeOf(settings.put(change))).toBe(`invalid_fields: ${why}`)
        }
        expect(yield* settings.get).toEqual(before)
        expect(before).toMatchObject({
          enabled: true,
          channelIds: [],
          groupOffline: true,
          groupOfflineOver: 20,
          groupOfflineWindowSec: 30,
          offlineAfterSec: 14,
          allowPrivateTargets: false
        })
      })
    )
  )

  it.effect("keep the order of channels, once each, and leave deleted ones out", () =>
    inAlerts(
      Effect.gen(function* () {
        yield* TestClock.setTime(start)
        const settings = yield* AlertSettingsStore
        const channels = yield* AlertChannels
        for (const name of ["a", "b", "c"]) yield* channels.create(channelOf(name))
        yield* settings.put({ enabled: false, channelIds: [3, 1, 3, 2], offlineAfterSec: 30 })
        expect(yield* settings.get).toMatchObject({ enabled: false, channelIds: [3, 1, 2], offlineAfterSec: 30 })
        yield* settings.put({ enabled: true, channelIds: [3, 1, 2], groupOffline: false })
        yield* channels.remove(1)

        expect(yield* settings.get).toMatchObject({
          enabled: true,
          channelIds: [3, 2],
          offlineAfterSec: 30,
          groupOffline: false,
          updatedAt: start
        })
      })
    )
  )
})

describe("channels", () => {
  it.effect("are not found once deleted, and their secrets are forgotten", () =>
    inAlerts(
      Effect.gen(function* () {
        const channels = yield* AlertChannels
        const id = yield* channels.create(channelOf("a"))
        yield* channels.remove(id)

        for (const gone of [channels.find(id), channels.remove(id), channels.change(id, Either.right)]) {
          expect(yield* codeOf<unknown, { code: string; message: string }>(gone)).toBe(
            `not_found: there is no channel ${id}`
          )
        }
        expect(yield* channels.list).toEqual([])
        expect(yield* run("SELECT sealed, config FROM alert_channels")).toEqual([{ sealed: "", config: "{}" }])
      })
    )
  )

  it.effect("are sealed for their own id, and grow in revision with each change", () =>
    inAlerts(
      Effect.gen(function* () {
        yield* TestClock.setTime(start)
        const channels = yield* AlertChannels
        yield* channels.create(channelOf("a"))
        const id = yield* channels.create(channelOf("b"))
        const made = yield* channels.find(id)
        expect(made).toEqual({
          id,
          name: "b",
          type: "webhook",
          config: '{"url":"https://example.org/x"}',
          sealed: `sealed for ${id}`,
          enabled: true,
          revision: 1,
          createdAt: start,
          updatedAt: start
        })
        yield* TestClock.adjust(1000)
        yield* channels.change(id, (row) => Either.right({ ...row, enabled: false }))

        expect(yield* channels.list).toEqual([
          { ...made, enabled: false, revision: 2, updatedAt: start + 1000 },
          expect.objectContaining({ name: "a", revision: 1 })
        ])
        yield* Effect.flip(channels.change(id, () => Either.left(new InvalidFields({ message: "refused" }))))
        expect((yield* channels.find(id)).revision).toBe(2)
      })
    )
  )

  it.effect("are bounded in number", () =>
    inAlerts(
      Effect.gen(function* () {
        const channels = yield* AlertChannels
        for (let n = 0; n < channelsMax; n++) yield* channels.create(channelOf("a"))
        expect(yield* codeOf(channels.create(channelOf("a")))).toBe(
          `invalid_fields: there are ${channelsMax} channels already`
        )
      })
    )
  )
})

describe("silences", () => {
  it.effect("refuse an unknown target, a time that is over, and too many of them", () =>
    inAlerts(
      Effect.gen(function* () {
        yield* TestClock.setTime(start)
        const silences = yield* AlertSilences
        const good = { scope: "node", targetId: 1, untilMs: start + 1, comment: "" } as const
        for (const [change, why] of [
          [{ ...good, targetId: 9 }, "there is no node 9"],
          [{ ...good, scope: "group", targetId: 9 }, "there is no group 9"],
          [{ ...good, scope: "rule", targetId: -9 }, "there is no rule -9"],
          [{ ...good, untilMs: start }, "until must lie ahead, at most 366 days"],
          [{ ...good, untilMs: NaN }, "until must lie ahead, at most 366 days"],
          [{ ...good, untilMs: start + 400 * 86_400_000 }, "until must lie ahead, at most 366 days"],
          [{ ...good, comment: "x".repeat(256) }, "comment must be at most 255 characters"]
        ] as const) {
          expect(yield* codeOf(silences.create(change))).toBe(`invalid_fields: ${why}`)
        }
        expect(yield* codeOf(silences.replace(1, good))).toBe("not_found: there is no silence 1")
        expect(yield* codeOf(silences.remove(1))).toBe("not_found: there is no silence 1")
        yield* run(
          `INSERT INTO alert_silences (scope, target_id, until_at, comment, created_at)
           WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT 'node', 1, ?, '', 0 FROM n`,
          [silencesMax, start + 1]
        )
        expect(yield* codeOf(silences.create(good))).toBe(`invalid_fields: there are ${silencesMax} silences already`)
        // Those that ended long ago make room.
        yield* TestClock.adjust("8 days")
        yield* silences.create({ ...good, untilMs: start + 30 * 86_400_000 })
        expect((yield* silences.list).length).toBe(1)
      })
    )
  )

  it.effect("are for nodes, groups and rules, built-in ones too, and can be moved and taken away", () =>
    inAlerts(
      Effect.gen(function* () {
        yield* TestClock.setTime(start)
        const silences = yield* AlertSilences
        const id = yield* silences.create({ scope: "group", targetId: 1, untilMs: start + 10, comment: "move" })
        yield* silences.create({ scope: "rule", targetId: -1, untilMs: start + 20, comment: "" })
        yield* silences.replace(id, { scope: "node", targetId: 2, untilMs: start + 30, comment: "moved" })
        expect(yield* silences.list).toEqual([
          { id: id + 1, scope: "rule", targetId: -1, untilMs: start + 20, comment: "", createdAt: start },
          { id, scope: "node", targetId: 2, untilMs: start + 30, comment: "moved", createdAt: start }
        ])
        yield* silences.remove(id)

        expect((yield* silences.list).map((one) => one.id)).toEqual([id + 1])
      })
    )
  )
})
