// /api/admin/nodes: list, create, change, switch P95, order, delete.
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import {
  DuplicateSecret,
  InvalidAnchorDate,
  InvalidCycleMode,
  InvalidDirectionMode,
  InvalidDisplayOrder,
  InvalidFields,
  InvalidGroupIds,
  InvalidId,
  InvalidIds,
  InvalidName,
  InvalidRequest,
  InvalidSecret,
  InvalidStartDay,
  InvalidTags,
  InvalidTimezone,
  NoFields,
  NotFound,
  SecretCollision,
  StorageUnavailable,
  wire
} from "../Errors.ts"
import { NodeIdFromPath } from "../Ids.ts"
import { DisplayOrder, Node, NodePatch, P95Switch } from "../Node.ts"
import { AdminOnly } from "./Security.ts"

const path = Schema.Struct({ id: NodeIdFromPath })

/** Everything that can be wrong with one member of a node patch. */
export const patchErrors = Schema.Union(
  wire(InvalidId),
  wire(InvalidRequest),
  wire(InvalidName),
  wire(InvalidDisplayOrder),
  wire(InvalidCycleMode),
  wire(InvalidStartDay),
  wire(InvalidAnchorDate),
  wire(InvalidTimezone),
  wire(InvalidDirectionMode),
  wire(InvalidTags),
  wire(InvalidSecret),
  wire(InvalidGroupIds),
  wire(NoFields)
)

export class NodesApi extends HttpApiGroup.make("nodes")
  .add(HttpApiEndpoint.get("list", "/").addSuccess(Schema.Array(Node)))
  .add(
    HttpApiEndpoint.post("create", "/")
      .addError(wire(SecretCollision), { status: 500 })
      .annotate(OpenApi.Description, "204 with a Location header that names the new node.")
  )
  .add(
    HttpApiEndpoint.put("order", "/display-order")
      .setPayload(DisplayOrder)
      .addError(wire(InvalidIds), { status: 400 })
      .addError(wire(NotFound), { status: 404 })
  )
  .add(
    HttpApiEndpoint.patch("switchP95", "/traffic-p95")
      .setPayload(P95Switch)
      .addError(wire(InvalidRequest), { status: 400 })
      .addError(wire(InvalidFields), { status: 400 })
      .addError(wire(InvalidIds), { status: 400 })
      .addError(wire(NotFound), { status: 404 })
      .annotate(OpenApi.Description, "All of the nodes, or none of them when one does not exist.")
  )
  .add(
    HttpApiEndpoint.patch("patch", "/:id")
      .setPath(path)
      .setPayload(NodePatch)
      .addError(patchErrors, { status: 400 })
      .addError(wire(NotFound), { status: 404 })
      .addError(wire(DuplicateSecret), { status: 409 })
  )
  .add(
    HttpApiEndpoint.del("remove", "/:id")
      .setPath(path)
      .addError(wire(InvalidId), { status: 400 })
      .addError(wire(NotFound), { status: 404 })
  )
  .addError(wire(StorageUnavailable), { status: 503 })
  .middleware(AdminOnly)
  .annotate(OpenApi.Title, "Nodes")
  .prefix("/api/admin/nodes") {}
