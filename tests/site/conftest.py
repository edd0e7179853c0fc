"""Where the built site is."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="session")
def html() -> Path:
    """The folder of the built site: MATROID_BANDITS_SITE, or where `make docs` puts it."""
    folder = Path(os.environ.get("MATROID_BANDITS_SITE", ROOT / "docs" / "_build" / "html"))
    if not (folder / "index.html").exists():
        pytest.skip("left out: the site is not built (make docs)")
    return folder
