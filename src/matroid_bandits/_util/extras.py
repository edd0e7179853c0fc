"""What to install where an optional dependency is missing."""

from typing import Any

from matroid_bandits.exceptions import MissingDependencyError


def how_to_install(extra: str) -> str:
    """The command that installs an extra, by the package's name and from a clone.

    Examples
    --------
    >>> how_to_install("plot")
    "pip install 'matroid-bandits[plot]' (in a clone of the repository: pip install '.[plot]')"
    """
    return f"pip install 'matroid-bandits[{extra}]' (in a clone of the repository: pip install '.[{extra}]')"


def missing(need: str, extra: str) -> MissingDependencyError:
    """The error for a missing dependency.

    Parameters
    ----------
    need
        What needs which package, such as `"plot needs matplotlib"`.
    extra
        The extra in `pyproject.toml` that installs the package.

    Examples
    --------
    >>> raise missing("plot needs matplotlib", "plot")
    Traceback (most recent call last):
        ...
    matroid_bandits.exceptions.MissingDependencyError: plot needs matplotlib: pip install 'matroid-bandits[plot]' (in a clone of the repository: pip install '.[plot]')
    """  # noqa: E501 - a line of a traceback
    return MissingDependencyError(f"{need}: {how_to_install(extra)}")


def pandas_for(call: str) -> Any:
    """The module pandas, imported for a method that returns a table.

    Raises
    ------
    MissingDependencyError
        pandas is not installed; the sentence begins with `call`.
    """
    try:
        import pandas
    except ImportError:
        raise missing(f"{call} needs pandas", "frame") from None
    return pandas
