// The page of one campaign: what it chooses now, what it believes, and what happened, as it happens.

import { campaignPath, get, query, send } from "./api.js";
import { Chart, historyTable } from "./chart.js";
import { byId, confirmed, h, segments, setText, showProblem } from "./dom.js";
import { Explanations, indexed } from "./explain.js";
import { count, counted, labelKey, labelText, weight } from "./format.js";
import { domainOf, intervalBar, ItemTable, rowsOf } from "./items.js";
import { follow, paced, showState } from "./live.js";
import { factsOf, isClicks, markRows, noticeOf, showNumbers, sizeFacts, STATUS_WORDS, waitingRows } from "./overview.js";
import { Trial } from "./trial.js";
import { SureCard } from "./sure.js";
import { UpliftCard } from "./uplift.js";

const name = document.body.dataset.campaign;
const role = document.body.dataset.role;
const mayDecide = role === "decide" || role === "admin";
const mayChange = role === "admin";

const RANGES = [
  ["1", "15 min", 900],
  ["60", "1 day", 86400],
  ["3600", "100 days", 8640000],
  ["86400", "All", Infinity],
];

const FEW_CHOSEN = 8; // items of a set that are listed at first
const MOST_CHOSEN = 1000;

// Estimates of many items come in pages; then only those of the items in sight are asked for again, and all now and then.
const MANY_ITEMS = 2000;
const PAGE = 5000;
const ALL_EVERY = 30_000;
const SIZES_EVERY = 60_000;

let campaign = null;
let rows = [];
let recent = 0; // decisions that shares are of
let allAt = -Infinity; // when all estimates were read last
let isWhole = false; // whether the whole set is listed
let byLabel = new Map();
let domain = [0, 1];
let nextSet = null; // what the next ask would choose
let bestSet = null;
let whichSet = "next";
let resolution = 1;
let histories = new Map(); // by resolution: buckets by their time
let marks = [];
let ended = null; // how many decisions expired, and how many were settled
let clockSkew = 0; // the server's clock less ours, in seconds
let waitingList = null;
let sizes = null;
let isComplete = true; // whether sums over time are of all that happened

const now = () => Date.now() / 1000 + clockSkew;
const isPresent = (label) => byLabel.has(labelKey(label));

// --- the campaign and its numbers

function showCampaign() {
  setText(byId("title"), campaign.title || campaign.name);
  document.title = `${campaign.title || campaign.name} · matroid-bandits`;
  const status = byId("status");
  status.className = `badge ${campaign.status}`;
  setText(status, STATUS_WORDS[campaign.status] ?? campaign.status);
  const about = byId("about");
  about.hidden = !campaign.about;
  setText(about, campaign.about || "");
  byId("facts").replaceChildren(
    ...[...factsOf(campaign), ...sizeFacts(sizes)].map(([term, text]) => h("div", {}, h("dt", {}, term), h("dd", {}, text))),
  );
}

function showActions() {
  if (!mayChange || !campaign) return;
  const act = (verb, text, kind = "") =>
    h("button", { type: "button", class: kind, onclick: (event) => change(event.currentTarget, verb) }, text);
  const buttons =
    {
      active: [act("pause", "Pause"), act("archive", "Archive")],
      paused: [act("resume", "Resume", "primary"), act("archive", "Archive")],
      stopped: [act("archive", "Archive")],
      archived: [],
    }[campaign.status] ?? [];
  byId("actions").replaceChildren(...buttons);
}

const QUESTIONS = {
  pause: ["Pause", "Every request for a set is refused until it is resumed. Answers are still taken."],
  archive: ["Archive", "It takes no more requests and no more answers, and this cannot be undone. It can still be read."],
};

async function change(button, verb) {
  const [action, words] = QUESTIONS[verb] ?? [];
  if (action && !(await confirmed(byId("confirm"), `${action} ${campaign.title || name}?`, words, action))) return;
  button.disabled = true;
  try {
    campaign = { ...campaign, ...(await send(campaignPath(name, `/${verb}`))) };
    showProblem(byId("problem"), null);
    showCampaign();
    showActions();
    showNotices();
    refresh();
  } catch (error) {
    showProblem(byId("problem"), error);
    button.disabled = false;
  }
}

/** What an operator must know about the state, in words. */
function showNotices() {
  const words = noticeOf(campaign);
  byId("problem").replaceChildren(
    ...(words ? [h("p", { class: `notice ${campaign.status === "stopped" ? "bad" : "calm"}` }, words)] : []),
  );
}

