// /api/admin/system: the status of the service itself.
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { SystemStatus } from "../System.ts"
import { AdminOnly } from "./Security.ts"

export class SystemApi extends HttpApiGroup.make("system")
  .add(HttpApiEndpoint.get("status", "/status").addSuccess(SystemStatus))
  .middleware(AdminOnly)
  .annotate(OpenApi.Title, "System")
  .prefix("/api/admin/system") {}
