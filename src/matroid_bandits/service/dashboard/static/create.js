// A new campaign: a form that writes the spec, with examples; or the spec itself, for all that the form has no field for.

import { root, send } from "./api.js";
import { byId, segments, showProblem } from "./dom.js";

/** What each example fills in. */
const EXAMPLES = {
  slots: {
    name: "front-page",
    title: "Front page",
    rule: "partition",
    items: "boots, left\nsandals, left\nhat, right\nscarf, right",
    each: "1",
    all: "",
    policy: "OMM",
    direction: "maximize",
    answers: "clicks",
    window: "3600",
    missing: "",
  },
  quotas: {
    name: "newsletter",
    title: "Newsletter",
    rule: "partition",
    items: "election, politics\nbudget, politics\ncup final, sport\nmarathon, sport\nnew museum, culture\nopera, culture",
    each: "2",
    all: "4",
    policy: "OMM",
    direction: "maximize",
    answers: "clicks",
    window: "86400",
    missing: "",
  },
  brands: {
    name: "shop",
    title: "Shop",
    rule: "quotas",
    items: "boots, shoes, north\nsandals, shoes, south\nclogs, shoes, north\nfedora, hats, south\nberet, hats, north\ncap, hats, west",
    each: "section 2, brand 1",
    all: "4",
    policy: "ThompsonSampling",
    direction: "maximize",
    answers: "clicks",
    window: "3600",
    missing: "",
  },
  budget: {
    name: "prompt",
    title: "Passages of a prompt",
    rule: "knapsack",
    items: "introduction, 300\nquestions, 500\ntable, 600\nquotation, 200",
    each: "",
    all: "1000",
    policy: "ThompsonSampling",
    direction: "maximize",
    answers: "all",
    window: "600",
    missing: "",
  },
  top: {
    name: "top-three",
    title: "Top three",
    rule: "uniform",
    items: "a\nb\nc\nd\ne\nf",
    each: "",
    all: "3",
    policy: "ThompsonSampling",
    direction: "maximize",
    answers: "all",
    window: "600",
    missing: "",
  },
  tree: {
    name: "network",
    title: "Network of small latency",
    rule: "graphic",
    items: "a, b\nb, c\na, c\nc, d",
    each: "",
    all: "",
    policy: "OMM",
    direction: "minimize",
    answers: "all",
    window: "",
    missing: "",
  },
};

const FIELDS = ["name", "title", "rule", "items", "each", "all", "policy", "direction", "answers", "window", "missing"];
const field = (name) => byId(`new-${name}`);
const text = (name) => field(name).value.trim();

/** Lines of the list of items, each cut at its last commas into `parts`. */
function lines(parts) {
  const found = field("items")
    .value.split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  if (!found.length) throw new Error("Expected items, one per line, got none.");
  if (parts === 1) return found;
  return found.map((line, k) => {
    const cells = line.split(",").map((cell) => cell.trim());
    const names = [cells.slice(0, 1 - parts).join(", "), ...cells.slice(1 - parts)];
    if (cells.length < parts || names.some((name) => !name))
      throw new Error(`Expected ${WORDS[parts]} in line ${k + 1}, got “${line}”.`);
    return names;
  });
}

const WORDS = { 2: "two names with a comma between them", 3: "three names with commas between them" };

/** The two kinds of categories and the most items of each, such as "section 2, brand 1". */
function kinds() {
  const found = text("each")
    .split(",")
    .map((part) => /^(.+?)\s+(\d+)$/.exec(part.trim()));
  if (found.length !== 2 || found.some((match) => !match))
    throw new Error(`Expected two kinds with a number each, such as “section 2, brand 1”; got “${text("each")}”.`);
  return found.map(([, name, most]) => [name, Number(most)]);
}

function number(name, words) {
  return numberOf(text(name), words);
}

function numberOf(given, words) {
  const value = Number(given.replace(",", "."));
  if (!given || !Number.isFinite(value)) throw new Error(`Expected a number ${words}, got “${given}”.`);
  return value;
}

