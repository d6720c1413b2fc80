// /api/admin/system: the status of the service itself and its settings.
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { InvalidFields, InvalidRequest, NoFields, StorageUnavailable, wire } from "../Errors.ts"
import { SystemSettings, SystemSettingsWrite, SystemStatus } from "../System.ts"
import { AdminOnly } from "./Security.ts"

export class SystemApi extends HttpApiGroup.make("system")
  .add(HttpApiEndpoint.get("status", "/status").addSuccess(SystemStatus))
  .add(
    HttpApiEndpoint.get("settings", "/settings")
      .addSuccess(SystemSettings)
      .addError(wire(StorageUnavailable), { status: 503 })
  )
  .add(
    HttpApiEndpoint.put("replaceSettings", "/settings")
      .setPayload(SystemSettingsWrite)
      .addError(wire(InvalidRequest), { status: 400 })
      .addError(wire(InvalidFields), { status: 400 })
      .addError(wire(StorageUnavailable), { status: 503 })
  )
  .add(
    HttpApiEndpoint.patch("changeSettings", "/settings")
      .setPayload(SystemSettingsWrite)
      .addError(wire(InvalidRequest), { status: 400 })
      .addError(wire(InvalidFields), { status: 400 })
      .addError(wire(NoFields), { status: 400 })
      .addError(wire(StorageUnavailable), { status: 503 })
  )
  .middleware(AdminOnly)
  .annotate(OpenApi.Title, "System")
  .prefix("/api/admin/system") {}