function showTiles() {
  if (!campaign) return;
  const seconds = Array.from(histories.get(1)?.values() ?? []);
  showNumbers(byId("tiles"), {
    campaign,
    seconds,
    bestSet,
    oldest: waitingList?.decisions[0],
    ended,
    marks,
    now: now(),
  });
}

// --- the set chosen now

function showSet() {
  const place = byId("set");
  const set = whichSet === "next" ? nextSet : bestSet;
  if (!set) return;
  if (set.problem) return void place.replaceChildren(h("p", { class: "empty" }, set.problem));
  const focused = document.activeElement?.closest?.("#set li")?.dataset.key;
  const most = isWhole ? MOST_CHOSEN : FEW_CHOSEN;
  const list = h(
    "ul",
    { class: "set" },
    set.items.slice(0, most).map((label) => {
      const row = byLabel.get(labelKey(label));
      const bar = intervalBar();
      if (row) bar.move(row, domain);
      return h(
        "li",
        { "data-key": labelKey(label) },
        h(
          "button",
          { type: "button", class: "link", title: "Why is it in?", onclick: () => explanations.show(label) },
          labelText(label),
        ),
        h("span", { class: "number" }, row ? weight(row.mean) : ""),
        bar.element,
      );
    }),
  );
  const notes = [];
  if (!set.items.length) notes.push("The set is empty: no item can be chosen.");
  if (isWhole && set.items.length > MOST_CHOSEN)
    notes.push(`and ${count(set.items.length - MOST_CHOSEN)} more; filter the items by “Chosen now” to see all.`);
  if (whichSet === "next" && set.held_out) notes.push("The next set is drawn at random, for later evaluation.");
  const intro =
    whichSet === "next" ? "What the next ask would choose:" : "The best set by means alone, without exploring:";
  place.replaceChildren(
    h("p", { class: "soft" }, intro),
    list,
    ...(set.items.length > FEW_CHOSEN ? [moreButton(set.items.length)] : []),
    ...notes.map((note) => h("p", { class: "soft" }, note)),
  );
  if (focused)
    Array.from(place.querySelectorAll("li"))
      .find((item) => item.dataset.key === focused)
      ?.firstChild.focus({ preventScroll: true });
}

/** Whether the whole set is listed, or its first items and how many more there are. */
function moreButton(n) {
  const toggle = () => {
    isWhole = !isWhole;
    showSet();
    byId("set").querySelector("button.more-items").focus({ preventScroll: true });
  };
  const words = isWhole ? `Show the first ${FEW_CHOSEN}` : `Show all ${count(n)}`;
  return h("button", { type: "button", class: "quiet more-items", "aria-expanded": String(isWhole), onclick: toggle }, words);
}

async function loadSets() {
  const read = async (task) => {
    try {
      return await task;
    } catch (error) {
      return { items: [], value: null, problem: error.message };
    }
  };
  [nextSet, bestSet] = await Promise.all([
    read(query(campaignPath(name, "/preview"))),
    read(get(campaignPath(name, "/best"))),
  ]);
}

// --- items

function showCategories() {
  const select = byId("items-category");
  const { categories } = campaign;
  select.hidden = !categories.length;
  const wanted = JSON.stringify(categories);
  if (select.dataset.shown === wanted) return;
  select.dataset.shown = wanted;
  select.replaceChildren(
    h("option", { value: "" }, "All categories"),
    ...categories.map(({ name: category, most }, code) =>
      h("option", { value: code }, `${labelText(category)} (at most ${count(most)})`),
    ),
  );
  table?.within(null);
}

async function loadItems() {
  const isDue = performance.now() - allAt > (rows.length > MANY_ITEMS ? ALL_EVERY : 0);
  if (isDue || !(await loadSomeItems())) await loadAllItems();
  byLabel = indexed(rows);
  domain = domainOf(rows);
}

async function loadAllItems() {
  const found = [];
  let n = 1;
  while (found.length < n) {
    const page = await get(campaignPath(name, `/estimates?offset=${found.length}&limit=${PAGE}`));
    found.push(...rowsOf(page, campaign.categories));
    n = page.labels.length ? page.n_items : 0; // where items have left meanwhile, the page ends early
    recent = page.recent;
  }
  rows = found;
  allAt = performance.now();
}

/** Read the estimates of the items in sight; whether that was possible, since items may have changed. */
async function loadSomeItems() {
  const seen = new Map((table?.inSight ?? []).map((row) => [row.key, row.label]));
  for (const set of [nextSet, bestSet])
    for (const label of set?.items.slice(0, FEW_CHOSEN) ?? []) seen.set(labelKey(label), label);
  let part;
  try {
    part = await query(campaignPath(name, "/estimates"), { items: Array.from(seen.values()) });
  } catch (error) {
    if (error.status === 422) return false;
    throw error;
  }
  if (part.n_items !== rows.length) return false;
  recent = part.recent;
  for (const row of rowsOf(part, campaign.categories)) {
    if (rows[row.item].key !== row.key) return false;
    rows[row.item] = row;
  }
  rows = rows.slice();
  return true;
}

