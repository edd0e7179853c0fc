/* The order of search results: names that are the query, tutorials, pages, names that begin with it, all others. */
var Scorer = {
  score: ([docname, title, anchor, descr, score, filename, kind]) => {
    const query = (new URLSearchParams(location.search).get("q") || "").trim().toLowerCase();
    if (kind !== "object") {
      if (docname.startsWith("api/") || docname === "changelog") return score;
      return score + (docname.startsWith("tutorial-") || docname === "names" ? 5 : 3);
    }
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
