"""The interface of a policy, and how its indices are computed and checked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import count
from typing import Any, ClassVar

import numpy as np

from matroid_bandits._typing import AnyArray, FloatArray, IntArray
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import forms, kinetic
from matroid_bandits.kernels import order as order_kernels
from matroid_bandits.policies._described import Described
from matroid_bandits.policies._memory import Memory
from matroid_bandits.policies._request import Feedback, Plays, Request
from matroid_bandits.policies._state import State

#: Policies by name, put here by being defined; specs and stored learners find them so.
POLICIES: dict[str, type[Policy]] = {}


class Policy(ABC, Described):
    """Turns what was seen into an index per item; the set of largest total index is then chosen.

    `indices` is the one required method, over arrays with a row per run. A policy sees gains (costs are negated
    before they reach it), so it always maximises, and works in both directions. Every other method is optional:

    =============================  ==================================================================================
    a policy that                  overrides
    =============================  ==================================================================================
    learns more than the state     `memory`, which declares its arrays, and `observe`, called with every answer:
    counts                         at once, in parts, episodes later, never
    ages                           `advance`, called once an episode, after its set was chosen
    needs the constraint           `prepare`, called once, before anything else
    makes more of late answers     `wait` and `drop`; most policies go by the state's counts of plays that wait
    than the state does
    shares memory between items    `change`, `rearranged` and `forget`, called when items come, go or start anew;
                                   memory per item follows its item by itself
    may replace another policy     `begin`, which makes its memory from the plays and gains so far
    of a live learner
    reports other beliefs than     `beliefs` and `spreads`
    the state's means
    is saved with a learner        `check_extra`, where files with impossible numbers are to be refused
    has a compiled form            `compiled`; `AffinePolicy` has one
    =============================  ==================================================================================

    One object plays in many problems and threads, so it stays as it was made: what it keeps of a history is its
    declared `memory`, and what it works out for a constraint is what `prepare` returns.

    Attributes
    ----------
    support : (float, float)
        Bounds of the weights that the policy can take; unbounded by default.
    tries_unseen : bool
        Whether an item never asked for has index +inf whatever `indices` says, so that everything is tried once.
        False for policies that do not learn, for those with a proper prior, and for those that infer
        the value of items they have not seen.
    takes_priors : bool
        Whether items may come with a mean and a number of plays that it is worth.
    n_features : int, or None
        How many numbers per item the policy needs with every request; None, the default, for one that takes none.
    item_features : float64 array (L, d), or None
        The features of the items that the policy was made with; None, the default, for one made without.
    memory : sequence of Memory
        The arrays in ``state.extra``, declared; none by default.
    takes_all : bool
        Whether `observe` raises nothing whatever it is told: then no answer is kept to be undone.
    samples : bool
        Whether `indices` draws random numbers, so that the same state may lead to different sets.
    is_clairvoyant : bool
        Whether the policy knows the environment, such as the true means of these items, so that it is a yardstick and
        no learner: the suites leave out that costs are played as gains are and that items may come and go.
    affine : AffinePolicy, or None
        The lines that the index is made of, for engines that follow them; None for any other index.
    tunable : tuple of str
        Arguments of the constructor that nothing in the memory depends on: a learner that is configured with others
        of these goes on with the memory that it has. None by default.
    kind : str, or None
        The name of a user's class in the store of a sweep (see `matroid_bandits.sweep`), a class attribute; to be
        changed when what the class does changes. None, the default, for a class that is not stored.

    Notes
    -----
    A policy can be stored with a learner when its constructor keeps every argument in an attribute of the same name
    (an underscore before it is allowed); `params` says otherwise where that does not fit. Every class that is
    defined can be found by its name in specs and stored learners.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> class Greedy(mb.Policy):
    ...     '''Always the basis that looks best so far.'''
    ...     def indices(self, state, request):
    ...         return state.means
    >>> problem = mb.Problem(mb.UniformMatroid(3, 1), mb.BernoulliEnvironment([0.2, 0.5, 0.8]))
    >>> result = mb.simulate(problem, {"greedy": Greedy()}, n_episodes=100, n_runs=10, seed=0)
    >>> result.n_runs
    10
    """

    support: tuple[float, float] = (-np.inf, np.inf)
    tries_unseen: bool = True
    takes_priors: bool = True
    takes_all: bool = False
    samples: bool = False
    is_clairvoyant: bool = False
    n_features: int | None = None
    item_features: FloatArray | None = None
    kind: ClassVar[str | None] = None
    tunable: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        name = cls.__name__
        is_abstract = any(getattr(getattr(cls, each, None), "__isabstractmethod__", False) for each in dir(cls))
        is_taken = (
            name in POLICIES and _is_ours(POLICIES[name]) and not _is_ours(cls)
        )  # for good: stored files use it
        if not (is_abstract or is_taken or name.startswith("_")):
            POLICIES[name] = cls

    @abstractmethod
    def indices(self, state: State, request: Request) -> FloatArray:
        """The index of every item in the request's episode, shape (R, L); not NaN."""

    # What a policy declares

    @property
    def memory(self) -> Sequence[Memory]:
        """The arrays in ``state.extra``; most policies with some have a tuple of `Memory` as a class attribute."""
        return ()

    @property
    def affine(self) -> AffinePolicy | None:
        """The lines that the index is made of; None for any other index."""
        return None

    def compiled(self) -> forms.PolicyForm | None:
        """The policy as compiled episodes know it (see `kernels.forms`); None, the default, for one they do not.

        A class that overrides a hook of the class that declared it loses it by that.
        """
        return None

    # What happens in an episode

    def prepare(self, constraint: Constraint) -> Any:
        """Work out, once, what is needed of a constraint; hooks find it in ``state.prepared``.

        Raises
        ------
        PolicyError
            The policy cannot play under the constraint.
        """
        return None

    def advance(self, state: State, request: Request) -> tuple[IntArray, IntArray] | None:
        """Age the memory by one episode: called once an episode, after its set was chosen.

        Returns
        -------
        (runs, items) or None
            For an affine policy the items (n,), each in its run (n,), whose lines this has changed; None for none.
        """
        return None

    def observe(self, state: State, feedback: Feedback) -> None:
        """Update the memory with what was answered; `state` has counted it."""

    def wait(self, state: State, plays: Plays) -> None:
        """Update the memory when plays begin to wait for an answer; `state` has counted them."""

    def drop(self, state: State, dropped: Sequence[Plays]) -> None:
        """Update the memory when no answer will come to some plays that waited.

        The plays of ``state.pending()`` still wait.
        """

    # Items that start anew, come and go

    def begin(self, state: State) -> None:
        """Go on from what a learner has counted with another policy.

        The plays, gains and priors of `state` are those of that learner, and so are the plays that wait; the memory
        is as it is at first. By default it stays so, and the policy takes note of the plays that wait.

        Raises
        ------
        PolicyError
            What the policy goes by cannot be made from plays and gains; the learner has to start anew.
        """
        has_prior = state.prior_counts[0] > 0.0 if state.has_priors else np.zeros(state.n_items, bool)
        self.rearranged(state, np.flatnonzero(has_prior))

    def forget(self, state: State, runs: IntArray, items: IntArray) -> None:
        """Start anew with `items` (n,), each in its run (n,); called by `Restarting`, when `state` has done so.

        By default what the memory has of them becomes as it was at first.
        """
        state.renew(self.memory, runs, items)

    def change(self, before: Constraint, sources: IntArray, features: FloatArray | None) -> Policy:
        """The policy that goes on when a learner's items change.

        Parameters
        ----------
        before : Constraint
            The old items.
        sources : int64 array (L,)
            For each new item the number it had before, or -1 for a newcomer.
        features : float64 array (L, d), or None
            What is known of the new items, for policies made with features.

        Raises
        ------
        PolicyError
            Features were given to a policy made without, or the other way round.
        """
        if features is not None:
            raise PolicyError(f"expected no features of the new items, since {self!r} has none of the old; got some")
        return self

    def rearranged(self, state: State, newcomers: IntArray) -> None:
        """Update the memory after items have come, gone, changed places or were forgotten, and plays with them.

        The memory of every item has been moved, or is as it was at first; the plays of ``state.pending()`` wait now.
        `newcomers` (n,) have just been given the priors that `state` has of them.
        """

    # What a live learner reports, saves and loads

    def beliefs(self, state: State) -> tuple[FloatArray, AnyArray, AnyArray]:
        """What a live learner reports of its items: mean gains, answered plays, and all plays behind the index.

        Each has shape (R, L). A mean is NaN where nothing was answered and there is no prior. By default they are the
        state's; a policy that forgets says what it still goes by.
        """
        is_known = state.counts > 0
        if state.has_priors:
            is_known = is_known | (state.prior_counts > 0.0)
        return np.where(is_known, state.means, np.nan), state.counts, state.plays

    def spreads(self, state: State, request: Request) -> FloatArray:
        """Half the width of the interval that a live learner reports around each mean, shape (R, L).

        By default what the index adds to the mean. A policy that samples gives the standard deviation of what it
        samples from, which no draw changes; one whose index says nothing of the mean gives NaN.
        """
        return np.abs(evaluate(self, state, request) - self.beliefs(state)[0])

    def check_extra(self, state: State) -> None:
        """Raise `PolicyError` when the memory cannot be what the other hooks have made.

        Called when a learner is saved and when it is loaded; their types and shapes are known to be right.
        """


