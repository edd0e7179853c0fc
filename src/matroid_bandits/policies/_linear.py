"""Policies that generalise across items through features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from matroid_bandits._typing import ArrayLike, BoolArray, FloatArray, IntArray
from matroid_bandits._util.arrays import frozen
from matroid_bandits._util.checks import as_integer, as_number, check_features
from matroid_bandits._util.names import rows_of
from matroid_bandits._util.text import shown
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import statistics
from matroid_bandits.policies._base import Policy
from matroid_bandits.policies._memory import Memory
from matroid_bandits.policies._request import Feedback, Plays, Request
from matroid_bandits.policies._state import State

#: What rounding may do to a standard deviation, as a share of the prior's.
_ROUNDING = 1e-6

#: Where more plays of a run wait, one that is closed is taken out of what they narrow; among fewer, all others narrow
#: it anew, which rounds less.
_MANY = 1000


class _LinearPolicy(Policy):
    """A Gaussian belief over theta, where an item's mean weight is its features times theta."""

    tries_unseen = False
    takes_priors = False

    def __init__(
        self,
        features: ArrayLike | None = None,
        prior_scale: float = 1.0,
        noise: float = 0.1,
        n_features: int | None = None,
    ) -> None:
        if n_features is not None and isinstance(features, (list, np.ndarray)) and not len(features):
            features, n_features = np.zeros((0, as_integer("n_features", n_features, error=PolicyError))), None
        if (features is None) == (n_features is None):
            given = "neither" if features is None else "both"
            raise PolicyError(
                "expected either features, which the items keep, or n_features, the number of those that come with "
                f"every request; got {given}"
            )
        self._features = self.item_features = None if features is None else _as_features(features)
        if n_features is not None:
            self.n_features = as_integer("n_features", n_features, 1, 2**15, error=PolicyError)
        self._prior_scale = as_number("prior_scale", prior_scale, 1e-50, 1e50, error=PolicyError)
        self._noise = as_number("noise", noise, 1e-50, 1e50, error=PolicyError)

    def params(self) -> dict[str, Any]:
        params = {key: value for key, value in super().params().items() if value is not None}
        if self._features is not None and not len(self._features):
            params["n_features"] = self._n_columns  # a list of no rows does not say how long they are
        return params

    def prepare(self, constraint: Constraint) -> None:
        if self._features is not None and self._features.shape[0] != constraint.n_items:
            raise PolicyError(f"expected features for {constraint.n_items} items, got {self._features.shape[0]} rows")

    def change(self, before: Constraint, sources: IntArray, features: FloatArray | None) -> Policy:
        if self._features is None:
            return super().change(before, sources, features)
        is_new = sources < 0
        rows = np.zeros((sources.size, self._n_columns))
        rows[~is_new] = self._features[sources[~is_new]]
        if is_new.any():
            if features is None:
                raise PolicyError(
                    f"expected features of the {is_new.sum()} new items, which {self!r} needs; got none"
                )
            if features.shape[1] != rows.shape[1]:
                raise PolicyError(f"expected {rows.shape[1]} features of each new item, got {features.shape[1]}")
            rows[is_new] = features[is_new]
        return type(self)(**self.params() | {"features": rows, "n_features": None})

    def begin(self, state: State) -> None:
        raise PolicyError(f"{self!r} cannot start from plays and gains, since it must know the features of each")

    def forget(self, state: State, runs: IntArray, items: IntArray) -> None:
        """Reset the posterior, which all items share, and narrow it by the pending plays."""
        for each in self.memory:
            state.extra[each.name][runs] = each.initial
        self._mark(state, runs)

    @property
    def memory(self) -> Sequence[Memory]:
        d = self._n_columns
        prior = self._prior_scale * np.eye(d)
        return (
            Memory("theta", "run", shape=(d,)),
            Memory("root", "run", shape=(d, d), initial=prior, former="covariance", converted=_cholesky),
            Memory("narrowed_root", "run", shape=(d, d), initial=prior, former="narrowed", converted=_cholesky),
        )

    def check_extra(self, state: State) -> None:
        if not np.isfinite(state.extra["theta"]).all():
            raise PolicyError("expected finite coefficients theta, got NaN or infinity")
        root, narrowed = state.extra["root"], state.extra["narrowed_root"]
        self._check_root(root)
        self._check_root(np.where(_is_marked(narrowed)[:, None, None], root, narrowed))

    def _check_root(self, root: FloatArray) -> None:
        prior = self._prior_scale
        deviations = np.sqrt(np.square(root).sum(axis=2))
        is_possible = deviations <= (1.0 + _ROUNDING) * prior
        if not is_possible.all():
            raise PolicyError(
                f"expected standard deviations from 0 to the prior's {prior:g}, got {deviations[~is_possible][0]}"
            )
        if np.triu(root, 1).any() or not (np.diagonal(root, axis1=1, axis2=2) >= 0.0).all():
            raise PolicyError("expected the Cholesky factor of a covariance, lower triangular, got another matrix")

    def observe(self, state: State, feedback: Feedback) -> None:
        theta, root = state.extra["theta"], state.extra["root"]
        statistics.kalman(feedback.runs, self._rows(feedback), feedback.gains, self._noise**2, theta, root)
        if state.is_apart:
            self._mark(state, feedback.runs)
        elif state.pending is not None:
            self._rest(state)

    def wait(self, state: State, plays: Plays) -> None:
        """Narrow the posterior by pending plays as if their weights were known; its mean stays."""
        root, narrowed = state.extra["root"], state.extra["narrowed_root"]
        before = state.n_waiting - np.bincount(plays.runs, minlength=state.n_runs)
        narrowed[before == 0] = root[before == 0]
        runs, rows, is_marked = plays.runs, self._rows(plays), _is_marked(narrowed)
        if is_marked.any():
            narrowed[:] = self._narrowed(state)  # by these plays too
            runs, rows = runs[~is_marked[runs]], rows[~is_marked[runs]]
        statistics.narrow(runs, rows, self._noise**2, narrowed)

    def drop(self, state: State, dropped: Sequence[Plays]) -> None:
        """Recompute the posterior's width from the plays that are still pending."""
        for plays in dropped:
            is_crowded = state.n_waiting[plays.runs] > _MANY
            self._mark(state, plays.runs[~is_crowded])
            if is_crowded.any():
                rows = self._rows(plays)[is_crowded]
                statistics.widen(plays.runs[is_crowded], rows, self._noise**2, state.extra["narrowed_root"])
        self._rest(state)

    def rearranged(self, state: State, newcomers: IntArray) -> None:
        self._mark(state, np.arange(state.n_runs))
        state.extra["narrowed_root"][:] = self._narrowed(state)
        self._rest(state)

    def _mark(self, state: State, runs: IntArray) -> None:
        """Let what waits narrow the belief of some runs anew, when it is needed."""
        state.extra["narrowed_root"][runs, 0, 0] = np.nan

    def _rest(self, state: State) -> None:
        """Let the belief of runs in which nothing waits be the narrowed one, whatever it was before."""
        is_resting = state.n_waiting == 0
        state.extra["narrowed_root"][is_resting] = state.extra["root"][is_resting]

    def _narrowed(self, state: State) -> FloatArray:
        """The narrowed factors, those that are marked found anew; none of the state is changed."""
        narrowed = state.extra["narrowed_root"]
        is_marked = _is_marked(narrowed)
        if not is_marked.any() or state.pending is None:
            return narrowed
        narrowed = np.where(is_marked[:, None, None], state.extra["root"], narrowed)
        waiting = list(state.pending())
        if waiting:
            runs, items = (np.concatenate(arrays) for arrays in zip(*(each[:2] for each in waiting), strict=True))
            own = [each.features for each in waiting if each.features is not None]
            rows = self._rows(Plays(runs, items, 0, np.concatenate(own) if own else None))
            here = is_marked[runs]
            statistics.narrow(runs[here], rows[here], self._noise**2, narrowed)
        return narrowed

    @property
    def _n_columns(self) -> int:
        """How many features an item has."""
        if self._features is not None:
            return int(self._features.shape[1])
        assert self.n_features is not None
        return self.n_features

    def _table(self, request: Request) -> FloatArray:
        """The features of all items in an episode, (L, d) or (R, L, d): their own, or those of the request."""
        if self._features is not None:
            return self._features
        given = request.features
        if given is None or given.shape[-1] != self.n_features:
            shape = "none" if given is None else f"shape {given.shape}"
            raise PolicyError(
                f"expected features of {self.n_features} numbers per item with every request, which {self!r} needs; "
                f"got {shape}"
            )
        return given

    def _rows(self, plays: Plays | Feedback) -> FloatArray:
        """The features of some plays: those that came with them, or the items' own."""
        if plays.features is not None:
            return plays.features
        if self._features is None:
            raise PolicyError(f"expected {self.n_features} features of every item that is seen, got none")
        rows: FloatArray = self._features[plays.items]
        return rows

    def _widths(self, table: FloatArray, state: State) -> FloatArray:
        """The standard deviation of what is believed of each item's mean."""
        widths: FloatArray = np.sqrt(np.square(table @ self._root(state)).sum(axis=2))  # x^T cov x is |x^T root|^2
        return widths

    def _root(self, state: State) -> FloatArray:
        """The Cholesky factor of the belief's covariance given the answers and what is still to come."""
        if not state.n_waiting.any():
            return state.extra["root"]
        is_waiting = (state.n_waiting > 0)[:, None, None]
        return np.where(is_waiting, self._narrowed(state), state.extra["root"])


