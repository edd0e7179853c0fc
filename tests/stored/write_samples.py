"""Write the samples of a stored format: `python write_samples.py FOLDER`, with the version whose format it is.

Beside each file lies what that version made of it: the next decisions of a learner, its estimates, the table of a
sweep, the curves of a result.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

import matroid_bandits as mb

FEATURES = {"a": [1.0, 0.0], "b": [0.5, 1.0], "c": [0.0, 1.0], "d": [1.0, 1.0], "e": [0.2, 0.4], "f": [0.7, 0.1]}
ROWS = np.array(list(FEATURES.values()))

#: One learner of every kind of policy, by name.
POLICIES = {
    "omm": lambda: mb.OMM(1.0),
    "klosm": lambda: mb.KLOSM(),
    "epsilon-greedy": lambda: mb.EpsilonGreedy(0.3),
    "uniform-random": lambda: mb.UniformRandom(),
    "fixed-set": lambda: mb.FixedSet([0, 2]),
    "thompson-beta": lambda: mb.ThompsonSampling(),
    "thompson-normal": lambda: mb.ThompsonSampling("normal", noise=0.3),
    "comb-lin-ucb": lambda: mb.CombLinUCB(ROWS, c=0.5),
    "comb-lin-ts": lambda: mb.CombLinTS(ROWS),
    "comb-lin-ucb-of-requests": lambda: mb.CombLinUCB(n_features=2),
    "comb-lin-ts-of-requests": lambda: mb.CombLinTS(n_features=2),
    "discounted-omm": lambda: mb.DiscountedOMM(0.9, 0.3),
    "sliding-window-omm": lambda: mb.SlidingWindowOMM(12, 1.0),
    "discounted-thompson": lambda: mb.DiscountedThompson(0.95),
    "restarting": lambda: mb.Restarting(mb.OMM(1.0), mb.CUSUM(n_first=3, tolerance=0.05, threshold=0.5)),
    "restarting-klosm": lambda: mb.Restarting(mb.KLOSM()),
}

#: Policies whose features come with the request, and those that keep their own.
OF_REQUESTS = ("comb-lin-ucb-of-requests", "comb-lin-ts-of-requests")
OWN = ("comb-lin-ucb", "comb-lin-ts")

#: What is asked for in some episodes besides a set.
REQUESTS = {3: {"exclude": ["a"]}, 5: {"pinned": ["d"]}, 9: {"available": list("abcd")}}


def weight(episode, label):
    """What an item is worth in an episode: 0 or 1."""
    return float((episode * 7 + ord(label) * 5) % 11 < 3 + ord(label) % 5)


def two_of(labels):
    """Sets of two of these items."""
    return mb.UniformMatroid(len(labels), 2, labels=labels)


def lived(name):
    """A learner with a past: late and partial answers, masks, pins, departed items, a restart, open decisions."""
    log = []
    takes_priors = name.split("-")[0] not in ("comb", "thompson", "discounted", "restarting", "fixed", "uniform")
    learner = mb.Learner(
        two_of("abcdef"), POLICIES[name](), seed=11, id=f"sample-{name}", holdout=0.25, record=log.append,
        features=FEATURES if name in OF_REQUESTS else None,
        priors={"f": (0.5, 2.0)} if takes_priors and name != "thompson-beta" else None,
    )  # fmt: skip
    late = []
    for t in range(1, 41):
        decision = learner.ask(**({} if name == "fixed-set" else REQUESTS.get(t, {})))
        told = {label: weight(t, label) for label in decision.labels}
        if t % 7 == 0:
            learner.close(decision, default=0.0 if t % 2 else None)
        elif t % 5 == 0:
            late.append((decision, told))
        elif t % 3 == 0:
            first = decision.labels[0]
            learner.tell(decision, {first: told[first]})
            late.append((decision, {k: v for k, v in told.items() if k != first}))
        else:
            learner.tell(decision, told)
        if t == 20 and name not in ("fixed-set",):
            features = FEATURES if name in OF_REQUESTS else None
            learner.change(two_of("abcd"), **({"features": {k: features[k] for k in "abcd"}} if features else {}))
        if t == 24 and late:
            learner.tell(*late.pop(0))
        if t == 28 and name not in ("fixed-set",):
            extra = {"features": {**{k: FEATURES[k] for k in "abcde"}}} if name in OF_REQUESTS else {}
            learner.change(two_of("abcde"), **extra)
        if t == 32:
            learner.restart(["b"])
    return learner, log


def ahead(learner):
    """What a learner believes, and its next decisions; the learner goes on."""
    estimates = learner.estimates()
    numbers = {
        key: np.nan_to_num(getattr(estimates, key), nan=-1e9, posinf=1e9, neginf=-1e9).tolist()
        for key in ("means", "counts", "indices")
    }
    sets = []
    waiting = [[decision.id, list(decision.labels)] for decision in learner.outstanding]
    for t in range(100, 110):
        decision = learner.ask()
        sets.append([decision.is_held_out, list(decision.labels)])
        learner.tell(decision, {label: weight(t, label) for label in decision.labels})
    return {"estimates": numbers, "waiting": waiting, "next": sets}


def write_learners(folder):
    """A saved learner and its log for each policy, and what follows."""
    for name in POLICIES:
        learner, log = lived(name)
        learner.save(folder / f"{name}.learner")
        (folder / f"{name}.jsonl").write_text(
            "".join(json.dumps(event, separators=(",", ":")) + "\n" for event in log)
        )
        (folder / f"{name}.json").write_text(json.dumps(ahead(learner)))


def write_simulations(folder):
    """A result and the store of a sweep, with their tables."""
    problem = mb.Problem(mb.UniformMatroid(5, 2), mb.BernoulliEnvironment([0.1, 0.3, 0.5, 0.7, 0.9]))
    policies = {"OMM": mb.OMM(), "Thompson": mb.ThompsonSampling(), "restarting": mb.Restarting(mb.OMM(1.0))}
    result = mb.simulate(problem, policies, n_episodes=60, n_runs=4, seed=3, progress=False)
    result.save(folder / "simulation.npz")
    store = folder / "sweep"
    shutil.rmtree(store, ignore_errors=True)
    sweep = mb.sweep({"small": problem}, policies, n_episodes=40, n_runs=3, seed=5, store=store, progress=False)
    frame = sweep.to_frame()
    expected = {
        "regret": {name: result[name].regret.tolist() for name in policies},
        "sweep": json.loads(frame.to_json(orient="split", double_precision=15)),
    }
    (folder / "simulations.json").write_text(json.dumps(expected))


def write_campaigns(folder):
    """A database of the service and a backup of it; what its campaigns answer next."""
    from service_kit import ADS, create, fresh_id, serving  # of the same version

    path = folder / "campaigns.db"
    path.unlink(missing_ok=True)
    with serving(f"sqlite:///{path}") as client:
        ads = create(client, holdout=0.2)
        window = create(client, "window", policy={"policy": "SlidingWindowOMM", "window": 9})
        for t in range(1, 31):
            for base in (ads, window):
                decision = client.post(f"{base}/ask", json={}, headers=fresh_id()).json()
                if t % 4:
                    weights = {label: weight(t, label[0]) for label in decision["items"]}
                    client.post(f"{base}/tell", json={"decision": decision["decision"], "weights": weights})
        rows = [*ADS["rows"], {"item": "cap", "slot": "right"}]
        client.post(f"{ads}/change", json={"matroid": {"kind": "partition", "category": "slot", "rows": rows}})
        expected = {
            base: {
                "preview": client.post(f"{base}/preview", json={}).json()["items"],
                "decisions": client.get(base).json()["decisions"],
            }
            for base in (ads, window)
        }
    command = [sys.executable, "-c", "from matroid_bandits.cli import main; main()", "campaign", "backup"]
    subprocess.run([*command, str(folder / "campaigns.jsonl"), "--db", str(path)], check=True)
    (folder / "campaigns.json").write_text(json.dumps(expected))


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    write_learners(target)
    write_simulations(target)
    write_campaigns(target)
