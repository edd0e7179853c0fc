"""The worked example of the live learner does what its page says."""

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
