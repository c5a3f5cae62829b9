"""Instrumentation of a traced program: the functions that ran, and the attributes whose names it computed.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> from frontends.pytorch.python.ran import Ran, watching
    >>> def inner(x, name):
    ...     return getattr(x, name)
    >>> def outer(x):
    ...     return inner(x, "re" + "al")
    >>> ran = Ran()
    >>> with watching(ran):
    ...     variant = trace(outer, (torch.ones(2),))
    >>> [function.__name__ for function in ran.functions()], ran.names
    (['outer', 'inner'], {'real'})

Only functions that ran can have read state, so these determine a graph's captured state, rather than everything that
names reach. Standard library functions called by the program are included: `os.getenv` reads `os.environ`. Those of
torch and ours are not.

An interpreter hook records them at no measurable cost. Where it cannot be compiled, `sys.setprofile` does the same and
doubles the time of a trace.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
import sysconfig
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any, Final, cast

import torch

from frontends.pytorch.python.mentions import location
from frontends.pytorch.source_location import FRAMEWORKS, INSTALLED, OURS, STANDARD
from frontends.pytorch.symbolic.tensor import Traced
from shapes.guards.extension_modules import build
from shapes.guards.toolchain import Unavailable
from shapes.origin import FRAMEWORK

Call = tuple[FunctionType, CodeType, "CodeType | None"]
"""A function, its code at the call (possibly with interception), and its caller's code."""
Entered = Callable[[FunctionType], None]
Changes = Callable[[str, object, object, CodeType, int], "bool | None"]
Audited = Callable[[str, "tuple[object, ...]"], None]
Observers = tuple[Entered, Changes, Audited]
"""Callbacks for functions, mutating instructions, and audit events; see `ran.c`."""
Watch = Callable[["tuple[list[Call], Observers | None] | None"], bool]

WITHOUT_STATE: Final = frozenset(
    (
        *("abc", "ast", "bisect", "codecs", "collections", "colorsys", "contextlib", "copy", "copyreg", "dataclasses"),
        *("difflib", "dis", "encodings", "enum", "fnmatch", "fractions", "functools", "genericpath", "hashlib"),
        *("heapq", "inspect", "json", "keyword", "linecache", "logging", "numbers", "opcode", "operator", "posixpath"),
        *("pprint", "re", "reprlib", "statistics", "string", "textwrap", "token", "tokenize", "traceback", "types"),
        *("typing", "typing_extensions", "warnings", "weakref", "_collections_abc", "_weakrefset", "decimal"),
        *("importlib", "_frozen_importlib", "_frozen_importlib_external", "random", "sympy", "mpmath", "networkx", "z3",
        "hypothesis", "numpy", "opt_einsum", "triton"),
    )
)
"""Modules whose functions depend only on their arguments, as far as programs can tell. Imports are observed at the
import, Python's random numbers elsewhere."""
WRAPPERS: Final = frozenset(("contextlib", "functools"))
"""Standard library modules with wrappers around the program's functions; a compiled function may be one."""
STATELESS: Final = tuple(
    [
        os.path.join(place, name)
        for place in {sysconfig.get_paths()[kind] for kind in ("purelib", "platlib")}
        for name in (
            *[package + os.sep for package in ("sympy", "mpmath", "networkx", "z3", "numpy", "opt_einsum", "triton")],
            # whose functions replace those of `typing`
            "typing_extensions.py",
        )
    ]
)
"""Packages that torch and Python call internally."""
CHANGED_BY: Final = tuple(
    [
        sysconfig.get_paths()["stdlib"] + os.sep + name
        for name in (
            *("collections/", "_collections_abc.py", "random.py", "heapq.py", "queue.py", "weakref.py"),
            *("_weakrefset.py", "logging/", "unittest/mock.py", "graphlib.py", "shelve.py"),
            *("contextlib.py", "threading.py", "types.py", "argparse.py", "configparser.py", "sched.py", "bisect.py"),
            *("functools.py", "warnings.py", "string.py", "optparse.py"),
        )
    ]
)
"""Standard library functions that mutate their arguments: their instructions are observed like the program's."""
LIBRARY: Final = tuple([os.path.join(sysconfig.get_paths()["stdlib"], name) for name in sys.stdlib_module_names])
ENGINE: Final = tuple([place for place in FRAMEWORK if not place.startswith(FRAMEWORKS)])
"""Files that call libraries but never the program."""
PRINTED: Final = (
    *("<lookup>", "<call>", "<bind>", "<captured_state>", "<check>", "<proposition>"),
    *("<graph ", "<program ", "<launch of ", "<inferred "),
)
"""File names of code that we generate."""

