"""Reports: text, tables and plots as plain data, written to the terminal, HTML, figures, LaTeX and
``results.json``."""

from matroid_bandits._util.latex import to_latex
from matroid_bandits._util.plots import Curve, Panel
from matroid_bandits._util.tables import Cell, Column, Estimate, Table
from matroid_bandits.reporting._blocks import (
    Block,
    Claim,
    Plot,
    Text,
    Verdict,
)
from matroid_bandits.reporting._chapter import Chapter, DataSource, LogFacts, RunFacts
from matroid_bandits.reporting._evaluation import evaluation_chapter
from matroid_bandits.reporting._identification import (
    identification_chapter,
    identification_record,
    margins_table,
)
from matroid_bandits.reporting._measures import (
    final_per_step,
    regret_per_step,
    report_checkpoints,
    size_note,
)
from matroid_bandits.reporting._report import Report
from matroid_bandits.reporting._results_file import plain, simulation_record
from matroid_bandits.reporting._simulation import simulation_chapter
from matroid_bandits.reporting._simulation_blocks import basis_table, curve_plot, policy_table
from matroid_bandits.reporting._sweep import parts_table, sweep_chapter
from matroid_bandits.reporting._terminal import open_console, print_chapter, print_table, styled
from matroid_bandits.simulation import curve_panel, regret_panel

__all__ = [
    "Block",
    "Cell",
    "Chapter",
    "Claim",
    "Column",
    "Curve",
    "DataSource",
    "Estimate",
    "LogFacts",
    "Panel",
    "Plot",
    "Report",
    "RunFacts",
    "Table",
    "Text",
    "Verdict",
    "basis_table",
    "curve_panel",
    "curve_plot",
    "evaluation_chapter",
    "final_per_step",
    "identification_chapter",
    "identification_record",
    "margins_table",
    "open_console",
    "parts_table",
    "plain",
    "policy_table",
    "print_chapter",
    "print_table",
    "regret_panel",
    "regret_per_step",
    "report_checkpoints",
    "simulation_chapter",
    "simulation_record",
    "size_note",
    "styled",
    "sweep_chapter",
    "to_latex",
]
