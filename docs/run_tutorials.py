"""Run the tutorials and refresh what they show: `python docs/run_tutorials.py [PAGE]`.

The Python blocks of a page are one program. A text block right after one of them is what it prints; a figure
`figures/tutorial-NAME.svg` is the file NAME.svg that the program saves.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGES = [HERE / "tutorial-research.md", HERE / "tutorial-product.md", HERE / "for-a-paper.md"]

#: A block of Python, and the block of text right after it.
_BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", flags=re.DOTALL)
_FILE = re.compile(r"```\w+ (\S+\.\w+)\n(.*?)```", flags=re.DOTALL)
_FIGURE = re.compile(r"\(figures/tutorial-([\w-]+\.svg)\)")


def refresh(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    for file, content in _FILE.findall(text):
        Path(file).write_text(content, encoding="utf-8")

    def run(match: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(match[1], str(page), "exec"), names)
        shown = f"\n```text\n{printed.getvalue()}```\n" if match[2] is not None else ""
        return f"```python\n{match[1]}```\n{shown}"

    page.write_text(_BLOCK.sub(run, text), encoding="utf-8")
    for figure in _FIGURE.findall(text):
        shutil.copyfile(figure, HERE / "figures" / f"tutorial-{figure}")


if __name__ == "__main__":
    os.environ["SOURCE_DATE_EPOCH"] = "0"  # figures without the time at which they were made
    for page in [Path(name).resolve() for name in sys.argv[1:]] or PAGES:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            refresh(page)
            print(f"refreshed {page.name}", file=sys.stderr)
