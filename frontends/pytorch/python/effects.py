"""Side effects of a traced program: found by comparing state before and after, undone, and refused.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> seen = []
    >>> def f(x):
    ...     seen.append(x)
    ...     return x + 1
    >>> try:
    ...     trace(f, (torch.randn(2),))
    ... except Exception as error:
    ...     print(error)  # doctest: +ELLIPSIS
    the function changes `seen`, which outlives the call: the graph would not do it again
      at:     `seen.append(x)`  (...:2 in f)
      fix:    return the value, or do it outside; fullgraph=False runs this Python on every call
    >>> seen
    []

Compared are globals, closures, defaults, attributes of objects, classes and modules, buffers, lists, dictionaries, sets
and arrays that the program's functions mention, the arguments, and the states of `random` and `numpy.random`.
`docs/side-effects.md` lists what is guarded, refused or replayed.
"""

from __future__ import annotations

import dis
import sys
import weakref
from collections import deque
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from enum import Enum
from inspect import CO_OPTIMIZED
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, MethodWrapperType, ModuleType, TracebackType
from typing import Any, Final

import torch
from torch.nn.parameter import is_lazy
from torch.utils._pytree import TreeSpec, tree_flatten

from frontends.pytorch.errors import EagerOnly, GraphBreak, Settles, TraceError, Uninitialized, eager_only, refusal
from frontends.pytorch.python.caches import is_of_enum
from frontends.pytorch.python.changes import Changes
from frontends.pytorch.python.comparisons import compared_tensor
from frontends.pytorch.python.generators import Generators, is_generator, mentioned_states
from frontends.pytorch.python.interception import suspended
from frontends.pytorch.python.memoized import Memoized
from frontends.pytorch.python.mentions import closure_of, codes, location
from frontends.pytorch.python.ran import WITHOUT_STATE, Ran, collecting, module_of, owner_of, watching
from frontends.pytorch.python.rewriting import all_names
from frontends.pytorch.python.snapshots import (
    ABSENT,
    CELL,
    COUNT,
    DICT,
    Entry,
    Noted,
    Part,
    attributes_of,
    part_of,
    same,
)
from frontends.pytorch.python.weak_memo import while_alive
from frontends.pytorch.python.wrappers import opened
from frontends.pytorch.source_location import INSTALLED, is_users
from frontends.pytorch.symbolic.tensor import Traced
from shapes.origin import Origin

FIX: Final = "return the value, or do it outside; fullgraph=False runs this Python on every call"
USED_UP: Final = "pass what it gives as an argument; fullgraph=False takes the next item on every call"
IDENTITY: Final = "pass it as an argument"
KEYS: Final = "name tensors by strings or numbers"
DEEPEST: Final = 4
LARGEST: Final = 512
"""For a container with more items, only the number of items is compared."""
MUTABLE: Final = list | dict | set | deque | bytearray
PLAIN: Final = (int, float, bool, str, bytes, complex, type(None), torch.Tensor, CodeType, torch.dtype, torch.device)
SETTLED: Final = {FunctionType, BuiltinFunctionType, *(kind for kind in PLAIN if kind is not torch.Tensor)}
"""Classes of globals that are immutable, so only assignment is checked."""
NUMBERS: Final = frozenset(("SymInt", "SymFloat", "SymBool"))
STORES: Final = frozenset([dis.opmap["STORE_GLOBAL"], dis.opmap["DELETE_GLOBAL"]])


