"""Small data files, for whoever tests their readers."""

import gzip
from pathlib import Path

LOANS_HEADER = "loan_id,partner_id,status,posted_date,lenders,support\n"

LOAN = "7,20,paid,2014-01-25T09:00:02Z,6,CA:1 XX:4\n"

MOVIES = "1::Alpha (1999)::Comedy|Drama\n2::Beta: Two::War\n5::Gämma::Drama\n4::Delta::Horror\n".encode("latin-1")


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    raw = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path
