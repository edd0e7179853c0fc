"""Warming up a learner before its first request."""

import copy

import numpy as np
import pytest

import matroid_bandits as mb


@pytest.fixture
def _no_copies(monkeypatch):
    monkeypatch.setattr(mb.Learner, "__reduce_ex__", lambda self, protocol: pytest.fail("copied"))


@pytest.mark.usefixtures("_no_copies")
def test_neither_a_preview_nor_warming_up_copies_a_learner():
    learner = mb.Learner(mb.UniformMatroid(3, 1, labels="abc"), mb.CombLinUCB(n_features=2))
    with pytest.raises(pytest.fail.Exception):
        copy.deepcopy(learner)
    learner.ask(features=np.ones((3, 2)))
    learner.preview(features=np.ones((3, 2)))
    assert learner.warm_up() > 0.0
    assert (learner.n_decisions, learner.n_outstanding) == (1, 1)
