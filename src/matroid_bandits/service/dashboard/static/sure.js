// How sure the best set is: at which delta a stopping rule would stop, and the closest calls.

import { h, setText } from "./dom.js";
import { count, labelText } from "./format.js";

const ROWS = 5;

/** What a stopping rule says, in a sentence; no chance that the set is the best one. */
export function sureWords({ confidence, reason }) {
  if (!confidence) return `Not available: ${reason}.`;
  const words = confidence.words;
  return `${words[0].toUpperCase()}${words.slice(1)}.`;
}

/** The sentence and a table of the closest calls. */
export class SureCard {
  constructor(place) {
    this.words = h("p", { role: "status" });
    this.table = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Closest calls" });
    place.replaceChildren(this.words, this.table);
  }

  show(answer) {
    setText(this.words, sureWords(answer));
    const margins = (answer.confidence?.margins ?? []).slice(0, ROWS);
    this.table.hidden = !margins.length;
    if (!margins.length) return;
    const head = ["In the set", "Could be replaced by", "Statistic", `Threshold at delta ${answer.confidence.at}`, "Plays of both still needed"];
    const number = (value) => (value === null ? "–" : value.toFixed(2));
    const rows = margins.map((margin) =>
      h(
        "tr",
        {},
        h("td", {}, labelText(margin.inside)),
        h("td", {}, labelText(margin.outside)),
        h("td", { class: "number" }, number(margin.statistic)),
        h("td", { class: "number" }, number(margin.threshold)),
        h("td", { class: "number" }, margin.plays === null ? "–" : count(margin.plays)),
      ),
    );
    this.table.replaceChildren(
      h("table", {}, h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))), h("tbody", {}, ...rows)),
    );
  }
}
