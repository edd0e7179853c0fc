// A field that takes items of the campaign: type a part of a name, choose from the list, take away with a button.

import { h } from "./dom.js";
import { count } from "./format.js";

const MOST = 50; // suggestions shown at once

let nextId = 0;

export class Picker {
  /** `rows` gives all items as `rowsOf` lists them. */
  constructor(text, hint, rows) {
    this.rows = rows;
    this.chosen = new Map();
    this.found = [];
    this.active = -1;
    const id = `picker-${nextId++}`;
    this.list = h("ul", { class: "options", role: "listbox", id: `${id}-list`, "aria-label": text, hidden: true });
    this.input = h("input", {
      id,
      type: "text",
      role: "combobox",
      autocomplete: "off",
      spellcheck: "false",
      placeholder: hint,
      "aria-expanded": "false",
      "aria-controls": `${id}-list`,
      "aria-autocomplete": "list",
      oninput: () => this.open(),
      onclick: () => this.open(),
      onblur: () => setTimeout(() => this.close(), 150),
      onkeydown: (event) => this.key(event),
    });
    this.tokens = h("span", { class: "tokens" });
    this.element = h(
      "div",
      { class: "picker" },
      h("label", { for: id }, text),
      h("div", { class: "field" }, this.tokens, this.input, this.list),
    );
  }

  get labels() {
    return Array.from(this.chosen.values(), (row) => row.label);
  }

  add(row) {
    this.chosen.set(row.key, row);
    this.show();
  }

  clear() {
    this.chosen.clear();
    this.show();
  }

  show() {
    this.tokens.replaceChildren(
      ...Array.from(this.chosen.values(), (row) =>
        h(
          "span",
          { class: "token" },
          row.text,
          h(
            "button",
            {
              type: "button",
              "aria-label": `Take away ${row.text}`,
              onclick: () => {
                this.chosen.delete(row.key);
                this.show();
                this.input.focus();
              },
            },
            "×",
          ),
        ),
      ),
    );
  }

  open() {
    const text = this.input.value.trim().toLowerCase();
    const fits = this.rows().filter((row) => !this.chosen.has(row.key) && row.text.toLowerCase().includes(text));
    fits.sort((a, b) => b.text.toLowerCase().startsWith(text) - a.text.toLowerCase().startsWith(text));
    this.found = fits.slice(0, MOST);
    this.active = text && this.found.length ? 0 : -1;
    this.list.replaceChildren(
      ...this.found.map((row, k) =>
        h(
          "li",
          {
            role: "option",
            id: `${this.input.id}-${k}`,
            onpointerdown: (event) => {
              event.preventDefault();
              this.take(k);
            },
          },
          row.text,
        ),
      ),
    );
    if (fits.length > MOST)
      this.list.append(
        h(
          "li",
          { class: "soft", "aria-hidden": "true" },
          `${count(fits.length - MOST)} more: type a part of the name`,
        ),
      );
    if (!fits.length) this.list.append(h("li", { class: "soft", "aria-hidden": "true" }, "No such item"));
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.mark();
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  mark() {
    this.found.forEach((_, k) => this.list.children[k].setAttribute("aria-selected", String(k === this.active)));
    if (this.active < 0) return this.input.removeAttribute("aria-activedescendant");
    this.input.setAttribute("aria-activedescendant", `${this.input.id}-${this.active}`);
    this.list.children[this.active].scrollIntoView({ block: "nearest" });
  }

  take(k) {
    this.add(this.found[k]);
    this.input.value = "";
    this.close();
  }

  key(event) {
    const isOpen = !this.list.hidden;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!isOpen) return this.open();
      const n = this.found.length;
      if (n) this.active = event.key === "ArrowDown" ? (this.active + 1) % n : (this.active - 1 + n) % n;
      this.mark();
    } else if (event.key === "Enter") {
      event.preventDefault(); // the form is sent by its buttons alone
      if (isOpen && this.active >= 0) this.take(this.active);
    } else if (event.key === "Escape" && isOpen) {
      event.preventDefault();
      this.close();
    } else if (event.key === "Backspace" && !this.input.value && this.chosen.size) {
      this.chosen.delete(Array.from(this.chosen.keys()).pop());
      this.show();
    }
  }
}
