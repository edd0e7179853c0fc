// The learner against its control: the server's sentence on a window, and the last 7 days at each day.

import { h, s, setText } from "./dom.js";
import { count, tick } from "./format.js";
import { ticks, timeTicks } from "./scale.js";

const TOP = 10;
const LEFT = 64;
const RIGHT = 10;
const BOTTOM = 22;
const HEIGHT = 220;
const DAY = 86400;

const WINDOWS = { "7d": "7 days", "28d": "28 days", start: "Since the start", policy: "Since the policy changed" };

/** The sentence of a window, its numbers of decisions and what should be known besides. */
export class UpliftCard {
  constructor(place) {
    this.svg = s("svg", { role: "img" });
    this.frame = h("div", { class: "chart uplift" }, this.svg);
    this.choices = h("div", { class: "segments", role: "group", "aria-label": "Decisions that count" });
    this.words = h("p", { class: "uplift-sentence", role: "status" });
    this.shown = h("p", {});
    this.counts = h("p", { class: "soft" });
    this.notes = h("ul", { class: "soft" });
    this.note = h(
      "p",
      { class: "soft" },
      "Difference of the averages per decision over the 7 days up to each day, with its 95% interval. Positive is better.",
    );
    place.replaceChildren(this.words, this.shown, this.choices, this.counts, this.notes, this.frame, this.note);
    this.uplift = null;
    this.chosen = null; // the headline's window until another is chosen
    new ResizeObserver(() => this.draw()).observe(this.frame);
  }

  show(uplift) {
    this.uplift = uplift;
    const chosen = this.chosen in uplift.windows ? this.chosen : uplift.headline;
    const window = uplift.windows[chosen];
    setText(this.words, window.sentence);
    setText(this.shown, uplift.shown);
    this.shown.hidden = !uplift.shown;
    const together = uplift.unit ? `; decisions with the same ${uplift.unit} are kept together` : "";
    setText(
      this.counts,
      `${count(window.n_learner)} decisions of the learner, ${count(window.n_control)} of the control${together}.`,
    );
    this.notes.hidden = !uplift.notes.length;
    this.notes.replaceChildren(...uplift.notes.map((note) => h("li", {}, note)));
    this.choices.replaceChildren(
      ...Object.keys(WINDOWS)
        .filter((name) => name in uplift.windows)
        .map((name) =>
          h(
            "button",
            {
              type: "button",
              "aria-pressed": String(name === chosen),
              onclick: () => {
                this.chosen = name;
                this.show(this.uplift);
              },
            },
            WINDOWS[name],
          ),
        ),
    );
    this.draw();
  }

  draw() {
    const width = this.frame.clientWidth;
    const points = this.uplift?.points ?? [];
    this.frame.hidden = this.note.hidden = points.length < 2;
    if (points.length < 2 || width < 100) return;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.svg.setAttribute("height", HEIGHT);
    this.svg.setAttribute("aria-label", this.uplift.windows["7d"].sentence);
    const [from, to] = [points[0].at, points.at(-1).at];
    let low = Math.min(0, ...points.map((point) => point.low));
    let high = Math.max(0, ...points.map((point) => point.high));
    const margin = 0.08 * (high - low || 1);
    [low, high] = [low - margin, high + margin];
    const x = (at) => LEFT + ((at - from) / (to - from)) * (width - LEFT - RIGHT);
    const y = (value) => TOP + ((high - value) / (high - low)) * (HEIGHT - TOP - BOTTOM);
    const parts = [];
    const { values, decimals } = ticks(low, high, 4);
    for (const value of values) {
      const text = value.toFixed(Math.min(decimals, 6)).replace("-", "−");
      parts.push(s("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }));
      parts.push(s("text", { class: "tick", x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, text));
    }
    const { values: times } = timeTicks(from, to, Math.max(2, Math.floor(width / 130)));
    for (const at of times) {
      if (x(at) > LEFT + 20 && x(at) < width - 40)
        parts.push(s("text", { class: "tick", x: x(at), y: HEIGHT - 6, "text-anchor": "middle" }, tick(at, DAY)));
    }
    const at = ({ at: time }, value) => `${x(time).toFixed(1)} ${y(value).toFixed(1)}`;
    const upper = points.map((point) => at(point, point.high));
    const lower = points.map((point) => at(point, point.low)).reverse();
    parts.push(s("path", { class: "band", d: `M${upper.concat(lower).join("L")}Z` }));
    parts.push(s("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: y(0), y2: y(0) }));
    parts.push(s("path", { class: "mean", d: `M${points.map((point) => at(point, point.value)).join("L")}` }));
    this.svg.replaceChildren(...parts);
  }
}
