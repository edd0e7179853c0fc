"""Sets that are shown as lists: their order, and answers that tell of what people looked at."""

import json

import numpy as np
import pytest

import matroid_bandits as mb
from matroid_bandits.exceptions import (
    DecisionClosedError,
    FeedbackError,
    ItemError,
    PolicyError,
    ReplayError,
    SerializationError,
)

NEWS = mb.PartitionMatroid(dict(zip("abcdefg", "xxxyyzz", strict=True)), capacities={"x": 2, "y": 1, "z": 1})
FIVE = mb.UniformMatroid(5, 3, labels="abcde")
SEEN = {"a": 0.1, "b": 0.9, "c": 0.5, "d": 0.7, "e": 0.3, "f": 0.2, "g": 0.8}


def known(answers="all", **more):
    """A learner that knows all items a little, so that their order is that of `SEEN`."""
    learner = mb.Learner(NEWS, mb.OMM(0.01), seed=0, id="list", answers=answers, **more)
    learner.observe(SEEN)
    return learner


# The order


def test_the_best_come_first_and_pinned_items_before_them():
    learner = known()
    assert learner.ask(order="best").order == ("b", "g", "d", "c")
    assert learner.ask(order="explore").order == ("c", "d", "g", "b")
    assert learner.ask(order="best", pinned=["a", "f"]).order == ("a", "f", "b", "d")
    assert learner.ask(order="explore", pinned=["a", "f"]).order == ("a", "f", "d", "b")
    assert learner.ask().order is None


def test_a_list_is_made_where_the_answers_ask_for_one():
    for answers, is_list in [("all", False), ("clicks", False), ("first-click", True), ("first-failure", True)]:
        log = []
        learner = mb.Learner(FIVE, mb.OMM(), seed=0, answers=answers, record=log.append)
        decision = learner.ask()
        assert (decision.order is not None) is is_list
        assert ("order" in log[-1]) is is_list
        assert ("order" in decision.to_dict()) is is_list


def test_a_preview_has_the_order_of_the_decision():
    learner = known("first-click", holdout=0.5)
    for n in range(20):
        wanted = {"order": [None, "best", "explore"][n % 3], "pinned": ["a"] if n % 2 else []}
        assert learner.preview(**wanted).order == learner.ask(**wanted).order


def test_equal_indices_are_listed_by_number():
    assert mb.Learner(FIVE, mb.OMM(), answers="first-click").ask().order == ("a", "b", "c")
    assert mb.Learner(FIVE, mb.OMM()).ask(order="explore").order == ("c", "b", "a")


def test_random_sets_are_shown_in_random_order_with_pinned_items_first():
    log = []
    learner = mb.Learner(NEWS, mb.OMM(), seed=5, holdout=1.0, record=log.append)
    learner.observe(SEEN)
    n, places = 3000, {}
    for _ in range(n):
        decision = learner.ask(order="best", pinned=["c"])
        assert decision.is_held_out
        assert decision.order[0] == "c"
        for place, label in enumerate(decision.order[1:]):
            places.setdefault(label, np.zeros(3))[place] += 1
        learner.close(decision)
    assert [*log[-2]["order"]] == [*decision.order]
    for label, counts in places.items():  # given that an item is in the set, each place has one chance in three
        expected = counts.sum() / 3
        assert ((counts - expected) ** 2 / expected).sum() < 18.4, label  # a chance of 1 in 10,000 for 2 degrees


def test_a_control_shows_its_sets_in_its_own_order():
    control = mb.KLOSM()
    learner = mb.Learner(FIVE, mb.OMM(), seed=1, answers="first-click", holdout=mb.Holdout(0.5, control=control))
    clicks = {"a": 0, "b": 0, "c": 0, "d": 0, "e": 1}
    for _ in range(200):
        decision = learner.ask()
        learner.tell(decision, clicked=next((label for label in decision.order if clicks[label]), None))
    own = learner._control.estimates()
    rank = dict(zip("abcde", own.indices.tolist(), strict=True))
    while not (decision := learner.ask()).is_held_out:
        learner.tell(decision, clicked=None)
    assert [*decision.order] == sorted(decision.order, key=lambda label: (-rank[label], label))


