"""The operator's page in a real browser, on a real server."""

from __future__ import annotations

import json
import re

import pytest

from browsing import FAINT, OVERFLOW, Site, down, sign_in, until

pytestmark = [pytest.mark.browser, pytest.mark.compiled]

INJECTED = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{7*7}}", "' onclick='alert(1)"]

# Controls without a name, as a person with a screen reader would meet them.
NAMELESS = """() => [...document.querySelectorAll('button, input, select, textarea, a')]
  .filter((e) => e.type !== 'hidden' && e.checkVisibility())
  .filter((e) => !(e.innerText?.trim() || e.getAttribute('aria-label') || e.labels?.length))
  .map((e) => e.outerHTML.slice(0, 120))"""


def tile(page, name):
    return page.locator(f"#tile-{name} .big")


def expect(found):
    """Playwright's assertions, which wait; imported late, since not everybody has it."""
    from playwright.sync_api import expect as expecting

    expecting.set_options(timeout=240_000)
    return expecting(found)


def item(page, name):
    return page.locator("table.items").get_by_role("button", name=name, exact=True)


def row(page, name):
    return page.locator("table.items tbody tr").filter(has=page.get_by_role("button", name=name, exact=True))


def test_a_campaign_is_created_asked_told_and_watched(site, visit):
    page = visit("/")
    page.get_by_role("button", name="New campaign").click()
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.locator("#create-problem")).to_have_text("Expected a name, got none.")
    page.get_by_role("button", name="JSON").click()
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.locator("#create-problem")).to_have_text("Expected a spec, got nothing.")
    spec = {
        "name": "ads",
        "title": "Ads",
        "policy": "OMM",
        "matroid": {"kind": "uniform", "rows": ["a", "b", "c"], "rank": 7},
    }
    page.get_by_label("Spec").fill(json.dumps(spec))
    visit.complaints.clear()
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.locator("#create-problem")).to_contain_text("rank")  # the server's words
    spec["matroid"]["rank"] = 2
    page.get_by_label("Spec").fill(json.dumps(spec))
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page).to_have_url(re.compile("/campaigns/ads$"))
    visit.complaints.clear()  # the browser's note of the 422 that was wanted

    expect(page.get_by_role("heading", level=1)).to_have_text("Ads")
    expect(page.locator("#waiting")).to_have_text("No decisions yet.")
    expect(page.locator("#chart .none")).to_have_text("No decisions in this time")
    page.evaluate("window.wasHereBefore = true")
    page.get_by_role("combobox", name="Pinned").fill("c")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#trial .result")).to_contain_text("The next ask would choose 2 items")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#trial .result")).to_contain_text("Decision 1 chose 2 items")
    expect(page.locator("#trial .chip")).to_contain_text(["c"])
    expect(tile(page, "decisions")).to_have_text("1")
    expect(tile(page, "waiting")).to_have_text("1")
    page.locator("#weight-0").fill("much")
    page.get_by_role("button", name="Tell").click()
    expect(page.locator("#trial form .notice")).to_contain_text("Expected a number")
    page.locator("#weight-0").fill("0.5")
    page.locator("#weight-1").fill("0.25")
    page.get_by_role("button", name="Tell").click()
    expect(page.locator("#trial .result")).to_contain_text("Decision 1 is answered: 2 items told.")
    expect(tile(page, "waiting")).to_have_text("0")

    # Others ask and tell meanwhile, and the page shows it by itself.
    site.visit("ads", lambda label: {"a": 0.0, "b": 0.5, "c": 1.0}[label], n=20)
    expect(tile(page, "decisions")).to_have_text("21")
    expect(tile(page, "best")).not_to_have_text("–")
    expect(page.locator("#chart path.mean")).to_have_attribute("d", re.compile("^M"))
    expect(row(page, "c").locator(".col-plays")).not_to_have_text("0")
    until(lambda: int(row(page, "c").locator(".col-plays").inner_text()) >= 5)
    assert page.evaluate("window.wasHereBefore")  # and was not loaded again


def test_every_example_of_a_spec_is_one(site, visit):
    for example in ("slots", "quotas", "brands", "budget", "top", "tree"):
        page = visit("/")
        page.get_by_role("button", name="New campaign").click()
        page.locator(f"[data-example={example}]").click()
        page.get_by_role("button", name="Create", exact=True).click()
        expect(page).to_have_url(re.compile("/campaigns/[a-z]"))
        expect(page.locator("#status")).to_have_text("Active")
        expect(page.locator("#set li").first).to_be_visible()


