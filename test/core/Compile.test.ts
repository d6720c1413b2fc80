// The compiled checker, picker and comparer say what the interpreted Schema says.
import { Schema } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { NodeReport, Pressure, RaidArray, Sensor, Smart, SmartDevice, Thermal } from "../../schema/Report.ts"
import { rule } from "../../schema/Rule.ts"
import { Static } from "../../schema/Static.ts"
import { checker, comparer, picker, type Problem } from "../../src/core/Compile.ts"
import { raidArrays, reports, smartDevices, statics } from "../support/ArbitraryReports.ts"
import { fullReport, smartDevice, travelled } from "../support/Reports.ts"

const checkReport = checker(NodeReport)
const checkStatic = checker(Static)

type Json = Record<string, unknown>
const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

interface Place {
  readonly holder: Json | Array<unknown>
  readonly key: string | number
  readonly path: string
}
/** Every member and element below a value. */
const placesIn = (value: unknown, path = ""): ReadonlyArray<Place> => {
  if (Array.isArray(value)) {
    return value.flatMap((item, key) => {
      const here = `${path}[${key}]`
      return [{ holder: value, key, path: here }, ...placesIn(item, here)]
    })
  }
  if (!isJson(value)) return []
  return Object.keys(value).flatMap((key) => {
    const here = path === "" ? key : `${path}.${key}`
    return [{ holder: value, key, path: here }, ...placesIn(value[key], here)]
  })
}

const removed = Symbol("removed")
const twice = Symbol("twice")
const junk: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 2, arbitrary: fc.constant(removed) },
  { weight: 1, arbitrary: fc.constant(twice) },
  {
    weight: 6,
    arbitrary: fc.constantFrom<unknown>(null, true, -1, 0.5, 7, 2 ** 64 + 4096, Number.NaN, Infinity, -Infinity, -0)
  },
  { weight: 3, arbitrary: fc.constantFrom<unknown>("", "  ", "NaN", "01.2.3", "a".repeat(256), "a".repeat(257)) },
  { weight: 3, arbitrary: fc.constantFrom<unknown>([], {}, [null], [[]], [{}], { name: "" }, [{ name: "eth0" }]) }
)
interface Mutation {
  readonly at: number
  readonly to: unknown
}
const mutations = fc.record({ at: fc.nat(), to: junk })

/** Breaks one place of a value (or leaves it whole by chance) and names it. */
const mutate = (value: object, { at, to }: Mutation): string => {
  const places = placesIn(value)
  const place = places[at % places.length] as Place
  const holder = place.holder as Record<string | number, unknown>
  if (to === twice && Array.isArray(place.holder)) place.holder.push(structuredClone(holder[place.key]))
  else if (to === removed || to === twice) {
    if (Array.isArray(place.holder)) place.holder.splice(place.key as number, 1)
    else delete holder[place.key]
  } else holder[place.key] = structuredClone(to)
  return place.path
}

const isSmart = Schema.is(Smart)
const isThermal = Schema.is(Thermal)
const isPressure = Schema.is(Pressure)
const cut = <A>(items: unknown, is: (item: unknown) => item is A): unknown =>
  Array.isArray(items) ? items.filter(is) : items
const given = (value: unknown): boolean => value !== undefined && value !== null

/** What is left of the lenient pieces, told by the interpreter alone. */
const cleaned = (value: unknown): unknown => {
  const metrics = isJson(value) ? value["metrics"] : undefined
  if (!isJson(metrics)) return value
  const { disk, pressure, raid, thermal } = metrics
  if (isJson(raid)) raid["arrays"] = cut(raid["arrays"], Schema.is(RaidArray))
  if (isJson(disk) && given(disk["smart"])) {
    const piece = disk["smart"]
    if (isJson(piece)) piece["devices"] = cut(piece["devices"], Schema.is(SmartDevice))
    if (!isSmart(piece)) disk["smart"] = undefined
  }
  if (isJson(thermal)) thermal["sensors"] = cut(thermal["sensors"], Schema.is(Sensor))
  if (given(thermal) && !isThermal(thermal)) metrics["thermal"] = undefined
  if (isJson(pressure)) {
    for (const one of ["cpu", "memory", "io"]) if (!isPressure({ [one]: pressure[one] })) pressure[one] = undefined
  } else if (given(pressure)) metrics["pressure"] = undefined
  return value
}

