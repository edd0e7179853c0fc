"""Files written whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def put(path: Path, content: str | bytes) -> None:
    """Replace a file, and make the folders above it where they are not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name[:200]}.{secrets.token_hex(8)}")
    try:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