def test_two_quotas_and_a_budget_are_described_in_the_form(site, visit):
    page = visit("/")
    page.get_by_role("button", name="New campaign").click()
    page.locator("[data-example=brands]").click()
    page.get_by_label("Name", exact=True).fill("two-kinds")
    create = page.get_by_role("button", name="Create", exact=True)
    for label, wrong, words in (
        ("Most of each, such as section 2, brand 1", "2", "two kinds with a number each"),
        ("Items, one per line: item, first category, second category", "boots, shoes", "three names with commas"),
    ):
        before = page.get_by_label(label).input_value()
        page.get_by_label(label).fill(wrong)
        create.click()
        expect(page.locator("#create-problem")).to_contain_text(words)
        page.get_by_label(label).fill(before)
    create.click()
    expect(page).to_have_url(re.compile("/campaigns/two-kinds$"))
    expect(page.locator("body")).to_contain_text("at most 2 of each section, at most 1 of each brand, 4 in all")
    page = visit("/")
    page.get_by_role("button", name="New campaign").click()
    page.locator("[data-example=budget]").click()
    page.get_by_label("Name", exact=True).fill("within-a-budget")
    create = page.get_by_role("button", name="Create", exact=True)
    page.get_by_label("Budget").fill("99.5")
    visit.complaints.clear()
    create.click()
    expect(page.locator("#create-problem")).to_contain_text("budget")  # the server's words
    page.get_by_label("Budget").fill("1000")
    page.get_by_label("Items in all (optional)").fill("2")
    create.click()
    expect(page).to_have_url(re.compile("/campaigns/within-a-budget$"))
    visit.complaints.clear()  # the browser's note of the 422 that was wanted
    expect(page.locator("body")).to_contain_text("at most 2 items that cost at most 1,000")


def test_an_item_is_explained_and_pinned_from_there(site, visit):
    site.create("why", ["boots", "hats", "gloves"])
    site.visit("why", lambda label: 1.0 if label == "hats" else 0.0, n=12)
    page = visit("/campaigns/why")
    item(page, "boots").focus()
    page.keyboard.press("Enter")
    drawer = page.get_by_role("dialog", name="boots")
    expect(drawer.locator(".why")).to_contain_text("boots is out: it could only replace hats, which leads by")
    drawer.locator(".rivals").get_by_role("button", name="hats").click()
    expect(page.get_by_role("dialog", name="hats").locator(".why")).to_contain_text("hats is chosen")
    page.keyboard.press("Escape")
    expect(page.locator("#drawer")).to_be_hidden()
    item(page, "boots").click()
    drawer.get_by_role("button", name="Pin it").click()
    expect(page.locator("#trial .token")).to_contain_text("boots")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#trial .chip")).to_have_text("boots")
    page.locator("#trial .chip").click()
    expect(drawer.locator(".why")).to_contain_text("boots is pinned")


def test_a_wrong_key_is_told_so(site, visit):
    page = visit("/campaigns/anything", role=None)
    expect(page).to_have_url(re.compile("/login"))
    sign_in(page, site, "mb_0123_wrong")
    expect(page.get_by_role("alert")).to_have_text(
        "This key is not known here. It may be mistyped, or it was revoked."
    )
    assert page.context.cookies() == []
    visit.complaints.clear()  # the browser's note of the 401
    sign_in(page, site, site.keys["read"])
    expect(page.get_by_role("heading", level=1)).to_have_text("Campaigns")
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert site.keys["read"] not in cookie["value"]
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Key")).to_be_visible()
    assert page.context.cookies() == []


def test_a_key_that_reads_is_offered_nothing_else(site, visit):
    site.create("looked-at", ["a", "b"])
    page = visit("/", role="read")
    expect(page.get_by_role("link", name="looked-at")).to_be_visible()
    expect(page.get_by_role("button", name="New campaign")).to_have_count(0)
    page.get_by_role("link", name="looked-at").click()
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#trial .chip")).to_have_count(1)
    for name in ("Ask", "Pause", "Archive"):
        expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)