def test_a_replay_checks_the_order():
    log = []
    learner = known("first-click", record=log.append, holdout=0.3)
    for n in range(30):
        learner.tell(learner.ask(order="explore" if n % 2 else None), clicked=None)
    log = json.loads(json.dumps(log))
    assert mb.Learner.replay(log).has_state_of(learner)
    at = next(n for n, event in enumerate(log) if event["event"] == "asked")
    other = [*log]
    other[at] = log[at] | {"order": log[at]["order"][::-1]}
    with pytest.raises(ReplayError, match=r"the log says .*, this learner decides"):
        mb.Learner.replay(other)
    trusting = mb.Learner.replay(other[: at + 1], trust=True)
    assert [*trusting.outstanding[0].order] == other[at]["order"]
    other[at] = {key: value for key, value in log[at].items() if key != "order"}
    with pytest.raises(ReplayError, match="the log says None"):
        mb.Learner.replay(other)
    other[at] = log[at] | {"order": log[at]["order"][1:]}
    with pytest.raises(ReplayError, match="expected an order of the items"):
        mb.Learner.replay(other, trust=True)


# Answers


def told(learner):
    found = learner.estimates()
    pairs = zip(found.counts.tolist(), (found.counts * np.nan_to_num(found.means)).tolist(), strict=True)
    return {label: (n, round(total, 9)) for label, (n, total) in zip(found.labels, pairs, strict=True) if n}


def fresh(answers, policy=None, **more):
    return mb.Learner(FIVE, policy or mb.OMM(), seed=0, id="list", answers=answers, **more)


def test_nothing_is_learnt_below_the_first_click():
    learner = fresh("first-click")
    learner.tell(learner.ask(), clicked="b")
    assert told(learner) == {"a": (1, 0.0), "b": (1, 1.0)}
    assert learner.n_outstanding == 0
    assert not learner.estimates().waiting.any()


def test_all_were_looked_at_where_nothing_was_clicked():
    learner = fresh("first-click")
    learner.tell(learner.ask(), clicked=None)
    assert told(learner) == {"a": (1, 0.0), "b": (1, 0.0), "c": (1, 0.0)}


def test_nothing_is_learnt_below_the_first_failure():
    learner = fresh("first-failure")
    learner.tell(learner.ask(), failed="b")
    assert told(learner) == {"a": (1, 1.0), "b": (1, 0.0)}
    learner = fresh("first-failure")
    learner.tell(learner.ask(), failed=None)
    assert told(learner) == {"a": (1, 1.0), "b": (1, 1.0), "c": (1, 1.0)}


def test_what_was_looked_at_may_be_said():
    learner = fresh("first-click")
    learner.tell(learner.ask(), {"c": 1}, examined=["a"])
    assert told(learner) == {"a": (1, 0.0), "c": (1, 1.0)}
    learner = fresh("first-failure")
    learner.tell(learner.ask(), examined=np.array([1, 2]))
    assert told(learner) == {"b": (1, 1.0), "c": (1, 1.0)}
    learner = fresh("clicks")
    decision = learner.ask()
    learner.tell(decision, {"a": 1.0})
    learner.tell(decision, examined=["a", "b"])  # what was told stays as it is
    assert told(learner) == {"a": (1, 1.0), "b": (1, 0.0)}
    assert learner.n_outstanding == 0
    learner.tell(decision := learner.ask(), {}, examined=[])
    assert told(learner) == {"a": (1, 1.0), "b": (1, 0.0)}
    assert learner.n_outstanding == 0


