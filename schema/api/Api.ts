// The whole HTTP API as one value; handlers, the OpenAPI document and the method table derive from it.
import { HttpApi, OpenApi } from "@effect/platform"
import { AlertChannelsApi, AlertEventsApi, AlertRulesApi } from "./Alerts.ts"
import { AuthApi } from "./Auth.ts"
import { FrontApi } from "./Front.ts"
import { GroupsApi } from "./Groups.ts"
import { HistoryApi } from "./History.ts"
import { NodesApi } from "./Nodes.ts"
import { ReportingApi } from "./Reporting.ts"
import { SystemApi } from "./System.ts"
import { TrafficApi, TrafficSettingsApi } from "./Traffic.ts"

/** Everything that the router answers; reports take the fast lane in front of it. */
export class RoutedApi extends HttpApi.make("watchpost")
  .add(AuthApi)
  .add(FrontApi)
  .add(HistoryApi)
  .add(TrafficSettingsApi)
  .add(TrafficApi)
  .add(GroupsApi)
  .add(NodesApi)
  .add(SystemApi)
  .add(AlertRulesApi)
  .add(AlertChannelsApi)
  .add(AlertEventsApi) {}

/** The whole API, as the document and the method table have it. */
export class Api extends RoutedApi.add(ReportingApi)
  .annotate(OpenApi.Title, "Watchpost")
  .annotate(
    OpenApi.Description,
    "Every path answers with and without its trailing slash; errors are {code, message}."
  ) {}
