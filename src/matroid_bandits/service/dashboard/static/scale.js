// Axes: round numbers to put ticks at, and where values lie.

const STEPS_OF_TIME = [
  1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000, 7776000,
  31536000,
];

/** About `n` round numbers from `low` to `high`, and how many decimals they need. */
export function ticks(low, high, n) {
  if (!(high > low)) return { values: [low], decimals: 3 };
  const rough = (high - low) / n;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((size) => size >= rough * 0.999);
  const values = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) values.push(k * step || 0); // never -0
  return { values, decimals: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

/** Round times from `low` to `high`, in seconds, in the reader's time zone. */
export function timeTicks(low, high, n) {
  const step = STEPS_OF_TIME.find((size) => (high - low) / size <= n) ?? 31536000;
  const shift = -60 * new Date(low * 1000).getTimezoneOffset();
  const values = [];
  for (let at = Math.ceil((low + shift) / step) * step - shift; at <= high; at += step) values.push(at);
  return { values, step };
}

/** The value below which a share of the finite numbers lies. */
export function quantile(numbers, share) {
  const sorted = Float64Array.from(numbers.filter(Number.isFinite)).sort();
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] : NaN;
}
