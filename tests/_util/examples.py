r"""What the helpers of `_util` do, by example; `--doctest-modules` runs them.

>>> from matroid_bandits._util.archives import Layout, malformed, reading, save
>>> print(Layout.of(np.zeros((2, 3))))
float64 of shape (2, 3)
>>> import tempfile
>>> path = Path(tempfile.mkdtemp()) / "numbers"
>>> save(path, "numbers", 1, {"unit": "ms"}, {"times": np.arange(3.0)})
>>> with reading(path, "numbers", 1) as archive:
...     archive.header, archive.layouts, archive.read()
({'unit': 'ms'}, {'times': Layout(dtype=dtype('float64'), shape=(3,))}, {'times': array([0., 1., 2.])})
>>> with malformed("learner"):
...     raise ValueError("expected a seed")
Traceback (most recent call last):
...
matroid_bandits.exceptions.SerializationError: malformed learner: expected a seed

>>> from matroid_bandits._util.arrays import offsets
>>> offsets(np.array([2, 0, 3]))
array([0, 2, 2, 5])

>>> from matroid_bandits._util.binomial import exact_interval
>>> [round(end, 4) for end in exact_interval(0, 300)], [round(end, 3) for end in exact_interval(57, 4000)]
([0.0, 0.0122], [0.011, 0.018])

>>> from matroid_bandits._util.checks import as_flag, as_index, as_integer, as_number, check_features, check_rows
>>> as_index(np.int32(3))
3
>>> as_index(True)
Traceback (most recent call last):
...
TypeError: expected an integer, got True
>>> as_integer("n_runs", np.int32(3), 1)
3
>>> as_integer("n_runs", 0, 1)
Traceback (most recent call last):
...
ValueError: expected n_runs to be an integer of at least 1, got 0
>>> as_number("epsilon", 1, 0.0, 1.0)
1.0
>>> as_number("epsilon", float("nan"), 0.0, 1.0)
Traceback (most recent call last):
...
ValueError: expected epsilon to be a number in [0, 1], got nan
>>> as_flag("minimize", np.True_)
True
>>> as_flag("minimize", "false")
Traceback (most recent call last):
...
ValueError: expected minimize to be True or False, got 'false'
>>> check_features(np.array([[1.0, np.nan]]), ["boots"])
Traceback (most recent call last):
...
ValueError: expected finite features, got nan as feature 1 of item 'boots'
>>> check_rows("best_sets", np.array([[0, 1]]), np.array([3]), 1)
Traceback (most recent call last):
ValueError: expected best_sets to return sizes in 0..2, got [3]

>>> from matroid_bandits._util.declared import override
>>> class Base:
...     def draw(self): return 1
...     def compiled(self): return "one"
>>> class Other(Base):
...     def draw(self): return 2
>>> override(Base(), "compiled"), override(Other(), "compiled")
(None, 'draw')

>>> from matroid_bandits._util.extras import how_to_install, missing
>>> how_to_install("plot")
"pip install 'matroid-bandits[plot]' (in a clone of the repository: pip install '.[plot]')"
>>> raise missing("plot needs matplotlib", "plot")
Traceback (most recent call last):
    ...
matroid_bandits.exceptions.MissingDependencyError: plot needs matplotlib: pip install 'matroid-bandits[plot]' (in a clone of the repository: pip install '.[plot]')

>>> from matroid_bandits._util.files import claim, write_file
>>> import tempfile
>>> path = Path(tempfile.mkdtemp()) / "report" / "index.html"
>>> write_file(path, "<p>Done.</p>")
>>> path.read_text()
'<p>Done.</p>'
>>> import tempfile
>>> path = Path(tempfile.mkdtemp()) / "lock"
>>> give_back = claim(path)
>>> claim(path) is None
True
>>> give_back()

>>> from matroid_bandits._util.latex import escaped
>>> print(escaped("50% of OMM_1 ± 2"))
50\% of OMM\_1 $\pm$ 2

>>> from matroid_bandits._util.literature import known_as, other_word
>>> known_as("CTS"), known_as("comb-ucb1")
('CTS is ThompsonSampling here', 'CombUCB1 is OMM(scale=sqrt(0.75)) here')
>>> known_as("OMM")
''
>>> other_word("spanning-tree", ["graphic", "uniform"]), other_word("grafic", ["graphic", "uniform"])
("; spanning tree is 'graphic' here", "; did you mean 'graphic'?")

>>> from matroid_bandits._util.names import Foreign, codes_of, decode, encode
>>> from matroid_bandits._util.names import encode_all, is_campaign_name, pairs_of, plain, rows_of
>>> is_campaign_name("front-page"), is_campaign_name("-"), is_campaign_name("a b")
(True, False, False)
>>> plain((np.int64(3), np.str_("a")))
(3, 'a')
>>> codes_of("abca", "vertex")
(array([0, 1, 2, 0]), ('a', 'b', 'c'))
>>> pairs_of({"a": 1, "b": 2})
(['a', 'b'], [1, 2])
>>> pairs_of(np.ones(2)) is None
True
>>> rows_of({"a": [1, 2]})
(['a'], [[1, 2]])
>>> encode(("a", 1), "label")
['a', 1]
>>> encode_all(["a", ("a", 1)], "label")
['a', ['a', 1]]
>>> decode(["a", 1])
('a', 1)
>>> import datetime
>>> Foreign.of(datetime.date(2024, 2, 29))
Foreign(kind='datetime.date', text='datetime.date(2024, 2, 29)')

>>> from matroid_bandits._util.pickling import pickler
>>> pickle.loads(pickler().dumps([1, 2]))
[1, 2]

>>> from matroid_bandits._util.plots import figure_size
>>> figure_size("column", 2, ValueError)
(3.25, 2.0)

>>> from matroid_bandits._util.progress import clock
>>> clock(3725.9)
'62:05'

>>> from matroid_bandits._util.student import t_quantile, t_tail
>>> round(t_quantile(0.975, 9), 4), round(t_quantile(0.975, 10**6), 4)
(2.2622, 1.96)
>>> round(t_tail(2.2622, 9), 4), t_tail(float("inf"), 9)
(0.025, 0.0)

>>> from matroid_bandits._util.styles import bound_styles, by_family, curve_styles, legend_label
>>> by_family(["OMM", "KLOSM", "OMM, tuned"])
{'OMM': ['OMM', 'OMM, tuned'], 'KLOSM': ['KLOSM']}
>>> styles = curve_styles({"OMM": ["OMM, scale=1", "OMM, scale=2"], "KLOSM": ["KLOSM"]})
>>> styles["OMM, scale=1"], styles["OMM, scale=2"]
(Style(color='#80b9d9', dash=(), marker=''), Style(color='#0072b2', dash=(), marker='o'))
>>> styles["OMM"], styles["KLOSM"].dash
(Style(color='#0072b2', dash=(), marker=''), (4.0, 1.6))
>>> bound_styles(["Theorem 2"])
{'Theorem 2': Style(color='#888888', dash=(12.0, 4.0), marker='')}
>>> legend_label("OMM"), len(legend_label("Restarting(" + "x" * 100 + ")"))
('OMM', 48)

>>> from matroid_bandits._util.sums import added
>>> added([0.1, 0.2, 0.3])
0.6000000000000001

>>> from matroid_bandits._util.text import common_spec, counted, did_you_mean, in_a_line, listed
>>> from matroid_bandits._util.text import number, printable, shortened, shown, with_error
>>> counted(1, "run"), counted(2000, "run")
('1 run', '2,000 runs')
>>> listed(["OMM", "KLOSM"]), listed(["OMM, scale=1", "KLOSM"]), listed([])
('OMM, KLOSM', "'OMM, scale=1', 'KLOSM'", 'none')
>>> did_you_mean("grafic", ["graphic", "linear"])
"; did you mean 'graphic'?"
>>> shown("ten"), shown(np.float64(0.5)), shown(10**400)
("'ten'", '0.5', 'an integer of more than 100 digits')
>>> shown([16**5000])
'a list that is too large to show'
>>> shortened("boots"), len(shortened("boots" * 1000))
('boots', 100)
>>> in_a_line("OMM"), in_a_line("Restarting(base=OMM(scale=2.0), memory=5)", 20)
('OMM', 'Restarting…memory=5)')
>>> common_spec([(12.0, math.nan), (0.012, math.nan)], ".1f"), common_spec([(3.0, 0.02)], ",.1f")
('.3f', ',.2f')
>>> common_spec([(0.5, math.nan), (0.25, math.nan)], "g"), common_spec([(1e9, math.nan), (1e-9, math.nan)], ".1f")
('.2f', None)
>>> number(12.3456, ".3f"), number(0.0006, ".3f"), number(0.00042, ".1%")
('12.346', '0.0006', '0.042%')
>>> with_error(3.14159, 0.25, ".2f").replace(" ", " "), with_error(1.0, float("nan"), ".2f")
('3.14 ± 0.25', '1.00')
>>> printable("ε-greedy\a $1"), printable("\ufffe\n")
('ε-greedy\\x07 $1', '\\ufffe\\n')

>>> from matroid_bandits._util.versions import versions
>>> list(versions())
['matroid-bandits', 'python', 'numpy', 'numba']
"""  # noqa: E501

import math  # noqa: F401 - names of the examples
import pickle  # noqa: F401
from pathlib import Path  # noqa: F401

import numpy as np  # noqa: F401