const refreshBeliefs = paced(
  () =>
    guarded(async () => {
      await Promise.all([loadItems(), loadSets()]);
      showSet();
      const chosen = whichSet === "next" ? nextSet : bestSet;
      table?.show(rows, new Set(chosen.items.map(labelKey)), recent);
      showTiles();
    }),
  () => (rows.length > 2000 ? 3000 : 900),
);

// --- time

const chart = new Chart(byId("chart"));

function shownHistory(width) {
  const buckets = Array.from(histories.get(width)?.values() ?? []).sort((a, b) => a.at - b.at);
  const span = RANGES.find(([value]) => Number(value) === width)[2];
  const to = now();
  const from = Math.min(Math.max(to - span, campaign?.created ?? to - 60), to - 1); // no earlier than the campaign
  // A second that is not over yet would look like a dip.
  const isShown = (bucket) => bucket.at + width > from && (width > 1 || bucket.at + width <= to);
  return { from, to, resolution: width, buckets: buckets.filter(isShown), marks, isClicks: isClicks(campaign) };
}

async function loadHistory(width) {
  const known = histories.get(width) ?? new Map();
  const last = known.size ? Math.max(...known.keys()) : 0;
  const history = await get(campaignPath(name, `/history?resolution=${width}&after=${Math.max(0, last - width)}`));
  for (const bucket of history.buckets) known.set(bucket.at, bucket);
  for (const at of known.keys()) if (width === 1 && at < history.now - 900) known.delete(at);
  histories.set(width, known);
  const seen = new Set(marks.map((mark) => `${mark.seq} ${mark.kind}`));
  const fresh = history.marks.filter((mark) => !seen.has(`${mark.seq} ${mark.kind}`));
  if (marks.length && fresh.some((mark) => mark.kind === "changed")) {
    allAt = -Infinity; // other items
    guarded(loadCampaign);
  }
  marks = marks.concat(fresh).sort((a, b) => a.seq - b.seq);
  ended = { expired: history.expired, settled: history.settled };
  isComplete = history.complete !== false;
  clockSkew = history.now - Date.now() / 1000;
}

function showHistory() {
  const data = shownHistory(resolution);
  chart.show(data);
  byId("chart-note").hidden = isComplete;
  const place = byId("chart-table");
  if (byId("table-box").open && !place.matches(":hover") && !place.contains(document.activeElement))
    place.replaceChildren(historyTable(data));
  setText(byId("marks-count"), count(marks.length));
  if (byId("marks-box").open) showMarks();
}

function showMarks() {
  byId("marks").replaceChildren(...markRows(marks));
  const place = byId("acknowledge");
  if (!mayChange || !campaign.alarms || campaign.status === "archived") return place.replaceChildren();
  const acknowledge = async (event) => {
    event.currentTarget.disabled = true;
    try {
      const { alarms } = await send(campaignPath(name, "/acknowledge"));
      campaign = { ...campaign, alarms: alarms.length };
      showProblem(byId("problem"), null);
      showTiles();
      showMarks();
      refresh();
    } catch (error) {
      showProblem(byId("problem"), error);
    }
  };
  const words = `Acknowledge ${counted(campaign.alarms, "alarm")}`;
  if (place.textContent !== words)
    place.replaceChildren(h("button", { type: "button", onclick: acknowledge }, words));
}

const refreshTime = paced(
  () =>
    guarded(async () => {
      await Promise.all(Array.from(new Set([1, resolution]), loadHistory));
      showHistory();
      showTiles();
    }),
  () => 900,
);

// --- the learner against its control

const upliftCard = new UpliftCard(byId("uplift"));

const refreshUplift = paced(
  () =>
    guarded(async () => {
      const uplift = await get(campaignPath(name, "/uplift"));
      byId("uplift-box").hidden = !campaign?.holdout && !uplift.sequence;
      upliftCard.show(uplift);
    }),
  () => 3000,
);

// --- how sure the best set is

const sureCard = new SureCard(byId("sure"));

const refreshSure = paced(
  () =>
    guarded(async () => {
      sureCard.show(await get(campaignPath(name, "/confidence")));
    }),
  () => 3000,
);

// --- decisions that wait

async function loadWaiting() {
  waitingList = await get(campaignPath(name, "/waiting?limit=50"));
}

