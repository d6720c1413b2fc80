// /api/admin/nodes: reads from the roster and the directory, writes to the store, and both follow.
import { HttpApiBuilder, HttpServerResponse } from "@effect/platform"
import { Context, Effect } from "effect"
import { Api } from "../../schema/api/Api.ts"
import type { NodeId } from "../../schema/Ids.ts"
import type { Node } from "../../schema/Node.ts"
import { changesOf, idsOf, p95SwitchOf } from "../../src/core/NodePatch.ts"
import { versionStatus } from "../../src/core/Version.ts"
import { Nodes } from "../../src/store/Nodes.ts"
import { BundledVersion } from "../BundledVersion.ts"
import { AppConfig } from "../Config.ts"
import { NodeDirectory, type NodeFacts } from "../NodeDirectory.ts"
import { type NodeRecord, NodeRoster } from "../NodeRoster.ts"
import { pause } from "../Pause.ts"
import * as Registry from "./Registry.ts"

/** Nodes decrypted and serialised between two pauses: about 3 ms. */
const sliceNodes = 250

export const layer = HttpApiBuilder.group(Api, "nodes", (handlers) =>
  Effect.gen(function* () {
    const nodes = yield* Nodes
    const roster = yield* NodeRoster
    const { timezone } = yield* AppConfig
    const { caughtUp, written } = yield* Registry.make
    const zoneOf = (id: NodeId) => roster.records().get(id)?.trafficBillingTimezone || timezone
    const list = yield* makeList

    return handlers
      .handle("list", () => Effect.zipRight(caughtUp, list))
      .handle("create", () =>
        Effect.map(written(nodes.create), (id) =>
          HttpServerResponse.empty({ status: 204, headers: { location: `/api/admin/nodes/${id}` } })
        )
      )
      .handle("order", ({ payload }) => Effect.flatMap(idsOf(payload.ids), (ids) => written(nodes.order(ids))))
      .handle("switchP95", ({ payload }) =>
        Effect.flatMap(p95SwitchOf(payload), ({ enabled, ids }) => written(nodes.switchP95(ids, enabled)))
      )
      .handle("patch", ({ path, payload }) =>
        Effect.flatMap(changesOf(payload, zoneOf(path.id)), (changes) => written(nodes.patch(path.id, changes)))
      )
      .handle("remove", ({ path }) => written(nodes.remove(path.id)))
  })
)

/** The list in its order, made in slices, so that ten thousand nodes do not hold up the reports. */
const makeList = Effect.gen(function* () {
  const roster = yield* NodeRoster
  const directory = yield* NodeDirectory
  const bundled = yield* BundledVersion
  const textOf = (record: NodeRecord): string =>
    JSON.stringify(view(record, directory.facts(record.id), roster.secret(record.id), bundled))

  return Effect.gen(function* () {
    const ordered = roster.ordered()
    const pieces: Array<Buffer> = []
    for (let from = 0; from < ordered.length; from += sliceNodes) {
      if (from > 0) yield* pause
      const texts = ordered.slice(from, from + sliceNodes).map(textOf)
      pieces.push(Buffer.from(`${from === 0 ? "" : ","}${texts.join(",")}`))
    }
    const body = Buffer.concat([Buffer.from("["), ...pieces, Buffer.from("]\n")])
    return HttpServerResponse.uint8Array(body, { contentType: "application/json; charset=utf-8" })
  })
})

/** A node as administrators read it. A secret that no longer opens is shown empty: a new one has to be set. */
const view = (
  record: NodeRecord,
  facts: NodeFacts | undefined,
  secret: string | undefined,
  bundled: Context.Tag.Service<typeof BundledVersion>
): Node => ({
  id: record.id,
  name: record.name,
  hostname: facts === undefined || facts.hostname === "" ? record.name : facts.hostname,
  ...(facts?.ip === undefined ? {} : { ip: facts.ip }),
  is_guest_visible: record.guestVisible,
  traffic_p95_enabled: record.trafficP95Enabled,
  traffic_cycle_mode: record.trafficCycleMode,
  traffic_billing_start_day: record.trafficBillingStartDay,
  traffic_billing_anchor_date: record.trafficBillingAnchorDate,
  traffic_billing_timezone: record.trafficBillingTimezone,
  traffic_direction_mode: record.trafficDirectionMode,
  secret: secret ?? "",
  tags: record.tags,
  display_order: record.displayOrder,
  group_ids: record.groupIds,
  version: versionStatus(facts?.version, bundled.version),
  faults: facts?.faults ?? []
})
