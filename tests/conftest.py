"""Settings every test shares."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))  # the oracles and strategies beside the tests

# Fixed examples: a failure seen once is seen again, and the time a run takes does not depend on luck.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
