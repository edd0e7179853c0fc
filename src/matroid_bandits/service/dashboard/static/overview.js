// A campaign at a glance: its state and set-up in words, its numbers, and the decisions that wait.

import { isUrgent, KINDS } from "./chart.js";
import { h, setText } from "./dom.js";
import { bytes, count, counted, duration, labelText, moment, rate, timeZone, weight, when } from "./format.js";

export const STATUS_WORDS = { active: "Active", paused: "Paused", stopped: "Stopped", archived: "Archived" };

const MOST_LABELS = 20;

/** How a campaign was set up, as pairs of a term and what it is. */
export function factsOf(campaign) {
  const { control, control_set: set, holdout, seed } = campaign;
  return [
    ["Items", `${count(campaign.n_items)}, of which a set has at most ${count(campaign.rank)}`],
    ["Sets", `${campaign.rule} (${campaign.kind})`],
    ["Policy", policyText(campaign.policy)],
    ["Weights are", campaign.minimize ? "costs: small ones are good" : "gains: large ones are good"],
    ["Answers", answersText(campaign)],
    [controlText(control, set), holdout ? `${+(100 * holdout).toPrecision(3)}% of the requests` : "none"],
    ...(campaign.attention ? [["Attention by place", campaign.attention.map((chance) => weight(chance)).join(", ")]] : []),
    ["Seed", seed === null || seed === undefined ? "none" : String(seed)],
    ["Created", moment(campaign.created)],
    ["Times", `are in ${timeZone()}`],
    ["Name", campaign.name],
  ];
}

/** Whether the campaign is told clicks alone, so that a decision is settled when its window ends, and none expires. */
export const isClicks = (campaign) => campaign?.answers === "clicks" || campaign?.answers === "clicks-by-place";

/** What answers say of lists: the key that names where people stopped, its item in words, and where there was none. */
export const STOPS = {
  "first-click": { key: "clicked", words: "First click", none: "nothing was clicked" },
  "first-failure": { key: "failed", words: "First failure", none: "nothing failed" },
};

function answersText(campaign) {
  const { answer_window: window, default: missing } = campaign;
  const stop = STOPS[campaign.answers];
  if (stop) {
    const wait = window === null ? "waited for without an end" : `waited for ${duration(window)}`;
    return `are the ${stop.words.toLowerCase()} of a list, ${wait}; nothing is known of what is below it`;
  }
  if (isClicks(campaign))
    return `are clicks; the rest is 0 ${window === null ? "when a decision is closed" : `after ${duration(window)}`}`;
  const then = missing === null ? "forgotten" : `counted as ${weight(missing)}`;
  return window === null ? "are waited for without an end" : `are waited for ${duration(window)}; then ${then}`;
}

/** What answers held-out requests; a fixed set by its items. */
function controlText(control, set) {
  if (!control) return "Random sets";
  if (!set) return `Control: ${control.policy}`;
  const more = set.length > MOST_LABELS ? `, and ${count(set.length - MOST_LABELS)} more` : "";
  return `Control: the set ${set.slice(0, MOST_LABELS).map(labelText).join(", ")}${more}`;
}

/** How large the log is, as pairs of a term and what it is; none until that is known. */
export function sizeFacts(sizes) {
  if (!sizes) return [];
  const kept =
    sizes.first > 1 ? `${counted(sizes.events, "event")} from ${count(sizes.first)} on` : counted(sizes.events, "event");
  const archived = sizes.archives ? `, ${bytes(sizes.archive_bytes)} in ${counted(sizes.archives, "archive")}` : "";
  return [
    ["Log", `${kept}, ${bytes(sizes.event_bytes)}${archived}`],
    ["Database", `${bytes(sizes.database_bytes)} with all campaigns`],
  ];
}

/** `OMM (scale 1)`, `Restarting (base OMM (scale 1), detector CUSUM (threshold 5))` */
export function policyText(policy) {
  const { policy: called, kind, ...options } = typeof policy === "string" ? { policy } : policy;
  const given = Object.entries(options)
    .map(([option, value]) => `${option.replaceAll("_", " ")} ${valueText(value)}`)
    .join(", ");
  const name = called ?? kind;
  return name && given ? `${name} (${given})` : String(name ?? given);
}

const MOST_VALUES = 6;

/** A setting of a policy: a number, a list, or another policy. */
function valueText(value) {
  if (value === null) return "none";
  if (Array.isArray(value))
    return `[${value.slice(0, MOST_VALUES).map(valueText).join(", ")}${value.length > MOST_VALUES ? ", …" : ""}]`;
  return typeof value === "object" ? policyText(value) : String(value);
}

/** What an operator must know about the state, if anything. */
export function noticeOf({ name, status, reason }) {
  const why = reason || "its log has a decision that this server would not make again";
  return {
    stopped:
      `This campaign has stopped: ${why}. Asks are refused. ` +
      `To accept the logged decisions and resume: matroid-bandits campaign resume ${name} --trust-log`,
    paused: "Paused: asks are refused, tells are accepted.",
    archived: "Archived: it can be read, and accepts no changes.",
  }[status];
}

