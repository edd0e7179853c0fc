"""The paper's three experiments (Sections 5.1 to 5.3), with fixed settings, and comparisons with its printed results.

Each is a short file: its data, its policies, its size, and the chapter that a report has on it.
"""

from matroid_bandits.paper._experiment import Experiment, Outcome, Trial, run
from matroid_bandits.paper._graphic import EXPERIMENT as _GRAPHIC
from matroid_bandits.paper._linear import EXPERIMENT as _LINEAR
from matroid_bandits.paper._network_tables import FIT
from matroid_bandits.paper._transversal import EXPERIMENT as _TRANSVERSAL

#: The paper's experiments by name, in its order.
EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in (_GRAPHIC, _TRANSVERSAL, _LINEAR)}

__all__ = ["EXPERIMENTS", "FIT", "Experiment", "Outcome", "Trial", "run"]