describe("the compiled checker of reports", () => {
  it("takes every report that the Schema takes, and changes nothing in it", () => {
    fc.assert(
      fc.property(reports, (report) => {
        const dropped: Array<Problem> = []
        const copy = structuredClone(report)

        expect(Schema.is(NodeReport)(report)).toBe(true)
        expect(checkReport(copy, dropped)).toBeUndefined()
        expect(dropped).toEqual([])
        expect(copy).toStrictEqual(report)
      }),
      { numRuns: 200 }
    )
  })

  it("agrees with the Schema about mutated reports once the lenient pieces are cut out", () => {
    const seen = { kept: 0, refused: 0, dropped: 0 }
    fc.assert(
      fc.property(reports, fc.array(mutations, { minLength: 1, maxLength: 3 }), (report, broken) => {
        for (const mutation of broken) mutate(report, mutation)
        const expected = cleaned(structuredClone(report))
        const dropped: Array<Problem> = []
        const problem = checkReport(report, dropped)

        expect(problem === undefined).toBe(Schema.is(NodeReport)(expected))
        if (problem === undefined) expect(report).toEqual(expected)
        seen[problem !== undefined ? "refused" : dropped.length > 0 ? "dropped" : "kept"]++
      }),
      { numRuns: 600 }
    )

    // The property says nothing when one side never occurs.
    expect(Math.min(seen.kept, seen.refused, seen.dropped)).toBeGreaterThan(20)
  })

  it("names the place that was broken, or what holds it, or what is missing in it", () => {
    fc.assert(
      fc.property(mutations, (mutation) => {
        const report = fullReport()
        const broken = mutate(report, mutation)
        const dropped: Array<Problem> = []
        const problem = checkReport(report, dropped)

        for (const { path } of problem === undefined ? dropped : [...dropped, problem]) {
          expect(broken.startsWith(path) || path.startsWith(broken), `${path} for ${broken}`).toBe(true)
        }
      }),
      { numRuns: 600 }
    )
  })
})

describe("the compiled checker of statics", () => {
  it("agrees with the Schema about whole and mutated ones", () => {
    const seen = { kept: 0, refused: 0 }
    fc.assert(
      fc.property(statics, fc.array(mutations, { maxLength: 2 }), (body, broken) => {
        for (const mutation of broken) mutate(body, mutation)
        const problem = checkStatic(body, [])

        expect(problem === undefined).toBe(Schema.is(Static)(body))
        seen[problem === undefined ? "kept" : "refused"]++
      }),
      { numRuns: 500 }
    )

    expect(Math.min(seen.kept, seen.refused)).toBeGreaterThan(20)
  })
})

describe("the compiler", () => {
  const named = Schema.Struct({ name: Schema.String })

  it.each([
    ["a real union", Schema.Struct({ a: Schema.Union(Schema.String, Schema.Number) })],
    ["a transformation", Schema.Struct({ a: Schema.NumberFromString })],
    ["a tuple", Schema.Struct({ a: Schema.Tuple(Schema.String) })],
    ["a literal", Schema.Struct({ a: Schema.Literal("x") })],
    ["a rule without a name", Schema.Struct({ a: Schema.String.pipe(Schema.minLength(1)) })],
    ["a struct under a rule without a name", named.pipe(Schema.filter(() => true))]
  ])("refuses %s", (_, schema) => {
    expect(() => checker(schema as Schema.Schema<unknown>)).toThrow("a compiled schema may")
  })

  it("refuses to compare records, whose members have no order to walk", () => {
    const record = Schema.Struct({ a: Schema.Record({ key: Schema.String, value: Schema.String }) })

    expect(() => comparer(record)).toThrow("a compared schema may not hold records")
  })

  it("is not led astray by names that look like code", () => {
    const strange = Schema.Struct({ '"]; throw 1; //': Schema.String, "a\nb": Schema.optional(Schema.Number) })
    const check = checker(strange)

    expect(check({ '"]; throw 1; //': "x", "a\nb": 1 }, [])).toBeUndefined()
    expect(check({ '"]; throw 1; //': "x", "a\nb": "1" }, [])).toMatchObject({ path: "a\nb", breach: "type" })
  })

  it("runs the rules on a whole only after those on its members", () => {
    const each = Schema.String.pipe(rule((text: string) => text !== "", "meaning", "must not be empty"))
    const list = Schema.Array(each).pipe(
      rule((items: ReadonlyArray<string>) => items.every((text) => text.length > 0), "meaning", "must be full")
    )

    expect(checker(Schema.Struct({ list }))({ list: ["a", ""] }, [])).toMatchObject({ path: "list[1]" })
  })
})

