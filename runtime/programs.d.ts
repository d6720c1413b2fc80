// Files that are imported as the text of a program for a thread.
declare module "*?program" {
  /** Defines `program`, the exports of the file. */
  const text: string
  export default text
}