class CombLinUCB(_LinearPolicy):
    r"""Combinatorial linear UCB for items with features (Wen, Kveton and Ashkan, ICML 2015).

    With posterior :math:`N(\theta, \Sigma)`, computed by Kalman updates, the index of an item with features x is
    :math:`x^\top \theta + c \sqrt{x^\top \Sigma x}`. With features that come with every request (`n_features`) this
    is C2UCB (Qin, Chen and Zhu, SDM 2014; on partition matroids Takemura et al., AAAI 2021), with :math:`\lambda =
    (\mathrm{noise} / \mathrm{prior\_scale})^2` and :math:`\alpha = c \, \mathrm{noise}`.

    Parameters
    ----------
    features : array_like of shape (n_items, n_features), optional
        Fixed features of each item, at most 1e50 in size; give either this or `n_features`.
    c : float, default 1.0
        Factor of the confidence radius.
    prior_scale : float, default 1.0
        Prior standard deviation of each coefficient, from 1e-50 to 1e50.
    noise : float, default 0.1
        Standard deviation of a weight around its mean, from 1e-50 to 1e50.
    n_features : int, optional
        Number of features per item in each request, if they vary between requests, e.g. features of visitor and item.
        Feedback is learnt with the features of its own decision.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.CombLinUCB([[1, 0], [0, 1], [1, 1]], c=0.5)
    CombLinUCB(features=<array (3, 2)>, c=0.5, prior_scale=1.0, noise=0.1)
    >>> learner = mb.Learner(mb.UniformMatroid(2, 1, labels=["tea", "ice"]), mb.CombLinUCB(n_features=2))
    >>> learner.ask(features={"tea": [1, 0.2], "ice": [1, 0.9]}).labels  # the warmer the day, the further from tea
    ('ice',)
    """

    def __init__(
        self,
        features: ArrayLike | None = None,
        c: float = 1.0,
        prior_scale: float = 1.0,
        noise: float = 0.1,
        n_features: int | None = None,
    ) -> None:
        super().__init__(features, prior_scale, noise, n_features)
        self._c = as_number("c", c, 0.0, error=PolicyError)

    tunable = ("c",)

    def indices(self, state: State, request: Request) -> FloatArray:
        F = self._table(request)
        U: FloatArray = _values(F, state.extra["theta"]) + self._c * self._widths(F, state)
        return U

    def spreads(self, state: State, request: Request) -> FloatArray:
        """Return the confidence radius around the mean predicted from the features."""
        return self._c * self._widths(self._table(request), state)


