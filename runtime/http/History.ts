// /api/metrics: history and online reads, for administrators and for guests as far as they may look.
import { HttpApiBuilder, HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { Api } from "../../schema/api/Api.ts"
import { CurrentViewer } from "../../schema/api/Security.ts"
import { ServiceUnavailable } from "../../schema/Errors.ts"
import { HistoryReads } from "../HistoryReads.ts"

const unreadable = () => new ServiceUnavailable({ message: "the stored figures cannot be read right now" })

/** What SQLite throws in the middle of a read: the database is in trouble, not the request. The log names the cause. */
const atStorage = <A, E, R>(read: Effect.Effect<A, E, R>) =>
  Effect.catchAllDefect(read, (defect) =>
    Effect.zipRight(Effect.logError("history cannot be read", { cause: String(defect) }), Effect.fail(unreadable()))
  )

export const layer = HttpApiBuilder.group(Api, "history", (handlers) =>
  Effect.gen(function* () {
    const reads = yield* HistoryReads
    return (
      handlers
        // Written out as it is: encoding two thousand points by their Schema would cost ten times the read.
        .handleRaw("history", ({ urlParams }) =>
          Effect.flatMap(CurrentViewer, (viewer) => reads.history(viewer, urlParams)).pipe(
            Effect.map((answer) =>
              HttpServerResponse.text(JSON.stringify(answer), { contentType: "application/json" })
            ),
            atStorage,
            Effect.catchTag("StorageUnavailable", () => Effect.fail(unreadable()))
          )
        )
        .handle("online", ({ urlParams }) =>
          Effect.flatMap(CurrentViewer, (viewer) => reads.online(viewer, urlParams)).pipe(
            atStorage,
            Effect.catchTag("StorageUnavailable", () => Effect.fail(unreadable()))
          )
        )
    )
  })
)
