// /api/admin/groups: list, map, create, change, delete.
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import {
  DefaultGroupKept,
  InvalidFields,
  InvalidId,
  InvalidName,
  InvalidRequest,
  NoFields,
  NotFound,
  StorageUnavailable,
  wire
} from "../Errors.ts"
import { Group, GroupMap, GroupWrite } from "../Group.ts"
import { GroupIdFromPath } from "../Ids.ts"
import { AdminOnly } from "./Security.ts"

const path = Schema.Struct({ id: GroupIdFromPath })

export class GroupsApi extends HttpApiGroup.make("groups")
  .add(HttpApiEndpoint.get("list", "/").addSuccess(Schema.Array(Group)))
  .add(HttpApiEndpoint.get("map", "/map").addSuccess(GroupMap))
  .add(
    HttpApiEndpoint.post("create", "/")
      .setPayload(GroupWrite)
      .addError(wire(InvalidName), { status: 400 })
      .addError(wire(InvalidRequest), { status: 400 })
      .annotate(OpenApi.Description, "204 with a Location header that names the new group.")
  )
  .add(
    HttpApiEndpoint.patch("patch", "/:id")
      .setPath(path)
      .setPayload(GroupWrite)
      .addError(wire(InvalidId), { status: 400 })
      .addError(wire(InvalidFields), { status: 400 })
      .addError(wire(NoFields), { status: 400 })
      .addError(wire(NotFound), { status: 404 })
  )
  .add(
    HttpApiEndpoint.del("remove", "/:id")
      .setPath(path)
      .addError(wire(InvalidId), { status: 400 })
      .addError(wire(NotFound), { status: 404 })
      .addError(wire(DefaultGroupKept), { status: 409 })
  )
  .addError(wire(StorageUnavailable), { status: 503 })
  .middleware(AdminOnly)
  .annotate(OpenApi.Title, "Groups")
  .prefix("/api/admin/groups") {}