class CombLinTS(_LinearPolicy):
    r"""Combinatorial linear Thompson sampling (Wen, Kveton and Ashkan, ICML 2015).

    Each episode :math:`\theta` is sampled from the belief :math:`N(\theta, \Sigma)`, kept by Kalman updates, and the
    basis that is best for it is played.

    Parameters
    ----------
    features : array_like of shape (n_items, n_features), optional
        Fixed features of each item, at most 1e50 in size; give either this or `n_features`.
    prior_scale : float, default 1.0
        Prior standard deviation of each coefficient, from 1e-50 to 1e50.
    noise : float, default 0.1
        Standard deviation of a weight around its mean, from 1e-50 to 1e50.
    n_features : int, optional
        Number of features per item in each request, if they vary between requests, e.g. features of visitor and item.
        Feedback is learnt with the features of its own decision.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> mb.CombLinTS([[1, 0], [0, 1], [1, 1]])
    CombLinTS(features=<array (3, 2)>, prior_scale=1.0, noise=0.1)
    """

    samples = True

    def indices(self, state: State, request: Request) -> FloatArray:
        z = request.stream.normal(request.episode, np.arange(self._n_columns))
        theta = state.extra["theta"] + (self._root(state) @ z[:, :, None])[:, :, 0]
        return _values(self._table(request), theta)

    def spreads(self, state: State, request: Request) -> FloatArray:
        """Return the standard deviation of the mean predicted from the features."""
        return self._widths(self._table(request), state)


