"""Interception of a traced program's calls: sizes stay symbolic where Python would concretize, impure calls are
refused.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def padded(x):
    ...     return x.new_zeros(max(x.shape[0], 16), int(x.shape[1] / 2))
    >>> variant = trace(padded, (torch.randn(6, 8),))
    >>> variant.guards, variant.graph(torch.randn(20, 3))[0].shape
    ((), torch.Size([20, 1]))

`Symbolic` is installed while a function is traced, and always removed afterwards:

- calls of `max`, `int`, `len`, `isinstance` and the like in the program's functions are intercepted (`rewriting`,
  `code_replacement`, `python_calls`), and methods of symbolic numbers (`symbolic_numbers`);
- `math` has functions that keep sizes symbolic;
- torch's functions that need concrete numbers are decomposed (`torch_calls`), by a function mode;
- modules are imported outside of the trace (`importing`);
- `print`, the clock and seeds, which the graph would omit, are refused as a `GraphBreak` (`impure_calls`).

`docs/decisions/python-interception.md` has the reasons.
"""

from __future__ import annotations

import builtins
import importlib
import math
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch
import torch.export
from torch.nested._internal import nested_tensor
from torch.nn.utils import parametrize
from torch.utils._python_dispatch import _disable_current_modes

from frontends.pytorch.errors import GraphBreak, TraceError, eager_only, refusal
from frontends.pytorch.python import elements, impure_calls, symbolic_numbers
from frontends.pytorch.python.active_trace import current, tracing
from frontends.pytorch.python.caught_errors import TEXT, explain, was_in_program, who_asks
from frontends.pytorch.python.checks import check_with
from frontends.pytorch.python.code_replacement import replace_code, restore_code
from frontends.pytorch.python.generators import READ, READING, SEED, asked_by_checkpoint
from frontends.pytorch.python.importing import FirstImport, is_first
from frontends.pytorch.python.python_calls import BUILTINS, MATH
from frontends.pytorch.python.ran import unwatched
from frontends.pytorch.python.rewriting import asking_for_types, program_of
from frontends.pytorch.python.torch_calls import TorchCalls
from frontends.pytorch.source_location import origin
from shapes.errors import UndecidedGuard

if TYPE_CHECKING:
    from frontends.pytorch.python.messages import Messages
    from frontends.pytorch.symbolic.tensor import Trace


_bootstrap: Final[Any] = importlib._bootstrap  # which has no types
_torch_attention: Final = torch.nn.functional.scaled_dot_product_attention


def _attention(*args: Any, **kwargs: Any) -> Any:  # as torch has it
    """Attention, whose `is_causal` must be a plain bool: `n > 1 and causal` may be symbolic."""
    plain = [bool(value) if isinstance(value, torch.SymBool) else value for value in (*args, *kwargs.values())]
    return _torch_attention(*plain[: len(args)], **dict(zip(kwargs, plain[len(args) :])))


_REPLACED: Final = (
    *[(f"<symbolic {name}>", getattr(builtins, name), function) for name, function in BUILTINS.items()],
    *[(f"<symbolic math.{name}>", getattr(math, name), function) for name, function in MATH.items()],
    ("<symbolic attention>", _torch_attention, _attention),
)
_GLOBAL_NAMES: Final = {id(plain): name for name, plain, _ in _REPLACED}
# permanent: adding and removing a builtin would invalidate the interpreter's caches of all builtins
builtins.__dict__.update({name: function for name, _, function in _REPLACED})

_lock: Final = threading.RLock()
_count = 0


@contextmanager
def suspended() -> Iterator[None]:
    """Suspend interception, for code that the frontend itself runs or imports during a trace."""
    if tracing() is None:
        yield
        return
    stack, current.stack = current.stack, []
    with _lock:
        _remove()
    try:
        with unwatched():
            yield
    finally:
        with _lock:
            _install()
        current.stack = stack


