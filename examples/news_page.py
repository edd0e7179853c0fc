"""A news page: six slots, at most two per topic, articles that come by the hour, clicks that come late.

    python examples/news_page.py

Every visit asks for a page: some articles are not for this visitor's region, and the editors pin one. Clicks arrive
300 visits later; some visits are never heard of again, and their wait ends after 1,000. Every hour three articles
come and the three oldest go.
"""

from collections import Counter, deque

import numpy as np

import matroid_bandits as mb

SLOTS, PER_TOPIC, TOPICS = 6, 2, ("politics", "sports", "science", "culture", "local")
DELAY, PATIENCE, LOST = 300, 1_000, 0.05


def page_of(articles):
    """At most two articles per topic, six in all; `articles` are names such as "sports-7"."""
    return mb.PartitionMatroid({article: article.split("-")[0] for article in articles}, PER_TOPIC).truncate(SLOTS)


def main(n_hours=10, n_visits=2_000, seed=0):
    """Serve `n_visits` an hour; what was shown, and how good it was in the last hour."""
    rng = np.random.default_rng(seed)
    appeal = {}

    def write_article(number):
        name = f"{TOPICS[number % len(TOPICS)]}-{number}"
        appeal[name] = float(rng.beta(2, 12))
        return name

    articles = deque(write_article(number) for number in range(30))
    learner = mb.Learner(page_of(articles), mb.KLOSM(), seed=seed)
    on_the_way, shown = deque(), Counter()
    fresh_slots = slots = 0
    for hour in range(n_hours):
        newcomers = set()
        if hour:
            newcomers = {write_article(30 + 3 * hour + k) for k in range(3)}
            for _ in range(3):
                articles.popleft()
            articles.extend(sorted(newcomers))
            learner.change(page_of(articles))
        pinned = articles[int(rng.integers(len(articles)))]
        clicks = best = 0.0
        for _ in range(n_visits):
            abroad = [article for article in articles if article.startswith("local")] if rng.random() < 0.3 else []
            decision = learner.ask(exclude=[x for x in abroad if x != pinned], pinned=[pinned])
            shown.update(decision.labels)
            fresh_slots += sum(label in newcomers for label in decision.labels)
            slots += len(decision.labels)
            clicks += sum(appeal[label] for label in decision.labels)
            best += best_page(learner.constraint, appeal, abroad, pinned)
            if rng.random() > LOST:
                on_the_way.append((decision, {x: float(rng.random() < appeal[x]) for x in decision.labels}))
            else:
                on_the_way.append((decision, None))
            if len(on_the_way) > DELAY:
                answered, answer = on_the_way.popleft()
                if answer is not None:
                    learner.tell(answered, answer)
            learner.close_before(max(decision.id - PATIENCE, 0))
    return {
        "learner": learner,
        "share of the best page, last hour": clicks / best,
        "articles": len(appeal),
        "articles shown": len(shown),
        "newcomers' share of slots": fresh_slots / slots,
        "decisions waiting": learner.n_outstanding,
    }


def best_page(matroid, appeal, abroad, pinned, _known={}):  # noqa: B006 - remembered from visit to visit
    """The expected clicks of the best page for a request, if all appeals were known."""
    key = (matroid, bool(abroad), pinned)
    if key not in _known:
        weights = np.array([appeal[label] for label in matroid.labels])
        mask = np.array([label not in abroad for label in matroid.labels])
        items, sizes = matroid.best_sets(weights[None], available=mask, pinned=np.array([matroid.item(pinned)]))
        _known[key] = weights[items[0, : sizes[0]]].sum()
    return _known[key]


if __name__ == "__main__":
    report = main()
    for name, value in report.items():
        if name != "learner":
            print(f"{name}: {value:.3g}")
    print("best page by now:", ", ".join(report["learner"].best_basis().labels))
