// Which interfaces make up a node's network total, told by their names.

const aggregate = /^(?:bond|team|br|vmbr|virbr|docker|cni|lxcbr|lxdbr|podman)[-_]?[0-9a-z]*$/
/** A VLAN such as `eth0.100` rides on its parent. */
const vlan = /^(.+)\.\d+$/

/**
 * True per interface that counts towards the total: a bond is not added to its members, a bridge not to its ports,
 * a VLAN not to its parent. Bonds and bridges with nothing plain beside them are all there is, so they count.
 */
export const counted = (names: ReadonlyArray<string>): ReadonlyArray<boolean> => {
  const known = new Set(names)
  const alone = names.map((name) => !known.has(vlan.exec(name)?.[1] ?? ""))
  const plain = names.map((name, i) => alone[i] === true && !aggregate.test(name))
  return plain.includes(true) ? plain : alone
}
