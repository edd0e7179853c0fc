// Every item with its mean, interval, index and plays. Only the rows in sight are in the document, so that thousands
// of items scroll as smoothly as ten.

import { h, setText } from "./dom.js";
import { count, counted, labelKey, labelText, percent, weight } from "./format.js";
import { quantile, ticks } from "./scale.js";

const SPARE = 8; // rows drawn beyond either edge

const byName = new Intl.Collator("en", { numeric: true });

const COLUMNS = [
  { name: "label", text: "Item", first: "ascending" },
  { name: "category", text: "Category", first: "ascending" },
  { name: "mean", text: "Mean", first: "descending" },
  { name: "bar", text: "Mean, interval and index", sorts: null },
  { name: "index", text: "Index", first: "descending" },
  { name: "share", text: "Share", first: "descending" },
  { name: "plays", text: "Plays", first: "descending" },
  { name: "waiting", text: "Waiting", first: "descending" },
];

/** The same estimates as a list of items; `categories` are the campaign's. */
export function rowsOf(estimates, categories) {
  return estimates.labels.map((label, k) => {
    const category = estimates.categories?.[k] ?? -1;
    return {
      item: estimates.items[k],
      label,
      key: labelKey(label),
      text: labelText(label),
      mean: estimates.means[k],
      radius: estimates.radii[k],
      index: estimates.indices[k],
      plays: estimates.counts[k],
      waiting: estimates.waiting[k],
      share: estimates.recent ? estimates.chosen[k] / estimates.recent : null,
      code: category,
      category: category < 0 ? "" : labelText(categories[category]?.name ?? ""),
    };
  });
}

/** The part of the axis that bars show: all means, and intervals as far as they are not much wider than most. */
export function domainOf(rows) {
  const means = rows.map((row) => row.mean).filter((mean) => mean !== null);
  if (!means.length) return [0, 1];
  const ends = rows.flatMap((row) =>
    row.mean === null || row.radius === null ? [] : [row.mean - row.radius, row.mean + row.radius],
  );
  const [low, high] = [means.reduce((a, b) => Math.min(a, b)), means.reduce((a, b) => Math.max(a, b))];
  const span = high - low || Math.abs(high) || 1;
  let from = Math.min(low, Math.max(quantile(ends, 0.02), low - span));
  const to = Math.max(high, Math.min(quantile(ends, 0.98), high + 2 * span));
  if (low >= 0) from = 0;
  return to > from ? [from, to] : [from, from + 1];
}

/** A bar on an axis: the interval around the mean, the mean, and the index. Returns a function that moves it. */
export function intervalBar() {
  const band = h("span", { class: "band" });
  const middle = h("span", { class: "middle" });
  const index = h("span", { class: "index" });
  const element = h("span", { class: "interval", "aria-hidden": "true" }, band, middle, index);
  const move = (row, [low, high]) => {
    const place = (x) => 100 * Math.max(0, Math.min(1, (x - low) / (high - low)));
    const isKnown = row.mean !== null;
    band.hidden = !isKnown || row.radius === null;
    middle.hidden = !isKnown;
    index.hidden = row.index === null;
    if (isKnown) middle.style.left = `${place(row.mean)}%`;
    if (!band.hidden) {
      const [from, to] = [row.mean - row.radius, row.mean + row.radius];
      band.style.left = `${place(from)}%`;
      band.style.width = `${Math.max(0.5, place(to) - place(from))}%`;
      band.classList.toggle("cut-left", from < low);
      band.classList.toggle("cut-right", to > high);
    }
    if (row.index !== null) {
      index.style.left = `${place(row.index)}%`;
      index.classList.toggle("beyond", row.index > high || row.index < low);
    }
  };
  return { element, move };
}

export class ItemTable {
  /** `explain` is called with the row whose name was pressed; `say` with how many items are shown. The smaller index is
   * better where weights are costs. */
  constructor(place, { explain, say, minimize }) {
    this.minimize = minimize;
    this.explain = explain;
    this.say = say;
    this.rows = [];
    this.shown = [];
    this.chosen = new Set();
    this.search = "";
    this.filter = "all";
    this.category = null; // the code of the only one that is shown
    this.sorted = { name: "index", order: minimize ? "ascending" : "descending" };
    this.drawn = []; // row elements, reused
    this.heads = COLUMNS.map((column) => this.head(column));
    this.above = h("tr", { class: "space", "aria-hidden": "true" }, h("td", {}));
    this.below = h("tr", { class: "space", "aria-hidden": "true" }, h("td", {}));
    this.body = h("tbody", {}, this.above, this.below);
    this.table = h(
      "table",
      { class: "items", "aria-labelledby": "items-title" },
      h("thead", {}, h("tr", { "aria-rowindex": 1 }, this.heads)),
      this.body,
    );
    // In place of the heads of columns for which a phone has no room.
    const names = COLUMNS.filter((column) => column.sorts !== null);
    this.order = h(
      "select",
      {
        class: "narrow-only",
        "aria-label": "Sort by",
        onchange: () => this.sortBy(names.find((column) => column.name === this.order.value)),
      },
      names.map((column) => h("option", { value: column.name }, `Sort by ${column.text.toLowerCase()}`)),
    );
    this.order.value = this.sorted.name;
    this.scroller = h("div", { class: "scroll items-box", onscroll: () => this.draw() }, this.table);
    this.empty = h("p", { class: "empty", hidden: true });
    const key = (kind, text) => h("span", {}, h("span", { class: `key ${kind}` }), text);
    this.legend = h(
      "p",
      { class: "legend soft" },
      key("chosen", "chosen now"),
      key("mean", "mean"),
      key("band", "interval"),
      key("index", "index, by which the next set is chosen"),
    );
    place.replaceChildren(this.order, this.scroller, this.empty, this.legend);
    this.table.addEventListener("keydown", (event) => this.move(event));
    new ResizeObserver(() => this.draw()).observe(this.scroller);
  }

