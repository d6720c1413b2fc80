// How the configuration of a channel lies at rest: sealed as a whole, beside what anyone may read of it.
import type { Context } from "effect"
import type { Vault } from "../../src/auth/Vault.ts"
import { type ChannelConfig, configOf, configText, sealContext } from "../../src/core/alert/Channel.ts"
import { configView } from "../../src/core/alert/ChannelWrite.ts"

export interface SealedConfig {
  /** JSON of what reads tell; only ever shown, never delivered with. */
  readonly shown: string
  readonly sealed: string
}

/** Sealed for this channel's row alone. */
export const sealedConfig = (
  vault: Context.Tag.Service<typeof Vault>,
  channelId: number,
  config: ChannelConfig
): SealedConfig => ({
  shown: JSON.stringify(configView(config)),
  sealed: vault.seal(configText(config), sealContext(channelId))
})

/** The configuration; undefined when the key, the row or a byte is not the one it was sealed with. */
export const openedConfig = (
  vault: Context.Tag.Service<typeof Vault>,
  channelId: number,
  sealed: string
): ChannelConfig | undefined => {
  const text = vault.open(sealed, sealContext(channelId))
  return text === undefined ? undefined : configOf(text)
}
