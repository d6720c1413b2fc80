// /api/admin/alerts: rules, mounts, settings, silences, channels, the login to Telegram, events and deliveries.
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import {
  Channel,
  ChannelSwitch,
  ChannelTest,
  ChannelWrite,
  LoginCode,
  LoginNeedsPassword,
  LoginPassword,
  LoginPing,
  LoginStart,
  LoginStarted
} from "../AlertChannels.ts"
import {
  AlertAttempts,
  AlertDeliveryPage,
  AlertEventPage,
  AlertEventServers,
  AlertEventSummary
} from "../AlertEvents.ts"
import {
  AlertSettings,
  AlertSettingsWrite,
  Mounts,
  MountsWrite,
  Rule,
  RulePreview,
  RulePreviewWrite,
  RuleWrite,
  Silence,
  SilenceWrite
} from "../Alerts.ts"
import {
  InvalidCode,
  InvalidFields,
  InvalidId,
  InvalidPassword,
  InvalidRequest,
  NoFields,
  NotFound,
  NotifyError,
  NotLoggedIn,
  RateLimited,
  ServiceUnavailable,
  StorageUnavailable,
  wire
} from "../Errors.ts"
import { AlertIdFromPath } from "../Ids.ts"
import { AdminOnly } from "./Security.ts"

const path = Schema.Struct({ id: AlertIdFromPath })
const param = Schema.optional(Schema.String)
const created = "204 with a Location header that names what was made."

/** What administrators set. */
export class AlertRulesApi extends HttpApiGroup.make("alertRules")
  .add(
    HttpApiEndpoint.get("list", "/rules")
      .addSuccess(Schema.Array(Rule))
      .annotate(OpenApi.Description, "Custom rules, the newest first.")
  )
  .add(
    HttpApiEndpoint.post("create", "/rules")
      .setPayload(RuleWrite)
      .addError(wire(InvalidRequest), { status: 400 })
      .addError(wire(InvalidFields), { status: 400 })
      .annotate(OpenApi.Description, created)
  )
  .add(
    HttpApiEndpoint.post("preview", "/rules/preview")
      .setPayload(RulePreviewWrite)
      .addSuccess(RulePreview)
      .addError(wire(InvalidRequest), { status: 400 })
      .addError(wire(InvalidFields), { status: 400 })
      .addError(wire(NotFound), { status: 404 })
      .addError(wire(ServiceUnavailable), { status: 503 })
      .annotate(OpenApi.Description, "When a rule would have opened and closed on a node; nothing is stored.")
  )
  .add(
    HttpApiEndpoint.patch("patch", "/rules/:id")
      .setPath(path)
      .setPayload(RuleWrite)
      .addError(wire(InvalidId), { status: 400 })
      .addError(wire(InvalidRequest), { status: 400 })
      .addError(wire(NoFields), { status: 400 })
      .addError(wire(InvalidFields), { status: 400 })
      .addError(wire(NotFound), { status: 404 })
  )
  .add(
    HttpApiEndpoint.del("remove", "/rules/:id")
      .setPath(path)
      .addError(wire(InvalidId), { status: 400 })
      .addError(wire(NotFound), { status: 404 })
  )
  .add(HttpApiEndpoint.get("mounts", "/mounts").addSuccess(Mounts))
  .add(
    HttpApiEndpoint.put("setMounts", "/mounts")
      .setPayload(MountsWrite)
      .addError(wire(InvalidRequest), { status: 400 })
      .addError(wire(InvalidFields), { status: 400 })
  )
  .add(HttpApiEndpoint.get("settings", "/settings").addSuccess(AlertSettings))
  .add(
    HttpApiEndpoint.put("putSettings", "/settings")
      .setPayload(AlertSettingsWrite)
      .addError(wire(InvalidRequest), { status: 400 })
      .addError(wire(InvalidFields), { status: 400 })
  )
  .add(HttpApiEndpoint.get("silences", "/silences").addSuccess(Schema.Array(Silence)))
  .add(
    HttpApiEndpoint.post("createSilence", "/silences")
      .setPayload(SilenceWrite)
      .addError(wire(InvalidRequest), { status: 400 })
      .addError(wire(InvalidFields), { status: 400 })
      .annotate(OpenApi.Description, created)
  )
  .add(
    HttpApiEndpoint.put("replaceSilence", "/silences/:id")
      .setPath(path)
      .setPayload(SilenceWrite)
      .addError(wire(InvalidId), { status: 400 })
      .addError(wire(InvalidRequest), { status: 400 })
      .addError(wire(InvalidFields), { status: 400 })
      .addError(wire(NotFound), { status: 404 })
  )
  .add(
    HttpApiEndpoint.del("removeSilence", "/silences/:id")
      .setPath(path)
      .addError(wire(InvalidId), { status: 400 })
      .addError(wire(NotFound), { status: 404 })
  )
  .addError(wire(StorageUnavailable), { status: 503 })
  .middleware(AdminOnly)
  .annotate(OpenApi.Title, "Alert rules")
  .prefix("/api/admin/alerts") {}

