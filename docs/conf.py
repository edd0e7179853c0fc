"""The documentation site: `make docs` builds it into docs/_build/html; nothing is fetched, then or by readers."""

import importlib
import inspect
import pkgutil
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

import matroid_bandits

HERE = Path(__file__).parent

project = "matroid-bandits"
author = "the matroid-bandits authors"
copyright = author
version = release = matroid_bandits.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "sphinx_copybutton"]
exclude_patterns = ["_build"]
html_math_renderer = "mathml"  # browsers show it without a script
default_role = "py:obj"  # single backticks in docstrings name things

html_theme = "furo"
html_title = f"matroid-bandits {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {"top_of_page_buttons": [], "source_repository": "", "footer_icons": []}
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
pygments_style = "friendly"
pygments_dark_style = "monokai"

myst_enable_extensions = ["colon_fence", "attrs_inline", "attrs_block"]
myst_heading_anchors = 4
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_typehints = "none"  # docstrings say what parameters are
autodoc_member_order = "bysource"
autosummary_generate = False  # tables that lead to entries of the same page
numpydoc_show_class_members = False

#: Rooms that are no library: the command line is documented by its pages.
_LEFT_OUT = ("cli", "kernels")


def _rooms() -> dict[str, dict[str, str]]:
    """For every module the public names, each under the path that users import it by, and their directives."""
    top = set(matroid_bandits.__all__)
    rooms = {}
    for found in pkgutil.iter_modules(matroid_bandits.__path__):
        if found.name.startswith("_") or found.name in _LEFT_OUT:
            continue
        module = importlib.import_module(f"matroid_bandits.{found.name}")
        own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
        names = [name for name in getattr(module, "__all__", own) if not name.startswith("_")]
        rooms[found.name] = {}
        for name in sorted(names, key=str.lower):
            value = getattr(module, name)
            is_short = name in top and getattr(matroid_bandits, name) is value
            path = f"matroid_bandits.{name}" if is_short else f"{module.__name__}.{name}"
            if inspect.isclass(value):
                rooms[found.name][path] = "autoexception" if issubclass(value, Exception) else "autoclass"
            elif inspect.isfunction(value):
                rooms[found.name][path] = "autofunction"
    return {room: names for room, names in rooms.items() if names}


def _write_reference() -> None:
    """A page for each room, made of its docstring and its names; written only where it changed."""
    folder = HERE / "api"
    folder.mkdir(exist_ok=True)
    rooms = _rooms()
    for room, names in rooms.items():
        about = inspect.getdoc(importlib.import_module(f"matroid_bandits.{room}")) or ""
        lines = [f"``matroid_bandits.{room}``", "=" * (len(room) + 20), "", about, ""]
        lines += [".. autosummary::", "   :nosignatures:", "", *(f"   {name}" for name in names), ""]
        for name, directive in names.items():
            lines += [f".. {directive}:: {name}", ""]
        _write(folder / f"{room}.rst", lines)
    for old in folder.glob("*.rst"):
        if old.stem not in {*rooms, "index"}:
            old.unlink()
    lines = [
        "API reference",
        "=============",
        "",
        "Every public name with an example that runs. ``mb.OMM`` is ``matroid_bandits.OMM``.",
        "",
        ".. toctree::",
        "   :maxdepth: 1",
        "",
        *(f"   {room}" for room in rooms),
    ]
    _write(folder / "index.rst", lines)


def _write(path: Path, lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _write_math(translator: HTML5Translator, node: nodes.Element) -> None:
    display = "inline" if isinstance(node, nodes.math) else "block"
    translator.body.append(convert(node.astext(), display=display))
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", (_write_math, None), (_write_math, None))
    _write_reference()  # before pages are looked for
