"""Digests of problems and policies: the same everywhere, different for whatever differs."""

import numpy as np
import pytest
from scipy import sparse

import matroid_bandits as mb
from matroid_bandits.exceptions import SerializationError
from matroid_bandits.simulation._digests import digest, problem_digest
from samples import DATA, MATROIDS, POLICIES, TENTHS, WORLDS

#: Written down once: another process, machine, Python or NumPy must find the same.
KNOWN = {
    "bernoulli": "f031c9df8b4aa687",
    "exponential": "4ab4105b2e5d7737",
    "beta": "4e14e98edf459c9f",
    "gaussian": "668cdd355c22cdce",
    "linear": "fb6789a29875d28b",
    "row": "3e9f6fed4d18253c",
    "sparse row": "da2bfadfc6b0867e",
    "sample": "b6028f2f27d9b0e8",
    "uniform matroid": "8e7a802f88a6c459",
    "partition matroid": "79947f427bd588ab",
    "laminar matroid": "1115df3334ad17d0",
    "graphic matroid": "118e0f699e5c911f",
    "transversal matroid": "b09f4d4df6f68199",
    "linear matroid": "ef62085526802aa4",
    "linear over GF(2) matroid": "6f5977854dcbb13e",
    "linear of floats matroid": "730128f8c3346b85",
    "dual matroid": "b5e71140c0023d57",
    "truncation matroid": "9999b145e594447b",
    "restriction matroid": "bdfce45b069a6dc3",
    "contraction matroid": "3f9879f4078b04ed",
    "direct sum matroid": "c290b3b4b55d596c",
    "OMM policy": "cf02ffad85b464b5",
    "KLOSM policy": "6eb957b46c153c02",
    "eps policy": "224d010c7e75e5b3",
    "chance policy": "c503ab5db8a51d2c",
    "optimal policy": "7d34883f3354117d",
    "beta policy": "905683da6e0a62ef",
    "normal policy": "965c2da563841f8b",
    "CombLinUCB policy": "5091574f8e5d10d2",
    "CombLinTS policy": "fe94ff416a74d278",
    "discounted policy": "40424ab448b92e5c",
    "window policy": "e914cad6f7b8c496",
    "fading policy": "4e0f1b4192553599",
    "restarting policy": "aeb5f82bb5494224",
    "soft policy": "931ce48c9ae68b58",
    "soft normal policy": "5694d1cd94ac7639",
    "CLUCB policy": "9122069f9e893430",
    "floors policy": "a27fdb6e6bdf3641",
    "budget policy": "358ba67bd823b666",
    "steady policy": "29514bf90917c999",
    "places policy": "fe4ec5205fd597e5",
}


@pytest.mark.parametrize("name", KNOWN)
def test_keys_are_the_same_everywhere(name):
    things = {key: world for key, (world, _) in WORLDS.items()}
    things |= {f"{key} matroid": matroid for key, matroid in MATROIDS.items()}
    things |= {f"{key} policy": policy for key, policy in POLICIES.items() if key != "own"}
    assert set(KNOWN) == set(things)
    assert digest(things[name])[:16] == KNOWN[name]


def test_whatever_differs_has_another_key():
    worlds = [
        mb.BernoulliEnvironment(TENTHS),
        mb.BernoulliEnvironment(np.nextafter(TENTHS, 0.0)),
        mb.GaussianEnvironment(TENTHS),
        mb.GaussianEnvironment(TENTHS, noise=2.0),
        mb.ExponentialEnvironment(TENTHS),
        mb.RowEnvironment(DATA),
        mb.RowEnvironment(DATA[::-1]),
        mb.RowEnvironment(sparse.csr_array(DATA)),
        mb.SampleEnvironment([[1, 2], [3]]),
        mb.SampleEnvironment([[1], [2, 3]]),
        mb.CascadeEnvironment(mb.BernoulliEnvironment(TENTHS)),
        mb.CascadeEnvironment(mb.BernoulliEnvironment(TENTHS), order="explore"),
        mb.CascadeEnvironment(mb.BernoulliEnvironment(TENTHS), until="failure"),
        mb.PositionEnvironment(mb.BernoulliEnvironment(TENTHS), [1.0]),
        mb.PositionEnvironment(mb.BernoulliEnvironment(TENTHS), [1.0, 0.5]),
        mb.DelayedEnvironment(mb.BernoulliEnvironment(TENTHS)),
        mb.DelayedEnvironment(mb.BernoulliEnvironment(TENTHS), 1),
        mb.AvailabilityEnvironment(mb.BernoulliEnvironment(TENTHS), 0.5),
        mb.AvailabilityEnvironment(mb.DelayedEnvironment(mb.BernoulliEnvironment(TENTHS), 1), 0.5),
        mb.DelayedEnvironment(mb.AvailabilityEnvironment(mb.BernoulliEnvironment(TENTHS), 0.5), 1),
    ]
    assert len({digest(world) for world in worlds}) == len(worlds)
    others = [*MATROIDS.values(), mb.UniformMatroid(6, 3, labels="abcdef"), mb.OMM(), mb.OMM(2), mb.KLOSM()]
    assert len({digest(thing) for thing in others}) == len(others)
    world = mb.BernoulliEnvironment(TENTHS)
    problems = [mb.Problem(mb.UniformMatroid(8, 2), world, minimize) for minimize in (False, True)]
    assert len(set(map(problem_digest, problems))) == 2
    plain = [
        1,
        1.0,
        True,
        "1",
        None,
        [],
        {},
        [[]],
        [1, 2],
        [[1], 2],
        {"a": 1},
        np.array([1, 2]),
        np.array([1.0, 2.0]),
    ]
    assert len(set(map(digest, plain))) == len(plain)


