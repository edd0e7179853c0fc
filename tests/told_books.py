"""Random answers to decisions whose items were restarted, forgotten and changed, with books of their own."""

import matroid_bandits as mb

ITEMS = "abcdefgh"


class Books:
    """What was told, by decision and label, while the same happens to a learner or a campaign.

    A subject has `ask`, `tell`, `close`, `change` and `restart`, which take labels, and `outstanding`.
    """

    def __init__(self, subject, rng):
        self.subject, self.rng = subject, rng
        self.labels = list(ITEMS[:6])
        self.asked, self.told, self.closed = {}, {}, {}
        self.n_refused = 0

    def weight(self):
        return round(float(self.rng.random()), 6)

    def step(self):
        dice, waiting = self.rng.random(), [t for t in self.asked if self.missing(t)]
        if dice < 0.35 or not waiting:
            decision = self.subject.ask()
            self.asked[decision.id], self.told[decision.id] = decision, {}
        elif dice < 0.75:
            self.tell(int(self.rng.choice(waiting)))
        elif dice < 0.8:
            t, default = int(self.rng.choice(waiting)), None if self.rng.random() < 0.5 else self.weight()
            self.subject.close(t, default)
            self.closed[t] = default
        elif dice < 0.9:
            some = [label for label in self.labels if self.rng.random() < 0.5]
            self.subject.restart(None if self.rng.random() < 0.4 else some)
        else:
            known = self.labels
            self.labels = self.rng.permutation(list(ITEMS))[: self.rng.integers(4, 8)].tolist()
            forget = [label for label in known if self.rng.random() < 0.2]
            self.subject.change(matroid(self.labels), forget)

    def missing(self, t):
        """The labels of a decision that may still be told."""
        if t in self.closed:
            return []
        return [label for label in self.asked[t].labels if label not in self.told[t]]

    def tell(self, t):
        """Tell some or all of what is missing, in one of the ways there are."""
        rng, decision, missing = self.rng, self.asked[t], self.missing(t)
        for wrong in ({"zz": 1.0}, {next(x for x in ITEMS if x not in decision.labels): 1.0}):
            self.refused(t, {missing[0]: 0.5} | wrong)
            self.refused(decision, wrong)
        if len(missing) < len(decision.labels):
            self.refused(t, {next(iter(self.told[t])): 0.5})
        some = rng.permutation(missing)[: rng.integers(1, len(missing) + 1)].tolist()
        weights = {label: self.weight() for label in some}
        how = rng.choice(["id", "decision", "numbers", "array", "copy", "waiting"])
        if how == "waiting":
            now = next((each for each in self.subject.outstanding if each.id == t), None)
            if now is not None and now.labels and not set(now.labels) & self.told[t].keys():
                weights = {label: self.weight() for label in now.labels}
                self.subject.tell(now, list(weights.values()))
                self.told[t] |= weights
                return
        if how in ("array", "copy") and len(missing) == len(decision.labels):
            weights = {label: self.weight() for label in decision.labels}
            given = decision if how == "array" else mb.Decision.from_dict(decision.to_dict())
            self.subject.tell(given, list(weights.values()))
        elif how == "numbers" and self.subject.takes_numbers:
            numbers = dict(zip(decision.labels, decision.items.tolist(), strict=True))
            self.subject.tell(decision, {numbers[label]: weight for label, weight in weights.items()})
        else:
            self.subject.tell(t if how == "id" else decision, weights)
        self.told[t] |= weights

    def refused(self, decision, weights):
        """An answer that names another item, or one that was told, changes nothing."""
        try:
            self.subject.tell(decision, weights)
        except (mb.exceptions.FeedbackError, mb.exceptions.ItemError, mb.exceptions.DecisionClosedError):
            self.n_refused += 1
        else:
            raise AssertionError(f"{weights} was taken for {decision}")

    def check(self, events):
        """The log, its frame and these books agree."""
        expected = {}
        for t, decision in self.asked.items():
            for label in decision.labels:
                weight, source = self.told[t].get(label), "told"
                if weight is None:
                    weight, source = self.closed.get(t), "default"
                if weight is None:
                    source = "lost" if t in self.closed else "waiting"
                expected[t, label] = (weight, source)
        frame = mb.read_log(events).frame(propensity=False)
        found = {
            (t, label): (None if weight != weight else weight, source)
            for t, label, weight, source in frame[["decision", "item", "weight", "source"]].values.tolist()
        }
        assert found == expected
        told = {}
        for event in events:
            if event["event"] == "told":
                for label, weight in event["weights"]:
                    assert told.setdefault((event["decision"], label), weight) == weight
        assert told == {(t, label): weight for t, weights in self.told.items() for label, weight in weights.items()}


def matroid(labels):
    return mb.UniformMatroid(len(labels), 3, labels=labels)
