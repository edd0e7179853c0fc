"""Write the samples of every stored form: `python tests/stored/write_samples.py tests/stored/VERSION`, at a release.

Beside each file lies what that version made of it: the next decisions of a learner, its estimates, the table of a
sweep, the curves of a result. The package and the tests of the version whose samples they are must be on the path.
"""

import contextlib
import json
import shutil
import sqlite3
import subprocess
import sys
import time
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
    # since 0.2.0
    "moss": lambda: mb.MOSS(),
    "kl-ucb-plus-plus": lambda: mb.KLUCBPlusPlus(),
    "clsg": lambda: mb.CLSG(),
    "single-seed-thompson": lambda: mb.SingleSeedThompson(),
    "ucbv": lambda: mb.UCBV(),
    "bgcts": lambda: mb.BGCTS(0.4),
    "escb": lambda: mb.ESCB(1.0),
    "aroq": lambda: mb.AROQ(100),
    "fpl": lambda: mb.FPL(100),
    "hybrid": lambda: mb.Hybrid(),
    "soft-minimum": lambda: mb.SoftMinimum(0.5),
    "clucb": lambda: mb.CLUCB(),
    "exposure-floors": lambda: mb.ExposureFloors(mb.OMM(1.0), 0.1),
}

#: One constraint of every kind, by name.
CONSTRAINTS = {
    "uniform": lambda: mb.UniformMatroid(4, 2, labels="abcd"),
    "partition": lambda: mb.PartitionMatroid({"a": "x", "b": "x", "c": "y"}, capacities={"x": 1, "y": 1}),
    "laminar": lambda: mb.LaminarMatroid(4, [([0, 1], 1), ([0, 1, 2], 2)]),
    "graphic": lambda: mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a")]),
    "transversal": lambda: mb.TransversalMatroid({"a": ["x"], "b": ["x", "y"]}),
    "linear": lambda: mb.LinearMatroid([[1, 0], [0, 1], [1, 1]]),
    "dual": lambda: mb.UniformMatroid(4, 1).dual(),
    "truncated": lambda: mb.GraphicMatroid([("a", "b"), ("b", "c"), ("c", "a")]).truncate(1),
    "restricted": lambda: mb.UniformMatroid(4, 2, labels="abcd").restrict(["a", "c"]),
    "contracted": lambda: mb.UniformMatroid(4, 2, labels="abcd").contract(["a"]),
    # since 0.2.0
    "assignment": lambda: mb.AssignmentConstraint([("a", "x"), ("a", "y"), ("b", "x")]),
    "path": lambda: mb.PathConstraint([("s", "a"), ("a", "t"), ("s", "t")], "s", "t"),
    "explicit": lambda: mb.ExplicitSets([("soup", "bread"), ("pasta",)]),
    "arborescence": lambda: mb.ArborescenceConstraint([("r", "a"), ("r", "b"), ("a", "b")], "r"),
}

PROBLEM_FILE = """\
title = "Two of four"
episodes = 30
runs = 2
seed = 1

[matroid]
kind = "uniform"
rank = 2
rows = [{ item = "a", p = 0.1 }, { item = "b", p = 0.5 }, { item = "c", p = 0.9 }, { item = "d", p = 0.4 }]

[weights]
family = "bernoulli"
mean = "p"

[policies]
OMM = {}
Thompson = { policy = "ThompsonSampling" }
"""

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
    own_beliefs = ("comb", "thompson", "discounted", "restarting", "fixed", "uniform", "fpl", "hybrid")
    takes_priors = name.split("-")[0] not in own_beliefs
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


def write_archive(folder):
    """The archives of a log, and the database in which it goes on."""
    from service_kit import create, serving  # of the same version

    path = folder / "archived.db"
    path.unlink(missing_ok=True)
    shutil.rmtree(folder / "archive", ignore_errors=True)
    with serving(f"sqlite:///{path}", archive=str(folder / "archive"), keep_events=12, snapshot_every=8) as client:
        base = create(client)
        while len([*(folder / "archive").rglob("*.jsonl.gz")]) < 2:
            for _ in range(10):
                decision = client.post(f"{base}/ask", json={}).json()
                weights = {label: weight(decision["decision"], label[0]) for label in decision["items"]}
                client.post(f"{base}/tell", json={"decision": decision["decision"], "weights": weights})
            time.sleep(0.3)
        expected = {
            "name": base.rpartition("/")[2],
            "decisions": client.get(base).json()["decisions"],
            "preview": client.post(f"{base}/preview", json={}).json()["items"],
        }
    with contextlib.closing(sqlite3.connect(path)) as connection:  # all in one file
        connection.execute("PRAGMA journal_mode = DELETE")
    (folder / "archive.json").write_text(json.dumps(expected))


def write_forms(folder):
    """Constraints, policies and what learners say, as dictionaries."""
    learner, _ = lived("omm")
    decision = learner.ask(tags={"page": "front"})
    said = {
        "Decision": decision,
        "Estimates": learner.estimates(),
        "Explanation": learner.explain("a"),
        "BestSet": learner.best_basis(),
    }
    forms = {
        "constraints": {name: make().to_dict() for name, make in CONSTRAINTS.items()},
        "policies": {name: mb.policy_to_dict(make()) for name, make in POLICIES.items() if name not in OWN},
        "said": {name: value.to_dict() for name, value in said.items()},
    }
    (folder / "forms.json").write_text(json.dumps(forms))


def write_problem(folder):
    """A problem file and what it gives."""
    from matroid_bandits.specs import read_simulation

    (folder / "problem.toml").write_text(PROBLEM_FILE)
    plan = read_simulation(folder / "problem.toml")
    (folder / "problem.json").write_text(json.dumps({"optimum": plan.problem.optimal_value}))


def write_evaluation(folder):
    """A log with hold-outs and tags, and what its decisions were worth."""
    log = []
    learner = mb.Learner(two_of("abcd"), mb.OMM(1.0), seed=2, id="evaluated", holdout=0.5, record=log.append)
    for t in range(1, 31):
        decision = learner.ask(tags={"page": "front" if t % 2 else "back"})
        learner.tell(decision, {label: weight(t, label) for label in decision.labels})
    (folder / "evaluation.jsonl").write_text("".join(json.dumps(event) + "\n" for event in log))
    (folder / "evaluation.json").write_text(json.dumps(evaluated(folder)))


def evaluated(folder):
    """What a log says: its table, and the value of the played sets and of a fixed set."""
    log = mb.read_log(folder / "evaluation.jsonl")
    columns = ["decision", "item", "weight", "source", "held_out", "propensity"]
    found = mb.evaluation.evaluate(log, {"fixed": ["a", "b"]})
    return {
        "table": json.loads(log.frame()[columns].to_json(orient="values", double_precision=12)),
        "played": found.played.value,
        "fixed": found.estimates["fixed"].value,
    }


def write_identification(folder):
    """A result with stopping times."""
    problem = mb.Problem(mb.UniformMatroid(4, 2), mb.GaussianEnvironment([2.0, 1.0, 0.0, 0.0]))
    found = mb.identify(problem, delta=0.1, n_runs=5, seed=1)
    found.result.save(folder / "identification.npz")
    (folder / "identification.json").write_text(json.dumps(endings(found.result)))


def endings(result):
    """The rounds and the final sets of a result with a stopping rule."""
    [found] = result.endings
    return {"rounds": found.rounds.tolist(), "bases": found.bases.tolist()}


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    write_learners(target)
    write_simulations(target)
    write_campaigns(target)
    write_archive(target)
    write_forms(target)
    write_problem(target)
    write_evaluation(target)
    write_identification(target)