@pytest.mark.parametrize(
    ("answers", "said", "words"),
    [
        ("all", {"clicked": "a"}, 'expected the weight of every chosen item with answers="all", got clicked'),
        ("all", {"weights": {"a": 1.0}, "examined": ["a"]}, "got weights and examined"),
        ("clicks", {"clicked": None}, "weights of items that were clicked.*got clicked"),
        ("clicks", {"failed": None}, "got failed"),
        (
            "first-click",
            {"weights": {"a": 1.0}},
            "expected clicked= with the first item that was clicked.*got weights",
        ),
        ("first-click", {"weights": [0.0, 1.0, 0.0]}, "got weights"),
        ("first-click", {"failed": "a"}, "expected clicked=.*got failed"),
        ("first-click", {"clicked": "a", "failed": "a"}, "got clicked and failed"),
        ("first-click", {"clicked": "a", "weights": {"a": 1.0}}, "got clicked and weights"),
        ("first-click", {"clicked": None, "examined": ["a"]}, "got clicked and examined"),
        ("first-click", {}, "got nothing"),
        ("first-click", {"weights": {"a": 0.5}, "examined": []}, "expected weights of 0 or 1"),
        ("first-click", {"weights": {"a": 1, "b": 1}, "examined": []}, "at most one item at which people stopped"),
        ("first-failure", {"clicked": "a"}, "expected failed= with the first item that failed.*got clicked"),
        ("first-failure", {"weights": [1, 1, 1], "examined": ["a"]}, "expected weights by item beside examined="),
        ("first-failure", {"examined": "abc"}, "expected examined to be items or labels, got 'abc'"),
    ],
)
def test_an_answer_of_another_kind_is_refused_with_what_to_send(answers, said, words):
    learner = fresh(answers)
    decision = learner.ask()
    before, said = learner.n_steps, dict(said)
    weights = said.pop("weights", None)
    for tell in (learner.check_tell, learner.tell):
        with pytest.raises(FeedbackError, match=words):
            tell(decision, weights, **said)
    assert learner.n_steps == before
    assert learner.n_outstanding == 1
    assert not told(learner)


def test_items_of_other_decisions_are_refused():
    learner = fresh("first-click")
    decision = learner.ask()
    for key, error in (("d", FeedbackError), ("zz", ItemError), (7, ItemError)):
        with pytest.raises(error):
            learner.tell(decision, clicked=key)
        with pytest.raises(error):
            learner.tell(decision, examined=["a", key])
    assert learner.n_outstanding == 1
    assert not told(learner)


def test_a_click_counts_once_however_late_it_comes():
    learner = fresh("first-click")
    decision, other = learner.ask(), learner.ask()
    learner.tell(other, clicked=other.order[0])
    learner.tell(decision.id, clicked="b")
    for again in ("a", "b", None):
        with pytest.raises(DecisionClosedError, match="told all its weights already, or closed"):
            learner.tell(decision, clicked=again)
    learner.close_before(10)
    assert other.order == ("d", "e", "a")
    assert told(learner) == {"a": (1, 0.0), "b": (1, 1.0), "d": (1, 1.0)}


def test_a_decision_without_an_answer_is_closed_without_a_value():
    learner = fresh("first-click")
    decision = learner.ask()
    for close in (lambda: learner.close(decision, 0.0), lambda: learner.close_before(9, 0.0)):
        with pytest.raises(
            FeedbackError, match=r'expected default None with answers="first-click".*tell clicked=None'
        ):
            close()
    learner.close(decision)
    assert not told(learner)
    assert learner.n_outstanding == 0
    assert not learner.estimates().waiting.any()


def test_a_decision_without_items_takes_that_nothing_was_clicked():
    learner = fresh("first-click")
    decision = learner.ask(available=[])
    learner.tell(decision, clicked=None)
    assert decision.order == ()
    assert learner.n_outstanding == 0


def test_kinds_that_policies_and_constraints_do_not_take_are_refused():
    for answers in ("first-click", "first-failure"):
        with pytest.raises(PolicyError, match="expected a matroid with answers"):
            mb.Learner(mb.AssignmentConstraint({("a", 1), ("b", 2)}), mb.OMM(), answers=answers)
    learner = mb.Learner(mb.AssignmentConstraint({("a", 1), ("b", 2)}), mb.OMM())
    with pytest.raises(PolicyError, match="expected a matroid"):
        learner.configure(answers="first-click")
    assert learner.answers == "all"


def test_the_kind_may_change_while_decisions_wait():
    learner = fresh("all")
    decision = learner.ask()
    learner.configure(answers="first-click")
    with pytest.raises(FeedbackError, match="expected examined= for decision 1, which was made without an order"):
        learner.tell(decision, clicked="b")
    learner.tell(decision, {"b": 1}, examined=["a"])
    listed = learner.ask()
    learner.configure(answers="all")
    learner.tell(listed, {"d": 0.25})
    assert listed.order is not None
    assert learner.ask().order is None
    assert told(learner) == {"a": (1, 0.0), "b": (1, 1.0), "d": (1, 0.25)}


# Everything at once, beside books of one's own


