"""Print the lower bounds of the dependencies in pyproject.toml as pip constraints: `python tools/lowest.py`.

`make lowest` installs them into a virtual environment for this purpose and runs the tests there. The bounds are those
of the core and of the extras that users install; what only the tests, the site and the benchmarks need is left out.
"""

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"

#: Extras for work on the package itself.
TOOLS = ("test", "docs", "browser", "dev", "bench")

_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*])?>=([0-9.]+)(?:;.*)?")


def lower_bounds() -> dict[str, str]:
    """The lowest supported version of each dependency, by name.

    Raises
    ------
    ValueError
        A dependency has no lower bound, or two that differ.
    """
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    users = [extras[name] for name in extras if name not in TOOLS]
    found: dict[str, str] = {}
    for requirement in sum(users, project["dependencies"]):
        if requirement.startswith(project["name"]):
            continue  # extras of extras
        match = _REQUIREMENT.fullmatch(requirement)
        if match is None:
            raise ValueError(f"expected 'name>=version' in pyproject.toml, got {requirement!r}")
        name, version = match.groups()
        if found.setdefault(name, version) != version:
            raise ValueError(f"expected one lower bound of {name} in pyproject.toml, got {found[name]} and {version}")
    return found


if __name__ == "__main__":
    for name, version in sorted(lower_bounds().items()):
        print(f"{name}=={version}")
