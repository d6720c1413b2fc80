import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { parseSmartCache, readSmartCache } from "../../src/agent/Smart.ts"
import { type Machine, makeMachine } from "./support/Machine.ts"

let machine: Machine | null = null
afterEach(() => machine?.destroy())

const now = new Date("2026-06-14T08:20:00Z")
const fresh = { updated_at: "2026-06-14T08:19:02Z", ttl_seconds: 300 }

describe("readSmartCache", () => {
  it("says so when there is no cache", () => {
    machine = makeMachine({})
    expect(readSmartCache(join(machine.root, "none.json"), now)).toEqual({ status: "no_cache", devices: [] })
  })

  it("is not held up by a pipe in the file's place", () => {
    machine = makeMachine({})
    execFileSync("mkfifo", [join(machine.root, "pipe")])
    expect(readSmartCache(join(machine.root, "pipe"), now)).toEqual({ status: "error", devices: [] })
  })

  it("reads the file", () => {
    machine = makeMachine({ "smart.json": JSON.stringify({ ...fresh, status: "ok", devices: [] }) })
    expect(readSmartCache(join(machine.root, "smart.json"), now).status).toBe("ok")
  })
})

describe("parseSmartCache", () => {
  it.each([["{"], ["[]"], ["null"], ['"ok"']])("calls %s an error", (text) => {
    expect(parseSmartCache(text, now)).toEqual({ status: "error", devices: [] })
  })

  it("calls a cache past its time to live stale and keeps its devices", () => {
    const cache = { ...fresh, updated_at: "2026-06-14T08:14:59Z", devices: [{ name: "sda", status: "ok" }] }
    const smart = parseSmartCache(JSON.stringify(cache), now)
    expect(smart).toMatchObject({ status: "stale", updated_at: "2026-06-14T08:14:59.000Z", ttl_seconds: 300 })
    expect(smart.devices).toHaveLength(1)
  })

  it("calls a cache without a time stale", () => {
    expect(parseSmartCache(JSON.stringify({ status: "ok", devices: [] }), now).status).toBe("stale")
  })

  it("drops devices without a name and members of a wrong type", () => {
    const devices = [
      { status: "ok" },
      7,
      null,
      { name: "sda", status: "ok", temp_c: "hot", health: "fine", exit_status: 1.5, failing_attrs: [{ id: 5 }] }
    ]
    expect(parseSmartCache(JSON.stringify({ ...fresh, devices }), now).devices).toEqual([
      { name: "sda", source: "smartctl", status: "ok" }
    ])
  })

  it("keeps everything that is well formed", () => {
    const device = {
      name: "sdb",
      source: "smartctl",
      status: "ok",
      device_path: "/dev/sdb",
      device_type: "sat",
      protocol: "ATA",
      model: "EXAMPLE-HD4000",
      serial: "HD0000000008",
      exit_status: 64,
      health: "failed",
      temp_c: 38,
      power_on_hours: 30109,
      failing_attrs: [{ id: 5, name: "Reallocated_Sector_Ct", when_failed: "FAILING_NOW" }]
    }
    expect(parseSmartCache(JSON.stringify({ ...fresh, devices: [device] }), now).devices).toEqual([device])
  })

  it("sums up the devices when the helper did not", () => {
    const status = (...statuses: ReadonlyArray<string>) =>
      parseSmartCache(
        JSON.stringify({ ...fresh, devices: statuses.map((s, n) => ({ name: `sd${n}`, status: s })) }),
        now
      ).status
    expect([status("ok", "ok"), status("standby"), status("ok", "timeout"), status()]).toEqual([
      "ok",
      "standby",
      "partial",
      "not_found"
    ])
  })
})