class Books:
    """What was told, by decision and label, while the same happens to a learner."""

    def __init__(self, answers, seed, **more):
        self.rng, self.answers, self.log = np.random.default_rng(seed), answers, []
        self.learner = mb.Learner(
            self.matroid("abcdef"), mb.OMM(), seed=seed, id="x", answers=answers, record=self.log.append, **more
        )
        self.lists, self.told, self.closed, self.counted = {}, {}, set(), {}
        self.is_known = dict.fromkeys("abcdef", 0)  # since which decision an item's answers count

    @staticmethod
    def matroid(labels):
        return mb.UniformMatroid(len(labels), 3, labels=list(labels))

    def step(self, folder):
        dice, rng = self.rng.random(), self.rng
        waiting = [t for t in self.lists if t not in self.closed]
        if dice < 0.45 or not waiting:
            decision = self.learner.ask(order=[None, "explore"][rng.integers(2)])
            assert {*decision.order} == {*decision.labels}
            self.lists[decision.id] = decision
        elif dice < 0.8:
            self.answer(int(rng.choice(waiting)))
        elif dice < 0.85:
            t = int(rng.choice(waiting))
            self.learner.close(t)
            self.closed.add(t)
        elif dice < 0.95:
            labels = "".join(rng.permutation(list("abcdefgh"))[: rng.integers(4, 8)])
            self.learner.change(self.matroid(labels))
        else:
            self.learner.save(folder / "file")
            again = mb.Learner.load(folder / "file", record=self.log.append)
            assert again.has_state_of(self.learner)
            assert again.outstanding == self.learner.outstanding
            self.learner = again

    def answer(self, t):
        rng, order = self.rng, self.lists[t].order
        at = 1.0 if self.answers == "first-click" else 0.0
        name = "clicked" if self.answers == "first-click" else "failed"
        how = rng.integers(3)
        if how == 0:
            stop = int(rng.integers(len(order) + 1))
            label = order[stop] if stop < len(order) else None
            self.learner.tell(t if rng.random() < 0.5 else self.lists[t], **{name: label})
            told = dict.fromkeys(order[:stop], 1.0 - at) | ({} if label is None else {label: at})
        else:
            some = [label for label in order if rng.random() < 0.6]
            last = {some[-1]: at} if some and how == 1 else {}
            self.learner.tell(t, last or None, examined=some)
            told = dict.fromkeys(some, 1.0 - at) | last
        self.told[t] = told
        self.closed.add(t)

    def check(self):
        counts, sums = dict.fromkeys("abcdefgh", 0), dict.fromkeys("abcdefgh", 0.0)
        for told in self.told.values():
            for label, weight in told.items():
                counts[label] += 1
                sums[label] += weight
        found = told_by(self.learner)
        assert found == {label: (counts[label], sums[label]) for label in self.learner.constraint.labels}
        frame = mb.read_log(self.log).frame(propensity=False)
        for row in frame.itertuples():
            order = self.lists[row.decision].order
            assert order[row.place] == row.item
            weight = self.told.get(row.decision, {}).get(row.item)
            source = "told" if weight is not None else "waiting"
            if weight is None and row.decision in self.closed:
                source = "unseen" if row.decision in self.told else "lost"
            assert row.source == source
            assert weight is None or weight == row.weight
        replayed = mb.Learner.replay(json.loads(json.dumps(self.log)))
        assert replayed.has_state_of(self.learner)
        assert replayed.outstanding == self.learner.outstanding

    def values(self):
        """What each settled decision was worth."""
        found = {}
        for t, told in self.told.items():
            n = len(self.lists[t].order)
            if self.answers == "first-click":
                found[t] = None if not told else float(1.0 in told.values())
            elif 0.0 in told.values():
                found[t] = 0.0
            else:
                found[t] = 1.0 if len(told) == n else None
        return {t: value for t, value in found.items() if value is not None}


def told_by(learner):
    found = learner.estimates()
    totals = (found.counts * np.nan_to_num(found.means)).round(9).tolist()
    return dict(zip(found.labels, zip(found.counts.tolist(), totals, strict=True), strict=True))


