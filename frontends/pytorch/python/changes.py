"""What the instructions of a traced program change: noted before they do, compared at the end, put back.

    >>> import torch
    >>> from collections import deque
    >>> from frontends.pytorch import trace
    >>> def f(x, lines):
    ...     lines[0]["deep"].rotate(1)
    ...     return x + 1
    >>> line = deque([1, 2, 3])
    >>> try:
    ...     trace(lambda x: f(x, [{"deep": line}]), (torch.randn(2),))
    ... except Exception as error:
    ...     print(error)  # doctest: +ELLIPSIS
    the function changes `line`, which outlives the call: the graph would not do it again
      at:     `lines[0]["deep"].rotate(1)`  (...:2 in f)
      fix:    return the value, or do it outside; fullgraph=False runs this Python on every call
    >>> line
    deque([1, 2, 3])

`ran` stops before each instruction of the program that stores, deletes or calls what is not Python. What it
changes is looked at then (`snapshots`), however the program came by it, and again at the end: a change of what was
there before the trace is refused. What was made inside of it is the call's own; the collector of garbage tells them
apart, as what was there before is frozen (`MadeInside`). What can not be put back (an iterator's place, a file, an
object of a class in C) is refused before it happens, so that the call does it once.
"""

from __future__ import annotations

import array
import functools
import gc
import logging
import operator
import pprint
import sys
import threading
import traceback
import warnings
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    MethodWrapperType,
    ModuleType,
    SimpleNamespace,
    WrapperDescriptorType,
)
from typing import Any, Final, NoReturn

import torch

from frontends.pytorch.errors import EagerOnly, GraphBreak, refusal
from frontends.pytorch.python.caches import is_dispatch_cache, is_property_of_library
from frontends.pytorch.python.generators import is_generator
from frontends.pytorch.python.identities import identity
from frontends.pytorch.python.lifetimes import COMPREHENSIONS, is_told_of_its_end, refers_weakly
from frontends.pytorch.python.memoized import Memoized
from frontends.pytorch.python.mentions import location
from frontends.pytorch.python.ran import collecting, remembered, young
from frontends.pytorch.python.side_effects import SideEffect, Unsayable, steps_between
from frontends.pytorch.python.snapshots import (
    ABSENT,
    DICT,
    IMMUTABLE,
    WITHOUT_STATE,
    Noted,
    alike,
    containers_of,
    inside_of,
    is_in_c,
    is_settling,
    is_torchs,
    list_of,
    now,
    same,
)
from frontends.pytorch.python.state import is_impure, is_without_state
from frontends.pytorch.source_location import FRAMEWORKS, is_users
from frontends.pytorch.symbolic.tensor import Traced
from shapes.origin import FRAMEWORK, Origin

