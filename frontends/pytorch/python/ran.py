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

What a program reads is read by the functions that ran, so these, and not all that its names lead to, tell what a graph
of it relies on. Functions of Python's own library are among them where the program called them: `os.getenv` reads
`os.environ`. Those of torch and ours are not.

A hook of the interpreter notes them, which costs a trace nothing that can be measured. Where it cannot be built,
`sys.setprofile` does the same and takes twice the time of the trace.
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
"""A function, its code then, in which calls may be intercepted, and that of its caller."""
Entered = Callable[[FunctionType], None]
Changes = Callable[[str, object, object, CodeType, int], "bool | None"]
Audited = Callable[[str, "tuple[object, ...]"], None]
Observers = tuple[Entered, Changes, Audited]
"""What is told of functions, of instructions that may change something, and of the system: `ran.c` says when."""
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
"""Modules whose functions tell of nothing but their arguments, as far as a program goes by it. What is imported is read
where it is imported; Python's own random numbers are noticed otherwise."""
WRAPPERS: Final = frozenset(("contextlib", "functools"))
"""Modules of Python's own whose functions stand for a function of the program: a compiled one may be such."""
STATELESS: Final = tuple(
    [
        os.path.join(place, name)
        for place in {sysconfig.get_paths()[kind] for kind in ("purelib", "platlib")}
        for name in (
            *[package + os.sep for package in ("sympy", "mpmath", "networkx", "z3", "numpy", "opt_einsum", "triton")],
            # functions of which stand in for those of `typing`
            "typing_extensions.py",
        )
    ]
)
"""Packages that torch and Python call for themselves."""
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
"""Python's own functions that change what they are called with: their instructions are watched as the program's."""
LIBRARY: Final = tuple([os.path.join(sysconfig.get_paths()["stdlib"], name) for name in sys.stdlib_module_names])
ENGINE: Final = tuple([place for place in FRAMEWORK if not place.startswith(FRAMEWORKS)])
"""What calls libraries, and never the program."""
PRINTED: Final = (
    *("<lookup>", "<call>", "<bind>", "<captured_state>", "<check>", "<proposition>"),
    *("<graph ", "<program ", "<launch of ", "<inferred "),
)
"""Code that was printed by us."""

remembered: Final[weakref.WeakSet[CodeType]] = weakref.WeakSet()
"""The code of functions whose results are remembered (`functools.lru_cache`): what they do, they do once."""
_current: Final = threading.local()


@dataclass(frozen=True, slots=True)
class Use:
    """A result that the program asked a function for that remembers it (`functools.lru_cache`).

    Attributes:
        key: what the function knows the arguments by.
    """

    function: Callable[..., object]
    key: object

    def result(self) -> object:
        """What is remembered now; NotImplemented if nothing is."""
        return result_for()(self.function, self.key, 0)

    def hit(self) -> None:
        """Use the result, if it is still there."""
        result_for()(self.function, self.key, 1)


class Ran:
    """What was noted in a `with` block.

    Attributes:
        names: attributes that the program asked for by a name that it computed.
        tensors: tensors of its own whose Python attributes it asked for so.
        memoized: results that it used of functions that remember them, if it is a graph.
        has_computed: whether one of them was worked out, which is done once.
        elements: tensors whose elements it took as numbers, if it is a graph.
        silent: loggers that it asked whether they log at a level, and that did not.
        restored: the functions of the program that ran in another process, if this one did not run them.
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
        """Note what this thread runs from now on."""
        if not self._watch((self._calls, self._observers)):
            self._watch = _by_profile
            self._watch((self._calls, self._observers))

    def include(self, inner: Ran) -> None:
        """Take over what was noted in a block inside of this one."""
        self._calls += inner._calls
        self.names |= inner.names
        self.tensors |= inner.tensors
        self.silent |= inner.silent

    def let_go(self, holders: Mapping[int, object]) -> None:
        """Refer to none of these, by identity: a function among them is known by another that has not what it holds.

        It may be the program's still, and stays as it is.
        """
        without: dict[int, FunctionType] = {}
        for place, (function, code, by) in enumerate(self._calls):
            if id(function) in holders:
                found = without.get(id(function))
                if found is None:
                    found = without[id(function)] = without_state(function, holders)
                self._calls[place] = (found, code, by)

    def called(self) -> list[FunctionType]:
        """All functions that ran, each as often as it was met."""
        return [function for function, _, _ in self._calls]

    def closures(self) -> Iterator[tuple[FunctionType, CellType]]:
        """What the functions refer to that ran."""
        for function, _, _ in self._calls:
            for cell in function.__closure__ or ():
                yield function, cell

    def functions(self) -> list[FunctionType]:
        """The functions of the program, in the order in which they first ran."""
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
                    # what it calls for the program, as a context manager or a dispatcher does, and for itself
                    callees = [each for each in callees if is_program(*each) or module_of(each[0]) in WITHOUT_STATE]
                started += callees
        return list(found.values())


def collecting() -> frozenset[tuple[str, int, str]]:
    """Where the functions are written that the collection of garbage calls, wherever it happens.

    A function whose code a trace has rewritten is called with either code: places stay what they are.
    """
    return frozenset([location(each.__code__) for each in gc.callbacks if isinstance(each, FunctionType)])


def without_state(function: FunctionType, held: Mapping[int, object]) -> FunctionType:
    """A function with the same code that has none of these, by identity, in its closure and its default values."""
    cells = tuple([CellType(None) if id(cell) in held else cell for cell in function.__closure__ or ()])
    defaults, named = function.__defaults__, function.__kwdefaults__
    made = FunctionType(function.__code__, function.__globals__, function.__name__, None, cells)
    made.__defaults__ = None if id(defaults) in held else defaults
    made.__kwdefaults__ = None if id(named) in held else named
    return made


def owner_of(function: FunctionType, code: CodeType) -> str:
    """Whose a function is, as `kind_of` says; one that was made of a text is its module's."""
    file = code.co_filename
    if file.startswith(PRINTED):
        return "ours"
    if file[:1] == "<" and not file.startswith(("<frozen", "<doctest")):
        file = function.__globals__.get("__file__") or file
    return kind_of(file)


