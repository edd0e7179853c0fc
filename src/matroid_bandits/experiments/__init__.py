"""The paper's experiments: their data sets as problems, the paper's printed figures, and downloads.

Data is looked for in a folder named in the call, else in ``MATROID_BANDITS_DATA`` and the user's cache
folder; where there is none, stand-ins with the paper's printed figures take its place and say so.
"""

from matroid_bandits.experiments._catalog import (
    DatasetStatus,
    FileStatus,
    check,
    data_folders,
    list_datasets,
)
from matroid_bandits.experiments._fetch import fetch
from matroid_bandits.experiments._topohub import DEFAULT_ISPS, isp_names
from matroid_bandits.experiments.datasets import ROCKETFUEL_ASNS, Dataset, isp, kiva, movielens, rocketfuel

__all__ = [
    "DEFAULT_ISPS",
    "ROCKETFUEL_ASNS",
    "Dataset",
    "DatasetStatus",
    "FileStatus",
    "check",
    "data_folders",
    "fetch",
    "isp",
    "isp_names",
    "kiva",
    "list_datasets",
    "movielens",
    "rocketfuel",
]