@pytest.mark.parametrize("answers", ["first-click", "first-failure"])
@pytest.mark.parametrize("seed", range(6))
def test_histories_agree_with_books(answers, seed, tmp_path):
    books = Books(answers, seed, holdout=0.25 if seed % 2 else 0.0)
    for _ in range(150):
        books.step(tmp_path)
    books.check()
    log, values = mb.read_log(books.log), books.values()
    assert {each.id: each.value for each in log.decisions if each.is_counted} == values
    assert {each.id for each in log.decisions if each.is_settled} == books.closed
    found = mb.evaluation.evaluate(log, {})
    assert found.played.value == pytest.approx(np.mean([*values.values()]))
    if seed % 2:
        held_out = {t for t, decision in books.lists.items() if decision.is_held_out}
        start = found.uplift.windows["start"]
        assert start.control == pytest.approx(np.mean([value for t, value in values.items() if t in held_out]))
        assert start.learner == pytest.approx(np.mean([value for t, value in values.items() if t not in held_out]))
        assert start.n_lost == len(books.closed) - len(values)


def test_a_file_with_wrong_places_is_refused(tmp_path):
    learner = fresh("first-click")
    learner.ask()
    learner._agent.open[1].places = np.array([0, 0, 2])
    learner.save(tmp_path / "file")
    with pytest.raises(SerializationError, match="expected every place of a list once"):
        mb.Learner.load(tmp_path / "file")


# Clicks by place


def site(n, seed, policy=None, **more):
    """A learner of clicks by place on a simulated site, told in random order and late; and what it was told."""
    rng, attention = np.random.default_rng(seed), [1.0, 0.5, 0.25]
    chances = dict(zip("abcde", (0.8, 0.6, 0.5, 0.3, 0.2), strict=True))
    learner = fresh("clicks-by-place", policy or mb.PositionBias(mb.OMM(0.2)), **more)
    clicks, shows, waiting = np.zeros((5, 10)), np.zeros((5, 10)), []
    for _ in range(n):
        waiting.append(learner.ask())
        if len(waiting) > 5 or rng.random() < 0.3:
            decision = waiting.pop(int(rng.integers(len(waiting))))
            places = range(len(decision.order))
            clicked = [k for k in places if rng.random() < attention[k] * chances[decision.order[k]]]
            for k in rng.permutation(clicked).tolist():
                learner.tell(decision.id, {decision.order[k]: 1.0})
            if len(clicked) < len(places):
                learner.close(decision)
            for k in places:
                e = "abcde".index(decision.order[k])
                shows[e, k] += 1.0
                clicks[e, k] += k in clicked
    return learner, clicks, shows


def test_clicks_count_at_the_place_where_they_were_shown(tmp_path):
    log = []
    learner, clicks, shows = site(600, 3, record=log.append, holdout=0.2)
    extra = learner._agent.state.extra
    assert extra["clicks_at"][0].tolist() == clicks.tolist()
    assert extra["shown_at"][0].tolist() == shows.tolist()
    assert learner.attention[:3] == pytest.approx([1.0, 0.5, 0.25], abs=0.12)
    assert learner.estimates().attention.tolist() == learner.attention.tolist()
    assert mb.Estimates.from_dict(learner.estimates().to_dict()).attention.tolist() == learner.attention.tolist()
    why = learner.explain("a")
    assert why.attention.tolist() == learner.attention[:3].tolist()
    assert f"attention by place 1, {learner.attention[1]:.3g}, {learner.attention[2]:.3g}" in str(why)
    assert mb.Learner.replay(json.loads(json.dumps(log))).has_state_of(learner)
    learner.save(tmp_path / "file")
    again = mb.Learner.load(tmp_path / "file")
    assert again.has_state_of(learner)
    assert again.ask().order == learner.ask().order


def test_a_late_click_on_an_item_that_has_left_counts_at_its_place():
    learner = fresh("clicks-by-place", mb.PositionBias(mb.OMM()))
    decision = learner.ask()
    left = decision.order[2]
    staying = [label for label in "abcdefg" if label != left]
    learner.change(mb.UniformMatroid(6, 3, labels=staying))
    learner.tell(decision.id, {left: 1.0})
    with pytest.raises(DecisionClosedError):
        learner.tell(decision.id, {left: 1.0})
    learner.close(decision.id)
    learner.change(mb.UniformMatroid(7, 3, labels="abcdefg"))
    extra = learner._agent.state.extra
    for place, label in enumerate(decision.order):
        e = "abcdefg".index(label)
        assert extra["shown_at"][0, e].tolist() == [float(k == place) for k in range(10)]
        assert extra["clicks_at"][0, e].sum() == float(label == left)


