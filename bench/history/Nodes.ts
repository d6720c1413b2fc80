// The nodes that have a history behind them: a few dozen different ones, each standing for many of the fleet.
import { NodeId } from "../../schema/Ids.ts"

/** Nodes with a history; the rest of a fleet starts without one. */
export const historyNodes = 1000
/** Different nodes; the others are copies of them, chunk by chunk. */
export const kinds = 24
/** Every so many of them plays the recording of a real agent. */
export const recordedEvery = 4

/** Minutes in the longest stretch: ids that are equal modulo this share the borders of every stretch. */
const borders = 4 * 24 * 60
/** Spreads the kinds over those minutes, so that their borders differ in every tier. */
const spread = 161
/** Ids of the nodes without a history: beyond all others. */
const bareFrom = 1_000_000

export const kindOf = (index: number): number => index % kinds
export const isRecorded = (kind: number): boolean => kind % recordedEvery === recordedEvery - 1

/** The id of the node with this index; those of one kind are sealed and folded at the same moments. */
export const historyIdOf = (index: number): NodeId =>
  NodeId.make(
    index < historyNodes ? 1 + kindOf(index) * spread + Math.floor(index / kinds) * borders : bareFrom + index
  )