class Effects:
    """Snapshots of mutable state at the start of a `with` block; at its end mutations are undone and refused.

    Attributes:
        generators: the random number generators among it.
        changes: mutations of objects that no name reaches.
    """

    def __init__(
        self,
        functions: Sequence[FunctionType],
        starts: Iterable[object],
        arguments: object,
        before: Iterable[object],
        memoized: Memoized,
        *,
        has_effects: bool = False,
    ) -> None:
        """`before` are earlier objects that are not frozen (`MadeInside`). If the graph `has_effects`, only mutations
        that it does not replay are refused."""
        self._memoized = memoized
        self._functions = list(functions)
        self._starts = tuple(starts)
        self._arguments = arguments
        self._held: list[tuple[str, str, Noted]] = []
        """Text, the name to look for in the code, and a snapshot."""
        self._seen: set[int] = set()
        self._globals: set[tuple[int, str]] = set()
        self._stored = {name for function in functions for name in stored_names(function)}
        self._leaves: list[object] = []
        self._structure: TreeSpec | None = None
        self._foreseen: set[CodeType] = set()
        """The code of the functions whose state is known, and of those that they make."""
        self._modules: frozenset[str] = frozenset()
        """Those that were imported before."""
        self._refused: GraphBreak | None = None
        self.changes = Changes(before, arguments, memoized, has_effects=has_effects)
        with suspended():
            # may compile the hook
            self._ran = Ran((self._entered, self.changes.observer.observe, self.changes.observer.audited))
            self._watching: AbstractContextManager[None] = watching(self._ran)
        self.generators = Generators(mentioned_states(functions))

    @property
    def known(self) -> Container[int]:
        """By identity, earlier containers."""
        held = [each for _, _, each in self._held if isinstance(each.owner, MUTABLE) and not each.is_entry]
        return {*[id(each.owner) for each in held], *self.changes.said}

    def __enter__(self) -> Effects:
        for function in self._functions:
            self._function(function)
        for start in self._starts:
            self._value("self", "self", start, 0)
        self._leaves, self._structure = tree_flatten(opened(self._arguments))
        self.generators.hold_those_of_modules()
        self._modules = frozenset(sys.modules)
        self._foreseen = {code for function in self._functions for code in codes(function.__code__)}
        self._watching.__enter__()
        self._memoized.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._memoized.end()
        self._watching.__exit__(kind, error, traceback)
        used = self.generators.restore()
        said = self.changes.said
        if said and error is None:
            # the remaining mutations are not replayed by the graph
            noted = self.changes.put_back()
        changed = [] if error is not None else [entry for entry in self._held if entry[2].differs()]
        keeps = any(each.keeps_tensors() for _, _, each in changed)
        text, name = attribute_of(*changed[0]) if changed else ("", "")
        if not said or error is not None:
            # the first snapshot of an object is its earlier state
            noted = self.changes.put_back()
        for _, _, each in changed if error is None else self._held:
            each.put_back()
        if error is not None:
            return
        if self.changes.log.refused is not None:
            raise self.changes.log.refused
        self.changes.refuse_kept(self._ran.called())
        if changed or noted:
            # the mutating instruction, else one that mentions its name
            line = next((line for _, _, line in noted), None) or line_of(self._functions, name)
            shown = f"`{text}`" if changed else noted[0][0]
            what = f"the function changes {shown}, which outlives the call: the graph would not do it again"
            only = keeps or any(held for _, held, _ in noted)
            text = refusal(what, FIX, line)
            if self.changes.settles and not only and not used:
                raise Settles(text)
            raise (EagerOnly if only else GraphBreak)(text)
        if self._refused is not None:
            raise self._refused
        now, structure = tree_flatten(opened(self._arguments))
        if structure != self._structure or any(one is not other for one, other in zip(now, self._leaves)):
            what = "the function changes a container among its arguments: the graph would not do it again"
            raise EagerOnly(refusal(what, FIX, None))
        if used:
            raise GraphBreak(refusal(used[0].what, used[0].fix, line_of(self._functions, used[0].name)))

    # ------------------------------------------------------------------ collecting state

    def _hold(self, text: str, name: str, owner: object, part: Part | Entry = DICT) -> None:
        self._held.append((text, name, Noted.of_parts(owner, part)))

    def _entered(self, function: FunctionType) -> None:
        """Take snapshots for a function that no name has reached (a hook, a descriptor), before it runs."""
        code = function.__code__
        if code in self._foreseen or owner_of(function, code) != "program" or module_of(function) in WITHOUT_STATE:
            return
        if function.__globals__.get("__name__") not in self._modules or not code.co_flags & CO_OPTIMIZED:
            # imported during the trace; the body of a class
            return
        if location(code) in collecting() or code.co_name == "__del__":
            return
        self._foreseen.update(codes(code))
        self._functions.append(function)
        self._stored |= stored_names(function)
        try:
            self._function(function)
        except GraphBreak as refused:
            self._refused = refused
        except Exception as error:
            # nothing may be raised here, and state without a snapshot is not assumed to be unchanged
            what = f"what `{code.co_qualname}` may change cannot be looked at ({type(error).__name__}: {error})"
            self._refused = GraphBreak(refusal(what, FIX, Origin.of_instruction(code, 0)))

    def _function(self, function: FunctionType) -> None:
        scope, code = function.__globals__, function.__code__
        compared = compared_tensor(function, self._starts)
        if compared is not None:
            what = f"`{compared}`, a tensor that the function is not given, is compared by `is`"
            eager_only(what, IDENTITY, line_of(self._functions, compared.rpartition(".")[2]))
        if matches_torchs_numbers(function):
            what = "a pattern asks for a number of torch's, which a size is in a trace only"
            eager_only(what, "match `int()`, or leave it out", Origin.of_instruction(code, 0))
        for name in self._candidates(function):
            value = scope.get(name, ABSENT)
            if isinstance(value, ModuleType):
                for each in all_names(code):
                    if each in vars(value):
                        self._global(f"{name}.{each}", each, vars(value))
            else:
                self._global(name, name, scope)
        for name, cell, value in closure_of(function):
            if id(cell) not in self._seen:
                self._seen.add(id(cell))
                self._hold(name, name, cell, CELL)
                self._value(name, name, value, 0)
        defaults = function.__defaults__ or ()
        named = dict(zip(code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount], defaults))
        for name, value in (named | (function.__kwdefaults__ or {})).items():
            self._value(name, name, value, 0)
        self._hold(function.__name__, "", vars(function))
        self._value(function.__name__, function.__name__, vars(function), 1)

    def _candidates(self, function: FunctionType) -> tuple[str, ...]:
        """The mutable globals that a function mentions."""
        found = _candidates.get(function)
        if found is None:
            scope = function.__globals__
            installed = INSTALLED in str(scope.get("__file__"))
            names = []
            for name in all_names(function.__code__):
                value = scope.get(name, ABSENT)
                if isinstance(value, ModuleType):
                    if is_programs(value) and not installed:
                        names.append(name)
                    continue
                is_constant = type(value) in SETTLED or value is ABSENT or (installed and is_assumed_constant(value))
                if name in self._stored or not is_constant:
                    names.append(name)
            found = _candidates[function] = tuple(names)
        return found

    def _global(self, text: str, name: str, scope: dict[str, object]) -> None:
        key = (id(scope), name)
        if key not in self._globals:
            self._globals.add(key)
            value = scope.get(name, ABSENT)
            self._hold(text, name, scope, Entry(name))
            installed = INSTALLED in str(scope.get("__file__"))
            if value is not ABSENT:
                # for an installed package, only the globals themselves, not what they contain
                self._value(text, name, value, DEEPEST if installed else 0)

    def _value(self, text: str, name: str, value: object, depth: int) -> None:
        """Take a snapshot of a value; for one that raises when it is inspected, only `Changes` applies."""
        try:
            self._inside(text, name, value, depth)
        except TraceError:
            raise
        except Exception:
            return

    def _inside(self, text: str, name: str, value: Any, depth: int) -> None:  # NumPy's and torch's among others
        if isinstance(value, torch.Tensor) and not isinstance(value, Traced) and id(value) not in self._seen:
            self._seen.add(id(value))
            self._hold(text, "", vars(value))
        if isinstance(value, PLAIN) or depth > DEEPEST or id(value) in self._seen or isinstance(value, ModuleType):
            return
        self._seen.add(id(value))
        if is_used_up(value):
            what = f"`{text}` is a {type(value).__name__}, which the trace would use up"
            raise GraphBreak(refusal(what, USED_UP, line_of(self._functions, name)))
        if is_generator(value):
            self.generators.hold(text, name, value)
        elif isinstance(value, MUTABLE):
            if len(value) > LARGEST:
                self._hold(text, name, value, COUNT)
                return
            if isinstance(value, dict | set) and any(isinstance(key, torch.Tensor) for key in value):
                eager_only(f"`{text}` has tensors as keys", KEYS, line_of(self._functions, name))
            self._hold(text, name, value, part_of(value))
            items = dict.values(value) if isinstance(value, dict) else value
            if not isinstance(value, bytearray):
                for item in items:
                    self._value(f"{text}[...]", name, item, depth + 1)
        elif isinstance(value, tuple | frozenset):
            for item in value:
                self._value(f"{text}[...]", name, item, depth + 1)
        elif isinstance(value, torch.nn.Module):
            for path, module in value.named_modules():
                self._seen.add(id(module))
                if any(is_lazy(parameter) for parameter in module._parameters.values()):
                    raise Uninitialized(refusal(f"`{text}` is a lazy module", "call it once before", None))
                inside = f"{text}.{path}" if path else text
                for key, held in vars(module).items():
                    if key in ("_parameters", "_buffers", "_modules"):
                        self._hold(inside, key, held)
                        if key != "_modules":
                            for of, tensor in held.items():
                                self._value(f"{inside}.{of}", of, tensor, depth + 1)
                    elif key.endswith("_hooks") and isinstance(held, dict):
                        self._hold(f"{inside}.{key}", key, held)
                    elif is_generator(held) or (isinstance(held, MUTABLE) and key[:1] != "_"):
                        self._value(f"{inside}.{key}", key, held, depth + 1)
                self._hold(inside, "", vars(module))
        elif isinstance(value, MethodType | MethodWrapperType | BuiltinFunctionType):
            self._value(text, name, value.__self__, depth)
        elif isinstance(value, type):
            for key in data_of(value):
                held = vars(value).get(key)
                self._hold(f"{text}.{key}", key, value, Entry(key))
                self._value(f"{text}.{key}", key, held, depth + 1)
        elif type(value).__module__ == "numpy" and hasattr(value, "tobytes"):
            if value.size <= LARGEST:
                self._hold(text, name, value, part_of(value))
        elif not isinstance(value, FunctionType | Enum) and (attributes := attributes_of(value)) is not None:
            if isinstance(value, OPTIMIZING) or is_programs(sys.modules.get(type(value).__module__)):
                self._hold(text, "", attributes)
                for key, held in list(attributes.items()):
                    self._value(f"{text}.{key}", key, held, depth + 1)


