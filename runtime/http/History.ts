// /api/metrics: history and online reads, for administrators and for guests as far as they may look.
import { HttpApiBuilder, HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { Api } from "../../schema/api/Api.ts"
import { CurrentViewer } from "../../schema/api/Security.ts"
import { HistoryReads } from "../HistoryReads.ts"
import { jsonType } from "./Answer.ts"
import { ofHistory } from "./AtStorage.ts"

const { guarded, unreadable } = ofHistory

/** As text, which node sends with its head in one write; bytes would be encoded here and gathered there. */
const sent = (text: string) =>
  HttpServerResponse.raw(text, {
    contentType: jsonType,
    contentLength: Buffer.byteLength(text)
  })

export const layer = HttpApiBuilder.group(Api, "history", (handlers) =>
  Effect.gen(function* () {
    const reads = yield* HistoryReads
    return (
      handlers
        // Written out as it is: encoding two thousand points by their Schema would cost ten times the read.
        .handleRaw("history", ({ urlParams }) =>
          Effect.flatMap(CurrentViewer, (viewer) => reads.text(viewer, urlParams)).pipe(
            Effect.map(sent),
            guarded,
            Effect.catchTag("StorageUnavailable", () => Effect.fail(unreadable()))
          )
        )
        .handle("online", ({ urlParams }) =>
          Effect.flatMap(CurrentViewer, (viewer) => reads.online(viewer, urlParams)).pipe(
            guarded,
            Effect.catchTag("StorageUnavailable", () => Effect.fail(unreadable()))
          )
        )
    )
  })
)
