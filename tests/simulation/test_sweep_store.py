"""The store of a sweep: what is kept, what is found again, what is noticed, what is refused."""

import functools
import json
import re
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import matroid_bandits as mb
from matroid_bandits.exceptions import SerializationError, SimulationError, SweepWarning
from matroid_bandits.simulation._sweep_store import covered, missing
from saved_files import edit
from sweep_worlds import PROBLEMS, files, overlaps

FEW = {"OMM": [mb.OMM(0.2), mb.OMM(1.0)]}
SMALL = {"n_episodes": 30, "seed": 3, "checkpoints": [10]}
ONE = {"gap 0.2": PROBLEMS["gap 0.2"]}


def small(store, n_runs=4, problems=ONE, policies=FEW, **options):
    return mb.sweep(problems, policies, n_runs=n_runs, store=store, **(SMALL | options))


@pytest.fixture
def store(tmp_path):
    return tmp_path / "deep" / "store"


def test_what_is_stored_is_not_played_again(store):
    first = small(store)
    assert (first.n_played, first.n_stored) == (8, 0)
    kept = files(store)
    again = small(store)
    assert (again.n_played, again.n_stored) == (0, 8)
    assert again == first == small(None)
    assert files(store) == kept


def test_more_runs_problems_and_policies_add_to_it(store):
    small(store, 4)
    more = small(store, 9)
    assert (more.n_played, more.n_stored) == (10, 8)
    assert more == small(None, 9)
    policies = {**FEW, "KLOSM": mb.KLOSM()}
    more = small(store, 9, policies=policies)
    assert (more.n_played, more.n_stored) == (9, 18)
    more = small(store, 9, PROBLEMS, policies)
    assert (more.n_played, more.n_stored) == (54, 27)
    assert more == small(None, 9, PROBLEMS, policies)
    fewer = small(store, 6)  # an interval that is cut is good for its part
    assert (fewer.n_played, fewer.n_stored) == (0, 12)
    assert fewer == small(None, 6)
    assert not overlaps(store)


def test_intervals_may_be_cut_in_any_way(store):
    whole = small(None, 12)
    small(store, 12)
    cell = next(iter(files(store)))
    for path in (store / cell).glob("*.npz"):
        path.unlink()
    for n_runs in (5, 6, 12):
        assert small(store, n_runs) == small(None, n_runs)
    assert len(files(store)[cell]) >= 3
    first = sorted((store / cell).glob("*.npz"))[0]
    first.unlink()  # what is lost is played again, and nothing else
    lost = re.fullmatch(r"(\d+)-(\d+)\.npz", first.name)
    again = small(store, 12)
    assert again.n_played == int(lost[2]) - int(lost[1])
    assert again == whole


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 8)), max_size=8), st.integers(1, 25))
def test_covers_and_gaps_against_sets(pairs, n_runs):
    intervals = [(first, first + size) for first, size in pairs]
    there = {run for first, last in intervals for run in range(first, last)} & set(range(n_runs))
    taken = covered(intervals, n_runs)
    runs = [run for _, (lo, hi) in taken for run in range(lo, hi)]
    assert sorted(runs) == sorted(there)
    assert all(first <= lo < hi <= last and (first, last) in intervals for (first, last), (lo, hi) in taken)
    gaps = [run for first, last in missing(intervals, n_runs) for run in range(first, last)]
    assert gaps == sorted(set(range(n_runs)) - there)


def test_equal_policies_under_two_names_are_played_once(store):
    found = small(store, policies={"a": mb.OMM(), "b": mb.OMM(1.0)})
    assert (found.n_played, found.n_stored) == (4, 0)
    np.testing.assert_array_equal(*found["gap 0.2"].final_regret)


def test_worlds_that_lack_items_and_answer_late(store):
    world = mb.DelayedEnvironment(mb.BernoulliEnvironment(np.linspace(0.1, 0.9, 6)), mean=3, never=0.1)
    problem = {"late": mb.Problem(mb.UniformMatroid(6, 2), mb.AvailabilityEnvironment(world, 0.7))}
    small(store, 3, problem, start="explore")
    assert small(store, 5, problem, start="explore") == small(None, 5, problem, start="explore")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_episodes": 31}, "n_episodes was 30 and is 31"),
        ({"seed": 4}, "seed was 3 and is 4"),
        ({"start": "explore"}, "start was observe and is explore"),
        ({"checkpoints": [20]}, "checkpoints were others"),
        ({"policies": {"OMM": [mb.OMM(0.2), mb.OMM(1.0)], "KLOSM": mb.KLOSM()}}, None),
        ({"policies": {"OMM, scale=1": mb.OMM(3.0)}}, r"'OMM, scale=1' was OMM\(scale=1.0\) and is OMM\(scale=3.0\)"),
        ({"problems": {"gap 0.2": PROBLEMS["gap 0.4"]}}, r"problem 'gap 0.2' was Problem\(.* and is Problem\("),
        (
            {"problems": {"gap 0.2": mb.Problem(PROBLEMS["gap 0.2"].constraint, mb.BernoulliEnvironment(
                np.where(np.arange(12) == 2, 0.31, PROBLEMS["gap 0.2"].environment.mean_weights)))}},
            "problem 'gap 0.2' has changed in its data",
        ),
    ],
)  # fmt: skip
def test_changed_settings_are_named_and_not_mixed(store, change, words):
    before = small(store)
    if words is None:
        small(store, **change)  # more is no change
    else:
        with pytest.warns(SweepWarning, match=words) as caught:
            changed = small(store, **change)
        assert len(caught) == 1
        assert changed.n_stored == 0
        assert changed == small(None, **change)
        assert small(store, **change).n_played == 0  # it is known now: no warning
    assert small(store) == before


