/* The order of search results: names that are the query, then pages, then names that begin with it, then all others. */
var Scorer = {
  score: ([docname, title, anchor, descr, score, filename, kind]) => {
    const query = (new URLSearchParams(location.search).get("q") || "").trim().toLowerCase();
    if (kind !== "object") return docname.startsWith("api/") || docname === "changelog" ? score : score + 3;
    const name = title.toLowerCase().split(".").pop();
    if (name === query) return score + 50;
    return name.startsWith(query) ? score - 30 : score - 60;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
