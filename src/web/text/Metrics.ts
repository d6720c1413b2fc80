// The name of a watched metric; a metric that this page does not know keeps the service's name.

export const metricName = (names: Readonly<Record<string, string>>, metric: string): string =>
  Object.hasOwn(names, metric) ? (names[metric] ?? metric) : metric
