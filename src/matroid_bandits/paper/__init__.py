"""The paper's three experiments (Sections 5.1 to 5.3): frozen in code, run again, ours beside its figures.

Each is a short file: its data, its policies, its size, and the chapter that a report has on it. `BEYOND` is a chapter
on what is not in the paper: changes, drift, delay, context and sets that are no matroids.
"""

from matroid_bandits.paper._beyond import BEYOND, Beyond, run_beyond
from matroid_bandits.paper._experiment import Experiment, Outcome, Trial, run
from matroid_bandits.paper._graphic import EXPERIMENT as _GRAPHIC
from matroid_bandits.paper._linear import EXPERIMENT as _LINEAR
from matroid_bandits.paper._scale_fit import ScaleFit, fit_scale
from matroid_bandits.paper._transversal import EXPERIMENT as _TRANSVERSAL

#: The paper's experiments by name, in its order.
EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in (_GRAPHIC, _TRANSVERSAL, _LINEAR)}

__all__ = [
    "BEYOND",
    "EXPERIMENTS",
    "Beyond",
    "Experiment",
    "Outcome",
    "ScaleFit",
    "Trial",
    "fit_scale",
    "run",
    "run_beyond",
]
