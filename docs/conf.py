"""The documentation site: `make docs` builds it into docs/_build/html; nothing is fetched, then or by readers."""

import importlib
import inspect
import math
import pkgutil
import re
import shutil
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert
from numpydoc.xref import DEFAULT_LINKS
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode
from sphinx.writers.html5 import HTML5Translator
from sphinx_gallery.sorting import ExplicitOrder

import matroid_bandits

HERE = Path(__file__).parent

project = "matroid-bandits"
author = "the matroid-bandits authors"
copyright = author
version = release = matroid_bandits.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "sphinx_copybutton"]
extensions += ["sphinx_gallery.gen_gallery"]
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
html_show_search_summary = False  # it would fetch pages, which browsers refuse where the site is read from files
html_search_scorer = str(HERE / "scorer.js")

myst_enable_extensions = ["colon_fence", "attrs_inline", "attrs_block"]
myst_heading_anchors = 4
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_typehints = "none"  # docstrings say what parameters are
autodoc_member_order = "bysource"
autosummary_generate = False  # tables that lead to entries of the same page
numpydoc_show_class_members = False

# The gallery: every script of examples/gallery is run, and becomes a page with what it printed and its figure.
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": ExplicitOrder(
        f"{name}.py"
        for name in (
            "ads_in_slots",
            "provider_network",
            "diverse_movies",
            "lenders_and_loans",
            "sensor_placement",
            "crawl_schedule",
            "couriers",
            "reliable_routes",
            "colourful_trees",
            "drifting_prices",
            "visitors_with_features",
            "late_conversions",
            "news_list",
            "stopping_when_sure",
        )
    ),
    "abort_on_example_error": True,
    "capture_repr": (),  # what is printed is shown
    "download_all_examples": False,
    "min_reported_time": math.inf,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "reference_url": {"matroid_bandits": None},  # names in the code lead to their entries
    "thumbnail_size": (400, 240),
}

#: Rooms that are no library: the command line and compiled simulations are documented by their pages.
_LEFT_OUT = ("cli", "kernels", "compiled")

#: The rooms of the reference by what a reader is after; a new one stands in the last group until it is put elsewhere.
_GROUPS = {
    "Problems and policies": ("matroids", "constraints", "environments", "problem", "policies"),
    "Simulations": ("simulation", "bounds", "identification", "gpu", "paper", "datasets"),
    "Products": ("learner", "client", "service", "evaluation"),
    "Files and reports": ("specs", "reporting"),
    "Errors": ("exceptions",),
    "For extensions": (),
}


def _rooms() -> dict[str, dict[str, str]]:
    """For every module the public names, each under the path that users import it by, and their directives.

    Names that the package itself has come first: they are what most programs use.
    """
    top = set(matroid_bandits.__all__)
    rooms = {}
    for found in pkgutil.iter_modules(matroid_bandits.__path__):
        if found.name.startswith("_") or found.name in _LEFT_OUT:
            continue
        module = importlib.import_module(f"matroid_bandits.{found.name}")
        own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
        names = [name for name in getattr(module, "__all__", own) if not name.startswith("_")]
        rooms[found.name] = {}
        for name in sorted(names, key=lambda name: (name not in top, name.lower())):
            value = getattr(module, name)
            is_short = name in top and getattr(matroid_bandits, name) is value
            path = f"matroid_bandits.{name}" if is_short else f"{module.__name__}.{name}"
            if inspect.isclass(value):
                rooms[found.name][path] = "autoexception" if issubclass(value, Exception) else "autoclass"
            elif inspect.isfunction(value):
                rooms[found.name][path] = "autofunction"
    return {room: names for room, names in rooms.items() if names}


_ROOMS = _rooms()

# Types of parameters are links where they are ours; numpydoc's own aliases lead to sites that are not read here.
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {name: name for name in DEFAULT_LINKS} | {
    path.rsplit(".", 1)[1]: path
    for names in _ROOMS.values()
    for path, directive in names.items()
    if directive != "autofunction"
}


