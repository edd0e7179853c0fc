"""What to install where an optional dependency is missing."""

from typing import Any

from matroid_bandits.exceptions import MissingDependencyError


def how_to_install(extra: str) -> str:
    """The command that installs an extra, by the package's name and from a clone."""
    return f"pip install 'matroid-bandits[{extra}]' (in a clone of the repository: pip install '.[{extra}]')"


def missing(need: str, extra: str) -> MissingDependencyError:
    """The error for a missing dependency."""
    return MissingDependencyError(f"{need}: {how_to_install(extra)}")


def pandas_for(call: str) -> Any:
    """The module pandas, imported for a method that returns a table."""
    try:
        import pandas
    except ImportError:
        raise missing(f"{call} needs pandas", "frame") from None
    return pandas