def attribute_of(text: str, name: str, changed: Noted) -> tuple[str, str]:
    """A description of a change, and the name to search in the code."""
    held, before = changed.owner, changed.before.get(DICT)
    if name in ("", "_buffers", "_parameters", "_modules") and isinstance(held, dict) and before is not None:
        keys = dict.fromkeys([*held, *before])
        found = (key for key in keys if not same(held.get(key, held), before.get(key, held)))
        key = str(next(found, next(iter(keys))))
        return f"{text}.{key}", key
    return text, name


def is_used_up(value: object) -> bool:
    """Whether a value is a one-shot iterator, which cannot be restored."""
    return isinstance(value, Iterator) and (not is_programs(sys.modules.get(type(value).__module__)))


def line_of(functions: Iterable[FunctionType], name: str) -> Origin | None:
    """The first line of the program that stores a name, else one that mentions it."""
    mentioned = None
    for function in functions:
        for code in codes(function.__code__):
            for step in dis.get_instructions(code):
                if step.argval == name or (not name and step.opname == "STORE_ATTR"):
                    place = Origin.of_instruction(code, step.offset)
                    if step.opname.startswith(("STORE_", "DELETE_")) and not step.opname.startswith("STORE_FAST"):
                        return place
                    mentioned = mentioned or place
    return mentioned


