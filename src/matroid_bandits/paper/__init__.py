"""The paper's experiments: data sets as problems, downloads, frozen specs, and the report on them.

``graphic``, ``transversal`` and ``linear`` are the paper's Sections 5.1, 5.2 and 5.3, one short file each.

Data is looked for in the folder named in the call alone, or without one in ``MATROID_BANDITS_DATA`` and the user's
cache folder; where there is none there, stand-ins with the paper's printed figures take its place and say so.
"""

from matroid_bandits.experiments._catalog import (
    DatasetStatus,
    FileStatus,
    check,
    data_folders,
    list_datasets,
)
from matroid_bandits.experiments._fetch import fetch
from matroid_bandits.experiments._report import Report
from matroid_bandits.experiments._spec import Experiment, Outcome, Trial, run
from matroid_bandits.experiments._topohub import DEFAULT_ISPS, isp_names
from matroid_bandits.experiments.datasets import ROCKETFUEL_ASNS, Dataset, isp, kiva, movielens, rocketfuel
from matroid_bandits.experiments.graphic import EXPERIMENT as _GRAPHIC
from matroid_bandits.experiments.linear import EXPERIMENT as _LINEAR
from matroid_bandits.experiments.problem_file import read_problem
from matroid_bandits.experiments.transversal import EXPERIMENT as _TRANSVERSAL

#: The paper's experiments by name, in its order.
EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in (_GRAPHIC, _TRANSVERSAL, _LINEAR)}

__all__ = [
    "DEFAULT_ISPS",
    "EXPERIMENTS",
    "ROCKETFUEL_ASNS",
    "Dataset",
    "DatasetStatus",
    "Experiment",
    "FileStatus",
    "Outcome",
    "Report",
    "Trial",
    "check",
    "data_folders",
    "fetch",
    "isp",
    "isp_names",
    "kiva",
    "list_datasets",
    "movielens",
    "read_problem",
    "rocketfuel",
    "run",
]