FIX: Final = "return the value, or do it outside; fullgraph=False runs this Python on every call"
APART: Final = "pass what tells them apart as an argument; fullgraph=False runs the call as it is"
OUTSIDE: Final = "do it outside of the compiled function; fullgraph=False does it on every call"
ENDS: Final = "do it outside of the compiled function; fullgraph=False runs the call as it is"
OWN: Final = (*FRAMEWORKS, *FRAMEWORK)
OURS: Final = ("frontends.", "backends.", "shapes.", "solver.")
ARRAYS: Final = bytearray | array.array | memoryview
NUMBERS: Final = (torch.SymInt, torch.SymFloat, torch.SymBool)
CONTAINERS: Final = (
    *(dict, list, set, deque, OrderedDict, defaultdict, Counter, SimpleNamespace, CellType),
)
"""Classes of Python's own whose objects a graph may change."""
LOCKS: Final = (type(threading.Lock()), type(threading.RLock()))
MOST_QUESTIONS: Final = 64
"""Dictionaries of which it is found out who holds them; the others are taken to be known outside."""
SHARED: Final = (*(dict, list, set, deque, bytearray, array.array, OrderedDict, defaultdict),)
"""Classes in C whose objects are what they hold."""
ASKS: Final = frozenset(
    (
        *("get", "keys", "values", "items", "copy", "index", "count", "__len__", "__contains__", "__iter__", "union"),
        *("intersection", "difference", "issubset", "issuperset", "isdisjoint", "symmetric_difference", "__getitem__"),
        *("__eq__", "__repr__", "__str__", "__hash__", "__sizeof__", "__reversed__", "__getattribute__", "__format__"),
        *("__reduce__", "__reduce_ex__", "__dir__", "__class_getitem__", "__init_subclass__", "__subclasshook__"),
    )
)
"""Methods of containers that change nothing."""
UNTOLD: Final = frozenset(
    (
        *(len, isinstance, issubclass, hasattr, getattr, id, hash, repr, callable, abs, round, divmod, pow, chr, ord),
        *(format, ascii, bin, hex, oct, vars, dir, iter, globals, locals),
    )
)
"""Functions in C that change nothing, whatever they are given."""
PRINT: Final = print
PRINTS: Final = {
    pprint.__file__: ("pprint", "pp"),
    traceback.__file__: ("print_exc", "print_exception", "print_stack", "print_tb", "print_last", "print_list"),
}
"""Of these modules, the functions that write to `sys.stdout` or `sys.stderr`."""
IDENTITIES: Final = (id, identity)
COMPARING: Final = (operator.is_, operator.is_not)
STATEFUL: Final = frozenset(("atexit", "gc", "signal", "faulthandler", "_locale", "_signal", "_thread", "resource"))
"""Modules in C whose functions change the process."""

OF_LIBRARY: Final = {
    warnings.__file__: ("_add_filter", "resetwarnings", "catch_warnings."),
    functools.__file__: ("cached_property.__get__", "singledispatch.<locals>.register"),
    weakref.__file__: ("WeakKeyDictionary.", "WeakValueDictionary.", "WeakMethod.__new__", "finalize.__init__"),
    logging.__file__: ("Logger.addHandler", "Logger.removeHandler", "Logger.setLevel", "Filterer.", "Handler.setLevel"),
    threading.__file__: ("Event.", "Semaphore.", "BoundedSemaphore."),
}
"""Of these modules, the functions that change more than what they remember for themselves, or than other threads do."""
REMOVES: Final = (".<locals>.remove", "._commit_removals", ".filter")
"""What is called when an object dies, or looks only."""


def is_library_that_changes(code: CodeType) -> bool:
    """Whether a function of Python's library, or of the program, is one to be noticed."""
    names = OF_LIBRARY.get(code.co_filename)
    return names is None or (code.co_qualname.startswith(names) and not code.co_qualname.endswith(REMOVES))


