"""Figures: the same bytes every time, and curves that can be told apart."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np

from matroid_bandits.reporting import Curve, Panel, Plot
from matroid_bandits.reporting import _images as figures

SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"


def test_figures_are_repeatable_and_their_styles_differ():
    labels = ["ε-greedy", "OMM", "OMM, scale 2", r"OMM $\frac$", *"bcdefgh"]
    x = np.array([1, 2])
    panel = Panel("P", x, tuple(Curve(label, x * 1.0, x * 0.1) for label in labels), "y", optimum=2.0)
    plot = Plot("p", "P", (panel, replace(panel, is_log=False, is_standin=True)))
    styles = figures.styles(plot)
    assert list(styles) == ["optimal", *labels]
    assert len(set(list(styles.values())[:7])) == 7
    svgs = {figures.to_svg(figures.draw(plot), "p") for _ in range(2)}
    assert len(svgs) == 1
    assert "(stand-in data)" in svgs.pop()


def drawn(labels, y, **options):
    """The SVG of curves with these names, all through `y`."""
    panel = Panel("P", np.arange(1, 4), tuple(Curve(label, np.array(y)) for label in labels), "y", **options)
    return ElementTree.fromstring(figures.to_svg(figures.draw(Plot("p", "P", (panel,))), "p"))


def texts(svg):
    return [element.text for element in svg.iter(SVG + "text")]


def test_numbers_are_not_cut():
    svg = drawn(["eps 0.001", "eps 0.005"], [0.0041, 0.0045, 0.0049], optimum=0.0049)
    ticks = [text for text in texts(svg) if text.startswith("0.00")]
    assert len(ticks) >= 3
    assert len(set(ticks)) == len(ticks)
    assert {"0.0042", "0.0044"} <= set(ticks)
    assert {"eps 0.001", "eps 0.005"} <= set(texts(svg))


def test_names_are_shown_as_they_are_or_escaped():
    names = ["$x$", r"$\frac$", "_private", 'id="1.2345"', "url(#12.3456)", "a\a", "\ufffe", "<b>&"]
    shown = texts(drawn(names, [1.0, 2.0, 3.0]))
    assert [*names[:5], "a\\x07", "\\ufffe", "<b>&"] == shown[-8:]


def test_ids_are_the_figures_own_and_lead_somewhere():
    svg = drawn(["OMM"], [1.0, 2.0, 3.0])
    ids = [element.get("id") for element in svg.iter() if element.get("id")]
    assert all(id.startswith("p-") for id in ids)
    assert len(set(ids)) == len(ids)
    links = [element.get(XLINK + "href") for element in svg.iter() if element.get(XLINK + "href")]
    clips = [element.get("clip-path") for element in svg.iter() if element.get("clip-path")]
    assert links
    assert clips
    assert {link[1:] for link in links} | {clip[5:-1] for clip in clips} <= set(ids)


def test_pdfs_are_repeatable():
    x = np.arange(1, 4)
    plot = Plot("p", "P", (Panel("P", x, (Curve("ε-greedy", x * 1.0, x * 0.1),), "y"),))
    first, second = (figures.to_pdf(figures.draw(plot)) for _ in range(2))
    assert first == second
    assert first.startswith(b"%PDF")