  head(column) {
    if (column.sorts === null) {
      this.axis = h("span", { class: "axis-ends", "aria-hidden": "true" });
      return h("th", { scope: "col", class: "col-bar" }, h("span", { class: "unseen" }, column.text), this.axis);
    }
    const button = h("button", { type: "button", onclick: () => this.sortBy(column) }, column.text);
    return h("th", { scope: "col", class: `col-${column.name}`, "data-name": column.name }, button);
  }

  /** The rows in sight. */
  get inSight() {
    return this.drawn.filter((row) => row.element.isConnected).map((row) => row.data);
  }

  /** Take new estimates. Rows keep their places while they are being read. */
  show(rows, chosen, recent) {
    const isSame = rows.length === this.rows.length && rows.every((row, k) => row.key === this.rows[k].key);
    this.rows = rows;
    const hasCategories = rows.some((row) => row.code >= 0);
    this.table.classList.toggle("no-categories", !hasCategories);
    this.order.querySelector("[value=category]").hidden = !hasCategories;
    this.heads
      .find((head) => head.dataset.name === "share")
      .setAttribute("title", `In how many of the last ${counted(recent, "decision")} the item was`);
    this.chosen = chosen;
    this.domain = domainOf(rows);
    const isRead = this.scroller.matches(":hover") || this.scroller.contains(document.activeElement);
    if (isSame && isRead && this.filter === "all") {
      this.shown = this.shown.map((row) => rows[row.item]);
      this.draw();
    } else this.arrange();
  }

  /** Sort by a column; by the one that is sorted by already, the other way round. */
  sortBy(column) {
    const { name, order } = this.sorted;
    const flipped = order === "ascending" ? "descending" : "ascending";
    this.sorted = { name: column.name, order: name === column.name ? flipped : column.first };
    this.order.value = this.sorted.name;
    this.scroller.scrollTop = 0;
    this.arrange();
  }

  find(text) {
    this.search = text.trim().toLowerCase();
    this.scroller.scrollTop = 0;
    this.arrange();
  }

  /** Show the items of one category, by its code, or of all. */
  within(category) {
    this.category = category;
    this.scroller.scrollTop = 0;
    this.arrange();
  }

  only(filter) {
    this.filter = filter;
    this.scroller.scrollTop = 0;
    this.arrange();
  }

  arrange() {
    const isIn = {
      all: () => true,
      chosen: (row) => this.chosen.has(row.key),
      out: (row) => !this.chosen.has(row.key),
      untried: (row) => row.plays === 0,
      waiting: (row) => row.waiting > 0,
    }[this.filter];
    this.shown = this.rows.filter(
      (row) =>
        isIn(row) &&
        (this.category === null || row.code === this.category) &&
        (!this.search || row.text.toLowerCase().includes(this.search)),
    );
    const { name, order } = this.sorted;
    const sign = order === "ascending" ? 1 : -1;
    // An unknown mean comes last; an item without an index is to be tried first, so its index is the best there is.
    const value = (row) => row[name] ?? (name === "index" ? (this.minimize ? -Infinity : Infinity) : sign * Infinity);
    const text = { label: (row) => row.text, category: (row) => row.category }[name];
    const compare = text
      ? (a, b) => sign * byName.compare(text(a), text(b)) || a.item - b.item
      : (a, b) => (value(a) === value(b) ? a.item - b.item : sign * (value(a) - value(b)));
    this.shown.sort(compare);
    for (const head of this.heads) {
      if (!head.dataset.name) continue;
      if (head.dataset.name === name) head.setAttribute("aria-sort", order);
      else head.removeAttribute("aria-sort");
    }
    const [some, all] = [this.shown.length, this.rows.length];
    this.say(some === all ? count(all) : `${count(some)} of ${count(all)}`);
    this.empty.hidden = some > 0;
    this.scroller.hidden = this.legend.hidden = some === 0;
    setText(this.empty, all ? "No item fits the search." : "This campaign has no items.");
    this.table.setAttribute("aria-rowcount", some + 1);
    this.draw();
  }

  get rowHeight() {
    return this.drawn[0]?.element.offsetHeight || 37;
  }