remembered: Final[weakref.WeakSet[CodeType]] = weakref.WeakSet()
"""The code of memoized functions (`functools.lru_cache`), whose effects happen once."""
_current: Final = threading.local()


@dataclass(frozen=True, slots=True)
class Use:
    """The use of a memoized result (`functools.lru_cache`).

    Attributes:
        key: the function's cache key for the arguments.
    """

    function: Callable[..., object]
    key: object

    def result(self) -> object:
        """The cached result; NotImplemented if there is none."""
        return result_for()(self.function, self.key, 0)


class Ran:
    """The record of a `with` block.

    Attributes:
        names: attributes that the program read by a computed name.
        tensors: captured tensors whose Python attributes it read by a computed name.
        memoized: its uses of memoized results, for a graph.
        has_computed: whether one of them was computed, which happens once.
        elements: tensors whose elements it read as numbers, for a graph.
        silent: loggers that it queried for a level at which they do not log.
        restored: the functions of the program that ran in another process, for a restored variant.
    """

    def __init__(self, observers: Observers | None = None) -> None:
        self.names: set[str] = set()
        self.tensors: dict[int, torch.Tensor] = {}
        self.memoized: tuple[Use, ...] = ()
        self.has_computed = False
        self.elements: tuple[torch.Tensor, ...] = ()
        self.silent: set[tuple[logging.Logger, int]] = set()
        self.restored: list[FunctionType] | None = None
        self._calls: list[Call] = []
        self._watch = _watch()
        self._observers = observers

    def begin(self) -> None:
        """Start recording this thread."""
        if not self._watch((self._calls, self._observers)):
            self._watch = _by_profile
            self._watch((self._calls, self._observers))

    def include(self, inner: Ran) -> None:
        """Merge the record of an inner block."""
        self._calls += inner._calls
        self.names |= inner.names
        self.tensors |= inner.tensors
        self.silent |= inner.silent

    def let_go(self, holders: Mapping[int, object]) -> None:
        """Drop all references to these objects, by identity: a function among them is replaced in the record by a copy
        without its closure.

        The program may still use the function, so it is not changed.
        """
        without: dict[int, FunctionType] = {}
        for place, (function, code, by) in enumerate(self._calls):
            if id(function) in holders:
                found = without.get(id(function))
                if found is None:
                    found = without[id(function)] = without_state(function, holders)
                self._calls[place] = (found, code, by)

    def called(self) -> list[FunctionType]:
        """All functions that ran, with repetitions."""
        return [function for function, _, _ in self._calls]

    def closures(self) -> Iterator[tuple[FunctionType, CellType]]:
        """The closures' values of the functions that ran."""
        for function, _, _ in self._calls:
            for cell in function.__closure__ or ():
                yield function, cell

    def functions(self) -> list[FunctionType]:
        """The program's functions in the order of their first run."""
        if self.restored is not None:
            return self.restored
        found: dict[int, FunctionType] = {}
        codes: set[CodeType] = set()
        waiting: dict[CodeType, list[tuple[FunctionType, CodeType]]] = {}
        started: list[tuple[FunctionType, CodeType]] = []
        called_anywhere = collecting()
        for function, code, by in self._calls:
            owner = owner_of(function, code)
            if owner == "ours" or by is None or code.co_name in ("<module>", "__del__"):
                continue
            if location(code) in called_anywhere:
                continue
            if kind_of(by.co_filename) != "ours":
                waiting.setdefault(by, []).append((function, code))
            elif is_program(function, code):
                if not by.co_filename.startswith(ENGINE):
                    started.append((function, code))
            elif module_of(function) in WRAPPERS and by.co_filename.startswith(OURS):
                started.append((function, code))
        while started:
            function, code = started.pop()
            is_stateless = module_of(function) in WITHOUT_STATE
            if not is_stateless:
                if id(function) in found:
                    continue
                found[id(function)] = function
            if code not in codes:
                codes.add(code)
                callees = waiting.pop(code, [])
                if is_stateless:
                    # its calls on behalf of the program, like a context manager's or a dispatcher's, and its own
                    callees = [each for each in callees if is_program(*each) or module_of(each[0]) in WITHOUT_STATE]
                started += callees
        return list(found.values())


