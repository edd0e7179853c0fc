"""The documentation site as `make docs` built it, read from files: links, search, and how it looks on screens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from browsing import FAINT, OVERFLOW, watched

pytestmark = [pytest.mark.browser, pytest.mark.compiled]

SAMPLED = (
    *("index", "tutorial-research", "tutorial-product", "for-a-paper", "policies", "service", "benchmarks"),
    *("gallery/index", "gallery/couriers", "names", "api/index", "api/policies"),
)


class Page(HTMLParser):
    """Where a page leads, and which places it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.places.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


@pytest.fixture
def open_page(chromium: Any, html: Path) -> Iterator[Callable[..., Any]]:
    """Open a page of the site from its file."""
    with watched(chromium, _is_file) as (new_page, _):

        def opened(name: str, **options: Any) -> Any:
            page = new_page(**options)
            page.goto((html / f"{name}.html").as_uri())
            return page

        yield opened


def _is_file(url: str) -> bool:
    return url.startswith(("file:", "data:", "about:"))


def test_every_link_leads_somewhere(html):
    pages = {path.resolve(): Page(path) for path in html.rglob("*.html")}
    assert len(pages) > 40
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https"):
                assert re.fullmatch(r"[\w.-]+\.\w+(:\d+)?|127\.0\.0\.1:\d+", parts.netloc), f"{path.name}: {link}"
            elif not parts.scheme:
                target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
                assert target.exists(), f"{path.name}: {link}"
                if parts.fragment and target.suffix == ".html":
                    assert unquote(parts.fragment) in pages[target].places, f"{path.name}: {link}"


def test_nothing_is_fetched_from_elsewhere(html):
    for path in html.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"(?:https?:)?//[^\"]*\"", text), path.name


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("CTS", {"Names in the literature", "Compare policies on your own graph"}),
        ("spanning tree", {"Compare policies on your own graph", "Names in the literature"}),
        ("compare CTS with OMM on my graph", {"Compare policies on your own graph"}),
        ("95% bands LaTeX PDF", {"Compare policies on your own graph"}),
        ("OMM", {"matroid_bandits.OMM"}),
        ("Learner", {"matroid_bandits.Learner"}),
    ],
)
def test_search_finds_pages(open_page, query, expected):
    page = open_page("index")
    page.locator("input.sidebar-search").fill(query)
    page.keyboard.press("Enter")
    page.locator("#search-results .search-summary", has_text="found").wait_for()
    first = [link.inner_text() for link in page.locator("#search-results ul.search li a").all()[:6]]
    assert expected <= set(first)


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_screens(open_page, html, width, scheme):
    page = open_page("index", width=width, color_scheme=scheme)
    is_dark = scheme == "dark"
    for name in SAMPLED:
        page.goto((html / f"{name}.html").as_uri())
        assert page.evaluate(OVERFLOW) == 0, name
        assert page.evaluate(FAINT) == [], name
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (max(map(int, re.findall(r"\d+", ground)[:3])) < 128) == is_dark, name


def test_a_stranger_finds_the_comparison_in_two_clicks(open_page):
    page = open_page("index")
    page.locator("article").get_by_role("link", name="Compare policies on your own graph").click()
    text = page.locator("article").inner_text()
    assert all(word in text for word in ("CTS", "OMM", "95%", "LaTeX", "PDF"))