class Symbolic:
    """Intercepted Python and torch for a traced program, in a `with` block.

    Attributes:
        functions: the functions of the program that the call can reach.
        raised: errors of the trace, which eager torch would not raise and the program may have caught.
        messages: records printing and logging; None if the graph has no side effects.
    """

    def __init__(
        self, trace: Trace | None, starts: Iterable[object], refuse: Callable[[str, str], None] | None = None
    ) -> None:
        self.functions: Final = program_of(starts)
        self._rewritten: Final = dict.fromkeys([*self.functions, *asking_for_types(self.functions)])
        self.raised: Final[list[TraceError | UndecidedGuard | FirstImport]] = []
        self._calls = TorchCalls(trace, self.refuse) if trace is not None else None
        self._refuse = refuse
        self.messages: Messages | None = None
        self._changed: list[FunctionType] = []

    def __enter__(self) -> Symbolic:
        with _lock:
            _install()
            self._changed += [function for function in self._rewritten if replace_code(function, _GLOBAL_NAMES)]
        stack = getattr(current, "stack", None)
        if stack is None:
            stack = current.stack = []
        stack.append(self)
        if self._calls is not None:
            self._calls.__enter__()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        try:
            if self._calls is not None:
                self._calls.__exit__(kind, error, traceback)
        finally:
            current.stack.pop()
            with _lock:
                for function in self._changed:
                    restore_code(function)
                self._changed.clear()
                _remove()
        raised = [each for each in self.raised if each is not error and was_in_program(each)]
        self.raised.clear()
        of_torch = [] if self._calls is None else [*self._calls.raised]
        if self._calls is not None:
            self._calls.raised.clear()
        if raised:
            explain(raised[0])
            raise raised[0] from None
        told = next(filter(None, map(who_asks, of_torch)), None) if error is None else None
        del of_torch
        if told is not None:
            eager_only("an error of torch's is caught whose text may name sizes", TEXT, told)
        if error is not None and self._refuse is None:
            explain(error)

    @property
    def is_of_graph(self) -> bool:
        """Whether this is a trace, not a program that runs with graph breaks."""
        return self._calls is not None

    def default_generator(self, name: str, plain: Callable[..., object], args: tuple[object, ...]) -> object:
        """A method of torch's default generator: a checkpoint saves and restores positions in a trace's draws."""
        if self._calls is not None and name in ("get_state", "set_state") and asked_by_checkpoint():
            if name == "set_state":
                self._calls.trace.went_back(*args)
                return None
            state = plain()
            self._calls.trace.saved(state)
            return state
        reads = name in READING
        self.refuse(f"torch.default_generator.{name}(), which a graph does not do", READ if reads else SEED)
        return plain(*args)

    def refuse(self, what: str, fix: str, kind: type[GraphBreak] = GraphBreak) -> None:
        """Refuse something that a graph cannot do.

        Raises:
            GraphBreak: with the line of the program.
        """
        if self._refuse is not None:
            self._refuse(what, fix)
            return
        raise kind(refusal(what, fix, origin()))


class _Patch(NamedTuple):
    """An attribute that is replaced while a trace runs."""

    owner: ModuleType | type
    name: str
    before: object
    value: object


_patches: list[_Patch] = []
_absent: Final = object()


def _install() -> None:
    """Install the replacements shared by all running traces."""
    global _count
    _count += 1
    if _count > 1:
        return
    if not _patches or any(vars(each.owner).get(each.name, _absent) is not each.before for each in _patches):
        _patches[:] = [
            _Patch(owner, name, vars(owner).get(name, _absent), value) for owner, name, value in _stand_ins()
        ]
    symbolic_numbers.show_classes_of_python()
    for each in _patches:
        setattr(each.owner, each.name, each.value)


def _stand_ins() -> Iterator[tuple[ModuleType | type, str, object]]:
    yield _bootstrap, "_find_and_load", _find_and_load
    for name, function in MATH.items():
        yield math, name, function
    yield from impure_calls.stand_ins()
    for kind in (TraceError, UndecidedGuard):
        yield kind, "__init__", _noted(kind.__init__)
    yield torch, "_check_with", check_with
    yield from elements.stand_ins()
    yield torch.nn.functional, _torch_attention.__name__, _attention
    yield torch.compiler, "_is_compiling_flag", True
    # layers over packed sequences compare sizes with a tensor's element
    yield torch.nn.modules.rnn, "int", BUILTINS["int"]
    # lazily initialized state of torch must not be traced
    yield nested_tensor, "_dummy_instance", nested_tensor._dummy_instance
    yield parametrize, "_cache", {}
    yield from symbolic_numbers.stand_ins()


_python_find_and_load: Final = _bootstrap._find_and_load


def _find_and_load(name: str, import_: Callable[..., ModuleType]) -> ModuleType:
    """Python's import function, for first imports in a trace."""
    active = tracing()
    if active is None or sys.modules.get(name) is not None:
        return _python_find_and_load(name, import_)
    if active.is_of_graph and is_first(name, sys._getframe(1)):
        found = FirstImport(name)
        active.raised.append(found)
        raise found
    with suspended(), _disable_current_modes(), torch._C.DisableTorchFunction():
        return _python_find_and_load(name, import_)


def _remove() -> None:
    global _count
    _count -= 1
    if _count:
        return
    symbolic_numbers.show_own_classes()
    for each in reversed(_patches):
        if isinstance(each.value, dict):
            each.value.clear()
        if each.before is _absent:
            delattr(each.owner, each.name)
        else:
            setattr(each.owner, each.name, each.before)


def _noted(plain: Callable[..., None]) -> Callable[..., None]:
    """An error's `__init__` that reports it to the trace."""

    def init(self: TraceError | UndecidedGuard, *args: object, **kwargs: object) -> None:
        plain(self, *args, **kwargs)
        active = tracing()
        if active is not None and active.is_of_graph:
            active.raised.append(self)

    return init