def test_labels_are_text_wherever_they_are_shown(site, visit):
    site.create("hostile", INJECTED, rank=2, title=INJECTED[0], about=INJECTED[1])
    for _ in range(3):  # some wait, so that they are listed
        site.send("POST", "/v1/campaigns/hostile/ask", {})
    page = visit("/")
    expect(page.get_by_role("link", name=INJECTED[0], exact=True)).to_be_visible()
    page.goto(f"{site.address}/campaigns/hostile")
    expect(page.get_by_role("heading", level=1)).to_have_text(INJECTED[0])
    for label in INJECTED:
        expect(item(page, label)).to_be_visible()
        item(page, label).click()
        expect(page.locator("#drawer .why")).to_contain_text(label)
        expect(page.locator("#drawer h2")).to_have_text(label)
        page.keyboard.press("Escape")
    page.get_by_role("combobox", name="Not these").fill("<script")
    expect(page.get_by_role("listbox").get_by_role("option")).to_have_text(INJECTED[0])
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator(".weights label")).to_have_count(2)
    expect(page.locator("#waiting .names").first).to_be_visible()
    assert page.evaluate("document.querySelectorAll('main script, main img').length") == 0


def test_pause_resume_and_archive(site, visit):
    site.create("moody", ["a", "b"])
    page = visit("/campaigns/moody")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#confirm")).to_contain_text("Every request for a set is refused until it is resumed.")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#status")).to_have_text("Active")
    page.get_by_role("button", name="Pause").click()
    page.locator("#confirm").get_by_role("button", name="Pause").click()
    expect(page.locator("#status")).to_have_text("Paused")
    expect(page.locator("#problem")).to_have_text("Paused: asks are refused, tells are accepted.")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#trial .notice")).to_contain_text("paused")
    visit.complaints.clear()  # the browser's note of the 409
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#status")).to_have_text("Active")
    site.send("POST", "/v1/campaigns/moody/pause")  # by somebody else
    expect(page.locator("#status")).to_have_text("Paused")
    page.get_by_role("button", name="Archive").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#status")).to_have_text("Paused")
    page.get_by_role("button", name="Archive").click()
    page.locator("#confirm").get_by_role("button", name="Archive").click()
    expect(page.locator("#status")).to_have_text("Archived")
    expect(page.locator("#actions button")).to_have_count(0)
    expect(page.locator("#marks-count")).to_have_text("5")  # created, paused, resumed, paused, archived
    page.get_by_text("Changes and alarms").click()
    expect(page.locator("#marks li strong")).to_have_text(["Archived", "Paused", "Resumed", "Paused", "Created"])
    page.get_by_role("link", name="Campaigns").first.click()
    expect(page.get_by_role("link", name="moody")).to_have_count(0)
    page.get_by_label("Show archived").check()
    expect(page.get_by_role("link", name="moody")).to_be_visible()


@pytest.mark.parametrize(("answers", "word"), [("all", "Expired"), ("clicks", "Settled")])
def test_decisions_that_nobody_answers_end_before_ones_eyes(site, visit, answers, word):
    name = f"forgotten-{answers}"
    site.create(name, ["a", "b"], answers=answers, answer_window=3600, default=0.0)
    page = visit(f"/campaigns/{name}")
    site.send("POST", f"/v1/campaigns/{name}/ask", {})
    expect(tile(page, "waiting")).to_have_text("1")
    expect(page.locator("#waiting li")).to_contain_text("#1")
    site.send("PUT", f"/v1/campaigns/{name}", {"answer_window": 0.1})
    expect(tile(page, "ended")).to_have_text("1")
    expect(page.locator("#tile-ended dt")).to_have_text(word)
    expect(tile(page, "waiting")).to_have_text("0")
    expect(page.locator("#waiting")).to_have_text("No pending decisions.")


def test_changes_and_alarms_are_on_the_time_line(site, visit):
    site.create("loud", ["a", "b"])
    page = visit("/campaigns/loud")
    expect(tile(page, "alarms")).to_have_text("0")
    site.visit("loud", lambda label: 1000.0 if label == "a" else 0.0, n=4)  # OMM was told that weights lie in [0, 1]
    expect(tile(page, "alarms")).to_have_text("1")
    expect(page.locator("#chart path.urgent")).to_have_count(1)
    site.send(
        "POST", "/v1/campaigns/loud/change", {"matroid": {"kind": "uniform", "rows": ["a", "c", "d"], "rank": 1}}
    )
    expect(page.locator("#facts")).to_contain_text("3, of which a set has at most 1")
    expect(item(page, "d")).to_be_visible()
    expect(page.locator("#chart circle.flag")).to_have_count(2)  # created and changed
    page.get_by_text("Changes and alarms").click()
    expect(page.locator("#marks li strong")).to_have_text(["Changed", "Alarm", "Created"])