function matroid() {
  const rule = text("rule");
  if (rule === "uniform") return { kind: "uniform", rows: lines(1), rank: number("all", "of items in all") };
  if (rule === "graphic") return { kind: "graphic", rows: lines(2).map(([source, target]) => ({ source, target })) };
  if (rule === "quotas") {
    const most = kinds();
    const named = lines(3).map(([item, ...own]) => ({ item, ...Object.fromEntries(most.map(([name], k) => [name, own[k]])) }));
    const quotas = { kind: "quotas", most: Object.fromEntries(most), rows: named };
    return text("all") ? { ...quotas, total: number("all", "of items in all") } : quotas;
  }
  if (rule === "knapsack") {
    const priced = lines(2).map(([item, cost]) => ({ item, cost: numberOf(cost, `for the cost of ${item}`) }));
    const within = { kind: "knapsack", budget: number("all", "for the budget"), rows: priced };
    return text("each") ? { ...within, at_most: number("each", "of items of a set") } : within;
  }
  const rows = lines(2).map(([item, category]) => ({ item, category }));
  const quotas = { kind: "partition", category: "category", capacity: number("each", "of items per category"), rows };
  return text("all") ? { kind: "truncate", rank: number("all", "of items in all"), of: quotas } : quotas;
}

/** The spec that the form describes. */
function specOf() {
  if (!text("name")) throw new Error("Expected a name, got none.");
  return {
    name: text("name"),
    title: text("title"),
    matroid: matroid(),
    policy: text("policy") === "PositionBias" ? { policy: "PositionBias", base: { policy: "OMM" } } : text("policy"),
    direction: text("direction"),
    answers: text("answers"),
    answer_window: text("window") ? number("window", "of seconds") : null,
    default: text("answers") === "all" && text("missing") ? number("missing", "for the weight of what is not answered") : null,
  };
}

/** Show the fields that a rule and the answers need, and say what a line of the list is. */
function showRule() {
  const rule = text("rule");
  byId("new-each-box").hidden = rule === "uniform" || rule === "graphic";
  field("each").inputMode = rule === "quotas" ? "text" : "numeric";
  byId("new-all-box").hidden = rule === "graphic";
  byId("new-missing-box").hidden = text("answers") !== "all";
  byId("new-each-label").textContent =
    { quotas: "Most of each, such as section 2, brand 1", knapsack: "Items in all (optional)" }[rule] ?? "Items per category";
  byId("new-all-label").textContent = { uniform: "Items in a set", knapsack: "Budget" }[rule] ?? "Items in all (optional)";
  byId("new-items-label").textContent = {
    uniform: "Items, one per line",
    partition: "Items, one per line: item, category",
    quotas: "Items, one per line: item, first category, second category",
    knapsack: "Items, one per line: item, whole cost",
    graphic: "Edges, one per line: from, to",
  }[rule];
}

export function setUpCreate() {
  const dialog = byId("create");
  if (!dialog) return;
  const [form, json, spec, problem] = ["new-form", "new-json", "spec", "create-problem"].map(byId);
  let way = "form";
  const press = segments(
    byId("new-way"),
    [
      ["form", "Form"],
      ["json", "JSON"],
    ],
    (value) => {
      if (value === "json" && way === "form") {
        try {
          spec.value = JSON.stringify(specOf(), null, 2);
        } catch {
          // what the form lacks is said when it is sent
        }
      }
      show(value);
    },
  );
  const show = (value) => {
    way = value;
    press(value);
    form.hidden = value !== "form";
    json.hidden = value !== "json";
    showProblem(problem, null);
  };
  byId("new").addEventListener("click", () => {
    show("form");
    dialog.showModal();
    field("name").focus();
  });
  byId("create-cancel").addEventListener("click", () => dialog.close());
  for (const name of ["rule", "answers"]) field(name).addEventListener("change", showRule);
  showRule();
  for (const button of dialog.querySelectorAll("[data-example]")) {
    button.addEventListener("click", () => {
      for (const name of FIELDS) field(name).value = EXAMPLES[button.dataset.example][name];
      showRule();
      if (way === "json") spec.value = JSON.stringify(specOf(), null, 2);
      showProblem(problem, null);
    });
  }
  dialog.querySelector("form").addEventListener("submit", (event) => event.preventDefault()); // Enter creates nothing
  byId("create-send").addEventListener("click", async (event) => {
    const button = event.currentTarget;
    button.disabled = true;
    try {
      const body = way === "json" ? checked(spec.value) : specOf();
      const made = await send("/v1/campaigns", body);
      location.assign(`${root}/campaigns/${encodeURIComponent(made.name)}`);
    } catch (error) {
      showProblem(problem, error);
    } finally {
      button.disabled = false;
    }
  });
}

function checked(value) {
  try {
    JSON.parse(value);
  } catch (error) {
    throw new Error(value.trim() ? `The spec is not JSON: ${error.message}` : "Expected a spec, got nothing.");
  }
  return value;
}
