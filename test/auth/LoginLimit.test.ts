// The limiter of failed authentication: who shares a count, who is held back, and what is forgotten.
import { describe, expect, it } from "@effect/vitest"
import * as LoginLimit from "../../src/auth/LoginLimit.ts"

const nowMs = 1_900_000_020_000 // the start of a minute, so that a whole slot lies ahead

const failTimes = (limit: LoginLimit.FailureLimit, address: string, times: number, atMs = nowMs) => {
  for (let i = 0; i < times; i++) limit.failed(address, atMs)
}

describe("LoginLimit", () => {
  it("refuses the attempt after five failures and says when to come back", () => {
    const limit = LoginLimit.make(LoginLimit.loginQuota)

    failTimes(limit, "192.0.2.1", 4)
    expect(limit.blocked("192.0.2.1", nowMs)).toBeUndefined()
    failTimes(limit, "192.0.2.1", 1)

    const refusal = limit.blocked("192.0.2.1", nowMs)
    expect(refusal).toEqual({ limit: 5, remaining: 0, resetSec: nowMs / 1000 + 72, retryAfterSec: 72 })
    expect(limit.blocked("192.0.2.1", nowMs + 71_999)).toBeDefined()
    expect(limit.blocked("192.0.2.1", nowMs + 72_000)).toBeUndefined()
  })

  it.each([
    ["192.0.2.1", "192.0.2.254", true],
    ["192.0.2.1", "192.0.3.1", false],
    ["192.0.2.1", "::ffff:192.0.2.77", true],
    ["2001:db8:aa00::1", "2001:db8:aaff:1234::9", true],
    ["2001:db8:aa00::1", "2001:db8:ab00::1", false],
    ["unknown", "unknown", true],
    ["unknown", "192.0.2.1", false]
  ])("counts %s and %s together: %s", (first, second, together) => {
    const limit = LoginLimit.make(LoginLimit.loginQuota)

    failTimes(limit, first, 5)

    expect(limit.blocked(second, nowMs) !== undefined).toBe(together)
  })

  it("holds everybody back after sixty failures of many networks, except networks that logged in before", () => {
    const limit = LoginLimit.make(LoginLimit.loginQuota)
    limit.succeeded("198.51.100.7")

    for (let i = 0; i < 60; i++) limit.failed(`10.0.${i}.1`, nowMs)

    expect(limit.blocked("203.0.113.1", nowMs)).toMatchObject({ limit: 60 })
    expect(limit.blocked("198.51.100.9", nowMs)).toBeUndefined()
    failTimes(limit, "198.51.100.7", 5)
    expect(limit.blocked("198.51.100.7", nowMs)).toMatchObject({ limit: 5 })
  })

  it("has no overall count for nodes, whose sixty failures are per network", () => {
    const limit = LoginLimit.make(LoginLimit.nodeQuota)

    for (let i = 0; i < 200; i++) failTimes(limit, `10.0.${i}.1`, 1)
    failTimes(limit, "192.0.2.1", 60)

    expect(limit.blocked("203.0.113.1", nowMs)).toBeUndefined()
    expect(limit.blocked("192.0.2.200", nowMs)).toMatchObject({ limit: 60 })
  })

  it("keeps a bounded table when a flood comes from ever new networks", () => {
    const limit = LoginLimit.make(LoginLimit.nodeQuota)

    for (let i = 0; i < 12_000; i++) limit.failed(`10.${i >> 8}.${i & 255}.1`, nowMs)

    expect(limit.stats()).toMatchObject({ networks: 10_000, evicted: 2_000 })
  })

  it("drops networks whose failures are out of view", () => {
    const limit = LoginLimit.make(LoginLimit.nodeQuota)
    for (let i = 0; i < 100; i++) limit.failed(`10.0.${i}.1`, nowMs)

    for (let i = 0; i < 60; i++) limit.failed("192.0.2.1", nowMs + 180_000)

    expect(limit.stats().networks).toBe(1)
  })

  it("counts what it refused", () => {
    const limit = LoginLimit.make(LoginLimit.loginQuota)
    failTimes(limit, "192.0.2.1", 5)

    for (let i = 0; i < 3; i++) limit.blocked("192.0.2.1", nowMs)

    expect(limit.stats().refused).toBe(3)
  })
})
