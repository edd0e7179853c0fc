"""Figures: the same bytes every time, and curves that can be told apart."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np

from matroid_bandits._util.plots import saved
from matroid_bandits._util.styles import curve_styles
from matroid_bandits.reporting import Curve, Panel, Plot
from matroid_bandits.reporting import _images as figures

SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"


def test_figures_are_repeatable_and_their_styles_differ():
    labels = ["ε-greedy", "OMM", "OMM, scale 2", r"OMM $\frac$", *"bcdefgh"]
    x = np.array([1, 2])
    panel = Panel("P", x, tuple(Curve(label, x * 1.0, x * 0.1) for label in labels), "y", optimum=2.0)
    plot = Plot("p", "P", (panel, replace(panel, is_log=False, is_standin=True)))
    styles = figures.keys(plot, figures.chapter_styles([plot]))
    families = ["OMM", "OMM, scale 2"]  # together
    assert list(styles) == ["optimal", "ε-greedy", *families, *(each for each in labels[1:] if each not in families)]
    assert len({(style.dash, style.marker) for style in styles.values()}) == len(styles)  # in grey too
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
    assert {*names[:5], "a\\x07", "\\ufffe", "<b>&"} == set(shown[-8:])


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
    first, second = (saved(figures.draw(plot), format="pdf") for _ in range(2))
    assert first == second
    assert first.startswith(b"%PDF")


def test_a_curve_looks_the_same_in_every_plot_of_a_chapter():
    x = np.array([1, 2])

    def plot(name, *labels, groups=None):
        panel = Panel(name, x, tuple(Curve(label, x * 1.0) for label in labels), "y")
        return Plot(name, name, (panel,), groups=groups)

    plots = [plot("a", "mine", "OMM"), plot("b", "yours", "OMM", "mine"), plot("c", "x, 1", "x, 2"), plot("d", "x")]
    plots[3] = plot("d", "x", groups={"x": ["x"]})
    styles = figures.chapter_styles(plots)
    drawn = [{line.get_label(): line for line in figures.draw(each, styles).axes[0].lines} for each in plots]
    for label in ("mine", "OMM"):
        assert drawn[0][label].get_color() == drawn[1][label].get_color()
        assert drawn[0][label].get_marker() == drawn[1][label].get_marker()
    curves = {(style.dash, style.marker) for label, style in styles.items() if label != "x"}
    assert len(curves) == 5
    assert styles["x"] == styles["x, 1"]._replace(color=styles["x, 2"].color)  # one curve for the family


def test_later_curves_of_a_family_are_darker():
    for groups in ({"x": ["x, 1", "x, 2", "x, 3"]}, {"x": ["x, 1", "x, 2", "x, 3", "x"]}):
        styles = curve_styles(groups)
        red = [int(styles[label].color[1:3], 16) for label in ("x, 1", "x, 2", "x, 3", "x")]
        assert red == sorted(red, reverse=True)  # the name in full colour
        assert len(set(red[:3])) == 3


def test_long_labels_fit_a_line():
    names = [
        f"Restarting(base=OMM(scale={scale}), detector=PageHinkley({'x' * 80}), memory={scale})" for scale in "12"
    ]
    shown = texts(drawn(names, [1.0, 2.0, 3.0]))[-2:]
    assert shown[0] != shown[1]
    assert all(len(text) <= 48 for text in shown)