def collecting() -> frozenset[tuple[str, int, str]]:
    """The locations of functions called by garbage collection, which may happen anywhere.

    A function may be called with its own or its rewritten code: the location is the same.
    """
    return frozenset([location(each.__code__) for each in gc.callbacks if isinstance(each, FunctionType)])


def without_state(function: FunctionType, held: Mapping[int, object]) -> FunctionType:
    """A function with the same code, but without these objects, by identity, in its closure and defaults."""
    cells = tuple([CellType(None) if id(cell) in held else cell for cell in function.__closure__ or ()])
    defaults, named = function.__defaults__, function.__kwdefaults__
    made = FunctionType(function.__code__, function.__globals__, function.__name__, None, cells)
    made.__defaults__ = None if id(defaults) in held else defaults
    made.__kwdefaults__ = None if id(named) in held else named
    return made


def owner_of(function: FunctionType, code: CodeType) -> str:
    """The owner of a function as in `kind_of`; generated code belongs to its module."""
    file = code.co_filename
    if file.startswith(PRINTED):
        return "ours"
    if file[:1] == "<" and not file.startswith(("<frozen", "<doctest")):
        file = function.__globals__.get("__file__") or file
    return kind_of(file)


def is_program(function: FunctionType, code: CodeType) -> bool:
    """Whether a function is the program's, or a library's that may keep state for it."""
    return owner_of(function, code) == "program" and module_of(function) not in WITHOUT_STATE


def module_of(function: FunctionType) -> str:
    """The top-level package of a function."""
    name = str(function.__globals__.get("__name__", ""))
    return "collections" if name.startswith("namedtuple_") else name.partition(".")[0]


@cache
def kind_of(file: str) -> str:
    """The owner of a file: "program", "library" (standard library), or "ours", which includes torch."""
    if file.startswith((*FRAMEWORKS, *FRAMEWORK)):
        return "ours"
    if file.startswith(STANDARD) and INSTALLED not in file:
        return "library"
    return "program"


@contextmanager
def watching(ran: Ran) -> Iterator[None]:
    """Record what this thread runs."""
    before = getattr(_current, "ran", None)
    ran.begin()
    _current.ran = ran
    try:
        yield
    finally:
        _current.ran = before
        ran._watch(None)
        if before is not None:
            before.include(ran)


@contextmanager
def unwatched() -> Iterator[None]:
    """Suspend recording for the frontend's own code."""
    ran: Ran | None = getattr(_current, "ran", None)
    if ran is None:
        yield
        return
    _current.ran = None
    ran._watch(None)
    try:
        yield
    finally:
        _current.ran = ran
        ran.begin()


def asked(owner: object, name: object) -> None:
    """The program reads an attribute by a possibly computed name."""
    ran: Ran | None = getattr(_current, "ran", None)
    if ran is not None and isinstance(name, str):
        ran.names.add(name)
        if issubclass(type(owner), torch.Tensor) and type(owner) is not Traced:
            ran.tensors[id(owner)] = cast(torch.Tensor, owner)


