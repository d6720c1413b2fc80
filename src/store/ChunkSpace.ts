// What a chunk takes on the disk.

/** Page size of the database. */
const page = 4096
/** A row's header and its entry in the index, bytes. */
const rowBytes = 60

/**
 * Bytes that a chunk takes in the file, after SQLite's file format: what fits lies in a leaf page with whole others;
 * of a larger one all but a rest goes to pages of its own.
 */
export const onDisk = (size: number): number => {
  const payload = size + rowBytes
  const [most, least, usable] = [page - 35, Math.floor(((page - 12) * 32) / 255) - 23, page - 4]
  const inLeaf = (bytes: number) => page / Math.max(1, Math.floor((page - 8) / bytes))
  if (payload <= most) return Math.ceil(inLeaf(payload))
  const rest = least + ((payload - least) % usable)
  const local = rest <= most ? rest : least
  return Math.ceil(inLeaf(local)) + Math.ceil((payload - local) / usable) * page
}