def test_labels_of_all_kinds_can_be_asked_for(site, visit):
    import matroid_bandits as mb

    graph = mb.GraphicMatroid([(1, 2), (2, 3), (1, 3)]).to_dict()
    site.send("POST", "/v1/campaigns", {"name": "edges", "matroid": graph, "policy": "OMM"})
    page = visit("/campaigns/edges")
    item(page, "1-3").click()
    page.get_by_role("button", name="Pin it").click()
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#trial .chip")).to_contain_text(["1-3"])
    ids = mb.UniformMatroid(2, 1, labels=[2**60 + 1, 2**60 + 2]).to_dict()  # a float could not tell them apart
    site.send("POST", "/v1/campaigns", {"name": "ids", "matroid": ids, "policy": "OMM"})
    page.goto(f"{site.address}/campaigns/ids")
    for label in (2**60 + 1, 2**60 + 2):
        item(page, str(label)).click()
        expect(page.locator("#drawer .why")).to_contain_text(str(label))
        page.keyboard.press("Escape")


def test_ten_thousand_items_are_sorted_searched_and_scrolled(site, visit):
    site.create("large", [f"item {k:05d}" for k in range(10_000)], rank=3)
    site.visit("large", lambda _: 1.0, n=2)
    page = visit("/campaigns/large")
    expect(page.locator("#items-count")).to_have_text("10,000")
    rows = page.locator("table.items tbody tr:not(.space)")
    assert rows.count() < 60
    assert page.locator("table.items").get_attribute("aria-rowcount") == "10001"
    page.get_by_role("button", name="Plays", exact=True).click()
    expect(page.locator("th[aria-sort]")).to_have_text("Plays")
    expect(page.locator("th[aria-sort]")).to_have_attribute("aria-sort", "descending")
    expect(rows.first.locator(".col-plays")).to_have_text("1")
    page.get_by_role("button", name="Item", exact=True).click()
    expect(page.locator("th[aria-sort]")).to_have_attribute("aria-sort", "ascending")
    expect(rows.first).to_contain_text("item 00000")
    rows.first.get_by_role("button").focus()
    for _ in range(30):
        page.keyboard.press("ArrowDown")
    expect(item(page, "item 00030")).to_be_focused()
    page.locator(".items-box").evaluate("(box) => box.scrollTo(0, box.scrollHeight)")
    expect(item(page, "item 09999")).to_be_visible()
    assert rows.count() < 60
    page.get_by_label("Search items").fill("0123")
    expect(page.locator("#items-count")).to_have_text("11 of 10,000")
    page.get_by_label("Search items").fill("nothing of that name")
    expect(page.get_by_text("No item fits the search.")).to_be_visible()
    page.get_by_label("Search items").fill("")
    page.get_by_label("Which items").select_option("chosen")
    expect(page.locator("#items-count")).to_have_text("3 of 10,000")


