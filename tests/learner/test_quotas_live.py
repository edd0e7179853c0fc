"""Two named quotas whose items come, go and change their categories, against the best of all sets and own books."""

import json

import numpy as np

import matroid_bandits as mb
from budget_world import EVERY

SECTIONS, BRANDS, MOST, TOTAL = "stu", "xyz", {"section": 2, "brand": 1}, 3


def best_of(books, labels, U, out):
    """The largest sets within the quotas; of these the most never seen, the largest total, the first that differs."""
    sets = EVERY[len(labels)]
    for name, most in MOST.items():
        for category in {row[name] for row in books.values()}:
            sets = sets[sets[:, [books[label][name] == category for label in labels]].sum(axis=1) <= most]
    sets = sets[(sets.sum(axis=1) <= TOTAL) & ~sets[:, out].any(axis=1)]
    sets = sets[sets.sum(axis=1) == sets.sum(axis=1).max()]
    is_unseen = np.isposinf(U)
    largest = np.abs(U[~is_unseen]).max(initial=0.0)
    whole = np.rint(np.ldexp(np.where(is_unseen, 0.0, U), 40 - np.frexp(largest)[1])).astype(np.int64)
    return np.flatnonzero(max(zip((sets & is_unseen).sum(axis=1), sets @ whole, sets.tolist(), strict=True))[2])


def test_items_and_categories_change_by_edits_and_decisions_are_the_best():
    rng, log, n_named = np.random.default_rng(4), [], 6
    books = {f"i{k}": {"section": SECTIONS[k % 3], "brand": BRANDS[k // 2]} for k in range(n_named)}
    page = mb.QuotaIntersection.from_rows(books, MOST, TOTAL)
    learner = mb.Learner(page, mb.OMM(0.3), seed=2, record=log.append)
    n_changed = 0
    for t in range(1200):
        if t % 10 == 9:
            gone = [label for label in books if rng.random() < 0.2][: len(books) - 3]
            rows = [
                {"section": str(rng.choice([*SECTIONS, f"new {t}"])), "brand": str(rng.choice([*BRANDS]))}
                for _ in range(len(books) + 3)
            ]
            stay = [label for label in books if label not in gone]
            change = {label: rows.pop() for label in stay if rng.random() < 0.2}
            came = {f"i{n_named + k}": rows.pop() for k in range(min(int(rng.integers(0, 3)), 9 - len(stay)))}
            n_named += len(came)
            edited = mb.constraints.edited(learner.constraint, came, gone, change=change)
            books = {label: books[label] for label in stay} | came
            books |= change
            assert edited == mb.QuotaIntersection.from_rows(books, MOST, TOTAL)
            n_changed += len(change)
            learner.change(edited, priors="typical" if t % 20 == 9 else None)
        labels = list(learner.constraint.labels)
        out = rng.random(len(labels)) < 0.15
        expected = best_of(books, labels, learner.estimates().indices, out)
        decision = learner.ask(exclude=[label for label, is_out in zip(labels, out, strict=True) if is_out])
        assert decision.items.tolist() == expected.tolist(), (t, books)
        if decision.labels:
            learner.tell(decision, rng.random(len(decision.labels)))
    assert n_changed > 50
    assert mb.Learner.replay(json.loads(json.dumps(log))).has_state_of(learner)