def noted() -> Ran | None:
    """The recorder of this thread."""
    return getattr(_current, "ran", None)


@cache
def _hook() -> Callable[..., object] | Unavailable:
    """The hook, loaded once: a trace, in which the clock is intercepted, must not compile it."""
    return build(Path(__file__).with_suffix(".c").read_text())


@cache
def _watch() -> Watch:
    built = _hook()
    if isinstance(built, Unavailable):
        return _by_profile
    watch, ours = cast(Callable[..., bool], built), (*FRAMEWORKS, *FRAMEWORK, *PRINTED)
    packages = sysconfig.get_paths()["purelib"]
    # if packages are installed inside of the standard library's folder, its modules are listed individually
    inside = any(packages.startswith(place) for place in STANDARD)
    alone = ("<frozen ", *sorted(LIBRARY)) if inside else STANDARD
    places = tuple(map(encoded, (ours, ENGINE, STATELESS, alone, CHANGED_BY)))
    return lambda given: watch(None) if given is None else watch(*given, places)


def young(values: tuple[object, ...]) -> set[int] | None:
    """The addresses of values that the garbage collector tracks as not frozen."""
    built = _hook()
    return None if isinstance(built, Unavailable) else cast(Callable[..., set[int]], built)(values)


def have_remember(function: object, results: tuple[object, ...]) -> None:
    """Restore a function's cache to its state when `follow` recorded the first use."""
    cast(Callable[..., None], _hook())(function, results)


def follow(function: object, uses: list[tuple[Any, ...]]) -> bool:
    """Observe a memoizing function (`functools.lru_cache`): append its cache to a list before the first use by this
    thread, then the key and result of each use, except uses by other such functions. False if that is impossible, or
    already done."""
    built = _hook()
    return not isinstance(built, Unavailable) and cast(Callable[..., bool], built)(function, uses)


def unfollow(function: object) -> None:
    """Undo `follow`."""
    cast(Callable[..., bool], _hook())(function, None)


def result_for() -> Callable[[object, object, int], object]:
    """A function of a memoizing function, a key and a number of uses that returns the cached result, or NotImplemented.
    """
    return cast(Callable[..., object], _hook())


def can_follow() -> bool:
    """Whether caches of memoizing functions can be observed."""
    return not isinstance(_hook(), Unavailable)


def encoded(places: Iterable[str]) -> tuple[bytes, ...]:
    return tuple([place.encode() for place in places])


def _by_profile(given: tuple[list[Call], Observers | None] | None) -> bool:
    """A fallback without a C compiler: records functions from frames, but no instructions."""
    stack = _current.__dict__.setdefault("profiles", [])
    if given is None:
        sys.setprofile(stack.pop())
        return True
    calls, observers = given
    entered = None if observers is None else observers[0]
    seen: set[tuple[int, int]] = set()

    def called(frame: FrameType, event: str, _: object) -> None:
        if event != "call":
            return
        code, caller = frame.f_code, frame.f_back
        if kind_of(code.co_filename) == "ours":
            return
        by = None if caller is None else caller.f_code
        if (id(code), id(by)) not in seen:
            seen.add((id(code), id(by)))
            function = _function_of(frame)
            calls.append((function, code, by))
            if entered is not None:
                # Python does not profile calls by a profiler
                entered(function)

    stack.append(sys.getprofile())
    sys.setprofile(called)
    return True


def _function_of(frame: FrameType) -> FunctionType:
    """A function with a frame's code, globals and closure."""
    code = frame.f_code
    held = frame.f_locals if code.co_freevars else {}

    cells = tuple([CellType(held.get(name)) for name in code.co_freevars])
    return FunctionType(code, frame.f_globals, code.co_name, None, cells)
