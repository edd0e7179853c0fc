"""The kernels by name: importing this file imports numba-cuda."""

from matroid_bandits.gpu._forest import play_forest
from matroid_bandits.gpu._quotas import play_quotas

KERNELS = {"play_quotas": play_quotas, "play_forest": play_forest}