class Changes:
    """What was there before a trace, and is changed in it.

    Attributes:
        refused: of what the program may have caught.
        settles: whether only plain values were filled in, so that another call may find nothing to change.
    """

    def __init__(
        self, before: Iterable[object], given: object, memoized: Memoized, *, has_effects: bool = False
    ) -> None:
        """`before` was there before the trace and is not frozen; `given` are the arguments. Where the graph
        `has_effects`, what can be said as a side effect is not refused."""
        self._memoized: Final = memoized
        self._has_effects: Final = has_effects
        self._outliving: tuple[list[Noted], list[Any], set[int]] | None = None
        self._said: set[int] = set()
        """By identity, the records of what is changed by side effects of the graph; then the objects themselves."""
        self._said_owners: frozenset[int] = frozenset()
        self._then: dict[int, dict[Any, object]] = {}
        self._then_entries: dict[tuple[int, object], object] = {}
        """What everything was when the function had returned."""
        self.needs_distinct = False
        """Whether a container is changed that may be another of the arguments at another call."""
        self._noted: dict[int, Noted] = {}
        self._entries: dict[tuple[int, object], tuple[Any, object, object, Origin | None]] = {}
        """Single names: of globals, and Python's attributes of tensors."""
        self._kept: list[object] = []
        self._returned: object = None
        self._questions = 0
        self._locks: dict[int, list[Any]] = {}
        """Those that were acquired: the lock, how often more than released, and where."""
        self._before: Final = {id(each) for each in before}
        self._given: Final = containers_of(given)
        self._caches: dict[int, Noted | None] = {}
        """Those of Python's library that were filled."""
        self._ends_are_seen = False
        """Whether the program may see when what it makes is gone, so that nothing of that is kept."""
        self._fresh = False
        self._collecting: Final = collecting()
        """What the collection of garbage calls, it calls anywhere."""
        self.refused: GraphBreak | None = None
        self.settles = False

    # ------------------------------------------------------------------ what the interpreter tells

    def changes(self, kind: str, owner: object, given: Any, code: CodeType, offset: int) -> bool | None:
        """An instruction changes `owner`, or calls it; whether it need not be told again. None where that holds of
        nothing any more.

        Raises:
            GraphBreak: it can not be put back, or is of a class that raises when it is looked at.
        """
        try:
            return self._told(kind, owner, given, code, offset)
        except (GraphBreak, RecursionError):
            raise
        except Exception as error:
            said = f"it raises {type(error).__name__} when it is looked at"
            what = f"cannot tell whether the call changes a {type(owner).__name__} from outside: {said}"
            self._refuse(what, OUTSIDE, Origin.of_instruction(code, offset))

    def _told(self, kind: str, owner: object, given: Any, code: CodeType, offset: int) -> bool | None:
        if location(code) in self._collecting or not is_library_that_changes(code):
            return False
        if is_property_of_library(code):
            return False
        if is_dispatch_cache(code):
            if isinstance(owner, dict) and id(owner) not in self._caches:
                self._caches[id(owner)] = Noted.of(owner, None)
            return False
        # no iterator among what is given is held elsewhere
        self._fresh = kind == "fresh"
        if kind in ("call", "fresh"):
            return self._called(owner, given, code, offset)
        place = (code, offset)
        if kind == "compared":
            self._compared(owner, given, place)
            return False
        if kind == "global":
            self._entry(owner, given, owner.get(given, ABSENT), place)
            return False
        if isinstance(owner, torch.Tensor):
            if kind == "attribute" and not hasattr(torch._C.TensorBase, given):
                self._entry(owner, given, vars(owner).get(given, ABSENT), place)
            return False
        if kind == "iterator":
            self._advanced(owner, place)
            return False
        return self.note(owner, place)

    def _compared(self, one: object, other: object, place: tuple[CodeType, int]) -> None:
        """Refuse to tell by `is` what may be one object at another call, or is one outside of the trace.

        Raises:
            EagerOnly: an argument and a tensor or a container that the program has by itself, or two containers of the
                arguments.
        """
        if one is other:
            return
        if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
            of_trace = [each for each in (one, other) if isinstance(each, Traced)]
            if len(of_trace) == 1 and of_trace[0].is_given:
                self._only_eager("an argument is compared by `is` with a tensor that the function is not given", place)
            return
        outside = [each for each in (one, other) if id(each) not in self._given]
        if type(one) is not type(other) or len(outside) == 2:
            return
        if not outside:
            self._only_eager("two containers among the arguments are compared by `is`", place)
        if not self._is_made_here(outside[0]):
            self._only_eager("a container among the arguments is compared by `is` with one from outside", place)

    def _only_eager(self, what: str, place: tuple[CodeType, int]) -> NoReturn:
        self.refused = EagerOnly(refusal(what, APART, Origin.of_instruction(*place)))
        raise self.refused

    def audited(self, event: str, arguments: tuple[object, ...]) -> None:
        """Python is about to do what its audit hooks are told of.

        Raises:
            GraphBreak: it is the program that does.
        """
        frame = sys._getframe(1)
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith(("<frozen importlib", *OWN)):
                return
            if is_users(file):
                break
            frame = frame.f_back
        if frame is None or frame.f_code in remembered or is_of_source(event, arguments):
            return
        said = f"`{event}` of the system" + (
            f" ({arguments[0]})" if arguments and isinstance(arguments[0], str) else ""
        )
        self._refuse(
            f"{said}: a graph would not do it again", OUTSIDE, Origin.of_instruction(frame.f_code, frame.f_lasti)
        )

    def _new(self, values: Iterable[object]) -> set[int]:
        """Which of the values were made in the trace, by their addresses."""
        asked = tuple(values)
        return (young(asked) or set()) - self._before - self._given.keys() if asked else set()

    def _is_new(self, value: object) -> bool:
        return bool(self._new([value]))

    def _refuse(self, what: str, fix: str, place: Origin | None) -> NoReturn:
        self.refused = GraphBreak(refusal(what, fix, place))
        raise self.refused

    def _entry(self, owner: Any, name: object, before: object, place: tuple[CodeType, int]) -> None:
        key = (id(owner), name)
        if key not in self._entries:
            self._entries[key] = (owner, name, before, Origin.of_instruction(*place))

    def _advanced(self, value: object, place: tuple[CodeType, int]) -> None:
        if self._fresh or place[0].co_filename == weakref.__file__:
            # which numbers its finalizers
            return
        if hasattr(type(value), "__next__") and is_in_c(type(value)) and not self._is_new(value):
            what = f"a {type(value).__name__} from outside, which the trace would use up"
            self._refuse(
                what,
                "pass what it gives as an argument; fullgraph=False takes it on every call",
                Origin.of_instruction(*place),
            )

    def note(self, owner: object, place: tuple[CodeType, int], *, surely: bool = True) -> bool:
        """Keep what an object is. What can not be is refused, if it is `surely` changed and no object of the call's."""
        twin = id(owner) in self._given and self._has_twin(owner)
        if surely and twin and not self._has_effects:
            self._only_eager("a container is changed that may be another of the arguments as well", place)
        self.needs_distinct |= surely and id(owner) in self._given
        twin = twin and not self._has_effects
        if id(owner) in self._noted:
            return not twin
        if is_settled(owner) or (self._ends_are_seen and self._is_made_here(owner)):
            return False
        noted = Noted.of(owner, Origin.of_instruction(*place))
        if noted is not None:
            self._noted[id(owner)] = noted
            for inside in inside_of(owner):
                self.note(inside, place, surely=False)
            return not twin
        if surely and not self._is_new(owner) and not is_plain(owner):
            what = f"cannot tell whether the call changes a {type(owner).__name__} from outside"
            self._refuse(what, OUTSIDE, Origin.of_instruction(*place))
        return False

    def _has_twin(self, owner: Any) -> bool:
        """Whether another container of the arguments may be the same object at another call."""
        others = [each for each in self._given.values() if each is not owner and type(each) is type(owner)]
        if type(owner) is tuple or not hasattr(type(owner), "__len__"):
            return type(owner) is not tuple and bool(others)
        return any(len(each) == len(owner) for each in others)

    def _called(self, function: Any, given: tuple[object, ...], code: CodeType, offset: int) -> bool | None:
        """What is not Python, or torch's, is called."""
        place = (code, offset)
        if not self._ends_are_seen and (
            is_told_of_its_end(function, given) or (refers_weakly(function, given) and self._new(given))
        ):
            self._let_go()
            return self._called(function, given, code, offset) and None
        if any(function is each for each in IDENTITIES) and given:
            if id(given[0]) in self._given:
                self._only_eager("a container among the arguments is asked for its `id`", place)
            return False
        if any(function is each for each in COMPARING) and len(given) == 2:
            self._compared(*given, place)
            return False
        if is_asked_for_class(function, given):
            self._only_eager("a size is asked for its class by `__instancecheck__`", place)
        match function:
            case FunctionType():
                return self._of_library(function, given, place)
            case functools.partial():
                return self._called(function.func, (*function.args, *given), code, offset)
            case functools._lru_cache_wrapper():
                self._memoized.follow(function)
                return self._known(function)
            case type():
                for each in given:
                    if isinstance(each, functools._lru_cache_wrapper):
                        # which `map` calls, say
                        self._memoized.follow(each)
                    self._advanced(each, place)
                return False
            case MethodDescriptorType() | WrapperDescriptorType():
                kind = function.__objclass__
                pure = function.__name__ in ASKS and (kind in SHARED or kind is object)
                if pure or kind in WITHOUT_STATE or is_torchs(kind) or function.__name__ == "__init__":
                    return self._known(function)
                owner, given = (given[0], given[1:]) if given else (None, ())
            case BuiltinFunctionType() | MethodWrapperType():
                owner = function.__self__
                if function.__name__ == "__getattribute__":
                    return False
                if function in (setattr, delattr) and len(given) > 1:
                    return self.changes("attribute", given[0], given[1], code, offset) and False
                if function is next and given:
                    self._advanced(given[0], place)
                    return False
                if function is PRINT and is_users(code.co_filename):
                    # by another name than that which is led elsewhere
                    self._refuse("print: the graph would not print again", OUTSIDE, Origin.of_instruction(*place))
                if function in UNTOLD or isinstance(owner, type):
                    return self._known(function)
                if owner is None or isinstance(owner, ModuleType):
                    if (function.__module__ or "").startswith("torch"):
                        return self._known(function)
                    self._system(function, place)
                    owner = None
                elif function.__name__ in ASKS and type(owner) in SHARED:
                    return False
            case _ if is_torchs(type(function)):
                # an operator
                return self._known(function)
            case _:
                owner = None
        if isinstance(owner, LOCKS) and is_users(code.co_filename):
            step = {"acquire": 1, "acquire_lock": 1, "release": -1, "release_lock": -1}.get(function.__name__, 0)
            found = self._locks.setdefault(id(owner), [owner, 0, Origin.of_instruction(*place)])
            found[1] += step
            return False
        if owner is not None and not isinstance(owner, torch.Tensor):
            if hasattr(type(owner), "__next__"):
                self._advanced(owner, place)
            elif not isinstance(owner, ContextVar) or function.__name__ != "get":
                self.note(owner, place)
        self._handed(given, place)
        return False

    def _known(self, function: object) -> bool:
        if self._ends_are_seen:
            return False
        self._kept.append(function)
        return True

    def _handed(self, given: Iterable[object], place: tuple[CodeType, int]) -> None:
        for each in given:
            if isinstance(each, torch.Tensor | str | int | float | None | FunctionType | type | tuple):
                continue
            if isinstance(each, BuiltinFunctionType):
                # a method that is called back
                each = each.__self__
                if each is None or isinstance(each, ModuleType):
                    continue
            if isinstance(each, functools._lru_cache_wrapper):
                self._memoized.follow(each)
            if hasattr(type(each), "__next__"):
                self._advanced(each, place)
            else:
                self.note(each, place, surely=False)

    def _of_library(self, function: FunctionType, given: tuple[object, ...], place: tuple[CodeType, int]) -> bool:
        """A function of torch, or of a library whose instructions are not watched."""
        if not function.__code__.co_filename.startswith(OWN):
            if function.__name__ in PRINTS.get(function.__code__.co_filename, ()) and is_users(place[0].co_filename):
                what = f"{function.__name__}: the graph would not print again"
                self._refuse(what, OUTSIDE, Origin.of_instruction(*place))
            self._handed(given, place)
            return False
        owner = given[0] if given else None
        if owner is None or isinstance(owner, torch.Tensor | type) or str(type(owner).__module__).startswith(OURS):
            return self._known(function)
        if any(vars(each).get(function.__name__) is function for each in type(owner).__mro__):
            self.note(owner, place, surely=False)
            return False
        return self._known(function)

    def _system(self, function: BuiltinFunctionType, place: tuple[CodeType, int]) -> None:
        """A function in C that changes the process, or that tells of it."""
        module = (function.__module__ or "").partition(".")[0]
        if module == "gc" and not function.__name__.startswith(("enable", "disable", "set", "freeze", "unfreeze")):
            return
        sets = module == "sys" and function.__name__.startswith("set")
        if (module in STATEFUL or sets or is_impure(function)) and is_users(place[0].co_filename):
            what = f"{module}.{function.__name__}() is called: a graph would not do it again"
            self._refuse(what, OUTSIDE, Origin.of_instruction(*place))

    # ------------------------------------------------------------------ what the call has made, and its end

    def _is_made_here(self, owner: object) -> bool:
        """Whether an object is surely the call's own; of a dictionary its age says nothing."""
        return gc.is_tracked(owner) and type(owner) is not dict and self._is_new(owner)

    def _let_go(self) -> None:
        """Keep nothing any more that the call has made: its program is about to see when that is gone."""
        self._ends_are_seen = True
        owners = [each.owner for each in self._noted.values()]
        new = self._new(owners)
        for owner in owners:
            if id(owner) in new and type(owner) is not dict:
                for each in (owner, *inside_of(owner)):
                    if id(each) in new:
                        self._noted.pop(id(each), None)

    def refuse_kept(self, functions: Sequence[FunctionType]) -> None:
        """Where the program may see when what it makes is gone, refuse to have kept some of it: one of the functions
        that ran, a dictionary.

        Raises:
            EagerOnly: something was.
        """
        if not self._ends_are_seen:
            return
        # nobody else has the function of a comprehension
        functions = [each for each in functions if each.__closure__ or each.__name__ not in COMPREHENSIONS]
        tensors = [owner for owner, *_ in self._entries.values() if isinstance(owner, torch.Tensor)]
        kept = [each.owner for each in self._noted.values()]
        before = [value for each in self._noted.values() for read in each.before.values() for value in list_of(read)]
        if self._new([*functions, *tensors, *self._kept, *kept, *before]):
            what = "the program may see when an object is gone that it made, and a trace keeps some longer"
            raise EagerOnly(refusal(what, ENDS, None))

    # ------------------------------------------------------------------ what has become of it

    def returns(self, returned: object, values: Iterable[object]) -> None:
        """What the call returns is a graph's, which knows of no attributes of Python.

        Raises:
            EagerOnly: one was set.
        """
        self._returned = returned
        given = {id(value) for value in values if isinstance(value, Traced)}
        for owner, name, _, place in self._entries.values():
            if id(owner) in given and isinstance(owner, Traced) and name in vars(owner):
                what = f"`{name}` is set on a tensor that the call returns: a graph would not do it"
                raise EagerOnly(refusal(what, FIX, place))

    def put_back(self) -> list[tuple[str, bool, Origin | None]]:
        """Make what was there before what it was; of each change a text, whether it keeps a tensor, where."""
        for cache in self._caches.values():
            if cache is not None:
                cache.put_back()
        old, entries, new = self._outliving or self._changed()
        self._outliving = self._returned = None
        if self._said:
            old = [*old, *self._changed_since(old)]
            entries = self._changed_entries()
            new |= self._new([owner for owner, *_ in entries])
        unsaid = [each for each in old if id(each) not in self._said]
        found = [(each.text(), each.keeps_tensors(), each.place) for each in unsaid]
        self.settles = bool(unsaid) and not entries and self._is_settling(old)
        for each in old:
            each.put_back()
        for lock, count, place in self._locks.values():
            if count:
                found.append((f"a {type(lock).__name__}", False, place))
                lock.release() if count > 0 else lock.acquire(blocking=False)
        for entry in entries:
            owner, name, before, place = entry
            if id(owner) not in new:
                value = now(owner, name)
                if id(entry) not in self._said:
                    found.append((f"`{name}`", isinstance(value, Traced), place))
                scope = owner if isinstance(owner, dict) else vars(owner)
                if before is ABSENT:
                    scope.pop(name, None)
                else:
                    scope[name] = before
        return found

    def _changed(self) -> tuple[list[Noted], list[Any], set[int]]:
        """What was there before and is not what it was; names of scopes that are not; what of all this is new."""
        changed = [each for each in self._noted.values() if each.differs()]
        entries = self._changed_entries()
        new = self._new([each.owner for each in changed] + [owner for owner, *_ in entries])
        return [each for each in changed if not self._is_calls_own([each.owner], new)], entries, new

    def _changed_entries(self) -> list[Any]:
        return [
            each
            for each in self._entries.values()
            if now(*each[:2]) is not each[2] and not same(now(*each[:2]), each[2])
        ]

    def side_effects(
        self, containers: Mapping[int, int], known: Container[int]
    ) -> list[tuple[SideEffect, list[object]]]:
        """What is done to what outlives the call, each with the values that it stores: what `put_back` then tells
        nothing of. Nothing where some of it can not be said so, or where a later call may find nothing to change.
        `containers` are the numbers of those in the arguments, by identity; `known` are containers of before the call,
        where of a dictionary its age says nothing."""
        if not self._has_effects or self._ends_are_seen:
            return []
        old, entries, new = self._changed()
        if old and not entries and self._is_settling(old):
            return []
        if any(
            (type(each.owner) is dict or not gc.is_tracked(each.owner))
            and id(each.owner) not in known
            and id(each.owner) not in containers
            for each in old
        ):
            return []
        try:
            found = [effect for each in old for effect in self._effects_on(each, containers)]
            for owner, name, before, place in entries:
                if id(owner) not in new:
                    if isinstance(owner, torch.Tensor):
                        raise Unsayable
                    value = now(owner, name)
                    one, other = ({name: each} if each is not ABSENT else {} for each in (before, value))
                    steps, stored = steps_between(DICT, one, other)
                    found.append((SideEffect(owner, None, DICT, steps, len(stored), f"`{name}`", place), stored))
        except Unsayable:
            return []
        if not found:
            return []
        self._outliving = old, entries, new
        self._then = {id(each): {part: part.read(each.owner) for part in each.before} for each in self._noted.values()}
        self._then_entries = {key: now(*entry[:2]) for key, entry in self._entries.items()}
        self._said = {id(each) for each in (*old, *entries)}
        self._said_owners = frozenset([id(each.owner) for each in old] + [id(owner) for owner, *_ in entries])
        return found

    @property
    def said(self) -> frozenset[int]:
        """By identity, the objects that the graph changes again."""
        return self._said_owners

    def refuse_effects(self) -> None:
        """Let the graph have no side effects after all."""
        self._said.clear()
        self._said_owners = frozenset()
        self._outliving = None

    def _changed_since(self, old: Sequence[Noted]) -> list[Noted]:
        """What is changed after the function itself has ended, as by the backward of a function of the program's: no
        side effect does that. Those that are not in `old`."""
        later = []
        for each in self._noted.values():
            then = self._then.get(id(each), each.before)
            if any(not alike(part.read(each.owner), before) for part, before in then.items()):
                later.append(each)
        self._said -= {id(each) for each in later}
        for key, entry in self._entries.items():
            if now(*entry[:2]) is not self._then_entries.get(key, entry[2]):
                self._said.discard(id(entry))
        self._then, self._then_entries = {}, {}
        known = {id(each) for each in old}
        new = self._new([each.owner for each in later])
        return [each for each in later if id(each) not in known and id(each.owner) not in new]

    def _effects_on(
        self, noted: Noted, containers: Mapping[int, int]
    ) -> Iterator[tuple[SideEffect, list[object]]]:
        owner = noted.owner
        node = containers.get(id(owner))
        if (node is None and id(owner) in self._given) or not is_open_to_effects(owner):
            raise Unsayable
        for part, before in noted.before.items():
            after = part.read(owner)
            if not alike(before, after):
                steps, stored = steps_between(part, before, after)
                kept = owner if node is None else None
                yield SideEffect(kept, node, part, steps, len(stored), noted.text(), noted.place), stored

    def _is_settling(self, old: Sequence[Noted]) -> bool:
        """Whether the changes may be made once only."""
        changed = [(part, before, part.read(each.owner)) for each in old for part, before in each.before.items()]
        return all(alike(before, now) or is_settling(part, before, now) for part, before, now in changed)

    def _is_calls_own(self, only: list[object], new: set[int]) -> bool:
        """Whether nothing outside of what the call has made holds the only item of a list.

        Of a dictionary its age says nothing: the attributes of an object become one when they are first looked
        at, and the collector does not know one of plain values. So whoever refers to it is counted, which takes
        that no variable does here.
        """
        if gc.is_tracked(only[0]) and type(only[0]) is not dict:
            return id(only[0]) in new
        if id(only[0]) in self._given or id(only[0]) in self._before:
            return False
        # without the list, and what is handed to `getrefcount`
        count = sys.getrefcount(only[0]) - 2 - (only[0] is self._returned)
        if count <= 1:
            return True
        self._questions += 1
        if self._questions > MOST_QUESTIONS:
            return False
        inside = [each for each in gc.get_referrers(only[0]) if each is not only]
        made = self._new(inside)
        inside[:] = [each for each in inside if id(each) in made]
        for place in range(len(inside)):
            count -= sum(map(partial(operator.is_, only[0]), gc.get_referents(inside[place])))
        if count > 0:
            return False
        dictionaries = [place for place in range(len(inside)) if type(inside[place]) is dict]
        return all(self._is_calls_own([inside[place]], made) for place in dictionaries)