def test_a_version_with_other_numbers_has_other_results(store, monkeypatch):
    small(store)
    monkeypatch.setattr("matroid_bandits.simulation._sweep_store.__version__", "98.0")
    assert small(store).n_played == 0
    monkeypatch.setattr("matroid_bandits.simulation._sweep_store._SAME_NUMBERS_SINCE", "99.0")
    with pytest.warns(SweepWarning, match=r"matroid-bandits was .* and is 99\.0"):
        assert small(store).n_stored == 0


class Half(mb.Policy):
    """A policy of one's own with a name."""

    kind = "half, first version"

    def __init__(self, share=0.5):
        self.share = share

    def indices(self, state, request):
        return self.share * state.means


class Nameless(Half):
    """A policy of one's own without one: that of the class above is not its own."""


class Coin(mb.Environment):
    """An environment of one's own."""

    kind = "coin"

    def __init__(self, means, size):
        super().__init__(means)
        self.size = size

    def draw(self, stream, t, items):
        return self.mean_weights[items] + np.where(stream.uniform(t, items) < 0.5, -self.size, self.size)


def test_code_of_ones_own_goes_by_the_name_it_was_given(store):
    def pairs(items):
        return len(items) <= 2

    matroid, world = mb.OracleMatroid(3, pairs), Coin([0.1, 0.2, 0.3], 0.1)
    sets = {
        "oracle": mb.Problem(matroid.truncate(1), world),
        "nights": mb.Problem(mb.UniformMatroid(3, 1), mb.AvailabilityEnvironment(world, lambda stream, t: None)),
    }
    with pytest.raises(SerializationError, match=r"oracle: pairs is code, .* a name, an attribute kind = '\.\.\.'"):
        small(store, problems={"oracle": sets["oracle"]})
    pairs.kind = "at most two"
    assert small(store, problems={"oracle": sets["oracle"]}).n_played == 8
    with pytest.raises(SerializationError, match=r"nights: AvailabilityEnvironment\._timetable: <lambda> is code"):
        small(store, problems=sets)
    assert small(
        store, problems={"coin": mb.Problem(mb.UniformMatroid(3, 1), world)}, policies={"h": Half()}
    ).n_played
    with pytest.raises(SerializationError, match=r"gap 0.2: Nameless is a class of your own, .* kind = '\.\.\.'"):
        small(store, policies={"mine": Nameless()})
    small(None, problems=sets, policies={"mine": Nameless()})  # without a store nothing needs a name
    assert small(store, policies={"mine": Half(0.5)}).n_played == 4
    assert small(store, policies={"mine": Half(0.5)}).n_played == 0
    with pytest.warns(SweepWarning, match=r"policy 'mine' was Half\(share=0.5\) and is Half\(share=0.25\)"):
        assert small(store, policies={"mine": Half(0.25)}).n_played == 4


def test_the_store_is_plain_data(store):
    small(store)
    kinds = {path.suffix or path.name for path in store.rglob("*") if path.is_file()}
    assert kinds == {".json", ".npz", "lock"}
    for cell in files(store):
        about = json.loads((store / cell / "cell.json").read_text())
        assert about["problem"] == "gap 0.2"
        assert (about["policy"], about["policy_is"]) in {
            ("OMM, scale=0.2", "OMM(scale=0.2)"),
            ("OMM, scale=1", "OMM(scale=1.0)"),
        }
        assert (about["seed"], about["n_episodes"], about["start"]) == (3, 30, "observe")
    with np.load(next(store.glob("*/*.npz")), allow_pickle=False) as archive:
        assert {"returns", "regret", "choices", "surplus"} <= set(archive.files)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:200]), "not a complete"),
        (lambda path: path.write_bytes(b""), "not a complete"),
        (lambda path: edit(path, header={"first": 1}), "expected the header"),
        (lambda path: edit(path, header={"key": "x"}), "expected the header"),
        (lambda path: edit(path, arrays={"regret": np.zeros((4, 9))}), "expected regret to be float64 of shape"),
        (lambda path: edit(path, arrays={"choices": np.zeros(12, int)}), "expected choices to be"),
        (lambda path: edit(path, arrays={"more": np.zeros(4)}), "expected 'more' to be of a part"),
    ],
)
def test_a_damaged_file_is_told_by_its_name(store, spoil, message):
    small(store, policies=mb.OMM())
    path = sorted(store.glob("*/*.npz"))[0]
    spoil(path)
    with pytest.raises(SerializationError, match=message) as caught:
        small(store, policies=mb.OMM())
    assert str(path) in str(caught.value)


