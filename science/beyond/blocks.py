"""Tables and plots that several chapters show."""

from dataclasses import replace

from matroid_bandits.datasets import Dataset
from matroid_bandits.reporting import Column, DataSource, Estimate, Plot, Table, size_note
from matroid_bandits.simulation import regret_panels

BANDS = "Bands are 95% confidence intervals."


def final(result, policy) -> Estimate:
    """The regret of a policy after the last episode, with its standard error."""
    own = result[policy]
    return Estimate(float(own.regret[-1]), float(own.regret_se[-1]))


def is_standin(datasets) -> bool:
    """Whether any of the data is made up."""
    return any(dataset.source == "stand-in" for dataset in datasets)


def regret_table(sweep, datasets, name, title, note="", units=()) -> Table:
    """The regret of every policy on every problem."""
    units = units or [""] * len(sweep)
    return Table(
        name,
        title,
        (
            Column("policy", is_text=True),
            *(Column(problem, ",.0f", unit) for problem, unit in zip(sweep, units, strict=True)),
        ),
        tuple((policy, *(final(sweep[problem], policy) for problem in sweep)) for policy in sweep.policies),
        f"{size_note(next(iter(sweep.results.values())))} {note}".strip(),
        is_standin=is_standin(datasets),
    )


def best_plot(sweep, datasets, name, title, caption="", unit="") -> Plot:
    """Regret of each family of policies at its best, a panel for each problem."""
    panels = regret_panels(sweep, unit=unit, best=True)
    marked = tuple(replace(panel, is_standin=is_standin(datasets)) for panel in panels)
    return Plot(name, title, marked, f"{caption} {BANDS}".strip())


def source_of(dataset: Dataset) -> DataSource:
    """Where a data set is from, without the folders of this machine."""
    path, about = dataset.path, dataset.description
    told = about if path is None or path.name in about else f"{about} Read from {path.parent.name}/{path.name}."
    return DataSource(dataset.title, told, dataset.source == "stand-in")
