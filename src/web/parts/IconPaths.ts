// The icons of the app as paths on a 24 px grid, drawn with a round stroke of 2.

const circle = "M12 3a9 9 0 1 0 0 18a9 9 0 0 0 0-18z"

export const iconPaths = {
  close: "M6 6l12 12M18 6L6 18",
  check: "M5 12.5l4.5 4.5L19 7",
  copy: "M9 9h11v11H9zM6 15H4V4h11v2",
  menu: "M4 7h16M4 12h16M4 17h16",
  system: "M3 5h18v11H3zM9 20h6M12 16v4",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4A8.5 8.5 0 1 0 20 14.5z",
  sun: "M12 8a4 4 0 1 0 0 8a4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M5 19l1.4-1.4M17.6 6.4L19 5",
  help: `${circle}M9.5 9.5a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1 1-1.1 1.8M12 17h.01`,
  search: "M11 4a7 7 0 1 0 0 14a7 7 0 0 0 0-14zM20 20l-4-4",
  filters: "M4 7h9M17 7h3M4 17h3M11 17h9M15 4.5v5M9 14.5v5",
  up: "M12 19V5M6 11l6-6l6 6",
  down: "M12 5v14M6 13l6 6l6-6",
  top: "M5 4h14M12 20V9M7 14l5-5l5 5",
  back: "M19 12H5M11 6l-6 6l6 6",
  lost: "M3 3l18 18M5 12.5a10 10 0 0 1 4-2.4M2 9a15 15 0 0 1 4.5-2.9M10.5 5.1A15 15 0 0 1 22 9M14.5 10.4a10 10 0 0 1 4.5 2.3M8.5 16a5 5 0 0 1 7 0M12 20h.01",
  alert: `${circle}M12 8v4.5M12 16h.01`,
  warning: "M12 4L2.5 20h19zM12 10v4M12 17h.01",
  eye: "M2 12c2.5-4.7 6-7 10-7s7.5 2.3 10 7c-2.5 4.7-6 7-10 7s-7.5-2.3-10-7zM12 9a3 3 0 1 0 0 6a3 3 0 0 0 0-6z",
  hidden:
    "M3 3l18 18M9.9 5.2A10 10 0 0 1 12 5c4 0 7.5 2.3 10 7a16 16 0 0 1-2.7 3.7M6.4 6.8A15 15 0 0 0 2 12c2.5 4.7 6 7 10 7a9.6 9.6 0 0 0 5-1.4M10 10a3 3 0 0 0 4 4.2",
  plus: "M12 5v14M5 12h14",
  outdated: `${circle}M12 16V8.5M8.5 11.5L12 8l3.5 3.5`,
  pencil: "M4 20l1-4.5L16.5 4L20 7.5L8.5 19zM14 6.5l3.5 3.5",
  trash: "M4 7h16M9 7V4h6v3M6.5 7l1 13h9l1-13M10 11v5M14 11v5",
  terminal: "M4 6l6 6l-6 6M12 18h8"
} as const
export type IconName = keyof typeof iconPaths
