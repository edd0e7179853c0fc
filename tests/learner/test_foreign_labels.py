"""Labels that are no JSON: learners are saved once items have left, and know them when they return."""

import datetime
import enum

import pytest

import matroid_bandits as mb


class Colour(enum.Enum):
    RED = 1
    BLUE = 2
    GREEN = 3


class Thing:
    """A label that prints its address."""


DAYS = [datetime.date(2024, 2, day) for day in (27, 28, 29)]


def uniform(labels):
    return mb.UniformMatroid(len(labels), 1, labels=labels)


@pytest.mark.parametrize(
    "labels", [DAYS, list(Colour), [("x", day) for day in DAYS]], ids=["dates", "enums", "pairs"]
)
def test_items_that_have_left_are_known_when_they_return(labels, tmp_path):
    learner = mb.Learner(uniform(labels), mb.OMM(), seed=0)
    learner.observe([0.5, 0.25, 1.0])
    late = [learner.ask(pinned=[labels[2]]) for _ in range(2)]
    learner.change(uniform(labels[:2]))
    learner.save(tmp_path / "it")
    again = mb.Learner.load(tmp_path / "it", constraint=learner.constraint)
    again.save(tmp_path / "other")
    assert (tmp_path / "it").read_bytes() == (tmp_path / "other").read_bytes()
    for each in (learner, again):
        each.tell(late[0], {labels[2]: 0.0})
        each.tell(late[1].id, {labels[2]: 0.0})
        each.change(uniform(labels[::-1]))
    assert again.estimates().means.tolist() == learner.estimates().means.tolist() == [1 / 3, 0.25, 0.5]


def test_a_label_that_says_nothing_is_not_known_again(tmp_path):
    things = [Thing() for _ in range(3)]
    learner = mb.Learner(uniform(things), mb.OMM(), seed=0)
    learner.observe([0.5, 0.25, 1.0])
    learner.change(uniform(things[:1]))
    learner.save(tmp_path / "it")
    again = mb.Learner.load(tmp_path / "it", constraint=learner.constraint)
    again.change(uniform(things))
    assert again.estimates().counts.tolist() == [1, 0, 0]
