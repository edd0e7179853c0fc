"""Saved files taken apart and put together again, for whoever tests what is refused."""

import io
import json
import zipfile

import numpy as np


def members(path):
    """The header and the arrays of a saved file."""
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
        names = [name for name in archive.namelist() if name != "header.json"]
        return header, {name.removesuffix(".npy"): np.load(io.BytesIO(archive.read(name))) for name in names}


def write(path, header, arrays, padding=None, compression=zipfile.ZIP_DEFLATED):
    """A file of these parts; `padding` are bytes that follow a member's own, by its name."""
    padding = padding or {}
    with zipfile.ZipFile(path, "w", compression) as archive:
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        archive.writestr("header.json", text + padding.get("header.json", b""))
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, array)
            archive.writestr(f"{name}.npy", buffer.getvalue() + padding.get(name, b""))


def edit(path, header=None, arrays=None):
    """The same file with some keys of the header and some arrays replaced."""
    old_header, old_arrays = members(path)
    write(path, old_header | (header or {}), old_arrays | (arrays or {}))