function showWaiting() {
  const { waiting, decisions } = waitingList;
  const isSome = waiting > decisions.length;
  setText(byId("waiting-count"), isSome ? `${count(waiting)}, the oldest first` : waiting ? count(waiting) : "");
  const place = byId("waiting");
  if (place.contains(document.activeElement) || place.matches(":hover")) return; // nothing moves under a finger
  const mayAnswer = mayDecide && campaign.status !== "archived";
  const empty = campaign.decisions ? "No pending decisions." : "No decisions yet.";
  place.replaceChildren(
    decisions.length
      ? waitingRows(
          decisions,
          now(),
          mayAnswer ? (decision) => trial.answer(decision) : null,
          (label, request) => explanations.show(label, request),
          isClicks(campaign) ? "settles" : "expires",
        )
      : h("p", { class: "empty" }, empty),
  );
}

const refreshWaiting = paced(
  () =>
    guarded(async () => {
      await loadWaiting();
      showWaiting();
      showTiles();
    }),
  () => 1500,
);

// --- all together

let isLost = false;

/** Run a task; what goes wrong on the way to the server is said once, and taken back when it works again. */
async function guarded(task) {
  try {
    await task();
    if (isLost) showNotices();
    isLost = false;
  } catch (error) {
    if (!("status" in error)) throw error;
    isLost = true;
    showProblem(byId("problem"), error);
  }
}

function refresh() {
  refreshBeliefs();
  refreshTime();
  refreshWaiting();
  refreshUplift();
  refreshSure();
}

async function loadSizes() {
  sizes = await get(campaignPath(name, "/sizes"));
  showCampaign();
}

async function loadCampaign() {
  campaign = await get(campaignPath(name, "?constraint=false"));
  showCategories();
  showCampaign();
  showActions();
  showNotices();
  showTiles();
}

const explanations = new Explanations(byId("drawer"), {
  name,
  find: (label) => (isPresent(label) ? { row: byLabel.get(labelKey(label)), domain } : null),
  pin: (row) => {
    trial.pinned.add(row);
    trial.pinned.input.focus();
  },
  exclude: (row) => {
    trial.exclude.add(row);
    trial.exclude.input.focus();
  },
});
const trial = new Trial(byId("trial"), {
  name,
  mayDecide,
  rows: () => rows,
  kind: () => campaign?.answers,
  explain: (label, request) => explanations.show(label, request),
  changed: refresh,
});
let table = null;

const press = segments(byId("ranges"), RANGES, async (value) => {
  resolution = Number(value);
  refreshTime();
  await guarded(() => loadHistory(resolution));
  showHistory();
});
segments(
  byId("sets"),
  [
    ["next", "Next"],
    ["best", "Best"],
  ],
  (value) => {
    whichSet = value;
    showSet();
    refreshBeliefs();
  },
)("next");
byId("items-search").addEventListener("input", (event) => table?.find(event.target.value));
byId("items-category").addEventListener("change", ({ target: { value } }) =>
  table?.within(value === "" ? null : Number(value)),
);
byId("items-filter").addEventListener("change", (event) => table?.only(event.target.value));
byId("marks-box").addEventListener("toggle", showMarks);
byId("table-box").addEventListener("toggle", showHistory);

async function start() {
  showState("waiting");
  try {
    await loadCampaign();
  } catch (error) {
    showProblem(byId("problem"), error);
    if (error.status === 404 || error.status === 403) return showState("idle");
    return setTimeout(start, 3000);
  }
  table = new ItemTable(byId("items"), {
    minimize: campaign.minimize,
    explain: (row) => explanations.show(row.label),
    say: (text) => setText(byId("items-count"), text),
  });
  const age = Date.now() / 1000 - campaign.created;
  resolution = age < 1800 ? 1 : age < 2 * 86400 ? 60 : age < 150 * 86400 ? 3600 : 86400;
  press(resolution);
  refresh();
  guarded(loadSizes);
  setInterval(() => document.hidden || guarded(loadSizes), SIZES_EVERY);
  follow(campaignPath(name, "/stream?only=summary"), {
    open: () => guarded(loadCampaign).then(refresh),
    lost: () => guarded(loadCampaign), // says what is wrong, or leads to the login
    summary: (summary) => {
      const before = campaign;
      campaign = { ...campaign, ...summary };
      if (before.status !== campaign.status) {
        showCampaign();
        showActions();
        showNotices();
      }
      showTiles();
      if (before.seq !== campaign.seq) refresh();
    },
  });
  setInterval(() => {
    if (document.hidden) return;
    showHistory(); // time goes on where nothing happens, too
    showTiles();
    if (waitingList?.decisions.length) showWaiting();
  }, 2000);
}

start();
