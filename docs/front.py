"""Write docs/figures/front.svg, the figure of the gallery's network of a provider: ``python docs/front.py``."""

import runpy
from pathlib import Path

import matplotlib
from matplotlib import pyplot as plt

HERE = Path(__file__).parent


def save() -> None:
    """Save what the script shows: text as text, on white, the same bytes for the same figure."""
    plt.gcf().savefig(HERE / "figures" / "front.svg", facecolor="white", metadata={"Date": None})


if __name__ == "__main__":
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "front"})
    plt.show = save
    runpy.run_path(str(HERE.parent / "examples" / "gallery" / "provider_network.py"))
