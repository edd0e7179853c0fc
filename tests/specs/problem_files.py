"""Small problem files, for whoever tests their reader."""

from pathlib import Path

ITEMS = "item,kind,capacity,x,y,mean\na,p,1,1,0,0.5\nb,p,1,0,1,0.25\nc,q,2,1,1,0.75\n"

MEAN = '[weights]\nmean = "mean"\nfamily = "bernoulli"\n'

UNIFORM = '[matroid]\nkind = "uniform"\nfile = "items.csv"\nrank = 2\n'

HEAD = "episodes = 20\nruns = 2\n"

OMM = "[policies]\nOMM = {}\n"


def write_problem(folder: Path, toml: str, **sheets: str) -> Path:
    for name, text in {"items": ITEMS, **sheets}.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    path = folder / "problem.toml"
    path.write_text(toml, encoding="utf-8")
    return path