class AffinePolicy(Policy):
    r"""A policy whose index is a line in a number that only grows: :math:`a_e + c_t b_e`.

    Saying so lets an engine follow the order of a million items without looking at each of them. The lines stand
    still while an item is neither answered nor asked for; they are :math:`\hat w_e` and :math:`1 / \sqrt{T_e}` of
    the state unless the policy keeps its own. Engines read `lines`, `coefficient` and `exponent` and nothing else, so
    a policy with another index is no `AffinePolicy`: it derives from `Policy`.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> class Constant(mb.AffinePolicy):
    ...     '''As optimistic in episode 1,000 as in episode 1.'''
    ...     def coefficient(self, state, request):
    ...         return 0.5
    >>> mb.testing.check_policy(Constant())
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "indices" in vars(cls):
            raise PolicyError(
                f"expected the affine policy {cls.__name__} to declare lines() and coefficient(), got indices() of "
                "its own: derive it from Policy"
            )

    @property
    def affine(self) -> AffinePolicy | None:
        """The policy itself."""
        return self

    @abstractmethod
    def coefficient(self, state: State, request: Request) -> float:
        """:math:`c_t >= 0` of the request's episode, one for all runs; it never falls."""

    def lines(self, state: State) -> tuple[FloatArray, FloatArray]:
        """The arrays :math:`a` and :math:`b`, float64 (R, L), kept up to date in place.

        An infinite entry of b stands for an item never seen, which comes first whatever c_t is.
        """
        return state.means, state.radii

    def exponent(self, state: State) -> int:
        """The power of two by which b is multiplied and :math:`c_t` divided, one for all runs; 0 by default.

        A policy whose :math:`c_t` would grow beyond all bounds changes it now and then. That rounds nothing, so no
        index changes, and what never falls is :math:`c_t` times two to this power.
        """
        return 0

    def compiled(self) -> forms.PolicyForm | None:
        """The index of the state's lines, for a coefficient that depends on the episode alone."""
        return forms.PolicyForm(
            forms.AFFINE,
            episodes=lambda state, stream: ((coefficient(self, state, Request(t, stream)),) for t in count(1)),
        )

    def indices(self, state: State, request: Request) -> FloatArray:
        """The affine index of every item, +inf for an item never seen."""
        means, radii = self.lines(state)
        U: FloatArray = np.empty(means.shape)
        kinetic.lines(means, radii, coefficient(self, state, request), U)
        return U