const pickSmart = picker<Smart, typeof Smart.Encoded>(Smart)
const sameSmart = comparer<Smart, typeof Smart.Encoded>(Smart)
const smarts = fc
  .record({ status: fc.constant("ok"), ttl_seconds: fc.constantFrom(1, 2, null), devices: fc.array(smartDevices) })
  .map((smart) => travelled(smart) as Smart)

/** Without null, undefined and the sign of zero: JSON does not tell them from absence and zero. */
const bare = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(bare)
  if (!isJson(value)) return value === 0 ? 0 : value
  return Object.fromEntries(Object.entries(value).flatMap(([key, one]) => (given(one) ? [[key, bare(one)]] : [])))
}
const strangers = { strange: { deep: [1] }, colour: "red" }
/** The same piece as another sender would write it: strange members added, null where something is missing. */
const rewritten = (smart: Smart): Smart => ({
  ...smart,
  ...strangers,
  updated_at: smart.updated_at ?? null,
  devices: smart.devices.map((device) => ({ wwn: null, ...device, ...strangers }))
})

describe("the compiled picker", () => {
  it("keeps what the Schema decodes, without what is null", () => {
    fc.assert(
      fc.property(smarts, (smart) => {
        expect(pickSmart(rewritten(smart))).toEqual(bare(Schema.decodeUnknownSync(Smart)(smart)))
      })
    )
  })

  it("changes nothing when it picks again", () => {
    fc.assert(
      fc.property(smarts, (smart) => {
        const picked = pickSmart(smart)

        expect(pickSmart(picked)).toStrictEqual(picked)
      })
    )
  })

  it("copies, so that what is kept does not hold the whole report", () => {
    const smart: Smart = { status: "ok", devices: [smartDevice("sda")] }
    const picked = pickSmart(smart)

    expect(picked.devices[0]).toEqual(smart.devices[0])
    expect(picked.devices[0]).not.toBe(smart.devices[0])
  })
})

describe("the compiled comparer", () => {
  it("calls two values the same exactly when their picked members are equal", () => {
    fc.assert(
      fc.property(smarts, smarts, fc.nat(), junk, (a, other, at, to) => {
        const mutated = structuredClone(a)
        mutate(mutated, { at, to: typeof to === "number" && Number.isNaN(to) ? 0 : to })
        const candidates = Schema.is(Smart)(mutated) ? [rewritten(a), other, mutated] : [rewritten(a), other]
        for (const b of candidates) {
          const equal = JSON.stringify(bare(pickSmart(a))) === JSON.stringify(bare(pickSmart(b)))

          expect(sameSmart(a, b)).toBe(equal)
          expect(sameSmart(b, a)).toBe(equal)
        }
      }),
      { numRuns: 200 }
    )
  })

  it("sees every known member of a RAID array", () => {
    const same = comparer<RaidArray, typeof RaidArray.Encoded>(RaidArray)
    fc.assert(
      fc.property(raidArrays, fc.nat(), (array, at) => {
        const keys = Object.keys(RaidArray.fields) as Array<keyof RaidArray>
        const key = keys[at % keys.length] as keyof RaidArray
        const other = { ...array, [key]: key === "members" ? [...array.members, { name: "x", state: "y" }] : "other" }

        expect(same(array, { ...array })).toBe(true)
        expect(same(array, other)).toBe(false)
      })
    )
  })
})