_candidates: weakref.WeakKeyDictionary[FunctionType, tuple[str, ...]] = weakref.WeakKeyDictionary()


def is_assumed_constant(value: object) -> bool:
    """Whether a global of an installed package is assumed to be constant: a class, a function, an object of its own."""
    return not isinstance(value, MUTABLE) and not is_generator(value)


@while_alive
def stored_names(function: FunctionType) -> frozenset[str]:
    """The globals that a function assigns."""
    # few functions have such an instruction, and disassembly is slow
    storing = [each for each in codes(function.__code__) if not STORES.isdisjoint(each.co_code[::2])]
    steps = [step for each in storing for step in dis.get_instructions(each)]
    return frozenset([step.argval for step in steps if step.opcode in STORES])


def matches_torchs_numbers(function: FunctionType) -> bool:
    """Whether a function may have a pattern such as `case torch.SymInt():`, by its names."""
    if NUMBERS.isdisjoint(all_names(function.__code__)):
        return False
    return any(step.opname == "MATCH_CLASS" for each in codes(function.__code__) for step in dis.get_instructions(each))


@while_alive
def data_of(kind: type) -> tuple[str, ...]:
    """The data attributes of a class of the program."""
    methods = (FunctionType, property, staticmethod, classmethod)
    names = vars(kind).items() if is_programs(sys.modules.get(kind.__module__)) else ()
    data = [name for name, held in names if not isinstance(held, methods) and name[:2] != "__"]
    return tuple([name for name in data if not is_of_enum(kind, name)])


OPTIMIZING: Final = (torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler)
"""Classes of torch whose objects programs mutate directly, such as a learning rate."""


def is_programs(module: ModuleType | None) -> bool:
    """Whether a module is the program's, not torch's, ours, the standard library's or built in."""
    file = getattr(module, "__file__", None)
    return is_users(file) if file else getattr(module, "__name__", "") == "__main__"


