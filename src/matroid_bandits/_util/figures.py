"""The matplotlib figure that every plot returns; imported only where something is drawn."""

from __future__ import annotations

import io
from os import PathLike
from pathlib import PurePath
from typing import Any

from matplotlib import rc_context, rcParams
from matplotlib.figure import Figure

from matroid_bandits._util.plots import SETTINGS

#: What would make two files of one figure differ: dates and versions.
_METADATA: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
}


class StyledFigure(Figure):
    """A figure that is no part of pyplot, that notebooks show, and whose files keep their text as text."""

    # matplotlib reads the kind of fonts when a file is written, so `savefig` sets what `SETTINGS` says: text in PDF
    # is of TrueType fonts, as journals ask, and the same figure is the same bytes.

    def savefig(self, fname: Any, **options: Any) -> None:
        """Write a file, as in matplotlib."""
        suffix = PurePath(fname).suffix[1:] if isinstance(fname, (str, PathLike)) else ""
        kind = str(options.get("format") or suffix).lower()
        if kind in _METADATA:
            options.setdefault("metadata", _METADATA[kind])
        with rc_context(SETTINGS | {"svg.hashsalt": rcParams["svg.hashsalt"] or "matroid-bandits"}):
            super().savefig(fname, **options)

    def _repr_png_(self) -> bytes:
        """What notebooks show."""
        raw = io.BytesIO()
        self.savefig(raw, format="png", dpi=150)
        return raw.getvalue()