def _write_reference() -> None:
    """A page for each room, made of its docstring and its names; written only where it changed."""
    folder = HERE / "api"
    folder.mkdir(exist_ok=True)
    rooms = _ROOMS
    abouts = {room: inspect.getdoc(importlib.import_module(f"matroid_bandits.{room}")) or "" for room in rooms}
    for room, names in rooms.items():
        lines = [f"``matroid_bandits.{room}``", "=" * (len(room) + 20), "", abouts[room], ""]
        short = [name for name in names if name.count(".") == 1]
        longer = [name for name in names if name.count(".") > 1]
        for where, group in (("mb", short), (f"matroid_bandits.{room}", longer)):
            if group:
                lines += [f"As ``{where}.NAME``:" if where == "mb" else f"In ``{where}``:", ""]
                lines += [".. autosummary::", "   :nosignatures:", "", *(f"   ~{name}" for name in group), ""]
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
        "Every public name with an example that runs, by module. Most names are imported as ``mb.NAME`` after",
        "``import matroid_bandits as mb``; the page of a module says which are not.",
        "",
    ]
    grouped = {room for group in _GROUPS.values() for room in group}
    for title, group in _GROUPS.items():
        members = [room for room in group or rooms if room in rooms and (group or room not in grouped)]
        lines += [title, "-" * len(title), "", ".. list-table::", "   :widths: 25 75", ""]
        for room in members:
            names = [f":py:obj:`~{name}`" for name in rooms[room] if name.count(".") == 1]
            about = " ".join(abouts[room].split("\n\n")[0].split())
            lines += [f"   * - :doc:`{room} <{room}>`", f"     - {about}", ""]
            lines += [f"       {', '.join(names)}", ""] if names else []
        lines += [".. toctree::", "   :hidden:", "", *(f"   {room}" for room in members), ""]
    _write(folder / "index.rst", lines)


def _write(path: Path, lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _write_math(translator: HTML5Translator, node: nodes.Element) -> None:
    display = "inline" if isinstance(node, nodes.math) else "block"
    translator.body.append(convert(node.astext(), display=display))
    raise nodes.SkipNode


def _find(name: str, app: Sphinx) -> str | None:
    """The documented path of a name such as `OMM`, `Learner.ask`, `mb.simulate` or `OMM(scale)`, if it is one."""
    objects = app.env.domains["py"].objects
    name = re.sub(r"\(.*\)$", "", name, flags=re.DOTALL).removeprefix("mb.").removeprefix("matroid_bandits.")
    for path in (f"matroid_bandits.{name}", f"matroid_bandits.exceptions.{name}"):
        if path in objects:
            return path
    return None


def _resolve(app: Sphinx, env: BuildEnvironment, node: nodes.Element, shown: nodes.Element) -> nodes.Element | None:
    """Docstrings name things of other modules by the name that users import them by."""
    path = _find(node["reftarget"], app) if node.get("refdomain") == "py" else None
    return _link(app, node["refdoc"], path, shown) if path else None


def _link_names(app: Sphinx, tree: nodes.document, page: str) -> None:
    """Public names in the text of a page lead to the reference."""
    if page.startswith("api/"):
        return
    for literal in list(tree.findall(nodes.literal)):
        is_plain = not isinstance(literal.parent, nodes.reference | nodes.title) and "xref" not in literal["classes"]
        if is_plain and (path := _find(literal.astext(), app)):
            literal.replace_self(_link(app, page, path, literal.deepcopy()))


def _link(app: Sphinx, page: str, path: str, shown: nodes.Element) -> nodes.Element:
    entry = app.env.domains["py"].objects[path]
    return make_refnode(app.builder, page, entry.docname, entry.node_id, shown, path)


def _copy_notebooks(app: Sphinx) -> None:
    """Offer the notebooks that were run in place of those that the gallery makes."""
    for notebook in (HERE.parent / "examples" / "notebooks").glob("*.ipynb"):
        shutil.copyfile(notebook, HERE / "gallery" / notebook.name)


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", _copy_notebooks, priority=900)  # after the gallery
    app.add_html_math_renderer("mathml", (_write_math, None), (_write_math, None))
    app.connect("missing-reference", _resolve)
    app.connect("doctree-resolved", _link_names)
    _write_reference()  # before pages are looked for