def test_the_chart_is_read_with_keys_and_as_a_table(site, visit):
    site.create("timed", ["a", "b"])
    site.visit("timed", lambda _: 0.5, n=3)
    page = visit("/campaigns/timed")
    chart = page.get_by_role("slider")
    expect(chart).to_have_attribute("aria-valuetext", re.compile(r"average 0\.500; decisions \d"))
    chart.focus()
    page.keyboard.press("Home")
    expect(page.locator(".tip")).to_contain_text("average")
    page.keyboard.press("Escape")
    expect(page.locator(".tip")).to_be_hidden()
    page.get_by_text("The same as a table").click()
    expect(page.locator("#chart-table tbody tr").first).to_contain_text("0.500")
    for name in ("1 day", "100 days", "All"):
        page.get_by_role("button", name=name).click()
        expect(page.get_by_role("button", name=name)).to_have_attribute("aria-pressed", "true")
        expect(page.locator("#chart-table tbody tr")).to_have_count(1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_screen_and_weak_eyes(site, visit, scheme):
    name = f"narrow-{scheme}"
    site.create(
        name,
        ["an item with quite a long name that a phone has no room for", "b", "c"],
        answer_window=1,
        default=0.0,
        title="W" * 60,
    )
    site.visit(name, lambda _: 0.5, n=3)
    site.send("POST", f"/v1/campaigns/{name}/ask", {})
    for path in ("/login", "/", f"/campaigns/{name}", "/campaigns/nobody"):
        page = visit(path, width=360, color_scheme=scheme, role=None if path == "/login" else "admin")
        if path == f"/campaigns/{name}":
            expect(page.locator("table.items tbody .interval").first).to_be_visible()
            expect(tile(page, "ended")).to_have_text("4")
            item(page, "b").click()
            expect(page.locator("#drawer .why")).to_be_visible()
            assert page.evaluate(FAINT) == []
            assert page.locator("#drawer").bounding_box()["width"] <= 360
            page.keyboard.press("Escape")
            page.get_by_role("button", name="Ask", exact=True).click()
            expect(page.locator("#weight-0")).to_be_visible()
        elif path == "/":
            expect(page.locator("#campaigns .card").first).to_be_visible()
        assert page.evaluate(OVERFLOW) <= 0
        assert page.evaluate(NAMELESS) == []
        assert page.evaluate(FAINT) == []
        for landmark in ("main", "banner"):
            expect(page.get_by_role(landmark)).to_have_count(1)
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
    visit.complaints[:] = [text for text in visit.complaints if "404" not in text]  # the last page is not there


def test_the_theme_can_be_switched_and_stays(site, visit):
    page = visit("/", color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Theme").click()
    assert page.evaluate(ground) == light
    page.get_by_role("button", name="Theme: light").click()
    dark = page.evaluate(ground)
    assert dark != light
    page.reload()
    assert page.evaluate(ground) == dark


def test_the_page_comes_back_with_the_server(site, visit):
    site.create("lasting", ["a", "b"])
    site.visit("lasting", lambda _: 1.0)
    page = visit("/campaigns/lasting")
    expect(page.locator("#live")).to_have_text("Live")
    expect(tile(page, "decisions")).to_have_text("1")
    with down(site):
        expect(page.locator("#live")).to_have_text("Reconnecting")
    site.visit("lasting", lambda _: 1.0)
    expect(page.locator("#live")).to_have_text("Live")
    expect(tile(page, "decisions")).to_have_text("2")
    expect(page.locator("#problem")).to_be_hidden()
    visit.complaints.clear()  # the browser's notes of refused connections


TICKS = """() => {
  const frame = document.querySelector('#chart svg').getBoundingClientRect();
  const axis = document.querySelector('.axis-ends').getBoundingClientRect();
  const isCut = (box, of) => box.left < of.left - 0.5 || box.right > of.right + 0.5;
  const cut = [...document.querySelectorAll('#chart .tick')].filter((e) => isCut(e.getBoundingClientRect(), frame));
  const marks = [...document.querySelectorAll('.axis-ends span')];
  const ends = marks.filter((e) => isCut(e.getBoundingClientRect(), axis));
  return [...cut, ...ends].map((e) => e.textContent);
}"""


@pytest.mark.parametrize("scale", [1e-7, 0.25, 12345.678, -98765.4, 3e9])
def test_labels_of_axes_are_never_cut(site, visit, scale):
    name = f"scale-{abs(scale):g}".replace("+", "")
    site.create(name, ["a", "b"])
    site.visit(name, lambda label: scale * (1.0 if label == "a" else 1.37), n=6)
    for width in (1280, 360):
        page = visit(f"/campaigns/{name}", width=width)
        expect(page.locator("#chart path.mean")).to_have_attribute("d", re.compile("^M"))
        assert page.locator("#chart .tick").count() >= 3
        for value in ("15 min", "1 day", "100 days", "All"):
            page.get_by_role("button", name=value).click()
            expect(page.get_by_role("button", name=value)).to_have_attribute("aria-pressed", "true")
            assert page.evaluate(TICKS) == []
        assert page.evaluate(OVERFLOW) <= 0


def test_a_nested_policy_is_told_in_words(site, visit):
    policy = {"policy": "Restarting", "base": {"policy": "OMM", "scale": 2.0}}
    site.create("nested", ["a", "b"], policy=policy)
    page = visit("/campaigns/nested")
    expect(page.locator("#facts")).to_contain_text("Restarting (base OMM (scale 2), detector CUSUM (n first 200")
    expect(page.locator("body")).not_to_contain_text("[object")


def test_a_refused_preview_takes_the_old_result_away(site, visit):
    site.create("refused", ["a", "b", "c"], rank=2)
    page = visit("/campaigns/refused")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#trial .chip")).to_have_count(2)
    page.get_by_text("Features").click()
    page.get_by_label("A row of numbers").fill("[[1]]")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#trial .notice")).to_be_visible()
    expect(page.locator("#trial .chip")).to_have_count(0)
    expect(page.locator("#trial .result")).to_be_hidden()
    visit.complaints.clear()  # the browser's note of the 422


def test_the_whole_set_can_be_seen(site, visit):
    site.create("wide", [f"item {k}" for k in range(40)], rank=30)
    page = visit("/campaigns/wide")
    expect(page.locator("#set li")).to_have_count(8)
    page.get_by_role("button", name="Show all 30").click()
    expect(page.locator("#set li")).to_have_count(30)
    assert page.evaluate("(() => { const set = document.querySelector('#set ul'); "
                         "return set.scrollHeight <= set.clientHeight; })()")  # fmt: skip
    page.get_by_role("button", name="Show the first 8").click()
    expect(page.locator("#set li")).to_have_count(8)


def test_categories_quotas_and_shares_of_recent_decisions(site, visit):
    rows = [{"item": f"story {k}", "topic": f"topic {k % 3}"} for k in range(9)]
    quotas = {"kind": "partition", "category": "topic", "capacity": 2, "rows": rows}
    matroid = {"kind": "truncate", "rank": 5, "of": quotas}
    site.send("POST", "/v1/campaigns", {"name": "topics", "matroid": matroid, "policy": "OMM", "seed": 1})
    site.visit("topics", lambda label: 1.0 if label == "story 0" else 0.0, n=10)
    page = visit("/campaigns/topics")
    expect(page.locator("#facts")).to_contain_text("at most 2 of each of 3 categories, 5 in all")
    expect(row(page, "story 4").locator(".col-category")).to_have_text("topic 1")
    shares = page.locator("table.items tbody td.col-share")
    expect(shares.first).to_have_text(re.compile("%$"))
    total = sum(float(text.rstrip("%")) for text in shares.all_inner_texts())
    assert total == pytest.approx(500.0, abs=5.0)  # each of the last decisions has five items
    page.get_by_label("Which category").select_option(label="topic 1 (at most 2)")
    expect(page.locator("#items-count")).to_have_text("3 of 9")
    page.get_by_label("Which category").select_option(label="All categories")
    page.get_by_role("button", name="Category", exact=True).click()
    expect(page.locator("table.items tbody td.col-category").first).to_have_text("topic 0")
    site.create("plain", ["a", "b"])
    page.goto(f"{site.address}/campaigns/plain")
    expect(row(page, "a").locator(".col-share")).to_have_text("–")
    expect(page.get_by_label("Which category")).to_be_hidden()
    expect(page.get_by_role("button", name="Category", exact=True)).to_be_hidden()


def test_why_an_actual_decision_was_made_does_not_go_stale(site, visit):
    site.create("stale", ["boots", "hats"])
    page = visit("/campaigns/stale")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#trial .result")).to_contain_text("Decision 1 chose 1 item")
    chosen = page.locator("#trial .chip").inner_text()
    page.locator("#trial .chip").click()
    drawer = page.get_by_role("dialog", name=chosen)
    expect(drawer).to_contain_text("in decision 1, by what was believed then")
    words = drawer.locator(".why").inner_text()
    page.keyboard.press("Escape")
    site.visit("stale", lambda label: 0.0 if label == chosen else 1.0, n=8)  # now the other one is better
    page.locator("#trial .chip").click()
    expect(drawer.locator(".why")).to_have_text(words)
    page.keyboard.press("Escape")
    page.locator("#waiting .names").get_by_role("button", name=chosen).first.click()
    expect(drawer.locator(".why")).to_have_text(words)
    page.keyboard.press("Escape")
    item(page, chosen).click()  # the next decision is another matter
    expect(drawer).to_contain_text("for the next decision")
    expect(drawer.locator(".why")).not_to_have_text(words)


def test_alarms_are_on_the_list_and_are_acknowledged(site, visit):
    site.create("alarmed", ["a", "b"])
    site.visit("alarmed", lambda label: 1000.0 if label == "a" else 0.0, n=4)
    page = visit("/")
    card = page.locator("#campaigns .card").filter(has_text="alarmed")
    expect(card).to_contain_text("1 alarm")
    card.get_by_role("link").click()
    expect(tile(page, "alarms")).to_have_text("1")
    page.get_by_text("Changes and alarms").click()
    page.get_by_role("button", name="Acknowledge 1 alarm").click()
    expect(tile(page, "alarms")).to_have_text("0")
    expect(page.locator("#marks li strong").first).to_have_text("Acknowledged")
    key = site.keys["admin"].split("_")[1]
    expect(page.locator("#marks li").first).to_contain_text(f"by key {key}")
    page.goto(f"{site.address}/")
    expect(card.get_by_text("1 alarm")).to_be_hidden()


def test_times_have_dates_and_a_zone_and_ranges_begin_with_the_campaign(site, visit):
    site.create("dated", ["a", "b"])
    site.visit("dated", lambda _: 0.5, n=2)
    page = visit("/campaigns/dated", timezone_id="Asia/Tokyo", locale="en-GB")
    expect(page.locator("#facts")).to_contain_text("are in Asia/Tokyo (GMT+9)")
    expect(page.locator("#facts")).to_contain_text(re.compile(r"Log5 events, \d+ bytes"))
    expect(page.locator("#facts")).to_contain_text(re.compile(r"Database[\d.]+ kB with all campaigns"))
    page.get_by_text("Changes and alarms").click()
    expect(page.locator("#marks li time").first).to_have_text(re.compile(r"\d{1,2} \w+ 20\d\d, \d\d:\d\d:\d\d"))
    for name in ("15 min", "1 day", "100 days", "All"):
        page.get_by_role("button", name=name).click()
        expect(page.get_by_role("button", name=name)).to_have_attribute("aria-pressed", "true")
        # The mark of its creation is at the left end of the axis, whatever the range.
        line = page.locator("#chart line.flag").first
        grid = page.locator("#chart line.axis").last
        until(lambda line=line, grid=grid: abs(float(line.get_attribute("x1")) - float(grid.get_attribute("x1"))) < 2)


def test_many_items_are_read_again_only_where_they_are_seen(site, visit):
    site.create("many", [f"item {k:05d}" for k in range(6_000)], rank=3)
    page = visit("/")
    sizes = []
    page.on("response", lambda response: "/estimates" in response.url and sizes.append(response))
    page.goto(f"{site.address}/campaigns/many")
    expect(page.locator("#items-count")).to_have_text("6,000")
    assert [response.request.method for response in sizes] == ["GET", "GET"]  # two pages
    assert all(response.headers["content-encoding"] == "gzip" for response in sizes)
    del sizes[:]
    with page.expect_response(lambda response: "/estimates" in response.url):
        site.visit("many", lambda _: 1.0, n=3)
    expect(tile(page, "decisions")).to_have_text("3")
    assert {response.request.method for response in sizes} == {"POST"}
    assert all(len(response.json()["labels"]) < 100 for response in sizes)
    page.get_by_role("button", name="Plays", exact=True).click()
    expect(page.locator("table.items tbody td.col-plays").first).to_have_text("1")


def test_a_campaign_is_created_with_the_form(site, visit):
    page = visit("/")
    page.get_by_role("button", name="New campaign").click()
    page.locator("[data-example=quotas]").click()
    page.get_by_label("Name").fill("from-a-form")
    page.get_by_label("Items in all (optional)").fill("3")
    page.get_by_label("Items, one per line: item, category").fill("a, x\nb, x\nc")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.locator("#create-problem")).to_have_text(
        "Expected two names with a comma between them in line 3, got “c”."
    )
    page.get_by_label("Items, one per line: item, category").fill("a, x\nb, x\nc, y\nd, y")
    page.get_by_role("button", name="JSON").click()
    expect(page.get_by_label("Spec")).to_have_value(re.compile('"kind": "truncate"'))
    page.get_by_role("button", name="Form").click()
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page).to_have_url(re.compile("/campaigns/from-a-form$"))
    expect(page.locator("#facts")).to_contain_text("at most 2 of each of 2 categories, 3 in all")


