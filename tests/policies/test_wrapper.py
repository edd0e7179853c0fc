"""A wrapper is the policy that it wraps, in everything that it does not override."""

import inspect

import pytest

import matroid_bandits as mb
from matroid_bandits.policies._live import LiveHooks

#: What says what the class itself is.
OWN = {"kind", "tunable", "params", "compiled"}
HOOKS = [name for name in {**vars(LiveHooks), **vars(mb.Policy)} if not name.startswith("_") and name not in OWN]
METHODS = [name for name in HOOKS if inspect.isfunction(getattr(mb.Policy, name))]


class Noted(mb.Policy):
    """Keeps a list of the hooks that are called; every attribute is another than by default."""

    support = (0.25, 0.75)
    tries_unseen = takes_priors = False
    takes_all = is_clairvoyant = samples = chooses_sets = forgets = True
    n_features = n_kept = 3
    item_features = "rows"
    alternative = "another"
    takes = frozenset(("positions",))
    memory = (mb.Memory("a"),)
    affine = mb.OMM()

    def __init__(self):
        self.calls = []

    def indices(self, state, request):
        self.calls.append(("indices", state, request))

    def change(self, *arguments):
        self.calls.append(("change", *arguments))
        return self


def noted(name):
    return lambda self, *arguments: self.calls.append((name, *arguments))


for each in METHODS:
    if each not in vars(Noted):
        setattr(Noted, each, noted(each))


class Plain(mb.Policy):
    """Has what every policy has."""

    def indices(self, state, request):
        return state.means


@pytest.mark.parametrize("name", HOOKS)
def test_every_hook_is_forwarded_once(name):
    base = Noted()
    wrapper = mb.PolicyWrapper(base)
    if name in METHODS:
        arguments = range(len(inspect.signature(getattr(mb.Policy, name)).parameters) - 1)
        getattr(wrapper, name)(*arguments)
        assert base.calls == [(name, *arguments)]
    else:
        assert getattr(base, name) != getattr(Plain(), name)
        assert getattr(wrapper, name) == getattr(base, name)


def test_one_method_is_required():
    assert mb.Policy.__abstractmethods__ == {"indices"}
    assert mb.AffinePolicy.__abstractmethods__ == {"coefficient"}
