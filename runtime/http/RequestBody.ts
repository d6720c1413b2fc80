// What a request says of its body before it is read: whether there is one, and whether it is plain JSON.

/** `application/json` with any parameters; agents always send it, so the exact spelling is the usual case. */
const isJson = (type: string | undefined): boolean =>
  type === "application/json" || type?.split(";")[0]?.trim().toLowerCase() === "application/json"

/** True when the headers announce a body. */
export const hasBody = (length: string | undefined, transferEncoding: string | undefined): boolean =>
  (length !== undefined && length !== "0") || transferEncoding !== undefined

/** True for JSON without an encoding: nothing is unpacked here, so nothing small can become large. */
export const isPlainJson = (type: string | undefined, contentEncoding: string | undefined): boolean =>
  isJson(type) && contentEncoding === undefined