def test_the_first_click_of_a_list_is_told(site, visit):
    page = visit("/")
    page.get_by_role("button", name="New campaign").click()
    page.locator("[data-example=quotas]").click()
    page.get_by_label("Name").fill("listed")
    page.get_by_label("Answers tell").select_option("first-click")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page).to_have_url(re.compile("/campaigns/listed$"))
    expect(page.locator("#facts")).to_contain_text("are the first click of a list")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#trial ol.chips .chip")).to_have_count(4)
    page.get_by_label("First click").select_option(index=2)
    page.get_by_role("button", name="Tell").click()
    expect(page.locator("#trial .result")).to_contain_text("Decision 1 is answered: 2 items told.")


def test_the_learner_against_its_control_is_the_sentence_of_the_server(site, visit):
    control = {"policy": "FixedSet", "items": ["bad"]}
    site.create("worth", ["good", "bad"], holdout={"share": 0.5, "control": control})
    site.create("nothing", ["good", "bad"])
    page = visit("/campaigns/worth")
    sentence = page.locator("#uplift .uplift-sentence")
    expect(sentence).to_have_text("Not known yet in the last 7 days: 30 more decisions of the control are missing.")
    expect(page.locator("#facts")).to_contain_text("Control: the set bad")
    for _ in range(3):
        asked = site.send("POST", "/v1/campaigns/worth/ask/batch", {"requests": [{}] * 100})["decisions"]
        answers = [
            {
                "decision": each["decision"],
                "weights": {e: float(each["decision"] % 10 < (7 if e == "good" else 3)) for e in each["items"]},
            }
            for each in asked[2:]
        ]
        site.send("POST", "/v1/campaigns/worth/tell/batch", {"answers": answers})
    site.send("POST", "/v1/campaigns/worth/close", {"decision": asked[0]["decision"]})
    found = site.send("GET", "/v1/campaigns/worth/uplift")
    assert found["windows"]["7d"]["low"] > 0.0
    expect(sentence).to_have_text(found["sentence"])
    expect(page.locator("#uplift")).to_contain_text("1 decision was closed without an answer and is not counted")
    expect(page.locator("#uplift")).to_contain_text("Shown to be better since")
    page.get_by_role("button", name="Since the start").click()
    expect(sentence).to_have_text(found["windows"]["start"]["sentence"])
    assert page.evaluate(FAINT) == []
    other = visit("/campaigns/nothing")
    expect(other.locator("#facts")).to_contain_text("OMM")
    expect(other.locator("#uplift-box")).to_be_hidden()


