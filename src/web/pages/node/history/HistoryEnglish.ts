// The texts of the history in English; their type is what other languages must fill.

export const historyEnglish = {
  bar: "Range and values",
  range: "Range",
  ranges: {
    "30m": "30 min",
    "1h": "1 h",
    "12h": "12 h",
    "24h": "24 h",
    "1w": "7 d",
    "15d": "15 d",
    "30d": "30 d"
  },
  earlier: "Earlier",
  later: "Later",
  zoomIn: "Zoom in",
  zoomOut: "Zoom out",
  hint: "Drag across a chart to zoom in, double-click to zoom out.",
  values: "Values",
  aggs: { usual: "Usual", avg: "Mean", max: "Highest", min: "Lowest" },
  iface: "Interface",
  allIfaces: "All interfaces",
  showDevices: (count: number) => `Show all ${count}`,
  groups: {
    disks: "Disk activity",
    mounts: "File systems",
    temperatures: "Disk temperatures",
    rest: "Not reported now"
  },
  charts: {
    cpu: "CPU",
    load: "Load",
    memory: "Memory",
    network: "Network",
    temperature: "Temperature",
    pressure: "Pressure, 10 s mean",
    connections: "Connections",
    processes: "Processes",
    throughput: "Throughput",
    operations: "Ops/s",
    busy: "Busy",
    used: "Used",
    diskTemp: "Temperature"
  },
  series: {
    usage: "Usage",
    load1: "1 min",
    load5: "5 min",
    load15: "15 min",
    memory: "Memory",
    swap: "Swap",
    recv: "In",
    sent: "Out",
    cpuTemp: "CPU",
    hottest: "Hottest",
    stallCpu: "CPU",
    stallMemory: "Memory",
    stallIo: "I/O",
    tcp: "TCP",
    udp: "UDP",
    processes: "Processes",
    read: "Read",
    write: "Write",
    busy: "Busy",
    used: "Used",
    temperature: "Temperature"
  },
  figures: (name: string, low: string, high: string, last: string) =>
    `${name}: lowest ${low}, highest ${high}, last ${last}`,
  noFigures: (name: string) => `${name}: no data`,
  span: (from: string, to: string) => `${from} – ${to}`,
  listGap: ", ",
  noData: (names: string) => `No data in this range: ${names}.`,
  missing: (stretches: string) => `Stored figures are damaged and left out: ${stretches}.`,
  missingMore: (count: number) => `and ${count} more`,
  failed: "Some charts could not be loaded.",
  cardFailed: "Not loaded",
  refused: "History is not shown to guests. Administrators see it after signing in.",
  online: {
    title: "Reports",
    range: "Range of the reports",
    ranges: { "24h": "24 h", "7d": "7 d" },
    spans: { "24h": "24 h", "7d": "7 days" },
    summary: (share: string, span: string) => `Reports received: ${share} of the last ${span}`,
    nothing: (span: string) => `No reports were due in the last ${span}`,
    strip: "Reports per stretch of time, oldest first. Arrow keys move through them.",
    cell: (time: string, word: string, share: string, received: string, expected: string) =>
      `${time}: ${word}, ${share}, ${received} of ${expected} reports`,
    idle: (time: string, word: string) => `${time}: ${word}`,
    states: {
      whole: "complete",
      most: "nearly complete",
      part: "incomplete",
      none: "no reports",
      idle: "no reports were due"
    },
    failed: "The reports could not be loaded."
  }
}

export type HistoryCatalogue = typeof historyEnglish
