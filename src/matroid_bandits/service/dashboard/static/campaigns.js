// The list of campaigns with their numbers, and a new campaign from a pasted spec.

import { campaignPath, get, root } from "./api.js";
import { setUpCreate } from "./create.js";
import { byId, h, s, setText, showProblem } from "./dom.js";
import { count, counted, moment, rate, weight } from "./format.js";
import { showState } from "./live.js";
import { STATUS_WORDS } from "./overview.js";

const PAUSE = 2000;

const ORDER = ["stopped", "active", "paused", "archived"]; // what needs a look comes first

let campaigns = [];
let before = null; // the numbers of the last look, and when it was
let rates = new Map();
const cards = new Map();
const sparks = new Map();

function card(name) {
  const parts = {
    title: h("a", { class: "name", href: `${root}/campaigns/${encodeURIComponent(name)}` }),
    alarms: h("span", { class: "badge stopped", hidden: true }),
    status: h("span", { class: "badge" }),
    note: h("p", { class: "soft" }),
  };
  const figure = (term) => {
    const value = h("dd", {});
    return { value, element: h("div", {}, h("dt", {}, term), value) };
  };
  const [decisions, speed, waiting, average] = ["Decisions", "Now", "Waiting", "Average, last 5 minutes"].map(figure);
  Object.assign(parts, {
    decisions: decisions.value,
    speed: speed.value,
    waiting: waiting.value,
    average: average.value,
  });
  parts.spark = s("svg", {
    class: "spark",
    viewBox: "0 0 120 32",
    "aria-hidden": "true",
    preserveAspectRatio: "none",
  });
  parts.element = h(
    "li",
    { class: "card" },
    h("div", { class: "cardhead" }, h("h2", {}, parts.title), h("span", { class: "badges" }, parts.alarms, parts.status)),
    parts.note,
    h("dl", { class: "numbers" }, decisions.element, speed.element, waiting.element, average.element),
    parts.spark,
  );
  return parts;
}

function show() {
  const text = byId("search").value.trim().toLowerCase();
  const fits = campaigns.filter(
    (one) =>
      (byId("archived").checked || one.status !== "archived") &&
      `${one.name} ${one.title ?? ""}`.toLowerCase().includes(text),
  );
  const place = (one) => (one.alarms && one.status !== "archived" ? 0 : ORDER.indexOf(one.status));
  fits.sort((a, b) => place(a) - place(b) || b.created - a.created);
  const wanted = fits.map((one) => {
    if (!cards.has(one.name)) cards.set(one.name, card(one.name));
    const parts = cards.get(one.name);
    setText(parts.title, one.title || one.name);
    parts.alarms.hidden = !one.alarms;
    setText(parts.alarms, counted(one.alarms, "alarm"));
    parts.status.className = `badge ${one.status}`;
    setText(parts.status, STATUS_WORDS[one.status] ?? one.status);
    const note = one.reason || (one.title && one.title !== one.name ? one.name : `since ${moment(one.created)}`);
    const reading = one.loading === null ? null : `The server reads its log: ${Math.floor(100 * one.loading)}%`;
    setText(parts.note, reading ?? (one.compiling ? `Compiling, ${one.compiling}; answers are slower meanwhile` : note));
    setText(parts.decisions, count(one.decisions));
    setText(
      parts.speed,
      one.decisions ? (rates.has(one.name) ? rate(rates.get(one.name)) : "…") : "no decisions yet",
    );
    setText(parts.waiting, count(one.waiting));
    setText(parts.average, parts.averaged ?? "–");
    return parts.element;
  });
  const list = byId("campaigns");
  const isSame = wanted.length === list.children.length && wanted.every((element, k) => element === list.children[k]);
  if (!isSame) list.replaceChildren(...wanted);
  list.removeAttribute("aria-busy");
  const hidden = campaigns.length - fits.length;
  setText(
    byId("count"),
    campaigns.length ? counted(fits.length, "campaign") + (hidden ? `, ${count(hidden)} hidden` : "") : "",
  );
  const empty = byId("empty");
  empty.hidden = fits.length > 0;
  setText(
    empty,
    campaigns.length
      ? "No campaign fits."
      : byId("new")
        ? "No campaigns yet. Create one here, or start the server with --demo."
        : "No campaigns yet.",
  );
}

/** Averages of the last minutes as a small line, asked for a few campaigns at a time. */
async function loadSpark({ name, created }) {
  const width = Date.now() / 1000 - created < 1800 ? 1 : 60;
  const { buckets, now } = await get(campaignPath(name, `/history?resolution=${width}&after=0`));
  const recent = buckets.filter((bucket) => bucket.mean !== null && bucket.at > now - 120 * width);
  const parts = cards.get(name);
  const last = recent.filter((bucket) => bucket.at > now - 300);
  const learnt = last.reduce((sum, bucket) => sum + bucket.learnt, 0);
  parts.averaged = learnt ? weight(last.reduce((sum, bucket) => sum + bucket.weight, 0) / learnt) : "–";
  setText(parts.average, parts.averaged);
  if (recent.length < 2) return parts.spark.replaceChildren();
  const means = recent.map((bucket) => bucket.mean);
  const [low, high] = [Math.min(...means), Math.max(...means)];
  const [from, to] = [recent[0].at, recent.at(-1).at];
  const points = recent.map(
    (bucket) =>
      `${((120 * (bucket.at - from)) / (to - from)).toFixed(1)},${(29 - (26 * (bucket.mean - low)) / (high - low || 1)).toFixed(1)}`,
  );
  parts.spark.replaceChildren(s("polyline", { points: points.join(" ") }));
}

async function look() {
  if (!document.hidden) {
    try {
      const start = Date.now() / 1000;
      ({ campaigns } = await get("/v1/campaigns"));
      if (before) {
        const seconds = start - before.at;
        rates = new Map(
          campaigns.map((one) => [
            one.name,
            Math.max(0, one.decisions - (before.decisions.get(one.name) ?? one.decisions)) / seconds,
          ]),
        );
      }
      before = { at: start, decisions: new Map(campaigns.map((one) => [one.name, one.decisions])) };
      showState("live");
      showProblem(byId("problem"), null);
      show();
      const stale = campaigns
        .filter((one) => cards.has(one.name) && one.decisions && start - (sparks.get(one.name) ?? 0) > 20)
        .slice(0, 6);
      for (const one of stale) {
        sparks.set(one.name, start);
        await loadSpark(one);
      }
    } catch (error) {
      showState("lost");
      showProblem(byId("problem"), error);
    }
  }
  setTimeout(look, PAUSE);
}

byId("search").addEventListener("input", show);
byId("archived").addEventListener("change", show);
document.addEventListener("visibilitychange", () => {
  before = null; // a rate is of the time that was watched
});
showState("waiting");
setUpCreate();
look();
