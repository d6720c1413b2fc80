// The addresses of the app and what each shows; also which addresses a sign-in may return to.

export const adminTabs = ["nodes", "groups", "traffic", "sessions", "system", "status"] as const
export type AdminTab = (typeof adminTabs)[number]
export const alertTabs = ["events", "rules", "mounts", "channels", "settings", "deliveries", "silences"] as const
export type AlertTab = (typeof alertTabs)[number]

export type Route =
  | { readonly name: "overview" }
  | { readonly name: "node"; readonly id: string }
  | { readonly name: "traffic" }
  /** The traffic of one node. */
  | { readonly name: "usage"; readonly id: string }
  | { readonly name: "login" }
  | { readonly name: "admin"; readonly tab: AdminTab }
  | { readonly name: "alerts"; readonly tab: AlertTab }
  | { readonly name: "missing" }

const nodePath = /^\/(nodes|traffic)\/([1-9]\d{0,15})$/
const adminPath = /^\/admin\/([a-z]+)$/
const alertPath = /^\/admin\/alerts\/([a-z]+)$/

/** The route of a path; a trailing slash does not matter. `/admin` and `/admin/alerts` are their first tabs. */
export const routeOf = (path: string): Route => {
  const plain = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path
  if (plain === "/") return { name: "overview" }
  if (plain === "/login") return { name: "login" }
  if (plain === "/admin") return { name: "admin", tab: "nodes" }
  if (plain === "/admin/alerts") return { name: "alerts", tab: "events" }
  if (plain === "/traffic") return { name: "traffic" }
  const [, page, id] = nodePath.exec(plain) ?? []
  if (id !== undefined) return { name: page === "nodes" ? "node" : "usage", id }
  const alertTab = alertTabs.find((one) => one === alertPath.exec(plain)?.[1])
  if (alertTab !== undefined) return { name: "alerts", tab: alertTab }
  const tab = adminTabs.find((one) => one === adminPath.exec(plain)?.[1])
  return tab === undefined ? { name: "missing" } : { name: "admin", tab }
}

/** Where to go after a sign-in: a path of this origin and nothing else. */
export const safeNext = (next: string | null): string => {
  // Browsers drop control characters and read a backslash as a slash, so either could hide a second slash.
  if (next === null || !/^\/(?!\/)/.test(next) || /\\/.test(next) || [...next].some((one) => one < " ")) return "/"
  return next.startsWith("/login") ? "/" : next
}

export const loginPath = (from: string): string =>
  from === "/" || from.startsWith("/login") ? "/login" : `/login?next=${encodeURIComponent(from)}`