class Several(mb.Policy):
    """Policies and detectors in lists and in dicts, beside arrays of policies in policies."""

    kind = "several"

    def __init__(self, parts, base):
        self.parts, self.base = parts, base

    def indices(self, state, request):
        return state.means


def test_policies_have_the_digest_of_their_form():
    def several(scale=1.0, threshold=20.0, feature=0.5):
        rows = np.array([[1.0, 0.0], [0.0, feature]])
        base = mb.Restarting(mb.CombLinUCB(rows), mb.CUSUM())
        return Several([mb.OMM(scale), {"by": mb.CUSUM(threshold=threshold)}], base)

    keys = {digest(several(**other)) for other in ({}, {"scale": 2.0}, {"threshold": 9.0}, {"feature": 0.25})}
    assert len(keys) == 4
    arrays = {}
    form = mb.policy_to_dict(several(), arrays)
    assert digest(several()) == digest(mb.policy_from_dict(form, arrays)) == digest(mb.policy_from_dict(form, arrays))

    class Half(mb.OMM):
        pass

    with pytest.raises(SerializationError, match="Half is a class of your own"):
        digest(Several([Half()], mb.OMM()))
    with pytest.raises(
        SerializationError, match=r"expected a plain value or an array as Several\.parts, got <function"
    ):
        digest(Several(several, mb.OMM()))


def test_what_does_not_matter_has_no_say():
    wide = sparse.csr_array(DATA)
    narrow = sparse.csr_array((wide.data, wide.indices.astype(np.int32), wide.indptr.astype(np.int32)), wide.shape)
    assert digest(mb.RowEnvironment(wide)) == digest(mb.RowEnvironment(narrow))
    assert digest(np.arange(6)[::2]) == digest(np.array([0, 2, 4]))
    assert digest(np.arange(3, dtype=">i4")) == digest(np.arange(3))
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    world = mb.BernoulliEnvironment(TENTHS)
    problem = mb.Problem(mb.UniformMatroid(8, 2), world)
    before = problem_digest(problem)
    problem.gaps()  # what is computed on the way is no part of it
    assert problem_digest(problem) == before
    huge = np.arange(2**20 + 3)
    assert digest(huge) == digest(huge.astype(np.int32))  # in chunks


def test_what_is_no_data_is_refused():
    with pytest.raises(SerializationError, match=r"numbers, text, arrays and named code .*, got object"):
        digest([object()])
    world = mb.BernoulliEnvironment([0.5])
    world._lock = object()
    with pytest.raises(SerializationError, match=r"BernoulliEnvironment\._lock: expected numbers, .* got object"):
        digest(world)
    with pytest.raises(SerializationError, match="is code, which a store cannot compare"):
        digest(int)

    class Empty(mb.OMM):
        kind = ""

    with pytest.raises(SerializationError, match=r"Empty is a class of your own.*got ''"):
        digest(Empty())

    class Pair(mb.Constraint):
        def allows(self, items):
            raise NotImplementedError

        def best_sets(self, weights, *, available=None, pinned=None):
            raise NotImplementedError

        def fields(self):
            return {}

    with pytest.raises(SerializationError, match="Pair has no kind"):
        digest(Pair(2))
    with pytest.raises(SerializationError, match="expected each label to be"):
        digest(mb.UniformMatroid(1, 1, labels=[frozenset()]))


def test_keys_of_stored_results_stay():
    """The key of a problem as the first version wrote it."""
    problem = mb.Problem(mb.PartitionMatroid("aabb").truncate(1), mb.BernoulliEnvironment([0.1, 0.2, 0.3, 0.4]))
    assert problem_digest(problem) == "d0e823017761c8731be70ab4df25fb5ce72d798a01ca1429885e699491b6cfdf"
