// /api/statistics/traffic: what the ledger answers, for administrators and for guests as far as they may look; its rebuild.
import { HttpApiBuilder, HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { Api } from "../../schema/api/Api.ts"
import { CurrentViewer } from "../../schema/api/Security.ts"
import type { Viewer } from "../../schema/Session.ts"
import { type Exported, TrafficReads } from "../TrafficReads.ts"
import { TrafficRebuild } from "../TrafficRebuild.ts"
import { atStorage } from "./AtStorage.ts"

const { guarded } = atStorage("traffic", "the traffic ledger cannot be read right now")

const asked = <A, E>(read: (viewer: Viewer) => Effect.Effect<A, E>) => guarded(Effect.flatMap(CurrentViewer, read))

/** Written out as it is: encoding a month of facts by its Schema would cost ten times the read. */
const told = <A, E>(read: (viewer: Viewer) => Effect.Effect<A, E>) =>
  Effect.map(asked(read), (answer) =>
    HttpServerResponse.text(JSON.stringify(answer), { contentType: "application/json" })
  )

const file = ({ csv, name }: Exported) =>
  HttpServerResponse.text(csv, {
    contentType: "text/csv; charset=utf-8",
    headers: { "content-disposition": `attachment; filename="${name}"` }
  })

export const layer = HttpApiBuilder.group(Api, "traffic", (handlers) =>
  Effect.gen(function* () {
    const reads = yield* TrafficReads
    const rebuild = yield* TrafficRebuild
    return handlers
      .handleRaw("ifaces", ({ urlParams }) => told((viewer) => reads.ifaces(viewer, urlParams)))
      .handleRaw("summary", ({ urlParams }) => told((viewer) => reads.summary(viewer, urlParams)))
      .handleRaw("daily", ({ urlParams }) => told((viewer) => reads.daily(viewer, urlParams)))
      .handleRaw("monthly", ({ urlParams }) => told((viewer) => reads.monthly(viewer, urlParams)))
      .handleRaw("explain", ({ urlParams }) => told((viewer) => reads.explain(viewer, urlParams)))
      .handleRaw("export", ({ urlParams }) =>
        Effect.map(
          asked((viewer) => reads.exported(viewer, urlParams)),
          file
        )
      )
      .handle("rebuildStatus", () => rebuild.status)
      .handle("rebuild", ({ path }) => rebuild.start(path.id))
  })
)
