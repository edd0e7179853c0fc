// Average weight per decision over time, with decisions made below it and changes and alarms as marks.

import { h, s } from "./dom.js";
import { count, tick, weight, when } from "./format.js";
import { ticks, timeTicks } from "./scale.js";

const TOP = 18;
const LEAST_LEFT = 44; // room for the labels of the axis; more where they are longer
const RIGHT = 10;
const LANE = 34; // the lane of decisions
const GAP = 10;
const BOTTOM = 22;

const ruler = document.createElement("canvas").getContext("2d");

/** The width of a text on an axis, in pixels. */
function widthOf(text) {
  ruler.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

/** What each kind of mark is called, and whether an operator should look at it. */
export const KINDS = {
  created: "Created",
  changed: "Changed",
  restarted: "Restarted",
  paused: "Paused",
  resumed: "Resumed",
  archived: "Archived",
  stopped: "Stopped",
  trusted: "Log trusted",
  acknowledged: "Acknowledged",
  configured: "Settings",
  alarm: "Alarm",
};
export const isUrgent = (kind) => kind === "alarm" || kind === "stopped";

/** Averages of several buckets around each, weighted by how much was learnt; null where nothing was. */
function smooth(buckets, from, to, resolution) {
  const reach = Math.max(1, Math.round((to - from) / resolution / 60)); // buckets to either side
  const sums = [];
  let [worth, learnt] = [0, 0];
  sums.push([0, 0]);
  for (const bucket of buckets) {
    worth += bucket.weight;
    learnt += bucket.learnt;
    sums.push([worth, learnt]);
  }
  let [low, high] = [0, 0];
  return buckets.map((bucket) => {
    while (buckets[low].at < bucket.at - reach * resolution) low++;
    while (high < buckets.length && buckets[high].at <= bucket.at + reach * resolution) high++;
    const n = sums[high][1] - sums[low][1];
    return n > 0 ? (sums[high][0] - sums[low][0]) / n : null;
  });
}

const key = (kind, text) => h("span", {}, h("span", { class: `key ${kind}` }), text);

/** Why there is no average to draw. */
function nothingIn({ buckets, isClicks }) {
  if (!buckets.length) return "No decisions in this time";
  return isClicks ? "No decision was settled in this time" : "No answers in this time";
}

function path(points) {
  let isOpen = false;
  let text = "";
  for (const point of points) {
    if (!point) {
      isOpen = false;
      continue;
    }
    text += `${isOpen ? "L" : "M"}${point[0].toFixed(1)} ${point[1].toFixed(1)}`;
    if (!isOpen) text += "h.01"; // a lone point is seen as a dot
    isOpen = true;
  }
  return text;
}

export class Chart {
  constructor(place) {
    this.data = null;
    this.at = null; // the bucket that the reader points at
    this.svg = s("svg", { "aria-hidden": "true" });
    this.tip = h("div", { class: "tip", "aria-hidden": "true", hidden: true });
    this.frame = h(
      "div",
      {
        class: "chart",
        tabindex: "0",
        role: "slider",
        "aria-label": "Average weight per decision over time; arrow keys move through it",
        "aria-valuemin": "0",
        "aria-valuemax": "0",
        "aria-valuenow": "0",
        "aria-valuetext": "No decisions yet",
      },
      this.svg,
      this.tip,
    );
    this.legend = h("p", { class: "legend soft" });
    place.replaceChildren(this.frame, this.legend);
    this.frame.addEventListener("pointermove", (event) => this.point(event));
    this.frame.addEventListener("pointerdown", (event) => this.point(event));
    this.frame.addEventListener("pointerleave", () => this.leave());
    this.frame.addEventListener("blur", () => this.leave());
    this.frame.addEventListener("keydown", (event) => this.step(event));
    new ResizeObserver(() => this.draw()).observe(this.frame);
  }

  /** Show a history: `{from, to, resolution, buckets, marks}`. */
  show(data) {
    this.data = data;
    this.smooth = data.buckets.length ? smooth(data.buckets, data.from, data.to, data.resolution) : [];
    this.draw();
  }

  get width() {
    return this.frame.clientWidth;
  }

  get height() {
    return this.width < 480 ? 240 : 300;
  }

  x(at) {
    const { from, to } = this.data;
    return this.left + ((at - from) / (to - from)) * (this.width - this.left - RIGHT);
  }

  /** The middle of the part of a bucket that is shown: the first may have begun before the campaign. */
  middle(bucket) {
    const { from, to, resolution } = this.data;
    return this.x((Math.max(bucket.at, from) + Math.min(bucket.at + resolution, to)) / 2);
  }

  draw() {
    const { data, width, height } = this;
    if (!data || width < 100) return;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("height", height);
    const floor = height - BOTTOM - LANE - GAP; // where the average's panel ends
    const { buckets, marks } = data;
    const parts = [];
    this.scale = this.scaleOf();
    this.left = Math.max(LEAST_LEFT, ...(this.scale?.labels ?? []).map((text) => widthOf(text) + 14));
    const { values: times, step } = timeTicks(data.from, data.to, Math.max(2, Math.floor(width / 110)));
    let free = 0; // where the last label ends
    for (const at of times) {
      const x = this.x(at);
      const text = tick(at, step);
      const half = widthOf(text) / 2 + 1;
      const place = Math.max(half, Math.min(width - half, x)); // a label near the edge is moved, not cut
      if (x < this.left || place - half < free) continue;
      free = place + half + 8;
      parts.push(s("line", { class: "grid", x1: x, x2: x, y1: TOP, y2: height - BOTTOM }));
      parts.push(s("text", { class: "tick", x: place, y: height - 6, "text-anchor": "middle" }, text));
    }
    parts.push(
      ...this.average(floor),
      ...this.lane(floor + GAP, height - BOTTOM),
      ...this.flags(marks, height - BOTTOM),
    );
    if (!buckets.some((bucket) => bucket.mean !== null)) {
      parts.push(
        s(
          "text",
          { class: "none", x: (this.left + width) / 2, y: floor / 2 + 8, "text-anchor": "middle" },
          nothingIn(data),
        ),
      );
    }
    this.cursor = s("g", { class: "cursor" });
    this.svg.replaceChildren(...parts, this.cursor);
    const seconds = data.resolution * (2 * Math.max(1, Math.round((data.to - data.from) / data.resolution / 60)) + 1);
    const length = seconds < 120 ? `${seconds} s` : seconds < 7200 ? `${seconds / 60} min` : `${seconds / 3600} h`;
    this.legend.replaceChildren(
      key("line", `average of ${length}${data.isClicks ? ", settled decisions" : ""}`),
      key("bars", "decisions made"),
      ...(data.isClicks ? [] : [key("late", "expired")]),
      key("flag", "change"),
      key("alarm", "alarm"),
    );
    const last = buckets.length - 1;
    this.frame.setAttribute("aria-valuemax", Math.max(0, last));
    if (this.at !== null) this.pointAt(Math.min(this.at, last));
    else {
      this.frame.setAttribute("aria-valuenow", Math.max(0, last));
      this.frame.setAttribute("aria-valuetext", last >= 0 ? this.words(last) : "No decisions yet");
    }
  }

  /** The range of averages that is shown, and the numbers and labels on its axis; null where nothing was learnt. */
  scaleOf() {
    const means = this.data.buckets.map((bucket) => bucket.mean).filter((mean) => mean !== null);
    if (!means.length) return null;
    let low = means.reduce((a, b) => Math.min(a, b));
    let high = means.reduce((a, b) => Math.max(a, b));
    const [calmLow, calmHigh] = this.smooth.reduce(
      ([a, b], y) => (y === null ? [a, b] : [Math.min(a, y), Math.max(b, y)]),
      [Infinity, -Infinity],
    );
    if (low > 0 && low < 0.5 * high) low = 0;
    // A few wild seconds do not flatten the rest.
    if (means.length > 20)
      [low, high] = [
        Math.max(low, calmLow - 1.5 * (calmHigh - calmLow || 1)),
        Math.min(high, calmHigh + 1.5 * (calmHigh - calmLow || 1)),
      ];
    if (high === low) [low, high] = [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
    const margin = 0.06 * (high - low);
    if (low !== 0) low -= margin;
    high += margin;
    const { values, decimals } = ticks(low, high, 4);
    const size = Math.max(Math.abs(low), Math.abs(high));
    const isPlain = size < 1e5 && decimals <= 6;
    const label = (value) =>
      isPlain
        ? value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })
        : value && value.toExponential(Math.max(0, Math.ceil(Math.log10(size)) + decimals - 1)).replace("e+", "e");
    return { low, high, values, labels: values.map((value) => String(label(value)).replaceAll("-", "−")) };
  }

  average(floor) {
    const { buckets } = this.data;
    if (!this.scale)
      return [s("line", { class: "axis", x1: this.left, x2: this.width - RIGHT, y1: floor, y2: floor })];
    const { low, high, values, labels } = this.scale;
    const y = (value) => floor - ((Math.max(low, Math.min(high, value)) - low) / (high - low)) * (floor - TOP);
    this.y = y;
    const parts = [];
    values.forEach((value, k) => {
      parts.push(s("line", { class: "grid", x1: this.left, x2: this.width - RIGHT, y1: y(value), y2: y(value) }));
      parts.push(s("text", { class: "tick", x: this.left - 8, y: y(value) + 4, "text-anchor": "end" }, labels[k]));
    });
    const points = (numbers) =>
      path(buckets.map((bucket, k) => (numbers[k] === null ? null : [this.middle(bucket), y(numbers[k])])));
    if (buckets.length > 3) parts.push(s("path", { class: "raw", d: points(buckets.map((bucket) => bucket.mean)) }));
    parts.push(
      s("path", {
        class: "mean",
        d: points(buckets.map((bucket, k) => (bucket.mean === null ? null : this.smooth[k]))),
      }),
    );
    return parts;
  }

  /** Decisions made in each bar of a few pixels, and those that expired on top of them. */
  lane(top, bottom) {
    const { buckets, from, to, resolution } = this.data;
    const bars = Math.max(
      1,
      Math.min(Math.floor((this.width - this.left - RIGHT) / 5), Math.ceil((to - from) / resolution)),
    );
    const [asked, late] = [new Float64Array(bars), new Float64Array(bars)];
    for (const bucket of buckets) {
      const k = Math.max(
        0,
        Math.min(bars - 1, Math.floor(((bucket.at + resolution / 2 - from) / (to - from)) * bars)),
      );
      asked[k] += bucket.asked;
      late[k] += bucket.expired;
    }
    const most = Math.max(1, ...asked.map((n, k) => Math.max(n, late[k])));
    const size = (this.width - this.left - RIGHT) / bars;
    const parts = [s("line", { class: "axis", x1: this.left, x2: this.width - RIGHT, y1: bottom, y2: bottom })];
    const bar = (k, n, name) => {
      const tall = Math.max(1.5, (n / most) * (bottom - top));
      parts.push(
        s("rect", {
          class: name,
          x: this.left + k * size + 0.5,
          width: Math.max(1, size - 1),
          y: bottom - tall,
          height: tall,
        }),
      );
    };
    for (let k = 0; k < bars; k++) {
      if (asked[k]) bar(k, asked[k], "bar");
      if (late[k]) bar(k, late[k], "late");
    }
    parts.push(s("text", { class: "tick", x: this.left - 8, y: top + 9, "text-anchor": "end" }, "asks"));
    return parts;
  }

  flags(marks, bottom) {
    const parts = [];
    for (const mark of marks) {
      if (mark.at < this.data.from || mark.at > this.data.to) continue;
      const x = this.x(mark.at);
      const name = isUrgent(mark.kind) ? "flag urgent" : "flag";
      parts.push(s("line", { class: name, x1: x, x2: x, y1: TOP - 4, y2: bottom }));
      parts.push(
        isUrgent(mark.kind)
          ? s("path", { class: name, d: `M${x} ${TOP - 16}l7 12h-14z` })
          : s("circle", { class: name, cx: x, cy: TOP - 9, r: 4.5 }),
      );
    }
    return parts;
  }

  words(k) {
    const { buckets, resolution } = this.data;
    return this.lines(buckets[k]).reduce(
      (text, [name, value]) => `${text}; ${name} ${value}`,
      when(buckets[k].at, resolution),
    );
  }

  lines(bucket) {
    const lines = [
      ["average", weight(bucket.mean)],
      ["decisions", count(bucket.asked)],
      ["items told", count(bucket.told)],
      ["waiting", count(bucket.waiting)],
    ];
    if (bucket.settled) lines.push(["settled", count(bucket.settled)]);
    if (bucket.expired) lines.push(["expired", count(bucket.expired)]);
    if (bucket.closed) lines.push(["closed", count(bucket.closed)]);
    return lines;
  }

  point(event) {
    if (!this.data?.buckets.length) return;
    const x = event.clientX - this.frame.getBoundingClientRect().left;
    let best = 0;
    this.data.buckets.forEach((bucket, k) => {
      if (Math.abs(this.middle(bucket) - x) < Math.abs(this.middle(this.data.buckets[best]) - x)) best = k;
    });
    this.pointAt(best);
  }

  step(event) {
    const last = (this.data?.buckets.length ?? 0) - 1;
    if (last < 0) return;
    const now = this.at ?? last;
    const to = {
      ArrowLeft: now - 1,
      ArrowDown: now - 1,
      ArrowRight: now + 1,
      ArrowUp: now + 1,
      PageUp: now + 20,
      PageDown: now - 20,
      Home: 0,
      End: last,
    }[event.key];
    if (event.key === "Escape") this.leave();
    if (to === undefined) return;
    event.preventDefault();
    this.pointAt(Math.max(0, Math.min(last, to)));
  }

  pointAt(k) {
    const bucket = this.data.buckets[k];
    if (!bucket) return this.leave();
    this.at = k;
    const x = this.middle(bucket);
    const near = this.data.marks.filter((mark) => Math.abs(this.x(mark.at) - x) < 6);
    this.cursor.replaceChildren(s("line", { x1: x, x2: x, y1: TOP, y2: this.height - BOTTOM }));
    if (bucket.mean !== null) this.cursor.append(s("circle", { cx: x, cy: this.y(this.smooth[k]), r: 4 }));
    this.tip.replaceChildren(
      h("strong", {}, when(bucket.at, this.data.resolution)),
      h(
        "dl",
        {},
        this.lines(bucket).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
      ),
      ...near
        .slice(-3)
        .map((mark) =>
          h("p", { class: isUrgent(mark.kind) ? "urgent" : "" }, mark.text || KINDS[mark.kind] || mark.kind),
        ),
    );
    this.tip.hidden = false;
    const room = this.width - this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, Math.min(room, x < this.width / 2 ? x + 12 : x - this.tip.offsetWidth - 12))}px`;
    this.frame.setAttribute("aria-valuenow", k);
    this.frame.setAttribute("aria-valuetext", this.words(k));
  }

  leave() {
    this.at = null;
    this.tip.hidden = true;
    this.cursor?.replaceChildren();
  }
}

/** The latest rows of a history as a table, for those who do not see the chart. */
export function historyTable({ buckets, resolution, isClicks }) {
  const end = isClicks ? "settled" : "expired";
  if (!buckets.length) return h("p", { class: "empty" }, "No decisions in this time.");
  const head = ["Time", "Average weight", "Decisions", "Items told", "Waiting", "Closed", isClicks ? "Settled" : "Expired"];
  return h(
    "table",
    { class: "plain" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        head.map((text) => h("th", { scope: "col" }, text)),
      ),
    ),
    h(
      "tbody",
      {},
      buckets
        .slice(-100)
        .reverse()
        .map((bucket) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, when(bucket.at, resolution)),
            [
              weight(bucket.mean),
              ...["asked", "told", "waiting", "closed", end].map((name) => count(bucket[name])),
            ].map((text) => h("td", {}, text)),
          ),
        ),
    ),
  );
}
