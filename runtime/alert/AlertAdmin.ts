// What administrators do with channels: their configuration is sealed at rest, and whatever is kept open for them ends.
import { Context, Effect, Either } from "effect"
import type { ChannelSwitch, ChannelWrite } from "../../schema/AlertChannels.ts"
import { InvalidFields } from "../../schema/Errors.ts"
import { Vault } from "../../src/auth/Vault.ts"
import type { Channel, ChannelConfig } from "../../src/core/alert/Channel.ts"
import {
  type ChannelDraft,
  configView,
  loggedIn,
  newChannel,
  replacedChannel,
  switchOf
} from "../../src/core/alert/ChannelWrite.ts"
import { AlertChannels, type ChannelChange, type ChannelRow } from "../../src/store/alert/Channels.ts"
import * as AlertChanges from "./AlertChanges.ts"
import { openedConfig, sealedConfig } from "./ChannelSeal.ts"
import { Sinks } from "./Sink.ts"
import { type LoggedIn, TelegramLogin } from "./TelegramLogin.ts"
import type { UserChannel } from "./TelegramUser.ts"

type VaultService = Context.Tag.Service<typeof Vault>

const changeOf = (vault: VaultService, id: number, { config, enabled, name }: ChannelDraft): ChannelChange => {
  const { sealed, shown } = sealedConfig(vault, id, config)
  return { name, type: config.type, config: shown, enabled, sealed }
}

/** Where the old configuration cannot be opened any more, its secrets have to be given again. */
const replaced = (vault: VaultService, row: ChannelRow, write: ChannelWrite) => {
  const config = openedConfig(vault, row.id, row.sealed)
  const draft = config === undefined ? newChannel(write) : replacedChannel({ config }, write)
  return Either.map(draft, (after) => changeOf(vault, row.id, after))
}

/** The login belongs to the account that it was begun for, whatever the channel is called meanwhile. */
const withLogin = (vault: VaultService, row: ChannelRow, login: LoggedIn) => {
  const now = openedConfig(vault, row.id, row.sealed)
  const then = login.channel.config
  const isSame =
    now?.type === "telegram" &&
    now.mode === "mtproto" &&
    now.apiId === then.apiId &&
    now.apiHash === then.apiHash &&
    now.phone === then.phone
  if (!isSame) {
    return Either.left(new InvalidFields({ message: "channel_id names another account by now: log in again" }))
  }
  const config = loggedIn(now, login.session, login.username)
  return Either.right(changeOf(vault, row.id, { name: row.name, enabled: row.enabled, config }))
}

const opened = (vault: VaultService, row: ChannelRow): Effect.Effect<Channel, InvalidFields> => {
  const config: ChannelConfig | undefined = openedConfig(vault, row.id, row.sealed)
  if (config === undefined) {
    return Effect.fail(new InvalidFields({ message: "config cannot be read any more: write the channel anew" }))
  }
  const { createdAt, enabled, id, name, revision, updatedAt } = row
  return Effect.succeed({ id, name, enabled, config, revision, createdAt, updatedAt })
}

export const make = Effect.gen(function* () {
  const vault = yield* Vault
  const channels = yield* AlertChannels
  const sinks = yield* Sinks
  const logins = yield* TelegramLogin
  const { written } = yield* AlertChanges.make
  /** Neither a client nor a login outlives the configuration that it was made for. */
  const changed = <A, E>(id: number, write: Effect.Effect<A, E>) =>
    written(Effect.zipLeft(write, Effect.zipRight(sinks.forget(id), logins.forget(id))))
  const find = (id: number) => Effect.flatMap(channels.find(id), (row) => opened(vault, row))
  return {
    list: channels.list,
    read: channels.find,
    /** The channel with its secrets, for a delivery. */
    find,
    create: (write: ChannelWrite) =>
      Effect.flatMap(newChannel(write), ({ config, enabled, name }) =>
        written(
          channels.create({
            name,
            type: config.type,
            config: JSON.stringify(configView(config)),
            enabled,
            sealed: (id) => sealedConfig(vault, id, config).sealed
          })
        )
      ),
    replace: (id: number, write: ChannelWrite) =>
      changed(
        id,
        channels.change(id, (row) => replaced(vault, row, write))
      ),
    setEnabled: (id: number, write: typeof ChannelSwitch.Type) =>
      Effect.flatMap(switchOf(write), (enabled) =>
        changed(
          id,
          channels.change(id, (row) => Either.right({ ...row, enabled }))
        )
      ),
    remove: (id: number) => changed(id, channels.remove(id)),
    /** The Telegram account of a channel. */
    account: (id: number): Effect.Effect<UserChannel, Effect.Effect.Error<ReturnType<typeof find>>> =>
      Effect.flatMap(find(id), ({ config }) =>
        config.type === "telegram" && config.mode === "mtproto"
          ? Effect.succeed({ id, config })
          : Effect.fail(new InvalidFields({ message: "channel_id must name a channel of a Telegram account" }))
      ),
    /** Keeps a login in the channel that it was begun for. */
    keepLogin: (login: LoggedIn) =>
      changed(
        login.channel.id,
        channels.change(login.channel.id, (row) => withLogin(vault, row, login))
      )
  }
})
