// Which alerts are shown, as it stands in the address and as it is asked for.
export const eventStatuses = ["open", "closed", "all"] as const
export type EventStatus = (typeof eventStatuses)[number]

export interface EventView {
  readonly status: EventStatus
  /** Number of a node; empty for all. */
  readonly node: string
  readonly metric: string
  /** Local times as fields of the browser hold them; empty for no bound. */
  readonly from: string
  readonly to: string
}

export const wholeView: EventView = { status: "open", node: "", metric: "", from: "", to: "" }

const localTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/

/** Anything that is not understood is as if it were not there. */
export const parseEvents = (params: URLSearchParams): EventView => {
  const time = (name: string): string => {
    const text = params.get(name) ?? ""
    return localTime.test(text) && !Number.isNaN(Date.parse(text)) ? text : ""
  }
  const node = params.get("node") ?? ""
  const metric = params.get("metric") ?? ""
  return {
    status: eventStatuses.find((one) => one === params.get("status")) ?? "open",
    node: /^[1-9]\d{0,15}$/.test(node) ? node : "",
    metric: /^[a-z0-9._]{1,64}$/.test(metric) ? metric : "",
    from: time("from"),
    to: time("to")
  }
}

export const printEvents = (view: EventView): string => {
  const params = new URLSearchParams()
  if (view.status !== "open") params.set("status", view.status)
  for (const name of ["node", "metric", "from", "to"] as const) if (view[name] !== "") params.set(name, view[name])
  const text = params.toString()
  return text === "" ? "" : `?${text}`
}

export const isNarrowed = (view: EventView): boolean => printEvents({ ...view, status: "open" }) !== ""

/** The query of the service; times become instants by the clock zone of the browser. */
export const eventQuery = (view: EventView): Record<string, string> => ({
  status: view.status,
  ...(view.node === "" ? {} : { server_id: view.node }),
  ...(view.metric === "" ? {} : { metric: view.metric }),
  ...(view.from === "" ? {} : { from: new Date(view.from).toISOString() }),
  ...(view.to === "" ? {} : { to: new Date(view.to).toISOString() })
})