def is_program(function: FunctionType, code: CodeType) -> bool:
    """Whether a function is the program's, or of a library that may keep state for it."""
    return owner_of(function, code) == "program" and module_of(function) not in WITHOUT_STATE


def module_of(function: FunctionType) -> str:
    """The first part of the name of a function's module."""
    name = str(function.__globals__.get("__name__", ""))
    return "collections" if name.startswith("namedtuple_") else name.partition(".")[0]


@cache
def kind_of(file: str) -> str:
    """Whose a file is: "program", "library" (Python's own), or "ours", which is torch's too."""
    if file.startswith((*FRAMEWORKS, *FRAMEWORK)):
        return "ours"
    if file.startswith(STANDARD) and INSTALLED not in file:
        return "library"
    return "program"


@contextmanager
def watching(ran: Ran) -> Iterator[None]:
    """Note what this thread runs."""
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
    """What is run here is not the program's."""
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
    """The program asks for an attribute by a name that it may have computed."""
    ran: Ran | None = getattr(_current, "ran", None)
    if ran is not None and isinstance(name, str):
        ran.names.add(name)
        if issubclass(type(owner), torch.Tensor) and type(owner) is not Traced:
            ran.tensors[id(owner)] = cast(torch.Tensor, owner)


def noted() -> Ran | None:
    """What notes the functions that this thread runs."""
    return getattr(_current, "ran", None)


@cache
def _hook() -> Callable[..., object] | Unavailable:
    """The hook, looked for once: a trace, in which nothing asks for the time, is no place to build it again."""
    return build(Path(__file__).with_suffix(".c").read_text())


@cache
def _watch() -> Watch:
    built = _hook()
    if isinstance(built, Unavailable):
        return _by_profile
    watch, ours = cast(Callable[..., bool], built), (*FRAMEWORKS, *FRAMEWORK, *PRINTED)
    packages = sysconfig.get_paths()["purelib"]
    # where packages are installed inside of Python's own library, its modules are named one by one
    inside = any(packages.startswith(place) for place in STANDARD)
    alone = ("<frozen ", *sorted(LIBRARY)) if inside else STANDARD
    places = tuple(map(encoded, (ours, ENGINE, STATELESS, alone, CHANGED_BY)))
    return lambda given: watch(None) if given is None else watch(*given, places)


def young(values: tuple[object, ...]) -> set[int] | None:
    """Which values, by their addresses, the collector of garbage looks at, as it has not frozen them."""
    built = _hook()
    return None if isinstance(built, Unavailable) else cast(Callable[..., set[int]], built)(values)


def have_remember(function: object, results: tuple[object, ...]) -> None:
    """Have a function remember what it did when `follow` first noted a use, and nothing else."""
    cast(Callable[..., None], _hook())(function, results)


def follow(function: object, uses: list[tuple[Any, ...]]) -> bool:
    """Add to a list, before its first use by this thread, what a function remembers (`functools.lru_cache`), then for
    each use the key and the result, but for those by other such functions. False where that can not be done, or is done
    already."""
    built = _hook()
    return not isinstance(built, Unavailable) and cast(Callable[..., bool], built)(function, uses)


def unfollow(function: object) -> None:
    """End what `follow` began."""
    cast(Callable[..., bool], _hook())(function, None)


def result_for() -> Callable[[object, object, int], object]:
    """What tells, of a function, a key, and how often that is used now, what is remembered; NotImplemented if nothing.
    """
    return cast(Callable[..., object], _hook())


def can_follow() -> bool:
    """Whether it can be told what functions remember."""
    return not isinstance(_hook(), Unavailable)


def encoded(places: Iterable[str]) -> tuple[bytes, ...]:
    return tuple([place.encode() for place in places])


def _by_profile(given: tuple[list[Call], Observers | None] | None) -> bool:
    """The same without a compiler: all that a frame tells of its function, and nothing of instructions."""
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
                # Python does not profile what a profiler calls
                entered(function)

    stack.append(sys.getprofile())
    sys.setprofile(called)
    return True


def _function_of(frame: FrameType) -> FunctionType:
    """A function with the code and the globals of a frame, and what its closure holds."""
    code = frame.f_code
    held = frame.f_locals if code.co_freevars else {}

    cells = tuple([CellType(held.get(name)) for name in code.co_freevars])
    return FunctionType(code, frame.f_globals, code.co_name, None, cells)


__all__ = [
    "Ran",
    "Use",
    "asked",
    "can_follow",
    "follow",
    "have_remember",
    "noted",
    "result_for",
    "unfollow",
    "unwatched",
    "watching",
    "young",
]
