"""Print the lines of `src` by room: files, code, docstrings, and what is neither (comments and blank lines).

    python tools/lines.py [FOLDER]

A room is a package or module of `matroid_bandits`. A line with code and a comment is code.
"""

import ast
import sys
from collections import Counter, defaultdict
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "matroid_bandits"
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
COLUMNS = ("files", "code", "docstrings", "other", "lines")


def count(path: Path) -> Counter[str]:
    """Count the lines of a file by what they hold."""
    text = path.read_text(encoding="utf-8")
    docstrings: set[int] = set()
    strings: set[int] = set()  # of more than one line, in which a blank line and a '#' are code
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            docstrings.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
        elif isinstance(node, (ast.Constant, ast.JoinedStr)) and node.end_lineno > node.lineno:
            strings.update(range(node.lineno, node.end_lineno + 1))
    lines = text.splitlines()
    written = {number for number, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")}
    code = (written | strings) - docstrings
    other = len(lines) - len(code) - len(docstrings)
    return Counter(files=1, code=len(code), docstrings=len(docstrings), other=other, lines=len(lines))


def main() -> None:
    """Print a row for each room, and one for all."""
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE
    rooms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(source.rglob("*.py")):
        rooms[path.relative_to(source).parts[0]] += count(path)
    rooms["all"] = sum(rooms.values(), Counter())
    print(f"{'room':18}" + "".join(f"{name:>12}" for name in COLUMNS))
    for room, found in rooms.items():
        print(f"{room:18}" + "".join(f"{found[name]:12,}" for name in COLUMNS))


if __name__ == "__main__":
    main()
