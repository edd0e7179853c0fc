"""Estimates on the sample of the Open Bandit Dataset in obp 0.5.7's source distribution, beside obp's own figures.

    python science/open_bandit.py [SDIST.tar.gz]

Without a file the distribution is fetched by name with pip, and compared with its checksum; where it cannot be
fetched, the script says so and ends. Nothing of it is kept. A row of the data has one item, so sets have one item.
The value of the policy "bts" from a log of random choices, relative to that log's value, is printed in obp's README:
1.198126.
"""

import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np

from matroid_bandits.evaluation import Decisions, Estimate, Target, estimate

NAME, SHA256 = "obp-0.5.7", "3060d67fedfcfadf1e7a6f2608987f74412b5eb74d2c567edeb147595c68f2a0"
N_DRAWS = 100_000

#: Value by inverse propensities, self-normalised value and effective sample size, as printed elsewhere.
BTS_FROM_RANDOM = {
    "all": (0.004553, 0.004776, 1640.0),
    "men": (0.004534, 0.004604, 2467.0),
    "women": (0.006813, 0.006811, 1954.0),
}
RANDOM_FROM_BTS = {
    "all": (0.002360, 0.002334, 340.0),
    "men": (0.003009, 0.003189, 656.0),
    "women": (0.007438, 0.002373, 2.1),
}


def fetched() -> bytes | None:
    """The source distribution; None where it cannot be fetched."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--ignore-requires-python"]
        pip += ["--no-binary", "obp", "--dest", folder, "obp==0.5.7"]
        done = subprocess.run(pip, capture_output=True, text=True, check=False)
        path = Path(folder) / f"{NAME}.tar.gz"
        if not path.is_file():
            print(f"obp 0.5.7 could not be fetched, so its figures are not compared: {done.stderr.strip()[-300:]}")
            return None
        return path.read_bytes()


class Sample:
    """The files of the distribution."""

    def __init__(self, packed: bytes) -> None:
        self._file = tarfile.open(fileobj=io.BytesIO(packed))  # noqa: SIM115 - read until the end

    def text(self, name: str) -> str:
        member = self._file.extractfile(f"{NAME}/obp/{name}")
        assert member is not None
        return member.read().decode()

    def log(self, policy: str, campaign: str) -> dict[str, np.ndarray]:
        """Columns of a log by name."""
        lines = [
            line.split(",") for line in self.text(f"dataset/obd/{policy}/{campaign}/{campaign}.csv").splitlines()
        ]
        names = ("item_id", "position", "click", "propensity_score")
        return {name: np.array([row[lines[0].index(name)] for row in lines[1:]], float) for name in names}

    def prior(self, campaign: str) -> tuple[np.ndarray, np.ndarray]:
        """The parameters of the policy bts: two lists of a YAML file that has nothing else."""
        found: dict[str, dict[str, list[float]]] = {}
        outer = inner = ""
        for line in self.text("policy/conf/prior_bts.yaml").splitlines():
            word = line.split("#")[0].rstrip()
            if word and not word.startswith((" ", "-")):
                outer = word.rstrip(":")
                found[outer] = {}
            elif word.strip().endswith(":"):
                inner = word.strip().rstrip(":")
                found[outer][inner] = []
            elif word.strip().startswith("- "):
                found[outer][inner].append(float(word.strip()[2:]))
            elif "[" in word:
                key, _, rest = word.strip().partition(":")
                found[outer][key] = json.loads(rest)
        return np.array(found[campaign]["alpha"]), np.array(found[campaign]["beta"])


def value(log: dict[str, np.ndarray], chances: np.ndarray, method: str) -> Estimate:
    """The value of a target that chooses each row's item with these chances."""
    n = chances.size
    nothing = np.zeros(n)
    decisions = Decisions(np.arange(n), log["click"], log["propensity_score"], nothing, np.zeros(n, bool))
    return estimate(decisions, Target(chances, np.ones(n), nothing), method)  # type: ignore[arg-type]


def main() -> None:
    """Print the table, and compare."""
    packed = Path(sys.argv[1]).read_bytes() if len(sys.argv) > 1 else fetched()
    if packed is None:
        return
    if (found := hashlib.sha256(packed).hexdigest()) != SHA256:
        sys.exit(f"expected {NAME}.tar.gz with the SHA-256 {SHA256}, got {found}")
    sample, wrong = Sample(packed), []
    print(
        f"{'campaign':8} {'value of':16} {'IPS':>9} {'(se)':>9} {'SNIPS':>9} {'ESS':>8} {'largest w':>10}  relative"
    )
    for campaign in BTS_FROM_RANDOM:
        alpha, beta = sample.prior(campaign)
        rng, counts = np.random.RandomState(12345), np.zeros((alpha.size, 3))  # as obp draws
        for _ in range(N_DRAWS):
            counts[rng.beta(alpha, beta).argsort()[::-1][:3], [0, 1, 2]] += 1
        log = sample.log("random", campaign)
        bts = (counts / N_DRAWS)[log["item_id"].astype(int), log["position"].astype(int) - 1]
        back = sample.log("bts", campaign)
        for name, rows, chances, expected in (
            ("bts from random", log, bts, BTS_FROM_RANDOM[campaign]),
            ("random from bts", back, np.full(back["click"].size, 1 / alpha.size), RANDOM_FROM_BTS[campaign]),
        ):
            ips, snips = (value(rows, chances, method) for method in ("iips", "snips"))
            relative = ips.value / rows["click"].mean()
            print(
                f"{campaign:8} {name:16} {ips.value:9.6f} {ips.error:9.6f} {snips.value:9.6f} "
                f"{ips.effective_size:8.1f} {ips.largest_weight:10.1f}  {relative:.6f}"
            )
            for words in ips.warnings:
                print(f"         warning: {words}")
            figures = (
                round(ips.value, 6),
                round(snips.value, 6),
                round(ips.effective_size, 1 if expected[2] < 10 else 0),
            )
            if figures != expected:
                wrong.append(f"{name}, {campaign}: expected {expected}, got {figures}")
            if (campaign, name) == ("all", "bts from random") and round(relative, 6) != 1.198126:
                wrong.append(f"expected 1.198126 relative to random, as obp's README prints, got {relative:.6f}")
    if not any("one play carries" in words for words in ips.warnings):
        wrong.append("expected a warning where one row holds all of the squared weight, got none")
    print("\n".join(wrong) or "All figures are those that are printed elsewhere, to their last digit.")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
