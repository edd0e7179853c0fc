// The learner against its control: a band over time that is valid at every look, and what it says in words.

import { h, s, setText } from "./dom.js";
import { count, percent, tick, weight, when } from "./format.js";
import { ticks, timeTicks } from "./scale.js";

const TOP = 10;
const LEFT = 64;
const RIGHT = 10;
const BOTTOM = 22;
const HEIGHT = 220;

/** What is known of an uplift, in a sentence or two. */
export function upliftWords(uplift) {
  const { value, sequence, decisions, control, unit, level } = uplift;
  if (value === null) return "No decision that could have been held out is settled yet.";
  const of = `${count(decisions)} ${unit ? `values of ${unit}` : "settled decisions"}, ${count(control)} of the control`;
  const known = `${weight(value)} per decision over ${of}`;
  if (!sequence) return `${known}. The band begins with the hundredth.`;
  const [low, high] = sequence.map(weight);
  const band = `${percent(level)} band ${low} to ${high}`;
  if (uplift.excludes_zero_since === null) return `${known}; ${band}. It holds zero: no difference is shown yet.`;
  const verdict = value > 0 ? "better" : "worse";
  return `${known}; ${band}. Shown to be ${verdict} since ${when(uplift.excludes_zero_since, 86400)}.`;
}

/** The band over time: `points` with at, value, low and high. */
export class UpliftChart {
  constructor(place) {
    this.svg = s("svg", { role: "img" });
    this.frame = h("div", { class: "chart uplift" }, this.svg);
    this.words = h("p", { role: "status" });
    this.note = h(
      "p",
      { class: "soft" },
      "Mean difference between the learner's sets and its control's. The band is valid at every look.",
    );
    place.replaceChildren(this.words, this.frame, this.note);
    this.uplift = null;
    new ResizeObserver(() => this.draw()).observe(this.frame);
  }

  show(uplift) {
    this.uplift = uplift;
    setText(this.words, upliftWords(uplift));
    this.draw();
  }

  draw() {
    const width = this.frame.clientWidth;
    const points = (this.uplift?.points ?? []).filter((point) => point.low !== null);
    this.frame.hidden = points.length < 2;
    if (points.length < 2 || width < 100) return;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.svg.setAttribute("height", HEIGHT);
    this.svg.setAttribute("aria-label", upliftWords(this.uplift));
    const [from, to] = [points[0].at, points.at(-1).at];
    // Early bands are wide; the later half decides what is shown.
    const late = points.slice(Math.floor(points.length / 2));
    let low = Math.min(0, ...late.map((point) => point.low));
    let high = Math.max(0, ...late.map((point) => point.high));
    const margin = 0.08 * (high - low || 1);
    [low, high] = [low - margin, high + margin];
    const x = (at) => LEFT + ((at - from) / (to - from || 1)) * (width - LEFT - RIGHT);
    const y = (value) => TOP + ((high - Math.max(low, Math.min(high, value))) / (high - low)) * (HEIGHT - TOP - BOTTOM);
    const parts = [];
    const { values, decimals } = ticks(low, high, 4);
    for (const value of values) {
      const text = value.toFixed(Math.min(decimals, 6)).replace("-", "−");
      parts.push(s("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }));
      parts.push(s("text", { class: "tick", x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, text));
    }
    const { values: times, step } = timeTicks(from, to, Math.max(2, Math.floor(width / 130)));
    for (const at of times) {
      if (x(at) > LEFT + 20 && x(at) < width - 40)
        parts.push(s("text", { class: "tick", x: x(at), y: HEIGHT - 6, "text-anchor": "middle" }, tick(at, step)));
    }
    const at = ({ at: time }, value) => `${x(time).toFixed(1)} ${y(value).toFixed(1)}`;
    const upper = points.map((point) => at(point, point.high));
    const lower = points.map((point) => at(point, point.low)).reverse();
    parts.push(s("path", { class: "band", d: `M${upper.concat(lower).join("L")}Z` }));
    parts.push(s("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: y(0), y2: y(0) }));
    parts.push(s("path", { class: "mean", d: `M${points.map((point) => at(point, point.value)).join("L")}` }));
    const since = this.uplift.excludes_zero_since;
    if (since !== null) {
      const place = x(Math.max(from, Math.min(to, since)));
      parts.push(s("line", { class: "since", x1: place, x2: place, y1: TOP, y2: HEIGHT - BOTTOM }));
    }
    this.svg.replaceChildren(...parts);
  }
}
