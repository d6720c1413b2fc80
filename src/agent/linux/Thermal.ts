// Temperatures from hwmon and thermal zones, read beside the reports because a sensor may take its time.
import { open } from "node:fs/promises"
import { join } from "node:path"
import type { Clock } from "../Clock.ts"
import { sensorsMax, shortened } from "../Collector.ts"
import type { Sensor, Thermal } from "../Report.ts"
import { errorCode, namesIn, readTrimmed, type Roots } from "./Tree.ts"

/** One sensor with its limits in degrees; the temperature is read from `path`. */
export interface SensorPlace {
  readonly key: string
  readonly source: "hwmon" | "thermal_zone"
  readonly path: string
  readonly highC: number | null
  readonly criticalC: number | null
}

/** Sensors answer 0, negative or absurd values when nothing is connected. */
const celsiusMax = 150

/** Millidegrees to degrees; null for what cannot be a temperature of running hardware. */
export const celsiusOf = (text: string | null): number | null => {
  const value = text === null || text.trim() === "" ? Number.NaN : Number(text) / 1000
  return Number.isFinite(value) && value > 0 && value <= celsiusMax ? value : null
}

/** `coretemp` with `Package id 0` becomes `coretemp_package_id_0`. */
export const sensorKey = (chip: string, label: string | null): string =>
  shortened(
    (label === null ? chip : `${chip}_${label}`)
      .trim()
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "_")
  )

const kindPatterns: ReadonlyArray<readonly [string, RegExp]> = [
  ["acpi", /^acpitz/],
  ["gpu", /gpu|nouveau|radeon|^i915|^xe_/],
  ["chipset", /^pch|chipset/],
  ["cpu", /^coretemp|^k8temp|^k10temp|^zenpower|^fam15h|cpu|^x86_pkg|^soc_|package|tctl|tdie|^scpi/],
  ["board", /^nct|^it8|^asus|^w83|^f71|board|systin|^thinkpad|^dell|^hp_/]
]

/** A guess from the key, in the words of the report. */
export const sensorKind = (key: string): string =>
  kindPatterns.find(([, pattern]) => pattern.test(key))?.[0] ?? "unknown"

const hwmonPlaces = (roots: Roots, chip: string): ReadonlyArray<SensorPlace> => {
  const at = join(roots.sys, "class", "hwmon", chip)
  const name = readTrimmed(at, "name") ?? chip
  return namesIn(at).flatMap((entry) => {
    const input = /^(temp\d+)_input$/.exec(entry)?.[1]
    if (input === undefined) return []
    const key = sensorKey(name, readTrimmed(at, `${input}_label`))
    const highC = celsiusOf(readTrimmed(at, `${input}_max`))
    const criticalC = celsiusOf(readTrimmed(at, `${input}_crit`))
    return [{ key, source: "hwmon" as const, path: join(at, entry), highC, criticalC }]
  })
}

const zonePlace = (roots: Roots, zone: string): ReadonlyArray<SensorPlace> => {
  const at = join(roots.sys, "class", "thermal", zone)
  const type = readTrimmed(at, "type")
  if (type === null) return []
  const trip = (kind: string): number | null => {
    const entry = namesIn(at).find((name) => /^trip_point_\d+_type$/.test(name) && readTrimmed(at, name) === kind)
    return entry === undefined ? null : celsiusOf(readTrimmed(at, entry.replace(/_type$/, "_temp")))
  }
  const limits = { highC: trip("hot"), criticalC: trip("critical") }
  return [{ key: sensorKey(type, null), source: "thermal_zone", path: join(at, "temp"), ...limits }]
}

/** Repeated keys (two equal chips) get a number, so that every sensor has a name of its own. */
const withUniqueKeys = (places: ReadonlyArray<SensorPlace>): ReadonlyArray<SensorPlace> => {
  const taken = new Set<string>()
  return places.map((place) => {
    let key = place.key
    for (let copy = 2; taken.has(key); copy++) key = `${place.key}_${copy}`
    taken.add(key)
    return { ...place, key }
  })
}

/** Finds the sensors; a thermal zone that hwmon tells too is left out. */
export const findSensors = (roots: Roots): ReadonlyArray<SensorPlace> => {
  const hwmon = namesIn(roots.sys, "class", "hwmon").flatMap((chip) => hwmonPlaces(roots, chip))
  const isTold = (zone: SensorPlace): boolean =>
    hwmon.some(({ key }) => key === zone.key || (zone.key === "x86_pkg_temp" && key.startsWith("coretemp")))
  const zones = namesIn(roots.sys, "class", "thermal")
    .filter((entry) => entry.startsWith("thermal_zone"))
    .flatMap((zone) => zonePlace(roots, zone))
  return withUniqueKeys([...hwmon, ...zones.filter((zone) => !isTold(zone))]).slice(0, sensorsMax)
}

/** Codes of a sensor that is there but has nothing to say now, such as a radio that is off. */
const silentCodes = new Set(["ENODATA", "EAGAIN", "ENXIO", "ENODEV", "ENOENT", "EINVAL"])

const readSmall = async (path: string): Promise<string> => {
  const handle = await open(path, "r")
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(64), 0, 64, 0)
    return buffer.toString("latin1", 0, bytesRead)
  } finally {
    await handle.close()
  }
}

const sensorReport = (place: SensorPlace, celsius: number): Sensor => ({
  kind: sensorKind(place.key),
  name: place.key,
  sensor_key: place.key,
  source: place.source,
  status: "ok",
  temp_c: celsius,
  ...(place.highC === null ? {} : { high_c: place.highC }),
  ...(place.criticalC === null ? {} : { critical_c: place.criticalC })
})

/** Reads all sensors one after the other. Never rejects. */
export const readSensors = async (places: ReadonlyArray<SensorPlace>, now: () => Date): Promise<Thermal> => {
  const sensors: Array<Sensor> = []
  const failures: Array<string> = []
  for (const place of places) {
    try {
      const celsius = celsiusOf(await readSmall(place.path))
      if (celsius !== null) sensors.push(sensorReport(place, celsius))
    } catch (error) {
      if (!silentCodes.has(errorCode(error))) failures.push(errorCode(error))
    }
  }
  return { status: thermalStatus(sensors.length, failures), updated_at: now().toISOString(), sensors }
}

const thermalStatus = (read: number, failures: ReadonlyArray<string>): string => {
  if (read > 0) return failures.length > 0 ? "partial" : "ok"
  if (failures.length === 0) return "not_found"
  return failures.every((code) => code === "EACCES" || code === "EPERM") ? "no_permission" : "error"
}

export interface ThermalProbe {
  /** Looks for sensors again; their names and limits hardly ever change. */
  readonly discover: () => void
  /** Starts a reading unless one is under way; never waits. The promise is for the first reading after the start. */
  readonly read: () => Promise<void>
  readonly last: () => Thermal
}

export const makeThermalProbe = (roots: Roots, clock: Clock): ThermalProbe => {
  let places: ReadonlyArray<SensorPlace> = []
  let last: Thermal = { status: "not_found", sensors: [] }
  let running: Promise<void> | null = null
  const read = (): Promise<void> => {
    running ??= readSensors(places, clock.now).then((thermal) => {
      last = thermal
      running = null
    })
    return running
  }
  return { discover: () => void (places = findSensors(roots)), read, last: () => last }
}
