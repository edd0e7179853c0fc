"""The experiments of science/beyond as tests play them."""

from matroid_bandits.cli import _reproduce

science = _reproduce._science()


def silent(*_):
    """No bar."""


def played(name, data=None, **sizes):
    """The chapter of an experiment, and what was found."""
    _, play, write = science.prepare(name, data, **sizes)
    found = play(silent)
    return write(found), found
