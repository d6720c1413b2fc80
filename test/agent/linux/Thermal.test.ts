import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import {
  celsiusOf,
  findSensors,
  makeThermalProbe,
  readSensors,
  sensorKey,
  sensorKind
} from "../../../src/agent/linux/Thermal.ts"
import { type Machine, makeMachine, makeTestClock } from "../support/Machine.ts"

let machine: Machine | null = null
afterEach(() => machine?.destroy())
const now = () => new Date("2026-06-14T08:20:00Z")

describe("celsiusOf", () => {
  it.each([["0"], ["-1000"], ["150001"], ["65261850"], [""], ["n/a"], [null]])("refuses %s", (text) => {
    expect(celsiusOf(text)).toBeNull()
  })

  it("reads millidegrees", () => {
    expect(celsiusOf("42850\n")).toBe(42.85)
  })
})

describe("sensors", () => {
  it("are not found on a machine without any", async () => {
    machine = makeMachine({})
    const thermal = await readSensors(findSensors(machine.roots), now)
    expect(thermal).toEqual({ status: "not_found", updated_at: "2026-06-14T08:20:00.000Z", sensors: [] })
  })

  it("are partial when one of them cannot be read", async () => {
    machine = makeMachine({
      "sys/class/hwmon/hwmon0/name": "coretemp",
      "sys/class/hwmon/hwmon0/temp1_input": "50000",
      "sys/class/hwmon/hwmon0/temp2_input/folder": ""
    })
    expect((await readSensors(findSensors(machine.roots), now)).status).toBe("partial")
  })

  it("with nothing connected are left out", async () => {
    machine = makeMachine({
      "sys/class/hwmon/hwmon0/name": "nct6775",
      "sys/class/hwmon/hwmon0/temp1_input": "-62000",
      "sys/class/hwmon/hwmon0/temp2_input": "36500"
    })
    const { sensors } = await readSensors(findSensors(machine.roots), now)
    expect(sensors.map(({ kind, temp_c }) => [kind, temp_c])).toEqual([["board", 36.5]])
  })

  it("carry label, limits and a guess of what they are", async () => {
    machine = makeMachine({
      "sys/class/hwmon/hwmon0/name": "coretemp\n",
      "sys/class/hwmon/hwmon0/temp1_input": "58000\n",
      "sys/class/hwmon/hwmon0/temp1_label": "Package id 0\n",
      "sys/class/hwmon/hwmon0/temp1_max": "86000\n",
      "sys/class/hwmon/hwmon0/temp1_crit": "100000\n",
      "sys/class/hwmon/hwmon1/name": "nvme\n",
      "sys/class/hwmon/hwmon1/temp1_input": "42850\n",
      "sys/class/hwmon/hwmon1/temp1_label": "Composite\n",
      "sys/class/hwmon/hwmon1/temp1_max": "65261850\n"
    })
    expect((await readSensors(findSensors(machine.roots), now)).sensors).toEqual([
      {
        kind: "cpu",
        name: "coretemp_package_id_0",
        sensor_key: "coretemp_package_id_0",
        source: "hwmon",
        status: "ok",
        temp_c: 58,
        high_c: 86,
        critical_c: 100
      },
      {
        kind: "unknown",
        name: "nvme_composite",
        sensor_key: "nvme_composite",
        source: "hwmon",
        status: "ok",
        temp_c: 42.85
      }
    ])
  })

  it("of two equal chips have names of their own, and a zone that hwmon tells is told once", () => {
    machine = makeMachine({
      "sys/class/hwmon/hwmon0/name": "acpitz",
      "sys/class/hwmon/hwmon0/temp1_input": "27800",
      "sys/class/hwmon/hwmon1/name": "drivetemp",
      "sys/class/hwmon/hwmon1/temp1_input": "30000",
      "sys/class/hwmon/hwmon2/name": "drivetemp",
      "sys/class/hwmon/hwmon2/temp1_input": "31000",
      "sys/class/thermal/thermal_zone0/type": "acpitz",
      "sys/class/thermal/thermal_zone0/temp": "27800",
      "sys/class/thermal/thermal_zone1/type": "cpu-thermal",
      "sys/class/thermal/thermal_zone1/temp": "45000",
      "sys/class/thermal/thermal_zone1/trip_point_0_type": "critical",
      "sys/class/thermal/thermal_zone1/trip_point_0_temp": "110000",
      "sys/class/thermal/cooling_device0/type": "fan"
    })
    const places = findSensors(machine.roots)
    expect(places.map(({ key, source }) => [key, source])).toEqual([
      ["acpitz", "hwmon"],
      ["drivetemp", "hwmon"],
      ["drivetemp_2", "hwmon"],
      ["cpu_thermal", "thermal_zone"]
    ])
    expect(places[3]?.criticalC).toBe(110)
  })

  it("that take their time are answered with the last values, and asked once", async () => {
    const made = makeMachine({
      "sys/class/hwmon/hwmon0/name": "coretemp",
      "sys/class/hwmon/hwmon0/temp1_input": "50000"
    })
    machine = made
    const probe = makeThermalProbe(made.roots, makeTestClock())
    probe.discover()
    await probe.read()
    const input = join(made.roots.sys, "class/hwmon/hwmon0/temp1_input")
    made.remove("sys/class/hwmon/hwmon0/temp1_input")
    execFileSync("mkfifo", [input])

    const stuck = probe.read()

    expect(probe.read()).toBe(stuck)
    expect(probe.last().sensors.map(({ temp_c }) => temp_c)).toEqual([50])
    writeFileSync(input, "60000")
    await stuck
  })
})

describe("sensorKey and sensorKind", () => {
  it("guess the kind from the key", () => {
    const kinds = ["k10temp_tctl", "amdgpu_edge", "pch_skylake", "acpitz", "nct6775_systin", "nvme_composite"]
    expect(kinds.map(sensorKind)).toEqual(["cpu", "gpu", "chipset", "acpi", "board", "unknown"])
    expect(sensorKey("coretemp", "Core 0")).toBe("coretemp_core_0")
  })
})
