"""What a learner's file may hold: damaged, edited, oversized and foreign ones are refused, in little memory."""

import contextlib
import copy
import json
import math
import os
import random
import tracemalloc
import zipfile

import numpy as np
import pytest

import matroid_bandits as mb
import saved_files
from matroid_bandits.exceptions import FeedbackError, SerializationError
from samples import GRAPH, MATROIDS

ADS = mb.PartitionMatroid({"boots": "shoes", "heels": "shoes", "fedora": "hats", "cap": "hats", "visor": "hats"})
FEATURES = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, -1.0], [0.0, 0.5]])


def history(policy=None, constraint=ADS, **settings):
    """A learner with decision 1 told, 2 partly, 3 not."""
    learner = mb.Learner(constraint, policy or mb.KLOSM(), seed=4, **settings)
    decisions = [learner.ask() for _ in range(3)]
    learner.tell(decisions[0], np.linspace(0.25, 1.0, decisions[0].items.size))
    if decisions[1].items.size:
        learner.tell(decisions[1], {int(decisions[1].items[-1]): 0.25})
    return learner


@pytest.fixture
def path(tmp_path):
    return tmp_path / "learner"


def known(learner):
    """What a learner knows, as plain values."""
    state = learner._agent.state
    arrays = {"counts": state.counts, "sums": state.sums, **state.extra}
    waiting = [(d.id, d.items.tolist()) for d in learner.outstanding]
    return {key: value.tolist() for key, value in arrays.items()}, learner.n_decisions, learner.seed, waiting


# Edited files


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"seed": None}, "malformed learner: expected a seed to be an integer"),
        ({"seed": 1.0}, "malformed learner: expected a seed"),
        ({"seed": True}, "malformed learner: expected a seed"),
        ({"seed": 2**64}, "malformed learner: expected a seed"),
        ({"minimize": "false"}, "expected minimize to be True or False"),
        ({"minimize": 0}, "expected minimize to be True or False"),
        ({"n_items": 5.0}, "expected n_items to be an integer"),
        ({"n_items": 10**8}, "counts and sums do not fit 100000000 items"),
        ({"episode": 3.0}, "a learner cannot have made 3.0 decisions"),
        ({"episode": True}, "a learner cannot have made True decisions"),
        ({"episode": 2**47}, "a learner cannot have made 140737488355328 decisions"),
        ({"policy": 3}, "expected policy to be of type str, got 3"),
        ({"params": [0.0]}, "expected params to be of type dict or null"),
        ({"matroid": "partition"}, "expected matroid to be of type dict or null"),
        ({"fingerprint": 7}, "expected fingerprint to be of type str or null"),
        ({"note": "hello"}, "expected nothing called 'note'"),
        (
            {"open": [[3, [0, 2], None], [3, [0, 2], None]]},
            "expected outstanding decisions in the order .* 3 after 3",
        ),
        ({"open": [[3, [0, 2], None], [2, [0, 2], None]]}, "in the order they were made, got 2 after 3"),
        ({"open": [[3, [0, 2], [True, True]]]}, "and one False, for what was told of 3"),
        ({"open": [[3, [0, 2], [0, 1]]]}, "expected True or False"),
        ({"open": [[3, [2, 0], [True, False]]]}, r"expected the items of decision 3 ascending, got \[2, 0\]"),
        ({"open": [[3, [0, 0], None]]}, "expected the items of decision 3 ascending"),
        ({"open": [[3, [0, 1], None]]}, r"expected decision 3 to be a basis of 2 items, got \[0, 1\]"),
        ({"open": [[3, [0], None]]}, r"expected decision 3 to be a basis of 2 items, got \[0\]"),
        ({"open": [[3, [0, 2.0], None]]}, "an outstanding decision was never made"),
        ({"open": [[3, [False, 2], None]]}, "an outstanding decision was never made"),
        ({"open": [[True, [0, 2], None]]}, "an outstanding decision was never made"),
        ({"open": [[3, {"0": 2}, None]]}, "an outstanding decision was never made"),
        ({"open": {"3": [0, 2]}}, "expected open to be of type list"),
    ],
)
def test_a_header_that_cannot_be_true_is_refused(path, header, message):
    history().save(path)
    saved_files.edit(path, header)
    with pytest.raises(SerializationError, match=message):
        mb.Learner.load(path)


