// Numbers, labels and times in words.

import { toJson } from "./api.js";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** A count with separators. */
export const count = (n) => whole.format(n);

/** A count in little room: 12.3K. */
export const short = (n) => (n < 10_000 ? whole.format(n) : compact.format(n));

/** `3 decisions`, `1 decision`. */
export const counted = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

/** A size: `3.2 MB`. */
export function bytes(n) {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const k = n < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(n) / 3));
  return `${k ? (n / 1000 ** k).toPrecision(3) : n} ${units[k]}`;
}

/** A share: `12%`, `0.4%`. */
export function percent(share) {
  const value = 100 * share;
  return `${value === 0 || value >= 9.95 ? Math.round(value) : value >= 0.1 ? value.toFixed(1) : "<0.1"}%`;
}

/** A weight with about four digits; unknown ones are a dash. */
export function weight(x) {
  if (x === null || x === undefined || Number.isNaN(x) || x === "NaN") return "–";
  if (typeof x === "string") return x.replace("Infinity", "∞").replace("-", "−"); // infinite, which JSON has no number for
  const size = Math.abs(x);
  if (size !== 0 && (size >= 1e6 || size < 1e-4)) return x.toExponential(2).replace("-", "−").replace("e+", "e");
  const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  return x.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
}

/** A label as people read it: the ends of an edge with a hyphen between them. */
export const labelText = (label) => (Array.isArray(label) ? label.map(labelText).join("-") : String(label));

/** What tells labels apart: 1 and "1" are different items. */
export const labelKey = (label) => toJson(label);

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const clockSeconds = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const dayAndYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });

/** A time on an axis or in a list, no finer than its resolution in seconds. */
export function when(at, resolution = 1) {
  const date = new Date(at * 1000);
  if (resolution >= 86400) return dayAndYear.format(date);
  const text = (resolution < 60 ? clockSeconds : clock).format(date);
  return date.toDateString() === new Date().toDateString() && resolution < 3600
    ? text
    : `${day.format(date)}, ${text}`;
}

const full = new Intl.DateTimeFormat(undefined, {
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});

/** A time with its date, in the reader's time zone. */
export const moment = (at) => full.format(new Date(at * 1000));

/** The reader's time zone: `Europe/Berlin (GMT+1)`. */
export function timeZone() {
  const { timeZone: name } = full.resolvedOptions();
  const parts = new Intl.DateTimeFormat("en", { timeZoneName: "shortOffset" }).formatToParts(new Date());
  const offset = parts.find((part) => part.type === "timeZoneName")?.value;
  return offset && name !== "UTC" ? `${name} (${offset})` : name;
}

/** The tick of an axis whose ticks are `step` seconds apart. */
export function tick(at, step) {
  const date = new Date(at * 1000);
  if (step >= 86400) return day.format(date);
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0;
  return isMidnight ? day.format(date) : (step < 60 ? clockSeconds : clock).format(date);
}

/** A length of time with one unit. */
export function duration(seconds) {
  const units = [
    [86400, "day"],
    [3600, "hour"],
    [60, "minute"],
  ];
  for (const [size, word] of units) {
    if (seconds >= 2 * size || seconds === size) return counted(Math.round(seconds / size), word);
  }
  return seconds >= 10 || Number.isInteger(seconds)
    ? counted(Math.round(seconds), "second")
    : `${+seconds.toPrecision(2)} seconds`;
}

/** A rate, per second or per minute, whichever reads better. */
export function rate(perSecond) {
  if (perSecond <= 0) return "none now";
  if (perSecond >= 0.95) return `${perSecond >= 9.5 ? count(perSecond) : perSecond.toFixed(1)} per second`;
  return `${(60 * perSecond).toFixed(perSecond * 60 < 10 ? 1 : 0)} per minute`;
}
