// Which interfaces make up a node's network total, told by their names.

const aggregate = /^(?:bond|team|br|vmbr|virbr|docker|cni|lxcbr|lxdbr|podman)[-_]?[0-9a-z]*$/
/** A VLAN such as `eth0.100` rides on its parent. */
const vlan = /^(.+)\.\d+$/

/**
 * True per interface that counts towards the total: a bond is not added to its members, a bridge not to its ports,
 * a VLAN not to its parent. Without any plain interface beside them everything counts (plain sum).
 */
export const counted = (names: ReadonlyArray<string>): ReadonlyArray<boolean> => {
  const known = new Set(names)
  const plain = names.map((name) => {
    const parent = vlan.exec(name)?.[1]
    return !aggregate.test(name) && !(parent !== undefined && known.has(parent))
  })
  return plain.includes(true) ? plain : names.map(() => true)
}
