"""Kernels, interpreted first and compiled where that pays: arrays in, arrays out, no checks; numpy and numba alone.

A kernel is compiled with ``nogil=True`` and without Numba's own threads: the callers spread rows over
Python threads, so a program with threads of its own (a service, a notebook) can call any of them at any time.
"""
