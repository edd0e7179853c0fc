"""Speed against what one would write by hand: ``python -m benchmarks`` runs every suite.

A suite is a function without arguments that returns an iterable of `Case`. To add one, write it in a file of
its own and name it in ``benchmarks/__main__.py``.
"""
