"""Observes mutating instructions of a traced program before they run; those that cannot be undone are refused.

`ran` calls back before each instruction of the program that stores, deletes, or calls a function in C. The mutated
object is copied then (`snapshots`), however the program reached it. A mutation that cannot be undone (the position of
an iterator, a file, an object of a C class) is refused before it happens, so that it happens once.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Iterable
from contextvars import ContextVar
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    MethodDescriptorType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final

import torch

from frontends.pytorch.errors import GraphBreak
from frontends.pytorch.python.caches import is_dispatch_cache, is_property_of_library
from frontends.pytorch.python.change_log import ChangeLog
from frontends.pytorch.python.lifetimes import is_told_of_its_end, refers_weakly
from frontends.pytorch.python.memoized import Memoized
from frontends.pytorch.python.mentions import location
from frontends.pytorch.python.mutability import (
    ASKS,
    COMPARING,
    IDENTITIES,
    LOCKS,
    OWN,
    PRINT,
    PRINTS,
    SHARED,
    STATEFUL,
    UNTOLD,
    is_asked_for_class,
    is_library_that_changes,
    is_of_source,
    is_plain,
    is_settled,
)
from frontends.pytorch.python.ran import collecting, remembered
from frontends.pytorch.python.snapshots import WITHOUT_STATE, Noted, inside_of, is_in_c, is_torchs
from frontends.pytorch.python.state import is_impure
from frontends.pytorch.source_location import OUR_PACKAGES, is_users
from frontends.pytorch.symbolic.tensor import Traced
from shapes.origin import Origin


class MutationObserver:
    """Logs what each instruction is about to mutate."""

    def __init__(self, log: ChangeLog, memoized: Memoized, *, has_effects: bool) -> None:
        """If the graph `has_effects`, mutations that are expressible as side effects are not refused."""
        self._log: Final = log
        self._memoized: Final = memoized
        self._has_effects: Final = has_effects
        self._fresh = False
        self._collecting: Final = collecting()
        """What the collection of garbage calls, it calls anywhere."""

    def observe(self, kind: str, owner: object, given: Any, code: CodeType, offset: int) -> bool | None:
        """An instruction mutates `owner`, or calls it; returns whether it need not be reported again. None if nothing
        is cached any more.

        Raises:
            GraphBreak: it cannot be undone, or its class raises when it is inspected.
        """
        try:
            return self._told(kind, owner, given, code, offset)
        except (GraphBreak, RecursionError):
            raise
        except Exception as error:
            said = f"it raises {type(error).__name__} when it is looked at"
            what = f"cannot tell whether the call changes a {type(owner).__name__} from outside: {said}"
            self._log.refuse(what, (code, offset))

    def _told(self, kind: str, owner: Any, given: Any, code: CodeType, offset: int) -> bool | None:
        if location(code) in self._collecting or not is_library_that_changes(code):
            return False
        if is_property_of_library(code):
            return False
        if is_dispatch_cache(code):
            if isinstance(owner, dict) and id(owner) not in self._log.caches:
                self._log.caches[id(owner)] = Noted.of(owner, None)
            return False
        # no iterator among the arguments is referenced elsewhere
        self._fresh = kind == "fresh"
        if kind in ("call", "fresh"):
            return self._called(owner, given, code, offset)
        place = (code, offset)
        if kind == "compared":
            self._compared(owner, given, place)
            return False
        if kind == "global":
            self._log.note_entry(owner, given, place)
            return False
        if isinstance(owner, torch.Tensor):
            if kind == "attribute" and not hasattr(torch._C.TensorBase, given):
                self._log.note_entry(owner, given, place)
            return False
        if kind == "iterator":
            self._advanced(owner, place)
            return False
        return self.note(owner, place)

    def _compared(self, one: object, other: object, place: tuple[CodeType, int]) -> None:
        """Refuse `is` between values that may be identical in another call, or are outside of the trace.

        Raises:
            EagerOnly: an argument and a captured tensor or container, or two containers of the arguments.
        """
        if one is other:
            return
        if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
            of_trace = [each for each in (one, other) if isinstance(each, Traced)]
            if len(of_trace) == 1 and of_trace[0].is_given:
                what = "an argument is compared by `is` with a tensor that the function is not given"
                self._log.refuse_eager(what, place)
            return
        outside = [each for each in (one, other) if id(each) not in self._log.given]
        if type(one) is not type(other) or len(outside) == 2:
            return
        if not outside:
            self._log.refuse_eager("two containers among the arguments are compared by `is`", place)
        if not self._log.is_made_here(outside[0]):
            self._log.refuse_eager("a container among the arguments is compared by `is` with one from outside", place)

    def audited(self, event: str, arguments: tuple[object, ...]) -> None:
        """A Python audit event.

        Raises:
            GraphBreak: the program caused it.
        """
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith(("<frozen importlib", *OWN)):
                return
            if is_users(file):
                break
            frame = frame.f_back
        if frame is None or frame.f_code in remembered or is_of_source(event, arguments):
            return
        given = f" ({arguments[0]})" if arguments and isinstance(arguments[0], str) else ""
        what = f"`{event}` of the system{given}: a graph would not do it again"
        self._log.refuse(what, (frame.f_code, frame.f_lasti))

    def _advanced(self, value: object, place: tuple[CodeType, int]) -> None:
        if self._fresh or place[0].co_filename == weakref.__file__:
            # which has a counter of finalizers
            return
        if hasattr(type(value), "__next__") and is_in_c(type(value)) and not self._log.is_new(value):
            what = f"a {type(value).__name__} from outside, which the trace would use up"
            self._log.refuse(what, place, "pass what it gives as an argument; fullgraph=False takes it on every call")

    def note(self, owner: object, place: tuple[CodeType, int], *, surely: bool = True) -> bool:
        """Log a snapshot of an object. One that cannot be copied is refused, if it is `surely` mutated and not the
        call's own."""
        twin = id(owner) in self._log.given and self._has_twin(owner)
        if surely and twin and not self._has_effects:
            self._log.refuse_eager("a container is changed that may be another of the arguments as well", place)
        self._log.needs_distinct |= surely and id(owner) in self._log.given
        twin = twin and not self._has_effects
        if id(owner) in self._log.noted:
            return not twin
        if is_settled(owner) or (self._log.ends_are_seen and self._log.is_made_here(owner)):
            return False
        noted = Noted.of(owner, Origin.of_instruction(*place))
        if noted is not None:
            self._log.noted[id(owner)] = noted
            for inside in inside_of(owner):
                self.note(inside, place, surely=False)
            return not twin
        if surely and not self._log.is_new(owner) and not is_plain(owner):
            what = f"cannot tell whether the call changes a {type(owner).__name__} from outside"
            self._log.refuse(what, place)
        return False

    def _has_twin(self, owner: Any) -> bool:
        """Whether another argument container may be the same object in another call."""
        given: Iterable[Any] = self._log.given.values()
        others = [each for each in given if each is not owner and type(each) is type(owner)]
        if type(owner) is tuple or not hasattr(type(owner), "__len__"):
            return type(owner) is not tuple and bool(others)
        return any(len(each) == len(owner) for each in others)

    def _called(self, function: Any, given: tuple[object, ...], code: CodeType, offset: int) -> bool | None:
        """A call of a function in C, or of torch."""
        place = (code, offset)
        if not self._log.ends_are_seen and (
            is_told_of_its_end(function, given) or (refers_weakly(function, given) and self._log.new(given))
        ):
            self._log.forget_new()
            return self._called(function, given, code, offset) and None
        if any(function is each for each in IDENTITIES) and given:
            if id(given[0]) in self._log.given:
                self._log.refuse_eager("a container among the arguments is asked for its `id`", place)
            return False
        if any(function is each for each in COMPARING) and len(given) == 2:
            self._compared(*given, place)
            return False
        if is_asked_for_class(function, given):
            self._log.refuse_eager("a size is asked for its class by `__instancecheck__`", place)
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
                        # called by `map`, for example
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
                    return self.observe("attribute", given[0], given[1], code, offset) and False
                if function is next and given:
                    self._advanced(given[0], place)
                    return False
                if function is PRINT and is_users(code.co_filename):
                    # by another name than the intercepted one
                    self._log.refuse("print: the graph would not print again", place)
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
            found = self._log.locks.setdefault(id(owner), [owner, 0, Origin.of_instruction(*place)])
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
        if self._log.ends_are_seen:
            return False
        self._log.kept.append(function)
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
        """A call of torch, or of a library whose instructions are not observed."""
        if not function.__code__.co_filename.startswith(OWN):
            if function.__name__ in PRINTS.get(function.__code__.co_filename, ()) and is_users(place[0].co_filename):
                what = f"{function.__name__}: the graph would not print again"
                self._log.refuse(what, place)
            self._handed(given, place)
            return False
        owner = given[0] if given else None
        is_ours = str(type(owner).__module__).startswith(OUR_PACKAGES)
        if owner is None or isinstance(owner, torch.Tensor | type) or is_ours:
            return self._known(function)
        if any(vars(each).get(function.__name__) is function for each in type(owner).__mro__):
            self.note(owner, place, surely=False)
            return False
        return self._known(function)

    def _system(self, function: BuiltinFunctionType | MethodWrapperType, place: tuple[CodeType, int]) -> None:
        """A C function that changes or reads process state."""
        module = (function.__module__ or "").partition(".")[0]
        if module == "gc" and not function.__name__.startswith(("enable", "disable", "set", "freeze", "unfreeze")):
            return
        sets = module == "sys" and function.__name__.startswith("set")
        if (module in STATEFUL or sets or is_impure(function)) and is_users(place[0].co_filename):
            what = f"{module}.{function.__name__}() is called: a graph would not do it again"
            self._log.refuse(what, place)
