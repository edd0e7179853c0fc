"""A type checker accepts what the documentation passes to the package, above all dictionaries."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

#: What is wrong where an argument or a key does not fit; a page may leave out annotations and checks for None.
ARGUMENTS = r"\[(arg-type|call-arg|call-overload|dict-item|index|list-item|operator|type-var)\]"


def check(folder):
    options = ["--strict", "--no-check-untyped-defs", "--follow-imports=silent", "--config-file="]
    command = [sys.executable, "-m", "mypy", *options, f"--cache-dir={folder / 'cache'}", "."]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={"MYPYPATH": str(ROOT / "src")})
    assert "Success" in found.stdout or " error: " in found.stdout, found.stderr
    return [line for line in found.stdout.splitlines() if re.search(ARGUMENTS, line)]


@pytest.mark.long
def test_dictionaries_of_the_docs_pass_a_strict_type_checker(tmp_path):
    pytest.importorskip("mypy")
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        for name, block in re.findall(r"```python (\S+\.py)\n(.*?)```", text, flags=re.DOTALL):
            (tmp_path / name).write_text(block)
        blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
        if blocks:
            (tmp_path / f"page_{page.stem.replace('-', '_')}.py").write_text("\n".join(blocks))
    (tmp_path / "wrong.py").write_text("import matroid_bandits as mb\n\nmb.OMM(scale='wide')\n")
    assert [line.split(":")[0] for line in check(tmp_path)] == ["wrong.py"]  # a mistake is found, and nothing else