def nan_at(array, place, value=math.nan):
    array = np.array(array, float)
    array[place] = value
    return array


@pytest.mark.parametrize(
    ("policy", "name", "change", "message"),
    [
        (mb.KLOSM(), "counts", lambda a: a + 2**62, "expected counts from 0 to 2"),
        (mb.KLOSM(), "counts", lambda a: a - 1, "expected counts from 0 to 2"),
        (mb.KLOSM(), "sums", lambda a: nan_at(a, 0), "finite sums"),
        (mb.KLOSM(), "sums", lambda a: a + 5.0, r"expected gains in \[0, 1\], got a sum of 5.25 from 1 of item 0"),
        (mb.OMM(), "sums", lambda a: a + 1.0, r"expected gains in \[-1e\+100, 1e\+100\], got a sum of 1.0 from 0"),
        (mb.OMM(), "sums", lambda a: a * 1e105, r"expected gains in \[-1e\+100, 1e\+100\]"),
        (mb.ThompsonSampling(), "extra/successes", lambda a: a - 1, "expected a number of successes from 0 to 1"),
        (mb.ThompsonSampling(), "extra/successes", lambda a: nan_at(a, (0, 0)), "expected a number of successes"),
        (mb.ThompsonSampling(), "extra/successes", lambda a: a + 7, "successes from 0 to 1 for item 0, got [78].0"),
        (mb.ThompsonSampling(), "extra/successes", lambda a: a + 0.5, "expected a number of successes"),
        (mb.CombLinTS(FEATURES), "extra/theta", lambda a: nan_at(a, (0, 1)), "expected finite coefficients theta"),
        (
            mb.CombLinTS(FEATURES),
            "extra/covariance",
            lambda a: nan_at(a, (0, 1, 1), -1.0),
            "expected variances from 0",
        ),
        (mb.CombLinTS(FEATURES), "extra/covariance", lambda a: nan_at(a, (0, 1, 1), 2.0), "to the prior's 1, got 2"),
        (
            mb.CombLinTS(FEATURES),
            "extra/covariance",
            lambda a: nan_at(a, (0, 0, 1)),
            "expected a symmetric covariance",
        ),
        (mb.CombLinTS(FEATURES), "extra/covariance", lambda a: nan_at(a, (0, 0, 1), 9.0), "expected a symmetric"),
        (mb.CombLinTS(FEATURES), "extra/covariance", lambda a: a[:, :1], "the policy's arrays do not fit"),
        (mb.CombLinTS(FEATURES), "policy/features", lambda a: a[:3], "expected features for 5 items, got 3 rows"),
        (
            mb.CombLinTS(FEATURES),
            "policy/colour",
            lambda a: np.zeros(3),
            "unexpected keyword argument.*policy/colour",
        ),
        (mb.KLOSM(), "notes", lambda a: np.zeros(3), "expected no array called 'notes'"),
    ],
)
def test_arrays_that_cannot_be_true_are_refused(path, policy, name, change, message):
    history(policy).save(path)
    _, arrays = saved_files.members(path)
    saved_files.edit(path, arrays={name: change(arrays.get(name))})
    with pytest.raises(SerializationError, match=message):
        mb.Learner.load(path)


# What is passed to load must be what was saved


@pytest.mark.parametrize(
    ("saved", "given"),
    [
        (mb.OMM(2.0), mb.OMM(1.0)),
        (mb.ThompsonSampling(), mb.ThompsonSampling("normal")),
        (mb.FixedSet([0, 2]), mb.FixedSet([0, 3])),
        (mb.CombLinTS(FEATURES), mb.CombLinTS(FEATURES + 1.0)),
    ],
)
def test_a_policy_given_must_be_the_saved_one(path, saved, given):
    history(saved).save(path)
    with pytest.raises(SerializationError, match=r"that the learner was saved with, .* got "):
        mb.Learner.load(path, policy=given)
    assert mb.Learner.load(path, policy=copy.deepcopy(saved)).policy == saved