def is_asked_for_class(function: Any, given: Sequence[object]) -> bool:
    """Whether a number of a trace is asked by name whether it is one of torch's, which `isinstance` denies."""
    if not given or not isinstance(given[-1], NUMBERS) or getattr(function, "__name__", "") != "__instancecheck__":
        return False
    return getattr(function, "__self__", None) in NUMBERS or given[0] in NUMBERS


def is_open_to_effects(owner: object) -> bool:
    """Whether a change of an object is one that a graph may do again: of the program's, and of its containers."""
    if isinstance(owner, type | ModuleType):
        file = getattr(sys.modules.get(owner.__module__) if isinstance(owner, type) else owner, "__file__", None)
        return file is None or is_users(file)
    kind = type(owner)
    if isinstance(owner, torch.nn.Module) or kind in CONTAINERS:
        return True
    package = (kind.__module__ or "").partition(".")[0]
    return not is_torchs(kind) and (package not in sys.stdlib_module_names or package == "__main__")


def is_settled(owner: object) -> bool:
    """Whether nothing that a program does to a value is a change, or is noticed otherwise."""
    if isinstance(owner, torch.Tensor) or is_generator(owner):
        return True
    kind = type(owner)
    return kind in WITHOUT_STATE or (is_torchs(kind) and (kind.__module__ or "").startswith(("torch._", *OURS)))


def is_plain(owner: object) -> bool:
    return is_without_state(owner) or isinstance(owner, (*IMMUTABLE, type, weakref.ref, property))


def is_of_source(event: str, arguments: tuple[object, ...]) -> bool:
    """Whether Python reads a program: for the text of an error, or to import it."""
    if event != "open" or not arguments:
        return False
    name = str(arguments[0])
    return name.endswith((".py", ".pyc", ".so")) and (len(arguments) < 2 or arguments[1] in ("r", "rb", None))


__all__ = ["Changes"]