def test_kinds_are_refused_by_policies_in_words():
    with pytest.raises(PolicyError, match=r"takes no clicks by place.*PositionBias\(OMM\(...\)\) does"):
        fresh("clicks-by-place", mb.OMM())
    with pytest.raises(PolicyError, match="takes no lists that are seen in part"):
        fresh("first-click", mb.PositionBias(mb.OMM()))
    with pytest.raises(PolicyError, match="takes no lists that are seen in part"):
        fresh("first-click", mb.FPL(100))
    with pytest.raises(PolicyError, match="takes no clicks by place"):
        fresh("clicks-by-place", mb.PositionBias(mb.OMM()), holdout=mb.Holdout(0.1, control=mb.KLOSM()))
    learner = fresh("clicks", mb.FPL(100))
    with pytest.raises(PolicyError, match="takes no lists that are seen in part"):
        learner.tell(learner.ask(), examined=[])
    assert learner.n_outstanding == 1
    learner = fresh("first-click")
    for settings in ({"policy": mb.PositionBias(mb.OMM())}, {"answers": "clicks-by-place"}):
        with pytest.raises(PolicyError):
            learner.configure(**settings)
        with pytest.raises(PolicyError):
            learner.configure_form(**settings)
    learner.configure(policy=mb.PositionBias(mb.OMM()), answers="clicks-by-place")
    assert learner.ask().order is not None


def test_items_that_were_not_looked_at_are_as_new_as_before(tmp_path):
    """Items at the end of a list that is never read to its end come first again, also after a file."""
    learner = fresh("first-click", mb.ExposureFloors(mb.OMM(), 0.1))
    for _ in range(30):
        learner.tell(decision := learner.ask(), clicked=decision.order[0])
        learner.save(tmp_path / "file")
        again = mb.Learner.load(tmp_path / "file")
        assert again.has_state_of(learner)
        assert again.preview().order == learner.preview().order
    found = fresh("first-click", mb.OMM())
    first = found.ask()
    found.tell(first, clicked=first.order[0])
    assert found.ask().order[:2] == first.order[1:]


# Evaluation


@pytest.mark.parametrize(("answers", "word"), [("first-click", "clicked"), ("first-failure", "failed")])
def test_evaluation_counts_what_lists_were_worth(answers, word):
    """Random lists of independent items: the truth of a set is a product, whatever its order."""
    log, rng = [], np.random.default_rng(2)
    chances = dict(zip("abcd", (0.1, 0.3, 0.5, 0.8), strict=True))
    items = mb.UniformMatroid(4, 2, labels="abcd")
    learner = mb.Learner(items, mb.KLOSM(), seed=4, answers=answers, holdout=0.5, record=log.append)
    worth, of_two = {}, []
    for _ in range(3000):
        decision = learner.ask()
        at = answers == "first-click"
        stop = next((label for label in decision.order if (rng.random() < chances[label]) == at), None)
        learner.tell(decision, **{word: stop})
        worth[decision.id] = float((stop is not None) == at)
        if decision.is_held_out and decision.labels == ("b", "c"):
            of_two.append(worth[decision.id])
    log = mb.read_log(log)
    assert {each.id: each.value for each in log.decisions} == worth
    found = mb.evaluation.evaluate(log, {"two": ["b", "c"]}, strict=False)
    assert found.played.value == pytest.approx(np.mean([*worth.values()]), abs=1e-12)
    matched = mb.evaluation.matching_replay(log, ["b", "c"])
    assert matched.value == pytest.approx(np.mean(of_two), abs=1e-12)
    product = 1 - 0.7 * 0.5 if answers == "first-click" else 0.3 * 0.5
    assert matched.value == pytest.approx(product, abs=4 * matched.error)
    (low, high), look = found.looks[-1].exact, found.looks[-1]
    assert low < look.value < high
    assert any("place in the list" in each or "is not the sum" in each for each in found.estimates["two"].warnings)
    if answers == "first-failure":
        assert np.isnan(found.estimates["two"].value)
        assert np.isnan(found.learner.value)
        with pytest.raises(mb.exceptions.EvaluationError, match="is not the sum of its items' values"):
            mb.evaluation.evaluate(log, {"two": ["b", "c"]})
    with pytest.raises(mb.exceptions.EvaluationError, match="got lists"):
        mb.evaluation.companion_effect(log)
