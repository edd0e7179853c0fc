"""Figures: the same bytes every time, and curves that can be told apart."""

from dataclasses import replace

import numpy as np

from matroid_bandits.reporting import Curve, Panel, Plot
from matroid_bandits.reporting import _figures as figures


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