def test_a_fixed_set_of_labels_comes_back(path):
    matroid = mb.UniformMatroid(3, 2, labels=[("x", 1), "b", 7])
    policy = mb.FixedSet([("x", 1), "b"])
    mb.Learner(matroid, policy, seed=0).save(path)
    for given in (None, mb.FixedSet([("x", 1), "b"])):
        assert mb.Learner.load(path, policy=given).policy == policy
    with pytest.raises(SerializationError, match="that the learner was saved with"):
        mb.Learner.load(path, policy=mb.FixedSet([("x", 1), 7]))


def test_decisions_that_wait_are_numbers_whatever_the_labels(path):
    learner = mb.Learner(mb.UniformMatroid(3, 2, labels=[2, 0, 1]), mb.OMM(), seed=0)
    decision = learner.ask()
    learner.save(path)
    again = mb.Learner.load(path)
    again.tell(decision, [0.5, 0.5])
    assert again.estimates().counts[decision.items].tolist() == [1, 1]


def test_a_matroid_that_cannot_be_stored_leaves_a_fingerprint(path):
    def at_most(rank):
        return mb.OracleMatroid(6, lambda X: len(X) <= rank, labels="abcdef")

    history(mb.OMM(), at_most(3)).save(path)
    assert known(mb.Learner.load(path, constraint=at_most(3))) == known(history(mb.OMM(), at_most(3)))
    others = [
        at_most(2),
        mb.OracleMatroid(6, lambda X: len(X & {0, 1}) <= 1 and len(X) <= 3, labels="abcdef"),
        mb.OracleMatroid(6, lambda X: len(X) <= 3, labels="abcdeg"),
        mb.OracleMatroid(6, lambda X: len(X) <= 3),
    ]
    for other in others:
        with pytest.raises(SerializationError, match="expected the matroid that the learner was saved with, got Ora"):
            mb.Learner.load(path, constraint=other)
    saved_files.edit(path, {"fingerprint": None})  # as files were before
    assert mb.Learner.load(path, constraint=at_most(3)).n_decisions == 3


# What is saved can be loaded


@pytest.mark.parametrize("weight", [1e308, -1e308, 1.0001e100])
def test_weights_are_bounded_so_that_sums_stay_finite(weight, path):
    learner = mb.Learner(mb.UniformMatroid(2, 1), mb.OMM(), seed=0)
    with pytest.raises(FeedbackError, match=r"expected weights of at most 1e\+100 in size, got -?1"):
        learner.observe({0: weight})
    with pytest.raises(FeedbackError, match=r"expected weights of at most 1e\+100 in size"):
        learner.tell(learner.ask(), [weight])
    for _ in range(3):
        learner.tell(learner.ask(), [math.copysign(1e100, weight)])
    learner.save(path)
    assert known(mb.Learner.load(path)) == known(learner)


class Drifting(mb.Policy):
    """A user's own whose array must stay positive."""

    def prepare(self, state):
        state.extra["level"] = np.ones(state.counts.shape)
        assert state.n_runs, "not for nothing"

    def indices(self, state, request):
        return state.means

    def check_extra(self, state):
        if not (state.extra["level"] > 0.0).all():
            raise mb.exceptions.PolicyError("expected positive levels")


def test_what_load_would_refuse_is_not_written(path):
    learner = history(Drifting())
    learner.save(path)
    assert known(mb.Learner.load(path)) == known(learner)
    old = path.read_bytes()
    learner._agent.state.extra["level"][0, 2] = -1.0
    with pytest.raises(SerializationError, match="malformed learner: expected positive levels"):
        learner.save(path)
    assert path.read_bytes() == old


class Logging(mb.Policy):
    """A user's own that keeps what it should not: an array that grows, or objects."""

    def __init__(self, kind="growing", words=("a", "b"), **more):
        self.kind, self.words, self.more = kind, np.array(words), more

    def params(self):
        return {"kind": self.kind, "words": self.words, **self.more}

    def prepare(self, state):
        state.extra["log"] = np.zeros((state.n_runs, 1), object if self.kind == "objects" else float)

    def indices(self, state, request):
        return state.means

    def observe(self, state, feedback):
        if self.kind == "growing":
            state.extra["log"] = np.append(state.extra["log"], [[1.0]], axis=1)


@pytest.mark.parametrize("kind", ["growing", "objects"])
def test_arrays_that_a_fresh_learner_would_not_have_are_not_written(path, kind):
    with pytest.raises(SerializationError, match="malformed learner: the policy's arrays do not fit"):
        history(Logging(kind)).save(path)
    assert not path.exists()


