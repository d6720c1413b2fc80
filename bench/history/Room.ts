// The service's settings in these benchmarks, where they differ from the defaults.

/** No tier is short of bytes, whatever the nodes of a benchmark take. */
export const roomy: Readonly<Record<string, string>> = { WATCHPOST_HISTORY_BYTES: "200GB" }

/** Hours of reports that the next setting drops of the day that is there. */
export const droppedHours = 6
export const dropping: Readonly<Record<string, string>> = {
  ...roomy,
  WATCHPOST_HISTORY_RAW: `${24 - droppedHours}h`
}
