"""Write examples/notebooks: three scripts of the gallery as notebooks, run, with what they print and draw.

Run ``python docs/notebooks.py`` after a change of one of these scripts; the tests compare both.
"""

import os
import re
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

EXAMPLES = Path(__file__).parent.parent / "examples"
NAMES = ("ads_in_slots", "provider_network", "drifting_prices")


def split(script: str) -> list[tuple[str, str]]:
    """Split a script at its ``# %%`` lines; return pairs of kind ("markdown" or "code") and text."""
    _, head, *cells = re.split(r'\A"""\n|^"""\n\n# %%\n|^# %%\n', script, flags=re.MULTILINE)
    parts = [("markdown", to_markdown(head))]
    for cell in cells:
        text, code = re.fullmatch(r"((?:#[^\n]*\n)*)(.*)", cell, flags=re.DOTALL).groups()
        parts += [("markdown", to_markdown(re.sub(r"^# ?", "", text, flags=re.MULTILINE))), ("code", code.strip())]
    return [(kind, text) for kind, text in parts if text]


def to_markdown(text: str) -> str:
    """Convert the little reStructuredText that the scripts use: titles, code, links between pages."""
    text = re.sub(r"^(.+)\n=+$", r"# \1", text, flags=re.MULTILINE)
    text = re.sub(r"^(.+)\n-+$", r"## \1\n", text, flags=re.MULTILINE)
    text = re.sub(r":doc:`/([\w-]+)`", r"``docs/\1.md``", text)
    text = re.sub(r":doc:`(\w+)`", r"``\1.py``", text)
    return text.replace("``", "`").strip()


def write(name: str) -> None:
    """Run one script as a notebook and store it."""
    from nbclient import NotebookClient

    make = {"markdown": new_markdown_cell, "code": new_code_cell}
    parts = split((EXAMPLES / "gallery" / f"{name}.py").read_text(encoding="utf-8"))
    cells = [make[kind](text, id=f"cell-{k}") for k, (kind, text) in enumerate(parts)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})
    NotebookClient(book, timeout=300, record_timing=False).execute()
    book.metadata["language_info"] = {"name": "python"}
    nbformat.write(book, EXAMPLES / "notebooks" / f"{name}.ipynb")


if __name__ == "__main__":
    os.environ.pop("MPLBACKEND", None)  # figures are shown in the notebook
    (EXAMPLES / "notebooks").mkdir(exist_ok=True)
    for name in NAMES:
        write(name)