def test_arguments_may_be_words_and_any_keywords(path):
    policy = Logging("still", np.array(["left", "right"]), more=np.arange(3))
    history(policy).save(path)
    again = mb.Learner.load(path).policy
    assert again.words.tolist() == ["left", "right"]
    assert again.more["more"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("matroid", MATROIDS.values(), ids=MATROIDS.keys())
@pytest.mark.parametrize("minimize", [False, True])
def test_every_matroid_comes_back(path, matroid, minimize):
    for policy in (mb.ThompsonSampling(), mb.OMM(), mb.CombLinUCB(np.ones((matroid.n_items, 2)))):
        learner = history(policy, matroid, minimize=minimize)
        learner.save(path)
        assert known(mb.Learner.load(path)) == known(learner)


# Damaged files


def damaged(whole, chance):
    """The bytes of a file with something wrong: a cut, noise, a piece moved, left out, doubled or set to ones."""
    content, kind = bytearray(whole), chance.randrange(6)
    a = chance.randrange(len(content))
    b = min(len(content), a + chance.choice([1, 2, 4, 8, 64, 512]))
    if kind == 0:
        del content[a:]
    elif kind == 1:
        content[a:b] = chance.randbytes(b - a)
    elif kind == 2:
        del content[a:b]
    elif kind == 3:
        content[a:a] = content[a:b]
    elif kind == 4:
        content[a:b] = b"\xff" * (b - a)
    else:
        content[a] ^= 1 << chance.randrange(8)
    return bytes(content)


@pytest.mark.parametrize("policy", [mb.ThompsonSampling(), mb.CombLinUCB(FEATURES)], ids=["beta", "linear"])
def test_thousands_of_damaged_files_are_refused_or_harmless(path, policy):
    """Every second one is damaged in its last bytes, the directory of the archive, where offsets are."""
    learner, chance = history(policy), random.Random(1)
    learner.save(path)
    whole, n_refused = path.read_bytes(), 0
    directory = whole.index(b"PK\x01\x02")
    for i in range(1000):
        content = whole[:directory] + damaged(whole[directory:], chance) if i % 2 else damaged(whole, chance)
        path.write_bytes(content)
        try:
            again = mb.Learner.load(path)
        except SerializationError as error:
            n_refused += 1
            assert str(error).startswith(f"{path}: ")  # noqa: PT017 - the message of each of thousands
        else:
            assert known(again) == known(learner)  # a time stamp, a comment
    assert n_refused > 700


ODD = [
    None, True, False, 0, 1, -1, 3, 10**8, 2**31, 2**47, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**400, 0.5, -0.0,
    1e308, math.inf, -math.inf, math.nan, "", "false", "1", "OMM", "partition", "\ud800", "x" * 5000, [], {}, [[]],
    [0], [1, 0], [None], {"": 0}, {"kind": "uniform"}, [[[[[[]]]]]],
]  # fmt: skip


def places(value, path=()):
    """The paths to all values of a JSON form."""
    yield path
    if isinstance(value, (dict, list)):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(part, (*path, key))


def edited(header, chance):
    """The header with one of its values replaced, left out, doubled or swapped with another."""
    form = copy.deepcopy(header)
    spots = [spot for spot in places(form) if spot and spot[0] not in ("format", "version")]
    *way, last = chance.choice(spots)
    inside = form
    for key in way:
        inside = inside[key]
    kind = chance.randrange(6)
    if kind == 0:
        del inside[last]
    elif kind == 1 and isinstance(inside, list):
        inside.append(copy.deepcopy(inside[last]))
    elif kind == 2 and isinstance(inside, list):
        inside.reverse()
    else:
        inside[last] = copy.deepcopy(chance.choice(ODD))
    return form


@pytest.mark.parametrize(
    ("policy", "constraint"),
    [
        (mb.ThompsonSampling(), ADS),
        (mb.OMM(), GRAPH.truncate(3)),
        *((mb.OMM(), matroid) for matroid in MATROIDS.values()),
    ],
)
def test_thousands_of_edited_headers_are_refused_or_make_a_learner_that_works(path, policy, constraint):
    """Whatever is loaded has types that can be saved again, and goes on; nothing takes much memory."""
    learner, chance = history(policy, constraint), random.Random(2)
    learner.save(path)
    header, arrays = saved_files.members(path)
    n_loaded = 0
    tracemalloc.start()
    for _ in range(150):
        saved_files.write(path, edited(header, chance), arrays)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        try:
            again = mb.Learner.load(path)
        except SerializationError:
            again = None
        assert tracemalloc.get_traced_memory()[1] - before < 2_000_000
        if again is not None:
            n_loaded += 1
            assert type(again.minimize) is bool
            assert again.seed == mb.Learner.load(path).seed
            again.tell(again.ask(), np.full(again.constraint.rank, 0.5))
            for decision in again.outstanding:
                assert again.constraint.is_basis(decision.items)
            again.save(path)
            assert known(mb.Learner.load(path)) == known(again)
    tracemalloc.stop()
    assert n_loaded < 75


@pytest.mark.parametrize("policy", [mb.ThompsonSampling(), mb.CombLinUCB(FEATURES)], ids=["beta", "linear"])
def test_hundreds_of_edited_arrays_are_refused_or_make_a_learner_that_works(path, policy):
    chance = random.Random(3)
    learner = history(policy)
    learner.save(path)
    header, arrays = saved_files.members(path)
    changes = [
        lambda a: a.astype(chance.choice([np.int64, np.float64, np.int32, np.uint64, bool, complex, ">f8", "S8"])),
        lambda a: a.reshape(-1),
        lambda a: a[None],
        lambda a: a[..., :-1],
        lambda a: np.full(a.shape, chance.choice([-1, 2**40, 2**62, -(2**63), 1, 0]), a.dtype),
        lambda a: np.full(a.shape, chance.choice([math.nan, math.inf, -1e308, 1e-308, 0.5])),
        lambda a: np.zeros((0,), a.dtype),
        lambda a: np.zeros(10**5, a.dtype),
    ]
    for _ in range(500):
        name = chance.choice([*arrays, "extra/more", "more"])
        change = chance.choice(changes)
        given = arrays.get(name, np.zeros(3))
        saved_files.write(path, header, arrays | {name: change(given)})
        with contextlib.suppress(SerializationError):
            again = mb.Learner.load(path)
            again.tell(again.ask(), [0.5, 0.5])
            again.save(path)
            assert known(mb.Learner.load(path)) == known(again)


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"1" * 10_000,
        b"\xff\xfe\x00",
        b"{" + b'"open": [], ' * 9 + b'"open": []}',
        b"null",
        b"NaN",
    ],
)
def test_headers_that_are_no_headers(path, text):
    history().save(path)
    saved_files.write(path, text, saved_files.members(path)[1], compression=zipfile.ZIP_STORED)
    with pytest.raises(SerializationError):
        mb.Learner.load(path)