  draw() {
    if (!this.shown.length) return;
    const size = this.rowHeight;
    const first = Math.max(0, Math.min(this.shown.length - 1, Math.floor(this.scroller.scrollTop / size)) - SPARE);
    const last = Math.min(this.shown.length, first + Math.ceil(this.scroller.clientHeight / size) + 2 * SPARE);
    this.drawAxis();
    while (this.drawn.length < last - first) this.drawn.push(this.newRow());
    const rows = this.drawn.slice(0, last - first);
    rows.forEach((row, k) => this.fill(row, this.shown[first + k], first + k));
    const wanted = rows.map((row) => row.element);
    const present = Array.from(this.body.children).slice(1, -1);
    present.slice(wanted.length).forEach((element) => element.remove());
    wanted.slice(present.length).forEach((element) => this.below.before(element));
    this.above.firstChild.style.height = `${first * size}px`;
    this.below.firstChild.style.height = `${(this.shown.length - last) * size}px`;
    this.above.hidden = first === 0;
    this.below.hidden = last === this.shown.length;
    this.first = first;
  }

  /** The numbers above the bars: none is cut at the edge, and none covers another. */
  drawAxis() {
    const width = this.axis.clientWidth;
    const [low, high] = this.domain;
    const marks = ticks(low, high, width < 160 ? 2 : 5).values.map((x) => {
      const mark = h("span", {}, String(+x.toPrecision(4)).replaceAll("-", "−"));
      return { mark, at: ((x - low) / (high - low)) * width };
    });
    this.axis.replaceChildren(...marks.map(({ mark }) => mark));
    let free = -Infinity;
    for (const { mark, at } of marks) {
      const size = mark.offsetWidth;
      const left = Math.max(0, Math.min(width - size, at - size / 2));
      if (left < free) mark.remove();
      else free = left + size + 6;
      mark.style.left = `${left}px`;
    }
  }

  newRow() {
    const row = { bar: intervalBar() };
    row.name = h("button", {
      type: "button",
      class: "link",
      title: "Why is it in or out?",
      onclick: () => this.explain(row.data),
    });
    row.dot = h("span", { class: "dot", "aria-hidden": "true" });
    row.state = h("span", { class: "unseen" });
    row.aside = h("span", { class: "aside" }); // in place of columns for which a phone has no room
    row.mean = h("td", { class: "number col-mean" });
    row.index = h("td", { class: "number col-index" });
    row.category = h("td", { class: "col-category" });
    row.plays = h("td", { class: "number col-plays" });
    row.chosen = h("span", {});
    row.share = h("span", { class: "share", "aria-hidden": "true" });
    row.waiting = h("td", { class: "number col-waiting" });
    row.element = h(
      "tr",
      {},
      h("th", { scope: "row" }, h("div", { class: "named" }, row.dot, row.name, row.state, row.aside)),
      row.category,
      row.mean,
      h("td", { class: "col-bar" }, row.bar.element),
      row.index,
      h("td", { class: "number col-share" }, row.share, row.chosen),
      row.plays,
      row.waiting,
    );
    return row;
  }

  fill(row, data, place) {
    row.data = data;
    const isChosen = this.chosen.has(data.key);
    row.element.classList.toggle("chosen", isChosen);
    row.element.setAttribute("aria-rowindex", place + 2);
    setText(row.name, data.text);
    setText(row.state, isChosen ? " (chosen now)" : "");
    setText(row.mean, weight(data.mean));
    setText(row.index, data.index === null ? "first" : weight(data.index));
    setText(row.plays, count(data.plays));
    setText(
      row.aside,
      [data.category || counted(data.plays, "play"), weight(data.mean), data.share === null ? "" : percent(data.share)]
        .filter(Boolean)
        .join(" · "),
    );
    setText(row.waiting, data.waiting ? count(data.waiting) : "");
    row.share.style.width = `${100 * (data.share ?? 0)}%`;
    setText(row.chosen, data.share === null ? "–" : percent(data.share));
    setText(row.category, data.category);
    row.bar.move(data, this.domain);
    row.bar.element.parentNode.title =
      data.mean === null
        ? "never told a weight"
        : `mean ${weight(data.mean)}${data.radius === null ? "" : ` ± ${weight(data.radius)}`}, ${counted(data.plays, "play")}`;
  }

  /** Arrow keys go through the items, beyond the rows in sight too. */
  move(event) {
    const rows = this.drawn.map((row) => row.name);
    const now = rows.indexOf(document.activeElement);
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (now < 0 || !by) return;
    event.preventDefault();
    const size = this.rowHeight;
    const to = Math.max(0, Math.min(this.shown.length - 1, this.first + now + by));
    const head = this.table.tHead.offsetHeight;
    const [top, bottom] = [this.scroller.scrollTop, this.scroller.scrollTop + this.scroller.clientHeight - head];
    if (to * size < top) this.scroller.scrollTop = to * size;
    else if ((to + 1) * size > bottom) this.scroller.scrollTop += (to + 1) * size - bottom;
    this.draw();
    rows[to - this.first]?.focus({ preventScroll: true });
  }
}
