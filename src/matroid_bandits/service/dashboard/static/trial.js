// Try a request: who may be chosen and who must be. A preview changes nothing; an ask makes a decision to be answered.

import { campaignPath, query, send } from "./api.js";
import { h, showProblem } from "./dom.js";
import { count, counted, labelText } from "./format.js";
import { STOPS } from "./overview.js";
import { Picker } from "./picker.js";

export class Trial {
  /**
   * `rows` gives all items, `kind` what answers tell of, `explain` shows why an item is in or out of a request, `changed`
   * is told of asks and answers.
   */
  constructor(place, { name, mayDecide, rows, kind, explain, changed }) {
    Object.assign(this, { name, kind, explain, changed });
    this.available = new Picker("Only these", "everything is eligible", rows);
    this.exclude = new Picker("Not these", "nothing is excluded", rows);
    this.pinned = new Picker("Pinned", "nothing must be in", rows);
    this.features = h("textarea", {
      rows: 3,
      spellcheck: "false",
      id: "trial-features",
      placeholder: "[[0.2, 1.0], [0.7, 0.0]]",
    });
    this.problem = h("div", { role: "alert" });
    this.result = h("div", { class: "result", role: "status", "aria-live": "polite" });
    this.answers = h("div", {});
    const buttons = [
      h(
        "button",
        {
          type: "button",
          class: mayDecide ? "" : "primary",
          onclick: (event) => this.run(event, () => this.preview()),
        },
        "Preview",
      ),
    ];
    if (mayDecide)
      buttons.push(
        h(
          "button",
          { type: "button", class: "primary", onclick: (event) => this.run(event, () => this.ask()) },
          "Ask",
        ),
      );
    buttons.push(
      h("span", { class: "grow" }),
      h("button", { type: "button", class: "quiet", onclick: () => this.clear() }, "Clear"),
    );
    place.replaceChildren(
      h(
        "p",
        { class: "soft" },
        mayDecide
          ? "A preview changes nothing. An ask makes a decision, which then waits for its answer."
          : "A preview changes nothing. Your key may read, not ask.",
      ),
      this.available.element,
      this.exclude.element,
      this.pinned.element,
      h(
        "details",
        { class: "more" },
        h("summary", {}, "Features"),
        h(
          "label",
          { for: "trial-features" },
          "A row of numbers for each item, as JSON; only for policies that take them",
        ),
        this.features,
      ),
      h("div", { class: "row" }, buttons),
      this.problem,
      this.result,
      this.answers,
    );
  }

  /** The request as the API takes it. */
  get request() {
    const request = {};
    if (this.available.labels.length) request.available = this.available.labels;
    if (this.exclude.labels.length) request.exclude = this.exclude.labels;
    if (this.pinned.labels.length) request.pinned = this.pinned.labels;
    if (this.features.value.trim()) {
      try {
        request.features = JSON.parse(this.features.value);
      } catch (error) {
        throw new Error(`The features are not JSON: ${error.message}`);
      }
    }
    return request;
  }

  async run(event, task) {
    const button = event.currentTarget;
    button.disabled = true;
    showProblem(this.problem, null);
    try {
      await task();
    } catch (error) {
      this.result.replaceChildren(); // what is shown below the error would look like its result
      showProblem(this.problem, error);
    } finally {
      button.disabled = false;
    }
  }

  async preview() {
    const request = this.request;
    this.showSet(await query(campaignPath(this.name, "/preview"), request), request, "The next ask would choose");
    this.answers.replaceChildren();
  }

  async ask() {
    const request = this.request;
    const decision = await send(campaignPath(this.name, "/ask"), request);
    const why = { decision: decision.decision, as_decided: true };
    this.showSet(decision, why, `Decision ${count(decision.decision)} chose`);
    this.showAnswers(decision);
    this.changed();
  }

  showSet(decision, request, words) {
    const notes = [];
    if (decision.held_out) notes.push("drawn at random, for later evaluation");
    if (!decision.full && decision.items.length) notes.push("smaller than others, since the request leaves less");
    this.result.replaceChildren(
      h(
        "p",
        {},
        decision.items.length
          ? `${words} ${counted(decision.items.length, "item")}${notes.length ? ` (${notes.join("; ")})` : ""}:`
          : `${words} nothing: the request leaves no item that may be chosen.`,
      ),
      h(
        decision.order ? "ol" : "ul",
        { class: "chips" },
        (decision.order ?? decision.items).map((label) =>
          h(
            "li",
            {},
            h(
              "button",
              { type: "button", class: "chip", onclick: () => this.explain(label, request) },
              labelText(label),
            ),
          ),
        ),
      ),
    );
  }