/** The numbers above everything else; `seconds` are the buckets of the last minutes. */
export function showNumbers(place, { campaign, seconds, bestSet, oldest, ended, marks, now }) {
  const recent = seconds.filter((bucket) => bucket.at >= now - 60);
  const sum = (list, field) => list.reduce((total, bucket) => total + bucket[field], 0);
  const span = Math.max(1, Math.min(60, now - campaign.created));
  const speed = campaign.decisions ? rate(sum(recent, "asked") / span) : "none yet";
  showNumber(place, "decisions", "Decisions", count(campaign.decisions), speed);

  const learnt = sum(recent, "learnt");
  const average = learnt ? sum(recent, "weight") / learnt : null;
  const told = counted(sum(recent, "told"), "item");
  const settled = isClicks(campaign);
  const nothing = settled ? "no decision settled in it" : "no answers in the last minute";
  const ofWhat = learnt ? `of ${counted(Math.max(1, Math.round(learnt)), "decision")}, ${told} told` : nothing;
  showNumber(place, "average", `Average${campaign.minimize ? " cost" : ""}, last minute`, weight(average), ofWhat);

  const isKnown = Boolean(bestSet) && bestSet.value !== null;
  const ofItems = isKnown ? `of ${counted(bestSet.items.length, "item")}` : "not all its items are known yet";
  showNumber(place, "best", "Best set by means", isKnown ? weight(bestSet.value) : "–", ofItems);

  const age = oldest ? `oldest since ${duration(Math.max(1, Math.round(now - oldest.asked)))}` : "";
  showNumber(
    place,
    "waiting",
    "Waiting for answers",
    count(campaign.waiting),
    campaign.waiting ? age : "nothing waits",
  );

  const window = campaign.answer_window;
  const after = window === null ? "no answer window" : `after ${duration(window)}`;
  const nEnded = ended && (settled ? ended.settled : ended.expired);
  showNumber(place, "ended", settled ? "Settled" : "Expired", ended === null ? "–" : count(nEnded), after);

  const spent = campaign.spending;
  if (spent) {
    const mean = spent.n_decisions ? spent.total / spent.n_decisions : null;
    const note = `budget ${weight(spent.per_decision)}; ${weight(spent.total)} in ${counted(spent.n_decisions, "decision")}`;
    showNumber(place, "spent", "Spent per decision", weight(mean), note);
  } else document.getElementById("tile-spent")?.remove();

  const urgent = marks.filter((mark) => isUrgent(mark.kind));
  const last = urgent.length ? `last ${when(urgent.at(-1).at)}` : "none so far";
  const alarms = showNumber(place, "alarms", "Alarms", count(campaign.alarms), last);
  alarms.classList.toggle("urgent", campaign.alarms > 0);
  place.removeAttribute("aria-busy");
}

function showNumber(place, key, term, value, note) {
  let found = document.getElementById(`tile-${key}`);
  if (!found) {
    found = h("div", { id: `tile-${key}` }, h("dt", {}), h("dd", { class: "big" }), h("dd", { class: "soft" }));
    place.append(found);
  }
  setText(found.children[0], term);
  setText(found.children[1], value);
  setText(found.children[2], note);
  return found;
}

/** Decisions that wait, each with a button where they may be answered. */
export function waitingRows(decisions, now, answer, explain, ends) {
  return h(
    "ul",
    { class: "waiting" },
    decisions.map((decision) => {
      const { decision: id, items, asked, deadline } = decision;
      const names = items
        .slice(0, 4)
        .flatMap((label, k) => [
          k ? ", " : null,
          h(
            "button",
            {
              type: "button",
              class: "link",
              title: `Why is it in decision ${id}?`,
              onclick: () => explain(label, { decision: id, as_decided: true }),
            },
            labelText(label),
          ),
        ]);
      if (items.length > 4) names.push(` and ${items.length - 4} more`);
      const seconds = deadline === null ? null : Math.round(deadline - now);
      const left = seconds === null ? "no deadline" : seconds > 0 ? `${duration(seconds)} left` : `${ends} now`;
      const about = h("span", { class: "soft" }, ` asked ${when(asked)} · ${left}`);
      const button = { type: "button", "aria-label": `Answer decision ${id}`, onclick: () => answer(decision) };
      return h(
        "li",
        {},
        h("div", {}, h("strong", {}, `#${count(id)}`), about, h("div", { class: "names" }, names)),
        answer && h("button", button, "Answer"),
      );
    }),
  );
}

/** The latest changes and alarms, newest first. */
export function markRows(marks) {
  return marks
    .slice(-100)
    .reverse()
    .map(({ at, kind, text, by }) =>
      h(
        "li",
        { class: isUrgent(kind) ? "urgent" : "" },
        h("time", { datetime: new Date(at * 1000).toISOString() }, moment(at)),
        h("strong", {}, KINDS[kind] ?? kind),
        h("span", {}, text === kind ? "" : text, by && h("span", { class: "soft" }, ` by key ${by}`)),
      ),
    );
}