def test_how_sure_the_best_set_is(site, visit):
    site.create("sure", ["good", "bad"])
    page = visit("/campaigns/sure")
    expect(page.locator("#sure p")).to_contain_text("It would not stop at any delta: 2 items without an answer")
    asked = site.send("POST", "/v1/campaigns/sure/ask/batch", {"requests": [{}] * 60})["decisions"]
    answers = [
        {"decision": each["decision"], "weights": {label: float(label == "good") for label in each["items"]}}
        for each in asked
    ]
    site.send("POST", "/v1/campaigns/sure/tell/batch", {"answers": answers})
    expect(page.locator("#sure p")).to_contain_text("it would stop; the closest call is good over bad.")
    expect(page.locator("#sure tbody tr").first).to_contain_text("good")
    expect(page.locator("#sure tbody td").last).to_have_text("0")
    assert page.evaluate(FAINT) == []
    assert page.evaluate(NAMELESS) == []


def test_the_page_works_under_a_path_of_a_proxy(chromium, tmp_path):
    site = Site(tmp_path, "--root-path", "/bandits")
    site.start()
    try:
        site.create("below", ["a", "b"])
        context = chromium.new_context()
        page = context.new_page()
        asked = []
        page.on("request", lambda request: asked.append(request.url.removeprefix(site.address)))
        page.goto(f"{site.address}/bandits/campaigns/below")
        page.get_by_label("Key").fill(site.keys["admin"])
        page.get_by_role("button", name="Sign in").click()
        expect(page).to_have_url(f"{site.address}/bandits/campaigns/below")
        expect(page.locator("#live")).to_have_text("Live")
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(tile(page, "decisions")).to_have_text("1")
        page.get_by_role("link", name="Campaigns").first.click()
        page.get_by_role("link", name="below").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("below")
        page.get_by_role("link", name="API").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("matroid-bandits")
        page.go_back()
        page.get_by_role("button", name="Sign out").click()
        expect(page).to_have_url(f"{site.address}/bandits/login")
        assert all(path.startswith("/bandits/") for path in asked)
        context.close()
    finally:
        site.stop()