const mtproto = "/telegram/mtproto"

const loginCode = HttpApiEndpoint.post("loginCode", `${mtproto}/code`)
  .setPayload(LoginStart)
  .addSuccess(LoginStarted)
  .addError(wire(InvalidRequest), { status: 400 })
  .addError(wire(InvalidFields), { status: 400 })
  .addError(wire(NotFound), { status: 404 })
  .addError(wire(RateLimited), { status: 429 })
  .addError(wire(NotifyError), { status: 503 })
  .annotate(OpenApi.Description, "Sends a login code to the account of an MTProto channel.")

const loginVerify = HttpApiEndpoint.post("loginVerify", `${mtproto}/verify`)
  .setPayload(LoginCode)
  .addSuccess(LoginNeedsPassword)
  .addSuccess(HttpApiSchema.NoContent)
  .addError(wire(InvalidRequest), { status: 400 })
  .addError(wire(InvalidFields), { status: 400 })
  .addError(wire(InvalidCode), { status: 400 })
  .addError(wire(NotFound), { status: 404 })
  .addError(wire(NotifyError), { status: 503 })
  .annotate(OpenApi.Description, "204 when the account is logged in, 200 when it needs its password as well.")

const loginPassword = HttpApiEndpoint.post("loginPassword", `${mtproto}/password`)
  .setPayload(LoginPassword)
  .addError(wire(InvalidRequest), { status: 400 })
  .addError(wire(InvalidFields), { status: 400 })
  .addError(wire(InvalidPassword), { status: 400 })
  .addError(wire(NotFound), { status: 404 })
  .addError(wire(NotifyError), { status: 503 })

const loginPing = HttpApiEndpoint.post("loginPing", `${mtproto}/ping`)
  .setPayload(LoginStart)
  .addSuccess(LoginPing)
  .addError(wire(InvalidRequest), { status: 400 })
  .addError(wire(InvalidFields), { status: 400 })
  .addError(wire(NotFound), { status: 404 })
  .addError(wire(NotifyError), { status: 503 })