def _as_features(features: ArrayLike) -> FloatArray:
    named = rows_of(features)
    if named is not None and named[0] != list(range(len(named[0]))):
        raise PolicyError(
            "expected features as a 2-d array, one row per item in their order, since a policy knows no labels; got "
            f"rows by label, such as {shown(named[0][0])}"
        )
    try:
        F = np.array(features, np.float64)
    except (ValueError, TypeError, OverflowError):
        raise PolicyError(
            f"expected features as a 2-d array of numbers, one row per item; got {shown(features)}"
        ) from None
    if F.ndim != 2 or F.shape[1] == 0:
        raise PolicyError(f"expected features of shape (n_items, n_features), got shape {F.shape}")
    check_features(F, range(F.shape[0]), error=PolicyError)
    return frozen(F)


def _is_marked(narrowed: FloatArray) -> BoolArray:
    """The runs whose narrowed factor is to be found anew."""
    return np.isnan(narrowed[:, 0, 0])


def _values(features: FloatArray, theta: FloatArray) -> FloatArray:
    """x^T theta of every item, one product per run: its bits must not depend on how many runs there are."""
    values: FloatArray = (features @ theta[:, :, None])[:, :, 0]
    return values


def _cholesky(covariance: FloatArray) -> FloatArray:
    """The Cholesky factor of a covariance, for each run; the nearest where rounding has made it indefinite."""
    if not np.isfinite(covariance).all():
        raise PolicyError("expected a finite covariance, got NaN or infinity")
    try:
        factor = np.asarray(np.linalg.cholesky(covariance), np.float64)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        factor = np.tril(np.linalg.qr(root.transpose(0, 2, 1))[1].transpose(0, 2, 1))
        factor *= np.where(np.diagonal(factor, axis1=1, axis2=2) < 0.0, -1.0, 1.0)[:, None, :]
    return factor
