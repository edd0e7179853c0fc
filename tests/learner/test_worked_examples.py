"""The worked examples of the live learner do what their pages say."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.long
@pytest.mark.compiled
def test_the_news_page_learns_with_late_clicks():
    report = runpy.run_path(str(EXAMPLES / "news_page.py"))["main"](n_hours=6)
    assert report["articles shown"] == report["articles"] == 30 + 3 * 5
    assert report["share of the best page, last hour"] > 0.9
    assert 0.02 < report["newcomers' share of slots"] < 0.4  # three of thirty articles are an hour old or less
    assert report["decisions waiting"] <= 1_000
    page = report["learner"].best_basis().labels
    assert len(page) == 6
    topics = [label.split("-")[0] for label in page]
    assert max(topics.count(topic) for topic in topics) <= 2


@pytest.mark.compiled
def test_the_network_routes_around_dead_links_and_says_why():
    learner, _latency, excess = runpy.run_path(str(EXAMPLES / "network.py"))["main"](n_rounds=1_000)
    assert learner.constraint.n_vertices == 200
    assert excess[-100:].mean() < 0.01 < excess[:100].mean()
    tree = learner.ask()
    assert tree.items.size == 199
    out = next(label for label in learner.constraint.labels if label not in set(tree.labels))
    sentence = str(learner.explain(out))
    assert sentence.startswith(f"{out[0]}-{out[1]} is out: it could only replace n")
    assert " which leads by " in sentence
    down = learner.ask(exclude=[tree.labels[0]])
    assert tree.labels[0] not in down.labels
    assert "not available" in str(learner.explain(tree.labels[0], decision=down))
