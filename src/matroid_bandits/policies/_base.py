"""The interface of a policy: one required method, and a few optional ones; `_live.py` has the rarer hooks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import count
from typing import Any, ClassVar

import numpy as np

from matroid_bandits._typing import FloatArray, IntArray
from matroid_bandits.constraint import Constraint
from matroid_bandits.exceptions import PolicyError
from matroid_bandits.kernels import forms, kinetic
from matroid_bandits.policies._evaluate import coefficient
from matroid_bandits.policies._live import LiveHooks
from matroid_bandits.policies._memory import Memory
from matroid_bandits.policies._promises import is_ours
from matroid_bandits.policies._request import Feedback, Request
from matroid_bandits.policies._state import State

#: Policies by name, put here by being defined; specs and stored learners find them so.
POLICIES: dict[str, type[Policy]] = {}


class Policy(LiveHooks, ABC):
    """Base class of policies: maps the feedback so far to an index per item; the set of largest total index is
    played.

    `indices` is the one required method, over arrays with a row per run. A policy sees gains (costs are negated
    before they reach it), so it always maximises, and works in both directions. Every other method is optional; those
    in the lower part of the table are for late feedback and for items that are added or removed; few policies need
    any:

    =============================  ==================================================================================
    a policy that                  overrides
    =============================  ==================================================================================
    keeps more statistics than     `memory`, which declares its arrays, and `observe`, called with all feedback,
    the state                      immediate, partial or late
    ages its statistics            `advance`, called once an episode, after its set was chosen
    chooses sets, not items        `sets`, called in place of `indices`, which are then only reported
    weights feedback by the        `keep` with `n_kept`: numbers stored with each choice until its feedback arrives,
    probability of its choices     in `Feedback.kept`
    needs the constraint           `prepare`, called once, before anything else
    has a compiled form            `compiled`; `AffinePolicy` has one
    depends on means and plays     `counted`, if a larger mean has a larger index at equal plays
    alone
    -----------------------------  ----------------------------------------------------------------------------------
    treats pending plays           `wait` and `drop`; most policies use the state's counts of pending plays
    differently from the state
    shares statistics between      `change`, `rearranged` and `forget`, called when items are added, removed or
    items                          reset; arrays per item are moved automatically
    may replace another policy     `begin`, which initialises its arrays from the plays and gains so far
    of a live learner
    chooses sets approximately     `gaps`, an upper bound on how much better another set could be
    reports other estimates than   `beliefs` and `spreads`
    the state's means
    is saved with a learner        `check_extra`, which rejects files with impossible values
    =============================  ==================================================================================

    One policy object is used in many problems and threads, so it is never modified: its state is in the arrays
    declared by `memory`, and what it computes for a constraint is returned by `prepare`.

    Attributes
    ----------
    support : (float, float)
        Range of the weights that the policy accepts; unbounded by default.
    alternative : str
        A policy that accepts weights outside of `support`, named in error messages.
    tries_unseen : bool
        Whether unseen items have index +inf regardless of `indices`, so that every item is played once. False for
        policies that do not learn, for those with a proper prior, and for those that infer the means of unseen items.
    takes_priors : bool
        Whether the policy accepts priors of items: a mean and a number of plays.
    n_features : int, or None
        Number of features per item that the policy needs with every request; None, the default, for none.
    item_features : float64 array (L, d), or None
        The features of the items that the policy was made with; None, the default, for one made without.
    memory : sequence of Memory
        The arrays in ``state.extra``, declared; none by default.
    takes_all : bool
        Whether `observe` never raises an error; then no copy is kept for undoing feedback.
    samples : bool
        Whether `indices` or `sets` draws random numbers, so that the same state may lead to different sets.
    chooses_sets : bool
        Whether sets come from `sets`; automatically True for a class that overrides that method.
    n_kept : int
        Number of values that `keep` returns for each choice; 0, the default, for none.
    takes : frozenset of str
        The kinds of partial feedback that the policy learns from, beside the weight of every chosen item: "cascade",
        lists that are seen down to a click or a failure, which by default any policy does; and "positions", clicks
        that are fewer the further down an item is shown, which `PositionBias` does.
    forgets : bool
        Whether old observations are discounted or dropped, since weights may change: then no set is optimal forever,
        and stopping rules and `Learner.confidence` cannot be used.
    is_clairvoyant : bool
        Whether the policy knows the environment, such as the true means, and serves as a benchmark: the conformance
        suite then skips the tests for costs and for changes of items.
    affine : AffinePolicy, or None
        The policy whose affine lines make up the index, for engines that use them; None for any other index.
    tunable : tuple of str
        Constructor arguments that the memory does not depend on: a learner that changes only these keeps its memory.
        None by default.
    kind : str, or None
        The name of a user's class in the store of a sweep (see `matroid_bandits.sweep`), a class attribute; change it
        when the behaviour of the class changes. None, the default, for a class that is not stored.

    Notes
    ----- A policy can be stored with a learner when its constructor keeps every argument in an attribute of the same
    name (an underscore before it is allowed); otherwise override `params`. Every defined class can be found by its
    name in specs and stored learners.

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
    alternative: str = "OMM(scale=...)"
    tries_unseen: bool = True
    takes_priors: bool = True
    takes_all: bool = False
    samples: bool = False
    chooses_sets: bool = False
    n_kept: int = 0
    takes: frozenset[str] = frozenset(("cascade",))
    forgets: bool = False
    is_clairvoyant: bool = False
    n_features: int | None = None
    item_features: FloatArray | None = None
    kind: ClassVar[str | None] = None
    tunable: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "sets" in vars(cls):
            cls.chooses_sets = True
        name = cls.__name__
        is_abstract = any(getattr(getattr(cls, each, None), "__isabstractmethod__", False) for each in dir(cls))
        is_taken = name in POLICIES and is_ours(POLICIES[name]) and not is_ours(cls)  # for good: stored files use it
        if not (is_abstract or is_taken or name.startswith("_")):
            POLICIES[name] = cls

    @abstractmethod
    def indices(self, state: State, request: Request) -> FloatArray:
        """Return the index of every item in the request's episode, shape (R, L), without NaN."""

    def sets(self, state: State, request: Request) -> tuple[IntArray, IntArray]:
        """Return the sets of the request's episode, for a policy that chooses whole sets instead of indices.

        A set is of what the request has available, holds what it pins and is complete: nothing that is available
        could be added to it. All of this is checked. Like `indices`, the method changes nothing; `indices` then only
        say what a live learner reports of each item.

        Returns
        -------
        items : int64 array (R, W)
            The first ``sizes[run]`` entries of a row are the run's set, ascending; what follows means nothing.
        sizes : int64 array (R,)
            How many items each run chooses.
        """
        raise NotImplementedError(f"{type(self).__name__} chooses by its indices")

    # What a policy declares

    @property
    def memory(self) -> Sequence[Memory]:
        """Declarations of the arrays that the policy keeps in ``state.extra``; usually a tuple of `Memory` in the
        class."""
        return ()

    @property
    def affine(self) -> AffinePolicy | None:
        """The policy whose affine lines make up the index; None for any other index."""
        return None

    def compiled(self) -> forms.PolicyForm | None:
        """Return the policy's form for compiled episodes (see `kernels.forms`); None, the default, where it has none.

        A class that overrides a hook of the class that declared it loses it by that.
        """
        return None

    def counted(self, minimize: bool) -> forms.CountForm | None:
        """Return the index as a function of mean and plays alone (see `kernels.forms`); None, the default, otherwise.

        It is for policies whose index, among items of equal plays, never falls with the mean: the engine "classes"
        then looks at few items. `minimize` is the state's. As with `compiled`, a class that overrides a hook of the
        class that declared it loses it by that.
        """
        return None

    # What is called in a simulation and in a live learner alike

    def prepare(self, constraint: Constraint) -> Any:
        """Compute once what the policy needs from a constraint; hooks read the result from ``state.prepared``.

        Raises
        ------
        PolicyError
            The policy cannot play under the constraint.
        """
        return None

    def advance(self, state: State, request: Request) -> tuple[IntArray, IntArray] | None:
        """Age the policy's arrays by one episode; called once an episode, after its set was chosen.

        Returns
        -------
        (runs, items) or None
            For an affine policy the items (n,), each in its run (n,), whose lines this has changed; None for none.
        """
        return None

    def keep(self, state: State, request: Request, runs: IntArray, items: IntArray) -> FloatArray:
        """Return numbers to store with each choice of `items` (n,), in its run (n,), until its feedback arrives.

        Called after `advance`, where `n_kept` is above 0 and the sets are the policy's own; `state` has not yet
        counted the choices. `Feedback.kept` has the numbers of the answered choices, however late. Of choices that
        the policy has not made (hold-outs, looks before the first episode) the numbers are 0.

        Returns
        -------
        float64 array (n, n_kept)
            Finite numbers.
        """
        return np.zeros((items.size, self.n_kept))

    def observe(self, state: State, feedback: Feedback) -> None:
        """Update the policy's arrays with feedback that `state` has already counted."""


