// Why an item is in or out, beside the page.

import { campaignPath, query } from "./api.js";
import { h } from "./dom.js";
import { counted, labelText, weight } from "./format.js";
import { intervalBar } from "./items.js";

const STANDINGS = {
  chosen: "Chosen",
  pinned: "Pinned",
  out: "Not chosen",
  unavailable: "Not available",
  loop: "Can never be chosen",
};

export class Explanations {
  /** `find` gives the row of a label and the axis of bars; `pin` and `exclude` add an item to the trial. */
  constructor(dialog, { name, find, pin, exclude }) {
    Object.assign(this, { dialog, name, find, pin, exclude });
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  }

  /** Explain a label for the next decision, or for a request. */
  async show(label, request = {}) {
    const text = labelText(label);
    this.body = h("div", { class: "stack", "aria-busy": "true" }, h("p", { class: "soft" }, "Asking…"));
    const isOpen = this.dialog.open;
    this.dialog.replaceChildren(
      h(
        "div",
        { class: "cardhead" },
        h("h2", { id: "drawer-title" }, text),
        h("span", { class: "grow" }),
        h(
          "button",
          { type: "button", class: "quiet", "aria-label": "Close", onclick: () => this.dialog.close() },
          "✕",
        ),
      ),
      this.body,
    );
    if (!isOpen) this.dialog.showModal();
    const body = this.body;
    try {
      const why = await query(campaignPath(this.name, "/explain"), { item: label, ...request });
      body.replaceChildren(...this.words(why, label, request));
    } catch (error) {
      body.replaceChildren(h("p", { class: "notice bad" }, error.message));
    }
    body.removeAttribute("aria-busy");
  }

  words(why, label, request) {
    const found = this.find(label);
    const parts = [
      h(
        "p",
        {},
        h(
          "span",
          { class: `badge ${why.standing === "chosen" || why.standing === "pinned" ? "active" : ""}` },
          STANDINGS[why.standing] ?? why.standing,
        ),
        h("span", { class: "soft" }, ` ${ofWhat(request)}`),
      ),
      h("p", { class: "why", "aria-live": "polite" }, why.text),
      h(
        "dl",
        { class: "facts" },
        ...[
          ["Mean", weight(why.mean)],
          ["Plays", String(+(+why.plays).toPrecision(6))],
          ["Index", why.index === null ? "to be tried first" : weight(why.index)],
          ...(request.as_decided
            ? []
            : [
                [
                  "Interval",
                  found && found.row.mean !== null && found.row.radius !== null ? `± ${weight(found.row.radius)}` : "–",
                ],
              ]),
        ].flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
      ),
    ];
    if (why.rivals.length) {
      const others = why.rivals.slice(0, 12);
      parts.push(
        h(
          "h3",
          {},
          why.rivals.length === 1 ? "It could only replace" : `It could replace one of ${why.rivals.length}`,
        ),
        h(
          "ul",
          { class: "rivals" },
          others.map((rival, k) => {
            const other = this.find(rival);
            const bar = intervalBar();
            if (other) bar.move(other.row, other.domain);
            return h(
              "li",
              {},
              h(
                "button",
                { type: "button", class: "link", onclick: () => this.show(rival, request) },
                labelText(rival),
              ),
              h(
                "span",
                { class: "number" },
                `leads by ${why.margins[k] === null ? "any margin" : weight(why.margins[k])}`,
              ),
              other && !request.as_decided && bar.element, // bars show what is believed now
            );
          }),
        ),
      );
      if (why.rivals.length > others.length)
        parts.push(h("p", { class: "soft" }, `and ${counted(why.rivals.length - others.length, "more item")}.`));
    }
    if (found) {
      parts.push(
        h("h3", {}, "Try a request with it"),
        h(
          "div",
          { class: "row" },
          h(
            "button",
            {
              type: "button",
              onclick: () => {
                this.dialog.close();
                this.pin(found.row);
              },
            },
            "Pin it",
          ),
          h(
            "button",
            {
              type: "button",
              onclick: () => {
                this.dialog.close();
                this.exclude(found.row);
              },
            },
            "Exclude it",
          ),
        ),
      );
    }
    return parts;
  }
}

/** What an explanation is of; that of a decision is by what was believed when it was made, whatever happens later. */
function ofWhat({ decision, ...request }) {
  if (decision !== undefined) return `in decision ${decision}, by what was believed then`;
  return Object.keys(request).length ? "for the request you tried" : "for the next decision";
}

/** Rows by label. */
export const indexed = (rows) => new Map(rows.map((row) => [row.key, row]));