def test_deep_forms_inside_a_header_are_refused(path):
    history().save(path)
    for depth in (100, 300, 900):
        nested = json.loads("[" * depth + "]" * depth)
        for key in ("open", "params", "matroid", "seed"):
            saved_files.edit(path, {key: nested})
            with pytest.raises(SerializationError):
                mb.Learner.load(path)
            history().save(path)
        header, arrays = saved_files.members(path)
        header["matroid"]["labels"] = [nested] * 5
        saved_files.write(path, header, arrays)
        with pytest.raises(SerializationError):
            mb.Learner.load(path)
        history().save(path)


# Memory


def peak(call):
    """The most memory that a call has taken at a time."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def refused(path):
    with pytest.raises(SerializationError):
        mb.Learner.load(path)


MEGABYTE = 2**20


def test_a_small_file_takes_little_memory_whatever_it_declares(path):
    learner = mb.Learner(mb.UniformMatroid(5, 2), mb.OMM(), seed=0)
    learner.save(path)
    header, arrays = saved_files.members(path)
    huge = header | {"n_items": 10**8, "matroid": header["matroid"] | {"n_items": 10**8}}
    saved_files.write(path, huge, arrays)
    assert path.stat().st_size < 2000
    assert peak(lambda: refused(path)) < MEGABYTE


def lying(path, header, arrays, shape):
    """A stored file whose arrays say that they are of another shape, everywhere that it is written."""
    saved_files.write(path, header, {}, compression=zipfile.ZIP_STORED)
    with zipfile.ZipFile(path, "a") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array_header_1_0(
                    member, {"descr": array.dtype.str, "fortran_order": False, "shape": shape}
                )
                member.write(array.tobytes())
        for info in archive.infolist():
            if info.filename != "header.json":
                info.file_size = 128 + 8 * math.prod(shape)
    return path


def test_arrays_that_say_they_are_larger_than_the_file(path):
    mb.Learner(mb.UniformMatroid(5, 2), mb.OMM(), seed=0).save(path)
    header, arrays = saved_files.members(path)
    huge = header | {"n_items": 10**8, "matroid": header["matroid"] | {"n_items": 10**8}}
    lying(path, huge, arrays, (10**8,))
    assert peak(lambda: refused(path)) < MEGABYTE


PADDING = bytes(64 * MEGABYTE)


@pytest.mark.parametrize("where", ["header.json", "counts", "extra/successes", "unknown", "policy/no"])
def test_padded_and_unknown_members_are_refused_unread(path, where):
    history(mb.ThompsonSampling()).save(path)
    header, arrays = saved_files.members(path)
    padding = PADDING.replace(b"\0", b" ") if where == "header.json" else PADDING
    if where != "header.json":
        arrays.setdefault(where, np.zeros(3))
    saved_files.write(path, header, arrays, {where: padding})
    assert path.stat().st_size < MEGABYTE
    assert peak(lambda: refused(path)) < 2 * MEGABYTE


@pytest.mark.parametrize("where", ["unknown", "extra/unknown", "policy/no"])
def test_unknown_arrays_are_refused_unread(path, where):
    history(mb.ThompsonSampling()).save(path)
    header, arrays = saved_files.members(path)
    saved_files.write(path, header, arrays | {where: np.zeros(8 * MEGABYTE)})
    assert peak(lambda: refused(path)) < MEGABYTE


def test_features_do_not_make_a_covariance_that_the_file_does_not_have(path):
    history(mb.CombLinTS(FEATURES)).save(path)
    header, arrays = saved_files.members(path)
    saved_files.write(path, header, arrays | {"policy/features": np.zeros((5, 20_000))})
    assert peak(lambda: refused(path)) < 4 * MEGABYTE


@pytest.mark.parametrize(
    "name", ["counts.npy", "header.json", "notes.txt", "counts", "../counts.npy", "counts.npy.npy"]
)
def test_repeated_and_odd_members_are_refused(path, name):
    history().save(path)
    with zipfile.ZipFile(path, "a") as archive:
        content = archive.read("counts.npy")
        if name in archive.namelist():
            with pytest.warns(UserWarning, match="Duplicate name"):
                archive.writestr(name, content)
        else:
            archive.writestr(name, content)
    refused(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(path, method):
    history().save(path)
    saved_files.write(path, *saved_files.members(path), compression=method)
    with pytest.raises(SerializationError, match="stored or deflated, got method"):
        mb.Learner.load(path)


def test_honest_memory_grows_with_the_content_of_the_file(path):
    """Loading takes a small multiple of what the arrays themselves do."""
    for n_items in (10**4, 10**5):
        learner = mb.Learner(mb.UniformMatroid(n_items, 2), mb.OMM(), seed=0)
        learner.observe(np.arange(n_items) / n_items)
        learner.save(path)
        assert peak(lambda: mb.Learner.load(path)) < 30 * 16 * n_items


# Errors that are not the file's


def test_a_missing_file_is_missing_and_a_folder_a_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        mb.Learner.load(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError):
        mb.Learner.load(tmp_path)


@pytest.mark.parametrize("number", [5, 13, 116])
def test_an_error_of_the_disk_stays_one(path, monkeypatch, number):
    history().save(path)

    def fail(*arguments, **settings):
        raise OSError(number, os.strerror(number))

    for where in ("zipfile.ZipFile.read", "zipfile.ZipExtFile.read", "numpy.lib.format.read_array"):
        with monkeypatch.context() as patch:
            patch.setattr(where, fail)
            with pytest.raises(OSError, match=os.strerror(number)) as caught:
                mb.Learner.load(path)
        assert not isinstance(caught.value, SerializationError)