class AffinePolicy(Policy):
    r"""Base class of policies with an index :math:`a_e + c_t b_e`, where the coefficient :math:`c_t` never decreases.

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
        r"""Return the coefficient :math:`c_t \ge 0` of the request's episode, for all runs; it never decreases."""

    def lines(self, state: State) -> tuple[FloatArray, FloatArray]:
        """Return the intercepts :math:`a` and slopes :math:`b` of the index, float64 (R, L), updated in place.

        An infinite entry of b stands for an item never seen, which comes first whatever c_t is.
        """
        return state.means, state.radii

    def exponent(self, state: State) -> int:
        """Return the exponent of two by which slopes are multiplied and the coefficient divided; 0 by default.

        A policy whose :math:`c_t` would grow beyond all bounds changes it now and then. That rounds nothing, so no
        index changes, and what never falls is :math:`c_t` times two to this power.
        """
        return 0

    def compiled(self) -> forms.PolicyForm | None:
        """Return the form for compiled episodes, if the coefficient depends on the episode alone."""
        return forms.PolicyForm(
            forms.AFFINE,
            episodes=lambda state, stream: ((coefficient(self, state, Request(t, stream)),) for t in count(1)),
        )

    def counted(self, minimize: bool) -> forms.CountForm | None:
        """Return the index as a function of mean and plays, for any coefficient."""
        return forms.CountForm(forms.AFFINE, 0.0, lambda state, request: coefficient(self, state, request))

    def indices(self, state: State, request: Request) -> FloatArray:
        """Return the affine index of every item, +inf for items never played."""
        means, radii = self.lines(state)
        U: FloatArray = np.empty(means.shape)
        kinetic.lines(means, radii, coefficient(self, state, request), U)
        return U


def check_takes(policy: Policy, feedback: str) -> None:
    """Raise `PolicyError` unless a policy takes a kind of feedback; see `Policy.takes`.

    Examples
    --------
    >>> import matroid_bandits as mb
    >>> from matroid_bandits.policies import check_takes
    >>> check_takes(mb.OMM(), "cascade")
    >>> check_takes(mb.OMM(), "positions")
    Traceback (most recent call last):
    ...
    matroid_bandits.exceptions.PolicyError: OMM(scale=1.0) takes no clicks by place: they are fewer further down, \
whatever the item; PositionBias(OMM(...)) does
    """
    if feedback in policy.takes:
        return
    if feedback == "positions":
        raise PolicyError(
            f"{policy!r} takes no clicks by place: they are fewer further down, whatever the item; "
            "PositionBias(OMM(...)) does"
        )
    why = "it expects clicks that depend on the place" if policy.takes else "it must know what all its choices earned"
    raise PolicyError(f"{policy!r} takes no lists that are seen in part: {why}; OMM, KLOSM and ThompsonSampling do")


def as_policy(policy: Any) -> Policy:
    """Return a policy unchanged, and raise `PolicyError` for anything else.

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
