"""The paper's three experiments (Sections 5.1 to 5.3), with fixed settings, and comparisons with its printed results.

Each is a short file: its data, its policies, its size, and the chapter that a report has on it. Two chapters are on
what is not in the paper: `BEYOND` has its problems with drift, delay and context, and sets that are no matroids;
`RACE` has rivals on worlds drawn from laws, and on the paper's problems.
"""

from matroid_bandits.paper._beyond import BEYOND, Beyond, run_beyond
from matroid_bandits.paper._experiment import Experiment, Outcome, Trial, run
from matroid_bandits.paper._graphic import EXPERIMENT as _GRAPHIC
from matroid_bandits.paper._linear import EXPERIMENT as _LINEAR
from matroid_bandits.paper._race_run import RACE, Race, run_race
from matroid_bandits.paper._race_tables import write_race
from matroid_bandits.paper._scale_fit import ScaleFit, fit_scale
from matroid_bandits.paper._transversal import EXPERIMENT as _TRANSVERSAL

#: The paper's experiments by name, in its order.
EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in (_GRAPHIC, _TRANSVERSAL, _LINEAR)}

__all__ = [
    "BEYOND",
    "EXPERIMENTS",
    "RACE",
    "Beyond",
    "Experiment",
    "Outcome",
    "Race",
    "ScaleFit",
    "Trial",
    "fit_scale",
    "run",
    "run_beyond",
    "run_race",
    "write_race",
]