def test_folders_that_are_no_store_are_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(SimulationError, match="which holds other files"):
        small(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(SimulationError, match="which is a file"):
        small(tmp_path / "thesis.tex")
    with pytest.raises(SimulationError, match="which is a file"):
        small(tmp_path / "thesis.tex" / "store")
    (tmp_path / "s").mkdir()
    small(tmp_path / "s")  # an empty one will do
    (tmp_path / "s" / "store.json").write_text("{")
    with pytest.raises(SerializationError, match="not a JSON file"):
        small(tmp_path / "s")
    (tmp_path / "s" / "store.json").write_text("[]")
    with pytest.raises(SimulationError, match="to say that the folder is a store"):
        small(tmp_path / "s")
    (tmp_path / "s" / "store.json").write_text('{"format": "matroid-bandits/sweep-store", "version": 2}')
    with pytest.raises(SerializationError, match="expected version 1, got 2: upgrade"):
        small(tmp_path / "s")


def test_an_error_or_ctrl_c_keeps_what_was_played_and_lets_go(store):
    class Breaks(mb.Policy):
        kind = "breaks"

        def indices(self, state, request):
            raise KeyboardInterrupt

    policies = {"OMM": mb.OMM(), "mine": Breaks()}
    with pytest.raises(KeyboardInterrupt):
        small(store, policies=policies)
    rest = small(store, policies={"OMM": mb.OMM()})
    assert rest.n_played + rest.n_stored == 4
    assert not overlaps(store)


class CachingEnvironment(mb.Environment):
    """Keeps what it has computed on itself, in all the ways that people do."""

    kind = "caching"

    def __init__(self, means, lock=None):
        super().__init__(means)
        self._rows, self._last, self._lock, self._seen = {}, None, lock, set()

    @functools.cached_property
    def doubled(self):
        return 2.0 * self.mean_weights

    def draw(self, stream, t, items):
        self._seen.add(t)
        self._rows[t] = self._last = self.later = self.doubled[items]
        return np.broadcast_to(self._last, (stream.n_runs, items.shape[-1])) + stream.uniform(t, items)


class CachingPolicy(mb.Policy):
    kind = "caching"

    def __init__(self, scale=1.0):
        self.scale, self._cache = scale, {}

    @functools.cached_property
    def doubled(self):
        return 2.0 * self.scale

    def indices(self, state, request):
        self._cache[request.episode] = self.later = state.means * self.doubled
        return self.later


class CachingSets(mb.Constraint):
    """Any two of the items."""

    kind = "caching-pairs"

    def __init__(self, n_items, *, labels=None):
        super().__init__(n_items, labels)
        self._seen = {}

    def allows(self, items):
        return len(items) <= 2

    def best_sets(self, weights, *, available=None, pinned=None):
        self._seen[weights.tobytes()] = self.later = np.sort(np.argsort(-weights, axis=1, kind="stable")[:, :2])
        return self.later, np.full(len(weights), 2)

    @property
    def largest_size(self):
        return 2

    def fields(self):
        return {"n_items": self.n_items}


def test_caches_on_problems_and_policies_do_not_matter(tmp_path):
    problem = mb.Problem(CachingSets(4), CachingEnvironment([0.1, 0.2, 0.3, 0.4]))
    policy = CachingPolicy()
    settings = {"n_episodes": 8, "n_runs": 3, "seed": 0, "store": tmp_path}
    first = mb.sweep(problem, policy, **settings)
    assert problem.environment._rows
    assert policy._cache
    again = mb.sweep(problem, policy, **settings)  # with caches that are filled
    fresh = mb.sweep(
        mb.Problem(CachingSets(4), CachingEnvironment([0.1, 0.2, 0.3, 0.4])), CachingPolicy(), **settings
    )
    assert (first.n_played, again.n_played, fresh.n_played) == (3, 0, 0)
    assert first == again == fresh
    with pytest.warns(SweepWarning, match="was"):
        other = mb.sweep(mb.Problem(CachingSets(4), CachingEnvironment([0.1, 0.2, 0.3, 0.5])), policy, **settings)
    assert other.n_played == 3


def test_what_cannot_be_compared_says_what_to_override(tmp_path):
    problem = mb.Problem(mb.UniformMatroid(2, 1), CachingEnvironment([0.1, 0.2], threading.Lock()))
    with pytest.raises(
        SerializationError, match=r"CachingEnvironment._lock: .*; where it is a cache, .*content\(\) is"
    ):
        mb.sweep(problem, mb.OMM(), n_episodes=2, n_runs=1, seed=0, store=tmp_path)
