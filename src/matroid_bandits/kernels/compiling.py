"""Kernels in two tiers: interpreted as plain Python until that has cost what compiling would, and then compiled.

Only this file and `gpu/` import Numba, and this one imports it when the first kernel is compiled. Both tiers make the
same bits, so that the clock decides time and nothing else. The variable MATROID_BANDITS_KERNELS chooses:

- ``tiered``, the default, as above;
- ``interpreted``: nothing is ever compiled, which NUMBA_DISABLE_JIT=1 says too;
- ``compiled``: every kernel is compiled, or loaded from disk, at its first call.
"""

import functools
import hashlib
import os
import pickle
import sys
import threading
import time
import types
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from matroid_bandits.kernels import notice

_VARIABLE = "MATROID_BANDITS_KERNELS"
_TIERS = ("tiered", "interpreted", "compiled")

#: One set of options for all, since Numba compiles the operations on arrays again for every other set of a caller's.
_OPTIONS = {"nogil": True, "error_model": "numpy"}
_INLINED = {"forceinline": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": True}
_FAST = {"fastmath": {"nnan", "nsz"}}

#: Seconds that a process spends once, before its first compiled call: importing Numba and setting up its target.
START_S = 0.7
#: Seconds of loading a kernel from disk; of compiling one, per instruction of it and of the kernels it calls.
LOAD_S, INSTRUCTION_S = 0.03, 0.0015
#: Seconds of one step of a kernel that declares its work, interpreted; and, where it does not, of a cell of its
#: largest array, of which most kernels look at few, so that arrays count only where they are as large as this.
_STEP_S, _CELL_S, _LARGE = 2e-6, 2e-7, 20_000


def _chosen_tier():
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return "interpreted"
    tier = os.environ.get(_VARIABLE, "") or _TIERS[0]
    if tier not in _TIERS:
        raise ValueError(f"expected {_VARIABLE} to be tiered, interpreted or compiled; got {tier!r}")
    return tier


_tier: str = _chosen_tier()


class _Process:
    """What the kernels of this process share."""

    def __init__(self):
        self.has_started = False  # a kernel was compiled or loaded
        self.spent = 0.0  # seconds in interpreted kernels
        self.at_once = 0
        self.renew()
        os.register_at_fork(after_in_child=self.renew) if hasattr(os, "register_at_fork") else None

    def renew(self):
        """One thread compiles at a time; a child process inherits no other thread."""
        self.lock = threading.Lock()


_process = _Process()


class _Thread(threading.local):
    """What holds for this thread: how often the kernels at hand will be called again; seconds of compiling."""

    at_once = 0
    ahead = 0
    compiling_s = 0.0
    depth = 0
    since = 0.0

    def begin_compiling(self):
        """Start the clock, unless it runs: kernels are compiled for the sake of others."""
        if not self.depth:
            self.since = time.perf_counter()
        self.depth += 1

    def end_compiling(self):
        """Stop the clock that `begin_compiling` has started."""
        self.depth -= 1
        if not self.depth:
            self.compiling_s += time.perf_counter() - self.since


_thread = _Thread()


class Kernel:
    """A function of arrays that is interpreted or compiled, whichever is cheaper; see the decorator `kernel`.

    Attributes
    ----------
    call : callable
        What a call runs at present, the compiled function once there is one. Callers that count microseconds use
        ``kernel.call(...)``, looked up anew each time.
    py_func : function
        The function itself.
    """

    def __init__(self, function, options, is_kept=False, work=None, plain=None):
        functools.update_wrapper(self, function)
        self.py_func = function
        self._options, self._is_kept, self._work, self._source = options, is_kept, work, plain or function
        self._dispatcher: Any = None  # as it is called from Python
        self._seconds = self._last = 0.0  # interpreted since the last compilation; in the last call
        self._look_s = LOAD_S  # seconds after which to look for a compiled form on disk
        self.call = self._first

    def __call__(self, *arguments):
        return self.call(*arguments)

    def __repr__(self):
        return f"<kernel {self.__module__}.{self.py_func.__qualname__}>"

    def __reduce__(self):
        """The name by which the module has it: a kernel that was pickled is the kernel itself."""
        for name, value in vars(sys.modules[self.__module__]).items():
            if value is self:
                return name
        raise pickle.PicklingError(f"expected a kernel that its module has by name, got {self!r}")

    def interpreted(self, *arguments):
        """Call the plain function, and return what the compiled one would."""
        with np.errstate(all="ignore"):
            return _unboxed(self._plain(*arguments))

    def compiled(self, *arguments):
        """Call the compiled function, after compiling or loading it for arguments of these types where need be.

        Where kernels are interpreted altogether, this is too.
        """
        with at_once():
            return self.call(*arguments)

    @property
    def is_compiled(self):
        """Whether it was compiled in this process, or loaded from disk, for some types of arguments."""
        return self._dispatcher is not None and bool(self._dispatcher.overloads)

    @property
    def is_on_disk(self):
        """Whether a compiled form is on disk, of this source and that of every kernel in it; without Numba."""
        return any(_is_of(index, self.stamp) for index in self._indices)

    @property
    def folder(self):
        """The folder for its compiled form; None where none can be written."""
        return _writable(self.py_func.__code__.co_filename)

    @functools.cached_property
    def stamp(self):
        """A word for everything in the source that the compiled code depends on, other kernels included."""
        return _identity(self)[0]

    @functools.cached_property
    def dispatcher(self):
        """Numba's function, as other kernels call it."""
        made = _made(self, self._options)
        return _kept(made, self.stamp) if self._is_kept else made

    @functools.cached_property
    def _plain(self):
        return _plain_twins.of(self._source)

    @functools.cached_property
    def _indices(self):
        """The files in which Numba may have noted compiled forms."""
        code = self.py_func.__code__
        name = f"{Path(code.co_filename).stem}.{_qualname(self.py_func)}-{code.co_firstlineno}"
        name = f"{name.replace('<', '').replace('>', '')}.py{sys.version_info[0]}{sys.version_info[1]}"
        return [folder / f"{name}{getattr(sys, 'abiflags', '')}.nbi" for folder in _folders(code.co_filename)]

    @functools.cached_property
    def _costs_s(self):
        """Seconds of compiling, about."""
        return _identity(self)[1] * INSTRUCTION_S

    def _first(self, *arguments):
        """What calls run until there is a compiled form."""
        if _tier == "interpreted":
            return self.interpreted(*arguments)
        return self._form_for(arguments)(*arguments)

    def _form_for(self, arguments):
        """The compiled function if it is due for such arguments, which are new to it, else the interpreted one."""
        expected_s = self._expected_s(arguments)
        if not (must := _tier == "compiled" or _thread.at_once + _process.at_once > 0) and not self._is_due(
            expected_s
        ):
            return self._timed
        _thread.begin_compiling()
        try:
            # a call that takes longer than compiling waits for its turn
            if not _process.lock.acquire(blocking=must or expected_s > self._costs_s):
                return self._timed
            try:
                with notice.given(self.is_on_disk, self.folder is not None):
                    return self._promoted(arguments)
            finally:
                _process.lock.release()
        finally:
            _thread.end_compiling()

    def _promoted(self, arguments):
        if self._dispatcher is None:
            self._dispatcher = _callable_from_python(self)
            self._dispatcher._compile_for_args = self._on_new_types
        compiled = type(self._dispatcher)._compile_for_args(self._dispatcher, *arguments)
        _process.has_started = True
        self._seconds = self._last = 0.0
        self.call = self._dispatcher
        return compiled

    def _on_new_types(self, *arguments):
        """What Numba calls for types of arguments that it has not compiled, and runs what it gets."""
        found = self._form_for(arguments)
        self._dispatcher._types_active_call.clear()
        return found

    def _expected_s(self, arguments):
        """Seconds that this call and those that the caller has announced will take interpreted, about."""
        if self._work is not None:
            seconds = self._work(*arguments) * _STEP_S
        else:
            cells = 0
            for each in arguments:
                if type(each) is np.ndarray and each.size > cells:
                    cells = each.size
            seconds = cells * _CELL_S if cells >= _LARGE else 0.0
        return max(seconds, self._last) * max(1, _thread.ahead) if self._last or seconds else 0.0

    def _is_due(self, expected_s):
        """Whether compiling, or loading, is cheaper than what was interpreted and what is expected."""
        seconds = self._seconds + expected_s
        if seconds < LOAD_S or not (_process.has_started or _process.spent + expected_s >= START_S):
            return False
        if seconds < self._costs_s and seconds >= self._look_s and not self.is_on_disk:
            self._look_s = 2.0 * seconds
        return seconds >= min(self._costs_s, self._look_s)

    def _timed(self, *arguments):
        began = time.thread_time()
        try:
            return self.interpreted(*arguments)
        finally:
            self._last = time.thread_time() - began
            self._seconds += self._last
            _process.spent += self._last


def kernel(function=None, *, work=None, plain=None):
    """A function that is called from Python, or is too large to be inlined where it is called.

    Numba keeps compiled code beside the sources, else in the user's cache folder, else nowhere: in a read-only
    installation without a home, for example. There, every process compiles anew; the variable NUMBA_CACHE_DIR names a
    folder that can be written.

    Parameters
    ----------
    work : callable, optional
        Returns, for the kernel's arguments, about how many steps of a loop they take, where the sizes of the arrays
        do not show it.
    plain : callable, optional
        Does the same with NumPy, to be interpreted in the place of the loops.
    """
    if function is None:
        return lambda function: kernel(function, work=work, plain=plain)
    return Kernel(function, {}, True, work, plain)


def inlined(function):
    """A function that kernels call for every item, or every episode of a run, and which becomes a part of them.

    A compiled function that is called counts a reference to every array that it is handed, atomically, at some
    nanoseconds each. One that is inlined does not; nor is it kept on disk by itself.
    """
    return Kernel(function, _INLINED)


def fast(function):
    """An `inlined` function that meets no NaN and for which zeros have no sign, so that maxima use SIMD."""
    return Kernel(function, {**_INLINED, **_FAST})


def called(function):
    """A function that kernels call in several places, or a large one, which becomes a part of their code on disk.

    A `kernel` that others call is kept on disk by itself too, which one that they alone call need not be.
    """
    return Kernel(function, {"no_cfunc_wrapper": True, "no_cpython_wrapper": True})


def named(name):
    """Name a function that another one has made, since Numba keeps compiled code under the names of functions."""

    def give(function):
        function.__name__ = function.__qualname__ = name
        return function

    return give


@inlined
def times(x, y):
    """x y, rounded by itself, for products that are added to something and must have the same bits on a GPU.

    A GPU's compiler would fuse the product and the sum into one operation that rounds once. There, this function is
    replaced by one that it does not fuse.
    """
    return x * y


def borrowed(arrays):
    """The same array, or tuple of arrays, numbers and such tuples, to which compiled code counts no references.

    A function that runs for a tenth of a second and uses its arrays millions of times borrows them first. Its caller,
    or another name that it must `hold`, keeps them.
    """
    return arrays


def hold(*arrays):
    """Keep what was `borrowed` from these arrays in memory up to here, in a function that has made them itself."""


def tier() -> str:
    """How kernels run in this process: "tiered", "interpreted" or "compiled"."""
    return _tier


@contextmanager
def at_once(in_all_threads=False):
    """While this lasts, kernels that this thread calls, or any, are compiled or loaded before they run."""
    where = _process if in_all_threads else _thread
    where.at_once += 1
    try:
        yield
    finally:
        where.at_once -= 1


@contextmanager
def ahead(n_calls: int):
    """While this lasts, each kernel that this thread calls is expected to be called `n_calls` times.

    After its first call it is known what interpreting the others would take, and it is compiled if that is cheaper.
    """
    before, _thread.ahead = _thread.ahead, n_calls
    try:
        yield
    finally:
        _thread.ahead = before


def seconds_compiling() -> float:
    """Seconds that this thread has spent on compiling and loading since it began, waiting for its turn included.

    Functions that are not the package's count from the first call on that finds Numba imported.
    """
    if "numba" in sys.modules:
        _listen()
    return _thread.compiling_s


@functools.cache
def _listen():
    """Count what Numba compiles for others, too."""
    from numba.core import event

    class Stopwatch(event.Listener):  # type: ignore[misc]
        def on_start(self, event):
            _thread.begin_compiling()

        def on_end(self, event):
            _thread.end_compiling()

    event.register("numba:compiler_lock", Stopwatch())


def spent() -> float:
    """Seconds that this process has spent in interpreted kernels, for `resume` in a process that it starts."""
    return float("inf") if _process.has_started else _process.spent


def resume(seconds: float) -> None:
    """Start where the parent process is: what it has `spent` on interpreting counts here, too."""
    _process.spent = max(_process.spent, seconds)


_SCALARS = (np.bool_, np.number)


def _unboxed(result):
    """A kernel's result with numbers of Python, as Numba returns them."""
    if isinstance(result, _SCALARS):
        return result.item()
    return tuple(_unboxed(each) for each in result) if type(result) is tuple else result


class _Twins:
    """Copies of functions in whose globals each kernel is replaced by its form in one of the tiers."""

    def __init__(self, form):
        self._form = form
        self._spaces, self._originals = {}, []  # by the identity of the original globals, which must stay alive

    def of(self, function, decorate=None):
        """The copy, decorated."""
        space = self._spaces.get(id(function.__globals__))
        if space is None:
            space = {name: function.__globals__.get(name) for name in ("__name__", "__file__", "__builtins__")}
            self._spaces[id(function.__globals__)] = space
            self._originals.append(function.__globals__)
        cells = tuple(types.CellType(self._replaced(each.cell_contents)) for each in function.__closure__ or ())
        twin = types.FunctionType(function.__code__, space, function.__name__, function.__defaults__, cells or None)
        twin.__module__, twin.__doc__ = function.__module__, function.__doc__
        twin.__qualname__ = _qualname(function)
        for name in _names_in(function.__code__):
            if name in function.__globals__ and name not in space:
                space[name] = self._replaced(function.__globals__[name])
        return twin if decorate is None else decorate(twin)

    def _replaced(self, value):
        return self._form(value) if isinstance(value, Kernel) else value


_plain_twins = _Twins(lambda each: each._plain)
_compiled_twins = _Twins(lambda each: each.dispatcher)


def _names_in(code):
    """All names that a function's code looks up, those of functions inside it included."""
    inner = [_names_in(each) for each in code.co_consts if isinstance(each, types.CodeType)]
    return list(dict.fromkeys([*code.co_names, *(name for names in inner for name in names)]))


def _qualname(function):
    """The name under which compiled code is kept: functions made by one definition differ in what they enclose."""
    if not (values := _enclosed(function)):
        return function.__qualname__
    return f"{function.__qualname__}_{hashlib.sha256(repr(values).encode()).hexdigest()[:12]}"


def _enclosed(function):
    """The values of a closure."""
    return [each.cell_contents for each in function.__closure__ or ()]


def _callable_from_python(each):
    """Numba's function of a kernel; one that is inlined elsewhere is called by itself in tests alone."""
    if each._is_kept:
        return each.dispatcher
    options = {name: value for name, value in each._options.items() if name not in _INLINED}
    return _kept(_made(each, options), each.stamp)


def _made(each, options):
    import numba

    _register()
    return _compiled_twins.of(each.py_func, numba.njit(**_OPTIONS, **options))


def _kept(dispatcher, stamp):
    """The same, with a cache on disk that holds until any source in the function changes."""
    try:
        dispatcher.enable_caching()
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
    else:
        dispatcher._cache._cache_file._source_stamp = stamp
    return dispatcher


@functools.cache
def _register():
    """Tell Numba what `borrowed` and `hold` are."""
    import numba
    from numba.extending import lower_builtin, overload, type_callable

    kinds = numba.types

    def without_owner(context, builder, kind, value):
        """Arrays as such whose memory nothing in compiled code owns; references to them are counted nowhere."""
        if isinstance(kind, kinds.Array):
            found = context.make_array(kind)(context, builder, value)
            found.meminfo = found.meminfo.type(None)
            return found._getvalue()
        if isinstance(kind, kinds.BaseTuple):
            for i, each in enumerate(kind):
                part = without_owner(context, builder, each, builder.extract_value(value, i))
                value = builder.insert_value(value, part, i)
        return value

    @type_callable(borrowed)
    def _type_borrowed(context):
        return lambda arrays: arrays

    @lower_builtin(borrowed, kinds.Array)
    @lower_builtin(borrowed, kinds.BaseTuple)
    def _lower_borrowed(context, builder, signature, arguments):
        return without_owner(context, builder, signature.args[0], arguments[0])

    overload(hold)(lambda *arrays: lambda *arrays: None)


def _identity(each):
    """A digest of a kernel and all it calls, and how many instructions they have."""
    digest, found = hashlib.sha256(repr(sorted(_OPTIONS)).encode()), []

    def add(value):
        if isinstance(value, Kernel):
            digest.update(repr([(name, value._options[name] is True) for name in value._options]).encode())
            value = value.py_func
        if isinstance(value, types.FunctionType):
            if value not in found:
                found.append(value)
                digest.update(_qualname(value).encode())
                add_code(value.__code__)
                for known in [*_enclosed(value), *map(value.__globals__.get, _names_in(value.__code__))]:
                    add(known)
        elif not isinstance(value, types.ModuleType | types.BuiltinFunctionType | None):
            word = value.tobytes() if isinstance(value, np.ndarray) else repr(value).split(" at 0x")[0].encode()
            digest.update(word)

    def add_code(code):
        digest.update(code.co_code + repr(code.co_names + code.co_varnames).encode())
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                add_code(constant)
            else:
                digest.update(repr(constant).encode())

    add(each)
    return digest.hexdigest(), sum(len(function.__code__.co_code) // 2 for function in found)


def _folders(source):
    """Where Numba may keep the compiled code of a source file, the first choice first."""
    folder = Path(source).resolve().parent
    apart = f"{folder.name}_{hashlib.sha1(str(folder).encode()).hexdigest()}"
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        return [Path(named) / apart]
    home = Path.home() if "HOME" in os.environ or os.name == "nt" else Path(os.sep)
    if sys.platform == "win32":
        users = Path(os.environ.get("LOCALAPPDATA", home)) / "numba" / "Cache"
    elif sys.platform == "darwin":
        users = home / "Library" / "Caches" / "numba"
    else:
        users = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "numba"
    return [folder / "__pycache__", users / apart]


@functools.cache
def _writable(source):
    """Where compiled code of a source file is kept; None for nowhere."""
    for folder in _folders(source):
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
    return None


def _is_of(index, stamp):
    """Whether a file of Numba's is the index of this very source."""
    try:
        return stamp.encode() in index.read_bytes()
    except OSError:
        return False
