// Who may read which node.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { SessionId } from "../../schema/Ids.ts"
import { Viewer } from "../../schema/Session.ts"
import { canRead, readable } from "../../src/core/Visibility.ts"

const guest = Viewer.Guest()
const admin = Viewer.Admin({ sessionId: SessionId.make("s1") })
const records = fc.array(
  fc.record(
    { id: fc.nat(), guestVisible: fc.boolean(), deletedAt: fc.option(fc.nat()) },
    { requiredKeys: ["id", "guestVisible"] }
  )
)

describe("a guest", () => {
  it.each([
    ["an unknown node", undefined],
    ["a hidden node", { guestVisible: false }],
    ["a deleted node that was visible", { guestVisible: true, deletedAt: 5 }],
    ["a node deleted at the beginning of time", { guestVisible: true, deletedAt: 0 }]
  ])("cannot read %s", (_, record) => {
    expect(canRead(guest, record)).toBe(false)
  })

  it("reads a visible node", () => {
    expect(canRead(guest, { guestVisible: true })).toBe(true)
    expect(canRead(guest, { guestVisible: true, deletedAt: null })).toBe(true)
  })

  it("is given the same whatever hidden and deleted nodes there are besides", () => {
    fc.assert(
      fc.property(records, records, (some, more) => {
        const unseen = more.map((record) => ({ ...record, guestVisible: false }))

        expect(readable(guest, [...unseen, ...some])).toEqual(readable(guest, some))
      })
    )
  })
})

describe("an administrator", () => {
  it("cannot read a deleted or unknown node", () => {
    expect(canRead(admin, { guestVisible: true, deletedAt: 5 })).toBe(false)
    expect(canRead(admin, undefined)).toBe(false)
  })

  it("reads hidden nodes", () => {
    expect(canRead(admin, { guestVisible: false })).toBe(true)
  })
})

describe("a list", () => {
  it("holds exactly the nodes that can be read one by one, in their order", () => {
    fc.assert(
      fc.property(records, fc.constantFrom(guest, admin), (all, viewer) => {
        expect(readable(viewer, all)).toEqual(all.filter((record) => canRead(viewer, record)))
      })
    )
  })

  it("of a guest is part of the administrator's", () => {
    fc.assert(
      fc.property(records, (all) => {
        const known = new Set(readable(admin, all))

        expect(readable(guest, all).every((record) => known.has(record) && record.guestVisible)).toBe(true)
      })
    )
  })
})
