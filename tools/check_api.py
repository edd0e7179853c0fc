"""Check the API's document against a server: `python tools/check_api.py SCHEMATHESIS`, or `make api`.

Starts a server with a key on a temporary database, and lets schemathesis send what the OpenAPI document allows and
what it does not, with every check and a fixed seed. Exceptions are in tools/schemathesis.toml, each with its reason.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx

HERE = Path(__file__).parent
MATROID = {"kind": "uniform", "rows": ["boots", "hat", "scarf"], "rank": 2}
COMMAND = [sys.executable, "-c", "from matroid_bandits.cli import main; main()"]


def main() -> int:
    """Run schemathesis against a fresh server; its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("schemathesis", help="its program")
    parser.add_argument("--phases", default="fuzzing,coverage,stateful")
    parser.add_argument("--examples", type=int, default=15, help="test cases per operation")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        db = ["--db", f"{folder}/campaigns.db"]
        create = [*COMMAND, "key", "create", "admin", "--new", *db]
        key = subprocess.run(create, check=True, capture_output=True, text=True).stdout.strip()
        serve = [*COMMAND, "serve", "--port", "0", *db]
        with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                address = server.stdout.readline().split()[1]
                bearer = f"Authorization: Bearer {key}"
                for name in ("ads", "paused", "archived"):
                    body = {"name": name, "matroid": MATROID, "policy": "OMM", "holdout": 0.5}
                    headers = dict([bearer.split(": ")])
                    httpx.post(f"{address}/v1/campaigns", json=body, headers=headers, timeout=60.0).raise_for_status()
                run = [
                    str(Path(given.schemathesis).absolute()),
                    "--config-file",
                    str(HERE / "schemathesis.toml"),
                    "run",
                ]
                run += [f"{address}/openapi.json", "--header", bearer, "--checks", "all", "--continue-on-failure"]
                run += ["--phases", given.phases, "--seed", str(given.seed), "--max-examples", str(given.examples)]
                hooks = os.environ | {"SCHEMATHESIS_HOOKS": str(HERE / "schemathesis_hooks.py")}
                return subprocess.run([*run, "--no-shrink"], env=hooks, cwd=folder).returncode
            finally:
                server.terminate()


if __name__ == "__main__":
    sys.exit(main())