  /** A field for the weight of each item of a decision that waits. */
  showAnswers(decision) {
    if (!decision.items.length) return this.answers.replaceChildren();
    if (STOPS[this.kind()]) return this.showStops(decision, STOPS[this.kind()]);
    const problem = h("div", { role: "alert" });
    const fields = decision.items.map((label, k) =>
      h("input", {
        type: "text",
        inputmode: "decimal",
        id: `weight-${k}`,
        autocomplete: "off",
        placeholder: "later",
      }),
    );
    const form = h(
      "form",
      {
        class: "answers",
        onsubmit: (event) => {
          event.preventDefault();
          tell();
        },
      },
      h("h3", {}, `Answer decision ${count(decision.decision)}`),
      h("p", { class: "soft" }, "Observed weight of each item. Empty fields may be told later."),
      h(
        "div",
        { class: "weights" },
        decision.items.map((label, k) =>
          h("div", {}, h("label", { for: `weight-${k}` }, labelText(label)), fields[k]),
        ),
      ),
      problem,
      h(
        "div",
        { class: "row" },
        h("button", { class: "primary" }, "Tell"),
        h("button", { type: "button", onclick: () => close() }, "Close without the rest"),
      ),
    );
    const settle = async (task) => {
      showProblem(problem, null);
      try {
        await task();
        this.changed();
      } catch (error) {
        showProblem(problem, error);
      }
    };
    const tell = () =>
      settle(async () => {
        const weights = [];
        fields.forEach((field, k) => {
          const text = field.value.trim().replace(",", ".");
          if (!text || field.disabled) return;
          const value = Number(text);
          if (!Number.isFinite(value))
            throw new Error(`Expected a number for ${labelText(decision.items[k])}, got “${field.value}”.`);
          weights.push([decision.items[k], value, field]);
        });
        if (!weights.length) throw new Error("Expected a weight for at least one item, got none.");
        const answer = await send(campaignPath(this.name, "/tell"), {
          decision: decision.decision,
          weights: weights.map(([label, value]) => [label, value]),
        });
        weights.forEach(([, , field]) => (field.disabled = true));
        if (!answer.waiting)
          this.finish(`Decision ${count(decision.decision)} is answered: ${counted(answer.told, "item")} told.`);
      });
    const close = () =>
      settle(async () => {
        await send(campaignPath(this.name, "/close"), { decision: decision.decision, default: null });
        this.finish(`Decision ${count(decision.decision)} is closed. Missing weights are dropped.`);
      });
    this.answers.replaceChildren(form);
    fields[0].focus({ preventScroll: true });
  }

  /** A choice of the item at which people stopped in the list of a decision that waits. */
  showStops(decision, stop) {
    const problem = h("div", { role: "alert" });
    const listed = decision.order ?? decision.items;
    const choice = h(
      "select",
      { id: "stopped-at" },
      h("option", { value: "" }, `All were looked at, ${stop.none}`),
      listed.map((label, k) => h("option", { value: String(k) }, labelText(label))),
    );
    const settle = async (task) => {
      showProblem(problem, null);
      try {
        await task();
        this.changed();
      } catch (error) {
        showProblem(problem, error);
      }
    };
    const tell = () =>
      settle(async () => {
        const at = choice.value === "" ? null : listed[Number(choice.value)];
        const answer = await send(campaignPath(this.name, "/tell"), { decision: decision.decision, [stop.key]: at });
        this.finish(`Decision ${count(decision.decision)} is answered: ${counted(answer.told, "item")} told.`);
      });
    const close = () =>
      settle(async () => {
        await send(campaignPath(this.name, "/close"), { decision: decision.decision });
        this.finish(`Decision ${count(decision.decision)} is closed. Nothing is known of it.`);
      });
    const form = h(
      "form",
      {
        class: "answers",
        onsubmit: (event) => {
          event.preventDefault();
          tell();
        },
      },
      h("h3", {}, `Answer decision ${count(decision.decision)}`),
      h("p", { class: "soft" }, "Items below the one that is chosen were not looked at: nothing is learnt of them."),
      h("div", {}, h("label", { for: "stopped-at" }, stop.words), choice),
      problem,
      h(
        "div",
        { class: "row" },
        h("button", { class: "primary" }, "Tell"),
        h("button", { type: "button", onclick: () => close() }, "Close without an answer"),
      ),
    );
    this.answers.replaceChildren(form);
    choice.focus({ preventScroll: true });
  }

  /** Answer a decision that was asked before, here or by another client. */
  answer(decision) {
    this.result.replaceChildren();
    this.showAnswers(decision);
    this.answers.scrollIntoView({ block: "nearest" });
  }

  finish(words) {
    this.answers.replaceChildren();
    this.result.replaceChildren(h("p", { class: "notice good" }, words));
  }

  clear() {
    for (const picker of [this.available, this.exclude, this.pinned]) picker.clear();
    this.features.value = "";
    this.result.replaceChildren();
    this.answers.replaceChildren();
    showProblem(this.problem, null);
  }
}