/** Whom to tell, and whether it works. */
export class AlertChannelsApi extends HttpApiGroup.make("alertChannels")
  .add(HttpApiEndpoint.get("list", "/").addSuccess(Schema.Array(Channel)))
  .add(
    HttpApiEndpoint.post("create", "/")
      .setPayload(ChannelWrite)
      .addError(wire(InvalidRequest), { status: 400 })
      .addError(wire(InvalidFields), { status: 400 })
      .annotate(OpenApi.Description, created)
  )
  .add(
    HttpApiEndpoint.get("read", "/:id")
      .setPath(path)
      .addSuccess(Channel)
      .addError(wire(InvalidId), { status: 400 })
      .addError(wire(NotFound), { status: 404 })
  )
  .add(
    HttpApiEndpoint.put("replace", "/:id")
      .setPath(path)
      .setPayload(ChannelWrite)
      .addError(wire(InvalidId), { status: 400 })
      .addError(wire(InvalidRequest), { status: 400 })
      .addError(wire(InvalidFields), { status: 400 })
      .addError(wire(NotFound), { status: 404 })
  )
  .add(
    HttpApiEndpoint.put("switch", "/:id/enabled")
      .setPath(path)
      .setPayload(ChannelSwitch)
      .addError(wire(InvalidId), { status: 400 })
      .addError(wire(InvalidRequest), { status: 400 })
      .addError(wire(InvalidFields), { status: 400 })
      .addError(wire(NotFound), { status: 404 })
  )
  .add(
    HttpApiEndpoint.post("test", "/:id/test")
      .setPath(path)
      .setPayload(ChannelTest)
      .addError(wire(InvalidId), { status: 400 })
      .addError(wire(InvalidRequest), { status: 400 })
      .addError(wire(InvalidFields), { status: 400 })
      .addError(wire(NotLoggedIn), { status: 400 })
      .addError(wire(NotFound), { status: 404 })
      .addError(wire(NotifyError), { status: 503 })
      .annotate(OpenApi.Description, "Sends a test message, to a disabled channel too, within 15 seconds.")
  )
  .add(
    HttpApiEndpoint.del("remove", "/:id")
      .setPath(path)
      .addError(wire(InvalidId), { status: 400 })
      .addError(wire(NotFound), { status: 404 })
  )
  .add(loginCode)
  .add(loginVerify)
  .add(loginPassword)
  .add(loginPing)
  .addError(wire(StorageUnavailable), { status: 503 })
  .middleware(AdminOnly)
  .annotate(OpenApi.Title, "Alert channels")
  .prefix("/api/admin/alerts/channels") {}

/** What alerts did, and who was told. */
export class AlertEventsApi extends HttpApiGroup.make("alertEvents")
  .add(
    HttpApiEndpoint.get("list", "/events")
      .setUrlParams(
        Schema.Struct({
          server_id: param,
          status: param,
          metric: param,
          from: param,
          to: param,
          cursor: param,
          limit: param
        })
      )
      .addSuccess(AlertEventPage)
      .addError(wire(InvalidRequest), { status: 400 })
      .annotate(
        OpenApi.Description,
        "`status`: open (default), closed, all. `from` and `to` (RFC 3339) bound the first trigger. `limit`: 200 by default, at most 500."
      )
  )
  .add(HttpApiEndpoint.get("summary", "/events/summary").addSuccess(AlertEventSummary))
  .add(HttpApiEndpoint.get("servers", "/events/servers").addSuccess(AlertEventServers))
  .add(
    HttpApiEndpoint.get("deliveries", "/deliveries")
      .setUrlParams(
        Schema.Struct({
          channel_id: param,
          event_id: param,
          server_id: param,
          status: param,
          cursor: param,
          limit: param
        })
      )
      .addSuccess(AlertDeliveryPage)
      .addError(wire(InvalidRequest), { status: 400 })
      .annotate(OpenApi.Description, "`status`: pending, sent, failed; all of them when left out.")
  )
  .add(
    HttpApiEndpoint.get("attempts", "/deliveries/:id/attempts")
      .setPath(path)
      .addSuccess(AlertAttempts)
      .addError(wire(InvalidId), { status: 400 })
      .addError(wire(NotFound), { status: 404 })
  )
  .add(
    HttpApiEndpoint.post("resend", "/deliveries/:id/resend")
      .setPath(path)
      .addError(wire(InvalidId), { status: 400 })
      .addError(wire(NotFound), { status: 404 })
      .annotate(OpenApi.Description, "Makes a delivery that was sent or failed pending again; a pending one stays so.")
  )
  .addError(wire(StorageUnavailable), { status: 503 })
  .middleware(AdminOnly)
  .annotate(OpenApi.Title, "Alert events")
  .prefix("/api/admin/alerts") {}