def coefficient(policy: AffinePolicy, state: State, request: Request) -> float:
    """The policy's c_t, checked, since engines rely on it.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.policies import coefficient
    >>> state = mb.State(mb.UniformMatroid(3, 1), n_runs=1)
    >>> coefficient(mb.OMM(), state, mb.Request(1, mb.Stream(0, [0])))
    0.0
    """
    c = float(policy.coefficient(state, request))
    if not 0.0 <= c < np.inf:
        raise PolicyError(f"expected {type(policy).__name__}.coefficient to be finite and not negative, got {c}")
    return c


def evaluate(policy: Policy, state: State, request: Request) -> FloatArray:
    """The policy's indices, checked, with +inf for items never seen where the policy tries them.

    Raises
    ------
    PolicyError
        They are not numbers, one per run and item. What the policy itself raises comes through as it is.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.policies import evaluate
    >>> state = mb.State(mb.UniformMatroid(3, 1), n_runs=1)
    >>> evaluate(mb.OMM(), state, mb.Request(1, mb.Stream(0, [0])))
    array([[inf, inf, inf]])
    """
    affine = policy.affine
    if affine is not None:
        return affine.indices(state, request)
    has_unseen = policy.tries_unseen and not state.is_seen
    has_unanswered = state.n_waiting.any() or state.lost.any()
    if has_unseen or has_unanswered:
        with np.errstate(divide="ignore", invalid="ignore"):  # of items never seen, whatever the formula
            given = policy.indices(state, request)
    else:
        given = policy.indices(state, request)
    try:
        U = np.asarray(given, np.float64, order="C")
    except (TypeError, ValueError):
        raise PolicyError(f"expected {type(policy).__name__}.indices to return numbers, got {given!r}") from None
    if U.shape != state.counts.shape:
        raise PolicyError(
            f"expected {type(policy).__name__}.indices to return shape {state.counts.shape}, got {U.shape}"
        )
    if has_unseen:
        U = np.where(state.is_unseen, np.inf, U)
    if policy.tries_unseen and has_unanswered:
        U = np.where(np.isnan(U) & (state.counts == 0), state.means, U)  # asked for, and not answered
    bad = order_kernels.first_nan(U.reshape(-1))
    if bad >= 0:
        run, item = request.stream.runs[bad // state.n_items], bad % state.n_items
        raise PolicyError(
            f"{type(policy).__name__}.indices gave NaN for item {item} of run {run} in episode {request.episode}"
        )
    return U


def as_policy(policy: Any) -> Policy:
    """The policy itself, when it is one.

    Raises
    ------
    PolicyError
        It is something else, such as a class.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.policies import as_policy
    >>> as_policy(mb.OMM())
    OMM(scale=1.0)
    """
    if not isinstance(policy, Policy):
        hint = " (the class; an instance is needed)" if isinstance(policy, type) else ""
        raise PolicyError(f"expected a Policy, got {policy!r}{hint}")
    return policy


def _is_ours(kind: type[Policy]) -> bool:
    return kind.__module__.startswith("matroid_bandits.")
