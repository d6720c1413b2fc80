// The error catalogue: stable codes, one class each, and a wire form that comes back as the same failure.
import { Either, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Errors from "../../schema/Errors.ts"
import {
  catalogue,
  type Failure,
  type FailureClass,
  InvalidJson,
  isFailure,
  NotFound,
  wire,
  WireError
} from "../../schema/Errors.ts"

const classes = catalogue as ReadonlyArray<FailureClass<Failure>>
const named = classes.map((one) => [one.name, one] as const)

describe("the catalogue", () => {
  it("holds every failure class that the module exports, once", () => {
    const exported = Object.values(Errors).filter(
      (one) => typeof one === "function" && "status" in one && "code" in one
    )

    expect(new Set(classes).size).toBe(classes.length)
    expect(new Set<unknown>(classes)).toEqual(new Set<unknown>(exported))
    expect(classes.length).toBeGreaterThan(30)
  })

  it("gives each class a code, a tag and a status of its own making", () => {
    const codes = classes.map((one) => one.code)

    expect(new Set(codes).size).toBe(codes.length)
    expect(new Set(classes.map((one) => new one({ message: "m" })._tag)).size).toBe(codes.length)
    for (const code of codes) expect(code).toMatch(/^[a-z][a-z0-9_]*$/)
    for (const { status } of classes)
      expect([400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 500, 503]).toContain(status)
  })

  it.each([
    ["invalid_request", 400],
    ["unauthorized", 401],
    ["forbidden", 403],
    ["not_found", 404],
    ["duplicate_secret", 409],
    ["body_too_large", 413],
    ["unsupported_media_type", 415],
    ["invalid_metrics", 422],
    ["invalid_static_payload", 422],
    ["rate_limited", 429],
    ["service_unavailable", 503]
  ])("answers %s with %i, as the contract has it", (code, status) => {
    expect(classes.find((one) => one.code === code)?.status).toBe(status)
  })
})

describe("a failure", () => {
  it.each(named)("of class %s carries its class's code and status, and a message", (_, one) => {
    const failed = new one({ message: "metrics.network is required" })

    expect(failed).toMatchObject({ code: one.code, status: one.status, message: "metrics.network is required" })
    expect(failed).toBeInstanceOf(Error)
    expect(isFailure(failed)).toBe(true)
  })

  it.each(named)("of class %s goes over the wire as code and message alone and comes back", (_, one) => {
    const codec = wire(one)
    const written = Schema.encodeSync(codec)(new one({ message: 'a "quoted" message' }))
    const read = Schema.decodeUnknownSync(codec)(JSON.parse(JSON.stringify(written)))

    expect(written).toStrictEqual({ code: one.code, message: 'a "quoted" message' })
    expect(Schema.is(WireError)(written)).toBe(true)
    expect(read).toBeInstanceOf(one)
    expect(read.message).toBe('a "quoted" message')
  })

  it("is not taken for another by the wire", () => {
    const decoded = Schema.decodeUnknownEither(wire(NotFound))({ code: InvalidJson.code, message: "m" })
    const encoded = Schema.encodeUnknownEither(wire(NotFound))(new InvalidJson({ message: "m" }))

    expect(Either.isLeft(decoded)).toBe(true)
    expect(Either.isLeft(encoded)).toBe(true)
  })

  it.each([
    null,
    undefined,
    new Error("not_found"),
    { _tag: "NotFound", code: "not_found", status: 404, message: "m" }
  ])("is nothing that only looks like one: %s", (other) => {
    expect(isFailure(other)).toBe(false)
  })
})
