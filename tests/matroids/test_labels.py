"""Labels are as good as numbers wherever items are named; an integer that could mean two items is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import matroid_bandits as mb
from matroid_bandits.exceptions import FeedbackError, ItemError, PolicyError
from strategies import FAMILIES

INTEGERS = (int, np.int8, np.uint16, np.int64, np.uint64)
SHUFFLED = mb.UniformMatroid(3, 2, labels=[2, 0, 1])
ROADS = mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])

label_lists = st.lists(
    st.one_of(st.integers(-1, 5), st.text("ab", max_size=2), st.tuples(st.integers(0, 2), st.text("ab", max_size=1))),
    unique=True,
    max_size=6,
)


def obvious(labels, name):
    """The item that a name stands for by DESIGN 3.1, None where there is none or more than one."""
    meant = {e for e, label in enumerate(labels) if label == name}
    if isinstance(name, int) and 0 <= name < len(labels):
        meant.add(name)
    return meant.pop() if len(meant) == 1 else None


@given(label_lists, st.sampled_from(INTEGERS))
def test_every_name_means_one_item_or_is_refused(labels, kind):
    matroid = mb.UniformMatroid(len(labels), 0, labels=labels)
    for name in [*labels, *range(-1, len(labels) + 2), "c", (), None, 0.5]:
        expected = obvious(labels, name)
        is_number = isinstance(name, int) and (name >= 0 or kind not in (np.uint16, np.uint64))
        given_name = kind(name) if is_number else name
        for ask in (matroid.as_item, lambda each: matroid.as_items([each]).item()):
            if expected is None:
                with pytest.raises(ItemError, match="expected"):
                    ask(given_name)
            else:
                assert ask(given_name) == expected
    for e, label in enumerate(labels):
        assert matroid.item(label) == e


@given(label_lists, st.sampled_from(INTEGERS[1:]))
def test_integer_arrays_are_numbers_whatever_the_labels(labels, kind):
    matroid = mb.UniformMatroid(len(labels), 0, labels=labels)
    numbers = np.arange(len(labels))[::-1].astype(kind)
    assert matroid.as_items(numbers).tolist() == list(range(len(labels)))
    assert matroid.as_items(numbers, keep_order=True).tolist() == numbers.tolist()


@given(st.sampled_from(sorted(FAMILIES)).flatmap(FAMILIES.get), st.randoms(use_true_random=False))
def test_all_questions_take_labels(pair, random):
    matroid = mb.constraint_from_dict(pair[0].to_dict() | {"labels": [f"i{e}" for e in range(pair[0].n_items)]})
    if not matroid.has_labels:  # a matroid made of others has theirs
        return
    X = [e for e in range(matroid.n_items) if random.random() < 0.5]
    named = [random.choice([matroid.labels[e], e, np.int32(e)]) for e in X]
    random.shuffle(named)
    X = np.array(X, np.int64)
    assert matroid.as_items(named).tolist() == X.tolist()
    assert matroid.is_independent(named) == matroid.is_independent(X)
    assert matroid.is_basis(named) == matroid.is_basis(X)
    assert matroid.closure(named).tolist() == matroid.closure(X).tolist()
    assert matroid.extension(named).tolist() == matroid.extension(X).tolist()
    assert matroid.restrict(named) == matroid.restrict(X)
    assert matroid.contract(named) == matroid.contract(X)
    basis = matroid.max_weight_basis(np.zeros(matroid.n_items))
    for e in np.setdiff1d(np.arange(matroid.n_items), basis).tolist():
        by_label = matroid.circuit([matroid.labels[i] for i in basis], matroid.labels[e])
        assert by_label.tolist() == matroid.circuit(basis, e).tolist()


def test_groups_matchings_and_exchanges_take_labels():
    nested = mb.LaminarMatroid(4, [("abc", 2), (["a", 1], 1)], labels="abcd")
    assert nested == mb.LaminarMatroid(4, [([0, 1, 2], 2), ([0, 1], 1)], labels="abcd")
    jobs = mb.TransversalMatroid([["x"], ["x", "y"]], labels=["p", "q"])
    assert jobs.matching(["q", "p"]) == {0: "x", 1: "y"}
    basis = [("a", "b"), ("c", "b"), 3]
    assert mb.bounds.exchange_bijection(ROADS, basis, [0, 2, 3]).tolist() == [0, 1, 2]
    problem = mb.Problem(ROADS, mb.BernoulliEnvironment([0.1, 0.2, 0.3, 0.4]))
    assert mb.bounds.decompose_regret(problem, basis) == mb.bounds.decompose_regret(problem, [0, 1, 3])


def test_an_undirected_edge_answers_in_both_orientations():
    for matroid in (
        ROADS,
        ROADS.dual(),
        ROADS.truncate(2),
        mb.direct_sum(mb.UniformMatroid(1, 1, labels="z"), ROADS),
    ):
        shift = matroid.n_items - ROADS.n_items
        for e, (u, v) in enumerate(ROADS.labels, shift):
            assert matroid.item((u, v)) == matroid.item((v, u)) == matroid.as_item((v, u)) == e
    part = ROADS.restrict([("a", "c"), ("c", "d")])
    assert part.labels == (("c", "a"), ("c", "d"))
    assert part.as_items([("a", "c"), ("d", "c")]).tolist() == [0, 1]
    with pytest.raises(ItemError, match="expected an item or its label"):
        part.as_item(("b", "a"))
    twice = mb.direct_sum(ROADS, ROADS)
    assert twice.as_item((1, ("b", "a"))) == 4


def test_edges_that_are_called_by_both_orientations_answer_for_themselves():
    there_and_back = mb.GraphicMatroid([("a", "b"), ("b", "a")])
    assert there_and_back.as_items([("b", "a"), ("a", "b")], keep_order=True).tolist() == [1, 0]
    named = mb.GraphicMatroid([("a", "b"), ("b", "c")], labels=[("x", "y"), ("b", "c")])
    assert named.item(("c", "b")) == 1
    with pytest.raises(ItemError):
        named.item(("y", "x"))  # a name, not the ends of the edge
    keyed = mb.GraphicMatroid([("a", "b"), ("a", "b")], labels=[("a", "b", 0), ("a", "b", 1)])
    assert keyed.item(("b", "a", 1)) == 1


@pytest.mark.parametrize("kind", INTEGERS)
def test_an_ambiguous_integer_is_refused_everywhere(kind):
    message = "got 0, which is the label of item 1 and the number of item 0, whose label is 2"
    learner = mb.Learner(SHUFFLED, mb.OMM())
    decision = learner.ask()
    for ask in (
        lambda: SHUFFLED.as_item(kind(0)),
        lambda: SHUFFLED.restrict([kind(0)]),
        lambda: SHUFFLED.contract({kind(0)}),
        lambda: learner.tell(decision, {kind(e): 1.0 for e in decision.items}),
        lambda: learner.explain(kind(0)),
    ):
        with pytest.raises(ItemError, match=message):
            ask()
    with pytest.raises(PolicyError, match=message):
        mb.Learner(SHUFFLED, mb.FixedSet([kind(0)]))
    assert learner.outstanding == (decision,)
    assert mb.Learner(SHUFFLED, mb.FixedSet(np.array([0, 2]))).ask().items.tolist() == [0, 2]


def test_a_label_that_is_its_own_number_or_no_number_is_fine():
    matroid = mb.UniformMatroid(3, 2, labels=[0, 20, 10])
    assert matroid.as_items([10, 0]).tolist() == [0, 2]
    learner = mb.Learner(matroid, mb.OMM())
    decision = learner.ask()
    learner.tell(decision, {0: 1.0, 20: 0.0})
    assert learner.estimates().counts.tolist() == [1, 1, 0]
    with pytest.raises(FeedbackError, match="by its label and by its number"):
        learner.tell(learner.ask(), {2: 1.0, 10: 0.5})


def test_booleans_are_no_numbers():
    for matroid in (mb.UniformMatroid(3, 2), mb.UniformMatroid(3, 2, labels="abc")):
        for ask in (matroid.as_item, lambda each, m=matroid: m.as_items([each, each])):
            with pytest.raises(ItemError):
                ask(True)


def test_stored_items_are_numbers_whatever_the_labels(tmp_path):
    for matroid in (SHUFFLED.restrict(np.array([0, 2])), SHUFFLED.contract(np.array([0]))):
        assert mb.constraint_from_dict(matroid.to_dict()) == matroid
    mb.testing.check_matroid(SHUFFLED)
    learner = mb.Learner(SHUFFLED, mb.OMM())
    decision = learner.ask()
    learner.save(tmp_path / "learner")
    assert mb.Learner.load(tmp_path / "learner").outstanding == (decision,)


@pytest.mark.parametrize("items", [["b", ("c", 1)], [30, 2], np.array([2, 0])])
def test_a_fixed_set_of_labels_is_stored(items, tmp_path):
    matroid = mb.UniformMatroid(4, 2, labels=["a", "b", ("c", 1), 30])
    learner = mb.Learner(matroid, mb.FixedSet(items))
    chosen = learner.ask().items.tolist()
    assert chosen == matroid.as_items(items).tolist()
    learner.save(tmp_path / "learner")
    again = mb.Learner.load(tmp_path / "learner")
    assert again.policy == learner.policy
    assert again.ask().items.tolist() == chosen


def test_the_ground_set_is_not_searched():
    class Counted(int):
        compared = 0

        def __eq__(self, other):
            Counted.compared += 1
            return int(self) == other

        __hash__ = int.__hash__

    large = mb.UniformMatroid(10**6, 1)
    assert large.as_item(Counted(999_999)) == large.item(Counted(999_999)) == 999_999
    assert large.as_items([Counted(999_999)]).tolist() == [999_999]
    assert Counted.compared == 0


def test_mistakes_name_what_was_given():
    with pytest.raises(ItemError, match="expected an item or its label, got 'fedoro'; did you mean 'fedora'"):
        mb.UniformMatroid(2, 1, labels=["boots", "fedora"]).as_item("fedoro")
    with pytest.raises(ItemError, match=r"expected item numbers or labels in one row, got \['a', 'b'\]"):
        mb.UniformMatroid(2, 1, labels="ab").as_items([["a", "b"]])
    with pytest.raises(ItemError, match="expected distinct items, got 1 more than once"):
        mb.UniformMatroid(2, 1, labels="ab").as_items(["b", 1])


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
@pytest.mark.parametrize("kind", ["M8", "m8"])
def test_dates_of_numpy_name_items(kind, unit):
    """Labels are kept as plain values, whose hashes those of NumPy's dates are not."""
    labels = np.array([3, 5, 9]).astype(f"{kind}[D]").astype(f"{kind}[{unit}]")
    learner = mb.Learner(mb.UniformMatroid(3, 2, labels=labels), mb.OMM(), seed=0)
    for items in (labels[2:], list(labels[2:]), [learner.constraint.labels[2]]):
        assert 2 in learner.ask(pinned=items).items
    assert learner.ask(available=labels[:2]).items.tolist() == [0, 1]
    decision = learner.ask(pinned=labels[1:])
    learner.tell(decision, dict(zip(labels[1:], [0.5, 1.0], strict=True)))
    assert learner.explain(labels[2]).item == 2
    waits = learner.ask(pinned=labels[1:])
    learner.change(mb.UniformMatroid(2, 1, labels=labels[:2]))
    learner.tell(waits, {labels[2]: 1.0})
    learner.change(mb.UniformMatroid(3, 1, labels=labels), forget=[labels[2]])
    assert learner.estimates().counts.tolist() == [0, 1, 0]
    matroid = mb.UniformMatroid(2, 1, labels=[(labels[0], "a"), (labels[1], "b")])
    assert matroid.as_item((labels[1], "b")) == 1
