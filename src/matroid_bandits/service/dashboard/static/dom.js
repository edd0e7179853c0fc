// Elements from values. Every string becomes a text node, so no label is ever read as markup.

/** An element with attributes, properties (`onclick`, `value`, ...) and children; empty children are left out. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An SVG element with attributes and children. */
export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const byId = (id) => document.getElementById(id);

/** Change a text only where it differs, so that screen readers are not told the same again. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Show an error in words where it happened, or take it away. */
export function showProblem(place, error) {
  place.replaceChildren(...(error ? [h("p", { class: "notice bad" }, error.message || String(error))] : []));
}

/** Buttons of which one is pressed; calls `choose` with its value. Returns a function that presses one. */
export function segments(place, options, choose) {
  const buttons = options.map(([value, text]) =>
    h(
      "button",
      {
        type: "button",
        "data-value": value,
        onclick: () => {
          press(value);
          choose(value);
        },
      },
      text,
    ),
  );
  const press = (value) => {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.value === String(value)));
  };
  place.replaceChildren(...buttons);
  return press;
}

/** A question with two answers; resolves to whether it was confirmed. */
export function confirmed(dialog, title, text, action) {
  return new Promise((resolve) => {
    const yes = h("button", { type: "button", class: "danger", onclick: () => dialog.close("yes") }, action);
    const no = h("button", { type: "button", onclick: () => dialog.close("no") }, "Cancel");
    dialog.replaceChildren(
      h("h2", { id: "confirm-title" }, title),
      h("p", {}, text),
      h("div", { class: "row end" }, no, yes),
    );
    dialog.returnValue = "no";
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
    dialog.showModal();
    no.focus();
  });
}
