"""What all conformance suites have in common: a test for each promise, run one by one or all at once."""

from __future__ import annotations

from typing import Any


class Suite:
    """Base class of conformance suites: a method ``test_...`` for each required property.

    A suite needs no test runner: `run` calls its tests one after the other, and the functions ``check_...`` do no
    more. With pytest, a class whose name begins with ``Test``, derived from a suite, with the object as a class
    attribute, has a test for each promise. Further tests are further methods; a test that a
    class cannot pass, for a reason, is overridden.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> class TestThree(mb.testing.MatroidSuite):
    ...     constraint = mb.UniformMatroid(3, 1)
    ...     n_trials = 10
    >>> "test_best_sets_are_the_best" in TestThree.promises()
    True
    >>> TestThree().run()
    """

    @classmethod
    def promises(cls) -> list[str]:
        """Return the names of the tests: a class's own first, then inherited ones, in the order of the source."""
        named = (name for kind in cls.__mro__ for name in vars(kind) if name.startswith("test_"))
        return list(dict.fromkeys(named))

    @classmethod
    def check(cls, **given: Any) -> None:
        """Run all tests on the given objects, in place of the class's attributes."""
        suite = cls()
        vars(suite).update(given)
        suite.run()

    def run(self) -> None:
        """Run all tests; the first violated property raises `ContractError`."""
        for name in self.promises():
            getattr(self, name)()
