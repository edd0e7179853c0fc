"""Means, and all that items have beside them, given by label: the same world in whatever order."""

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import InvalidEnvironmentError, ProblemError
from matroid_bandits.simulation._digests import problem_digest

LABELS = ["hat", "scarf", "gloves", "boots"]
OTHER = ["boots", "hat", "gloves", "scarf"]
MEANS = [0.4, 0.6, 0.5, 0.3]
STEPS = [0.01, 0.02, 0.03, 0.04]
ROWS = np.array([[0.4, 0.1], [0.6, 0.0], [0.5, 0.2], [0.3, 0.3]])


def by(values, order=OTHER):
    """A mapping of the items in another order."""
    found = dict(zip(LABELS, values, strict=True))
    return {label: found[label] for label in order}


COINS = mb.BernoulliEnvironment

#: Each environment in the order of the constraint, and by label.
WORLDS = {
    "bernoulli": (lambda v: COINS(v(MEANS))),
    "gaussian": (lambda v: mb.GaussianEnvironment(v(MEANS), v(STEPS))),
    "exponential": (lambda v: mb.ExponentialEnvironment(v(MEANS))),
    "beta": (lambda v: mb.BetaEnvironment(v(MEANS), v(STEPS))),
    "linear": (lambda v: mb.LinearEnvironment(v(ROWS), [1.0, 0.5])),
    "contextual": (lambda v: mb.ContextualEnvironment(v(ROWS), [1.0, 0.5], 0.1)),
    "samples": (lambda v: mb.SampleEnvironment(v([[0, 1], [1, 1, 0], [0.5], [0, 0, 0, 1]]))),
    "drifting": (
        lambda v: mb.DriftingEnvironment(
            COINS(v(MEANS)), amplitude=v(STEPS), period=v([9, 8, 7, 6]), phase=v(STEPS), to=v(STEPS), over=v([5] * 4)
        )
    ),
    "walk": (lambda v: mb.RandomWalkEnvironment(COINS(v(MEANS)), v(STEPS))),
    "autoregressive": (lambda v: mb.AutoregressiveEnvironment(COINS(v(MEANS)), v(STEPS), v(MEANS))),
    "available": (lambda v: mb.AvailabilityEnvironment(COINS(v(MEANS)), v(MEANS))),
    "late": (lambda v: mb.DelayedEnvironment(COINS(v(MEANS)), v([0, 1, 2, 3]), mean=v(STEPS), never=v(STEPS))),
    "piecewise": (lambda v: mb.PiecewiseEnvironment([COINS(v(MEANS)), COINS(v(STEPS))], [7])),
    "nested": (
        lambda v: mb.DelayedEnvironment(mb.AvailabilityEnvironment(mb.GaussianEnvironment(v(MEANS)), v(MEANS)), 3)
    ),
}


@pytest.mark.parametrize("name", WORLDS)
def test_worlds_by_label_are_those_in_the_order_of_items(name):
    matroid = mb.UniformMatroid(4, 2, labels=LABELS)
    plain = mb.Problem(matroid, WORLDS[name](lambda values: values))
    named = mb.Problem(matroid, WORLDS[name](by))
    assert named.environment.labels == tuple(LABELS)
    assert plain.environment.labels is None
    settings = {"n_episodes": 20, "n_runs": 3, "seed": 1}
    if plain.environment.is_stationary:
        assert np.array_equal(plain.environment.mean_weights, named.environment.mean_weights)
    policies = [mb.OMM(0.5), mb.UniformRandom()]
    assert mb.simulate(plain, policies, **settings) == mb.simulate(named, policies, **settings)
    assert problem_digest(plain) == problem_digest(named)  # a store finds what was played


def test_pieces_may_have_their_items_in_any_order():
    world = mb.PiecewiseEnvironment([COINS(by(MEANS)), COINS(by(STEPS, LABELS))], [7])
    problem = mb.Problem(mb.UniformMatroid(4, 2, labels=LABELS), world)
    assert [piece.mean_weights.tolist() for piece in problem.environment.pieces] == [MEANS, STEPS]


def test_series_and_frames_have_labels():
    pandas = pytest.importorskip("pandas")
    matroid = mb.UniformMatroid(4, 2, labels=LABELS)
    assert mb.Problem(matroid, COINS(pandas.Series(by(MEANS)))).environment.mean_weights.tolist() == MEANS
    frame = pandas.DataFrame(ROWS, index=LABELS).loc[OTHER]
    found = mb.Problem(matroid, mb.LinearEnvironment(frame, [1.0, 0.0])).environment.mean_weights
    assert found.tolist() == ROWS[:, 0].tolist()
    assert COINS(pandas.Series(MEANS)).labels is None  # numbers in their order


def test_edges_are_labels():
    graph = mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a")])
    world = mb.ExponentialEnvironment({("c", "a"): 3.0, ("a", "b"): 1.0, ("b", "c"): 2.0})
    assert mb.Problem(graph, world, minimize=True).environment.mean_weights.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda m: mb.Problem(m, COINS(by(MEANS) | {"glove": 0.1})),
            ProblemError,
            "for 'glove'; did you mean",
        ),
        (lambda m: mb.Problem(m, COINS({"hat": 0.1})), ProblemError, "every item, got none for 'scarf' and 2 more"),
        (lambda m: mb.Problem(mb.UniformMatroid(4, 2), COINS(by(MEANS))), ProblemError, "a constraint with labels"),
        (
            lambda m: mb.GaussianEnvironment(by(MEANS), {"hat": 1.0}),
            InvalidEnvironmentError,
            "expected noise of every item, got none for 'boots' and 2 more",
        ),
        (
            lambda m: mb.GaussianEnvironment(MEANS, by(STEPS)),
            InvalidEnvironmentError,
            "expected noise in the order of items, since the means have no labels; .* such as 'boots'",
        ),
        (
            lambda m: mb.AvailabilityEnvironment(COINS(by(MEANS)), {"cap": 0.5}),
            InvalidEnvironmentError,
            "expected availability of items, got one for 'cap'",
        ),
        (lambda m: COINS({"hat": 2.0}), InvalidEnvironmentError, r"expected means in \[0, 1\]; got 2.0 for item 0"),
        (
            lambda m: mb.PiecewiseEnvironment([COINS(by(MEANS)), COINS(MEANS)], [7]),
            InvalidEnvironmentError,
            "expected labels in every piece or in none; got others in piece 1",
        ),
    ],
)
def test_labels_that_do_not_fit(make, error, message):
    with pytest.raises(error, match=message):
        make(mb.UniformMatroid(4, 2, labels=LABELS))


def test_classes_of_users_take_means_by_label():
    class Fixed(mb.Environment):
        def draw(self, stream, t, items):
            return np.broadcast_to(self.mean_weights[items], (stream.n_runs, items.shape[-1])).copy()

    class Turning(Fixed):
        def reordered(self, order):
            return Turning({self.labels[e]: self.mean_weights[e] for e in order})

    matroid = mb.UniformMatroid(4, 2, labels=LABELS)
    assert mb.Problem(matroid, Fixed(by(MEANS, LABELS))).environment.mean_weights.tolist() == MEANS
    assert mb.Problem(matroid, Turning(by(MEANS))).environment.mean_weights.tolist() == MEANS
    with pytest.raises(InvalidEnvironmentError, match=r"Fixed has no method reordered\(order\)"):
        mb.Problem(matroid, Fixed(by(MEANS)))
