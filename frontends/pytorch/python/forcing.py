"""What a program does in Python while it is traced: what would force a size stays symbolic, what leaves is refused.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def padded(x):
    ...     return x.new_zeros(max(x.shape[0], 16), int(x.shape[1] / 2))
    >>> variant = trace(padded, (torch.randn(6, 8),))
    >>> variant.guards, variant.graph(torch.randn(20, 3))[0].shape
    ((), torch.Size([20, 1]))

`Symbolic` is in place while a function is traced and gone afterwards, whatever happens:

- calls of `max`, `int`, `len`, `isinstance` and the like in the program's functions are led elsewhere (`rewriting`,
  `python_calls`);
- `math` has functions that keep sizes symbolic;
- torch's functions that want numbers are taken apart (`torch_calls`), by a function mode;
- modules are imported outside of the trace (`importing`);
- `print`, the clock and seeds, which the graph would leave out, are refused (`GraphBreak`).

`docs/decisions/python-forcing.md` says why so.
"""

from __future__ import annotations

import builtins
import dis
import functools
import gc
import importlib
import logging
import math
import os
import random
import secrets
import sys
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple

import torch
import torch.export
from torch.fx.experimental.proxy_tensor import _MakefxTracer
from torch.nested._internal import nested_tensor
from torch.nn.utils import parametrize
from torch.utils._python_dispatch import _disable_current_modes

from frontends.pytorch.errors import GraphBreak, TraceError, Written, eager_only, refusal
from frontends.pytorch.python import elements
from frontends.pytorch.python.casting import was_cached
from frontends.pytorch.python.checks import check_with
from frontends.pytorch.python.generators import DRAW, READ, READING, SEED, Watched, asked_by_checkpoint
from frontends.pytorch.python.importing import FirstImport, is_first
from frontends.pytorch.python.python_calls import BUILTINS, MATH, SEEN_AS, ours, wrapped
from frontends.pytorch.python.ran import noted, remembered, unwatched
from frontends.pytorch.python.rewriting import asking_for_types, program_of, rewritten
from frontends.pytorch.python.settings import setters
from frontends.pytorch.python.torch_calls import TorchCalls
from frontends.pytorch.source_location import STANDARD, is_told, is_users, origin, place_of
from frontends.pytorch.symbolic.node import value_of
from shapes.errors import UndecidedGuard
from shapes.origin import Origin
from shapes.symbolic import choices

if TYPE_CHECKING:
    from frontends.pytorch.python.messages import Messages
    from frontends.pytorch.symbolic.tensor import Trace


class Unhashable(GraphBreak, TypeError):
    """A size as a key, or as the argument of a function that remembers its results."""


ASKING: Final = frozenset(
    ("exc_info", "format_exc", "print_exc", "format_exception", "exception", "last_value", "__context__", "__exit__")
)
"""By these names a program asks for an error that it has not named."""
CLOCKS: Final = ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time")
_torch_attention: Final = torch.nn.functional.scaled_dot_product_attention


def _attention(*args, **kwargs):
    """Attention, whose `is_causal` must be a plain truth: `n > 1 and causal` is a condition on sizes if it is false."""
    plain = [bool(value) if isinstance(value, torch.SymBool) else value for value in (*args, *kwargs.values())]
    return _torch_attention(*plain[: len(args)], **dict(zip(kwargs, plain[len(args) :])))


_GLOBAL_NAMES: Final[dict[int, str]] = {
    **{id(getattr(builtins, name)): f"<symbolic {name}>" for name in BUILTINS},
    **{id(getattr(math, name)): f"<symbolic math.{name}>" for name in MATH},
    id(_torch_attention): "<symbolic attention>",
}
_STAND_INS: Final = {
    **{f"<symbolic {name}>": function for name, function in BUILTINS.items()},
    **{f"<symbolic math.{name}>": function for name, function in MATH.items()},
    "<symbolic attention>": _attention,
}

# there for good: a name that comes and goes would have the interpreter look up every builtin of the process anew
builtins.__dict__.update(_STAND_INS)

_lock: Final = threading.RLock()
_current: Final = threading.local()
_rewritten: Final[dict[int, list[object]]] = {}
"""Functions with changed code: the function, its own code, the changed one, and how many traces need it."""
_known: Final[weakref.WeakKeyDictionary[FunctionType, tuple[CodeType, CodeType]]] = weakref.WeakKeyDictionary()
_count = 0


def tracing() -> Symbolic | None:
    """What is in place for the trace of this thread."""
    found = getattr(_current, "stack", None)
    return found[-1] if found else None


@contextmanager
def suspended() -> Iterator[None]:
    """Python as it is, for what the frontend itself runs, and perhaps imports, in the middle of a trace."""
    if tracing() is None:
        yield
        return
    stack, _current.stack = _current.stack, []
    with _lock:
        _remove()
    try:
        with unwatched():
            yield
    finally:
        with _lock:
            _install()
        _current.stack = stack


class Symbolic:
    """Python and torch as a traced program meets them, for the time of a `with` block.

    Attributes:
        functions: the functions of the program that the call can reach.
        raised: errors of the trace, which the program may have caught: eager torch would not have raised them.
        messages: keeps what is printed and logged; None where a graph has no side effects.
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
            for function in self._rewritten:
                self._change(function)
        stack = getattr(_current, "stack", None)
        if stack is None:
            stack = _current.stack = []
        stack.append(self)
        if self._calls is not None:
            self._calls.__enter__()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        try:
            if self._calls is not None:
                self._calls.__exit__(kind, error, traceback)
        finally:
            _current.stack.pop()
            with _lock:
                for function in self._changed:
                    _restore(function)
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

    def _change(self, function: FunctionType) -> None:
        entry = _rewritten.get(id(function))
        if entry is None:
            own = function.__code__
            known = _known.get(function)
            if known is None or known[0] is not own:
                known = _known[function] = (own, rewritten(own, function.__globals__, _GLOBAL_NAMES))
            changed = known[1]
            if changed is own:
                return
            entry = _rewritten[id(function)] = [function, own, changed, 0]
            function.__code__ = changed
        entry[3] += 1
        self._changed.append(function)

    @property
    def is_of_graph(self) -> bool:
        """Whether a graph is made, and not a program run with breaks."""
        return self._calls is not None

    def default_generator(self, name: str, plain: Callable[..., object], args: tuple[object, ...]) -> object:
        """What a method of torch's own generator gives: of a trace to a checkpoint, which goes back to where it was."""
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
        """The program does what a graph can not.

        Raises:
            GraphBreak: with the line of the program.
        """
        if self._refuse is not None:
            self._refuse(what, fix)
            return
        raise kind(refusal(what, fix, origin()))


def explain(error: BaseException) -> None:
    """Say what to do, where an error of the program comes from a size or from data.

    Raises:
        GraphBreak: a `TypeError` because something does not take a size.
    """
    if isinstance(error, UndecidedGuard):
        if error.fix.startswith("expect_true("):
            condition = error.fix.removeprefix("expect_true(").partition("), or ask")[0]
            error.fix = (
                f"torch._check({condition}) if it always holds; else torch.where, or torch.cond with both branches;"
                " fullgraph=False breaks the graph here"
            )
    elif isinstance(error, TypeError) and (any(name in str(error) for name in NUMBERS) or was_given_number(error)):
        place = place_of(error)
        if place is not None:
            raise GraphBreak(refusal(f"a size where a plain number is needed: {error}", NUMBER, place)) from error


def was_given_number(error: TypeError) -> bool:
    """Whether Python's library was given a number of the trace where it raised an error."""
    frame, step = None, error.__traceback__
    while step is not None:
        frame, step = step.tb_frame, step.tb_next
    if frame is None or not frame.f_code.co_filename.startswith(STANDARD):
        return False
    return any(isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool) for value in frame.f_locals.values())


NUMBERS: Final = ("SymInt", "SymFloat", "SymBool")
TEXT: Final = "catch it without a name (`except RuntimeError:`)"
NUMBER: Final = "`int(n)` outside of the traced function, or a function that keeps it symbolic (torch.sym_max, math)"


def was_in_program(error: BaseException) -> bool:
    """Whether the program had a chance to catch an error."""
    return place_of(error) is not None


def who_asks(error: BaseException) -> Origin | None:
    """The line of the program that met an error, in a function that may look at what it says."""
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if is_users(code.co_filename) and names_errors(code):
            return Origin.of_instruction(code, step.tb_lasti)
        step = step.tb_next
    return None


@functools.lru_cache(maxsize=1024)
def names_errors(code: CodeType) -> bool:
    """Whether a function has a name for an error that it catches, or asks for the one that it is at."""
    if not ASKING.isdisjoint(code.co_names):
        return True
    caught = False
    for step in dis.get_instructions(code):
        if caught and step.opname.startswith("STORE_"):
            return True
        caught = step.opname == "CHECK_EXC_MATCH" or (caught and step.opname.startswith(("POP_JUMP", "NOT_TAKEN")))
    return False


def is_rewritten(function: FunctionType) -> bool:
    """Whether calls in a function were led elsewhere when it was last traced."""
    known = _known.get(function)
    return known is not None and known[0] is own_code(function)


def own_code(function: FunctionType) -> CodeType:
    """The code of a function, whatever a trace has put in its place for as long as it runs."""
    entry = _rewritten.get(id(function))
    if entry is None:
        return function.__code__
    own = entry[1]
    assert isinstance(own, CodeType)
    return own


def _restore(function: FunctionType) -> None:
    entry = _rewritten[id(function)]
    entry[3] -= 1
    if entry[3] == 0:
        del _rewritten[id(function)]
        own, changed = entry[1], entry[2]
        assert isinstance(own, CodeType)
        if function.__code__ is changed:
            function.__code__ = own


class _Patch(NamedTuple):
    """What stands in for something while a trace runs."""

    owner: ModuleType | type
    name: str
    before: object
    value: object


_patches: list[_Patch] = []
_absent: Final = object()


def _install() -> None:
    """What is in place once for all traces that run."""
    global _count
    _count += 1
    if _count > 1:
        return
    if not _patches or any(vars(each.owner).get(each.name, _absent) is not each.before for each in _patches):
        _patches[:] = [
            _Patch(owner, name, vars(owner).get(name, _absent), value) for owner, name, value in _stand_ins()
        ]
    for attributes in _of_numbers:
        attributes["__class__"] = _seen_as
    # Python notices by what is set next in the same classes
    for each in _patches:
        setattr(each.owner, each.name, each.value)


def _seen_class(number: torch.SymInt | torch.SymFloat | torch.SymBool) -> type:
    """The class of a number as the program asks for it, without a call by name: `n.__class__`, `case int():`,
    `functools.singledispatch`. To torch it is what it is."""
    file = _frame(1).f_code.co_filename
    asks = _asks.get(file)
    if asks is None:
        asks = _asks[file] = file == functools.__file__ or is_users(file)
    return SEEN_AS[type(number)] if asks and ours(number) else type(number)


_frame: Final = sys._getframe
_asks: Final[dict[str, bool]] = {}
"""By file, whether it asks for the program."""
_seen_as: Final = property(_seen_class)
_of_numbers: Final = tuple([
    # `__class__` of a class itself is something else than that of its instances, so it can not be set as an attribute
    next(found for found in gc.get_referents(vars(kind)) if type(found) is dict)
    for kind in (torch.SymInt, torch.SymFloat, torch.SymBool)
])  # fmt: skip
"""The attributes of torch's classes of numbers."""


def _stand_ins() -> Iterator[tuple[ModuleType | type, str, object]]:
    yield importlib._bootstrap, "_find_and_load", _find_and_load
    for name, function in MATH.items():
        yield math, name, function
    yield builtins, "print", _printing(print)
    for name in CLOCKS:
        clock = _refusing(getattr(time, name), f"time.{name}(): the time of the trace, not of the run", CLOCK)
        yield time, name, clock
    yield logging.Logger, "handle", _handle
    yield logging.Logger, "isEnabledFor", _is_enabled_for
    for name in THREADS:
        yield threading, name, _starting(getattr(threading, name))
    exporters = ((torch.jit, "trace"), (torch.jit, "script"), (torch.onnx, "export"), (torch.export, "export"))
    for module, name in exporters:
        yield module, name, _exporting(getattr(module, name), f"{module.__name__}.{name}()")
    for module, name in _states():
        reads = "get" in name or "initial" in name
        what = "the graph would give what it was in the trace" if reads else "the graph would not seed again"
        plain = getattr(module, name)
        function = _refusing(plain, f"{module.__name__}.{name}(): {what}", READ if reads else SEED)
        yield module, name, function
        if module is torch:
            yield torch.random, name, function
    yield torch.random, "default_generator", Watched(_of_default_generator)
    for module, name in ((os, "urandom"), (random, "_urandom")):
        yield module, name, _of_the_system(getattr(module, name))
    for module, name in setters():
        yield module, name, _setting(getattr(module, name))
    yield torch, "is_autocast_cache_enabled", _cache_enabled
    yield torch, "set_autocast_cache_enabled", _set_cache
    yield _MakefxTracer, "trace", _make_fx
    for kind in (TraceError, UndecidedGuard):
        yield kind, "__init__", _noted(kind.__init__)
    yield torch, "_check_with", check_with
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        yield numpy, "prod", _product(numpy.prod)
    yield from elements.stand_ins(tracing)
    yield torch.nn.functional, _torch_attention.__name__, _attention
    yield torch.compiler, "_is_compiling_flag", True
    # layers over packed sequences compare sizes with an element of a tensor
    yield torch.nn.modules.rnn, "int", BUILTINS["int"]
    # what torch makes once and keeps is not to be of a trace
    yield nested_tensor, "_dummy_instance", nested_tensor._dummy_instance
    yield parametrize, "_cache", {}
    for kind in (torch.SymInt, torch.SymFloat):
        yield kind, "__divmod__", lambda a, b: (a // b, a % b)
        yield kind, "__rdivmod__", lambda a, b: (b // a, b % a)
    yield torch.SymInt, "__hash__", _hash
    yield torch.SymBool, "__sym_ite__", _choice
    for kind in _EXPRESSIONS:
        yield kind, "__array__", _array
    for kind in _EXPRESSIONS:
        yield kind, "__str__", _text
        yield kind, "__repr__", _text
        yield kind, "__format__", _formatted


_python_find_and_load: Final = importlib._bootstrap._find_and_load


def _find_and_load(name: str, import_: Callable[..., ModuleType]) -> ModuleType:
    """Python's own, of a module that is imported first in a trace."""
    active = tracing()
    if active is None or sys.modules.get(name) is not None:
        return _python_find_and_load(name, import_)
    if active.is_of_graph and is_first(name, sys._getframe(1)):
        found = FirstImport(name)
        active.raised.append(found)
        raise found
    with suspended(), _disable_current_modes(), torch._C.DisableTorchFunction():
        return _python_find_and_load(name, import_)


def _printing(plain):
    """`print`, which the graph's side effects do again where what is printed is known."""

    def print(*values, **named):
        active = tracing()
        if active is not None and is_users(sys._getframe(1).f_code.co_filename):
            if active.messages is not None and active.messages.prints(values, named):
                return
            active.refuse("print: the graph would not print again", PRINT, Written)
        plain(*values, **named)

    return print


_python_handle: Final = logging.Logger.handle


def _handle(self: logging.Logger, record: logging.LogRecord) -> object:
    """`logging.Logger.handle`: messages of the program, but those that it logs once, are logged on every call."""
    active = tracing()
    if active is None:
        return _python_handle(self, record)
    frame = _asker()
    if active.is_of_graph and is_users(frame.f_code.co_filename) and frame.f_code not in remembered:
        if active.messages is not None and active.messages.logs(self, record):
            return None
        active.refuse("a message is logged: the graph would not log it again", LOG)
    with unwatched():
        return _python_handle(self, record)


_python_is_enabled_for: Final = logging.Logger.isEnabledFor


def _is_enabled_for(self: logging.Logger, level: int) -> bool:
    """`logging.Logger.isEnabledFor`: what a program does not log now is logged once its logger is told to."""
    found = _python_is_enabled_for(self, level)
    ran = noted()
    if not found and ran is not None and tracing() is not None and is_users(_asker().f_code.co_filename):
        ran.silent.add((self, level))
    return found


def _asker() -> FrameType:
    """The frame that called the function of the library's `logging` which calls this one's caller."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename == logging.__file__:
        frame = frame.f_back
    return frame


def _starting(plain):
    """A function that starts a thread, which would be given tensors of a trace that it knows nothing of."""

    def start(*args, **kwargs):
        active, frame = tracing(), sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename == threading.__file__:
            frame = frame.f_back
        # a pool's may have nothing to do with the program
        if active is not None and active.is_of_graph and is_users(frame.f_code.co_filename):
            eager_only("a thread is started: what it does is no part of a graph", "do it outside of the function")
        return plain(*args, **kwargs)

    return start


def _exporting(plain, name: str):
    """A function that makes a program of another kind of the one that is traced."""

    def function(*args, **kwargs):
        active = tracing()
        if active is not None and active.is_of_graph and is_users(sys._getframe(1).f_code.co_filename):
            eager_only(f"{name} is called, which records in a way of its own", "call it outside of the function")
        return plain(*args, **kwargs)

    return functools.update_wrapper(function, plain)


def _states() -> Iterator[tuple[ModuleType, str]]:
    """The functions that read or set states of generators."""
    for name in ("manual_seed", "seed", "set_rng_state", "get_rng_state", "initial_seed"):
        yield torch, name
    yield torch.random, "fork_rng"
    for name in ("seed", "setstate", "getstate"):
        yield random, name
    for device in (torch.cuda, torch.xpu, torch.mps, torch.mtia):
        for name in vars(device):
            if name.endswith(("seed", "seed_all", "rng_state", "rng_state_all")) and name[0] != "_":
                yield device, name
    randomness = sys.modules.get("numpy.random")
    if randomness is not None:
        for name in ("seed", "set_state", "get_state"):
            yield randomness, name


def _of_the_system(plain: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """`os.urandom`, which a traced program must not call, nor by way of `random`, `secrets` or `uuid`."""

    def urandom(count: int) -> bytes:
        active, frame = tracing(), sys._getframe(1)
        while frame.f_code.co_filename in DRAWING and frame.f_back is not None:
            frame = frame.f_back
        if active is not None and is_users(frame.f_code.co_filename):
            active.refuse("random numbers of the operating system: the graph would have those of the trace", DRAW)
        return plain(count)

    return urandom


def _of_default_generator(name: str, plain: Callable[..., object], *args: object) -> object:
    """A method of torch's own generator, called by one of torch's functions."""
    active = tracing()
    return plain(*args) if active is None else active.default_generator(name, plain, args)


THREADS: Final = tuple([name for name in ("_start_new_thread", "_start_joinable_thread") if hasattr(threading, name)])
DYNAMO: Final = os.path.join(os.path.dirname(torch.__file__), "_dynamo", "eval_frame.py")
DRAWING: Final = (random.__file__, secrets.__file__, uuid.__file__)
PRINT: Final = "print outside of the compiled function, or after it; fullgraph=False prints on every call"
LOG: Final = "log outside of the compiled function, or after it; fullgraph=False logs on every call"
CLOCK: Final = "measure outside of the compiled function; fullgraph=False reads the clock on every call"


def _remove() -> None:
    global _count
    _count -= 1
    if _count:
        return
    for attributes in _of_numbers:
        attributes.pop("__class__", None)
    for each in reversed(_patches):
        if isinstance(each.value, dict):
            each.value.clear()
        if each.before is _absent:
            delattr(each.owner, each.name)
        else:
            setattr(each.owner, each.name, each.before)


def _setting(plain):
    """A function that sets something for all that follows, which is eager torch's to do again."""

    def function(*args, **kwargs):
        active = tracing()
        if active is not None:
            what = f"torch.{plain.__name__.removeprefix('_')}() is called: a graph would not do it again"
            if active.is_of_graph:
                eager_only(what, "set it outside of the function")
            active.refuse(what, "set it outside of the function")
        return plain(*args, **kwargs)

    function.__name__ = plain.__name__
    function.__wrapped__ = plain
    return function


_torch_cache_enabled: Final = torch.is_autocast_cache_enabled


def _cache_enabled() -> bool:
    """`torch.is_autocast_cache_enabled`: to the program as it is outside of the trace."""
    if tracing() is not None and is_users(sys._getframe(1).f_code.co_filename):
        return was_cached()
    return _torch_cache_enabled()


_torch_set_cache: Final = torch.set_autocast_cache_enabled


def _set_cache(enabled: bool) -> None:
    """`torch.set_autocast_cache_enabled`, which contexts of torch call as well."""
    active = tracing()
    if active is not None and active.is_of_graph and is_users(sys._getframe(1).f_code.co_filename):
        eager_only("torch.set_autocast_cache_enabled() is called: a graph would not do it again", "set it outside")
    _torch_set_cache(enabled)


_torch_make_fx: Final = _MakefxTracer.trace


def _make_fx(self: _MakefxTracer, *args):
    """What `make_fx` and `torch.func.linearize` do: operators would be the other trace's and not the graph's."""
    active = tracing()
    if active is not None and active.is_of_graph:
        eager_only("a function is traced by torch (make_fx, torch.func.linearize)", "trace it outside of the function")
    return _torch_make_fx(self, *args)


def _refusing(plain, what: str, fix: str):
    """A function that a traced program must not call: other threads and frameworks do as before."""

    def function(*args, **kwargs):
        active, frame = tracing(), sys._getframe(1)
        if active is not None and is_users(frame.f_code.co_filename):
            if active.is_of_graph and frame.f_back is not None and frame.f_back.f_code.co_filename == DYNAMO:
                # by which torch keeps the state of generators before it runs this
                eager_only("a function that torch.compile has compiled is called", "call the function itself")
            active.refuse(what, fix)
        return plain(*args, **kwargs)

    function.__name__ = getattr(plain, "__name__", "function")
    function.__wrapped__ = plain
    return function


def _noted(plain):
    """An error's `__init__` that tells the trace of it."""

    def init(self, *args, **kwargs):
        plain(self, *args, **kwargs)
        active = tracing()
        if active is not None and active.is_of_graph:
            active.raised.append(self)

    return init


_torch_choice: Final = torch.SymBool.__sym_ite__


def _choice(condition, then, otherwise):
    """`torch.sym_ite`, which takes nodes of torch's own class only."""
    if not ours(condition):
        return _torch_choice(condition, then, otherwise)
    return wrapped(condition, choices.sym_ite(*[value_of(each) for each in (condition, then, otherwise)]))


_torch_hash: Final = torch.SymInt.__hash__


def _hash(number: torch.SymInt) -> int:
    if ours(number) and not number.node.is_plain:
        raise Unhashable(refusal(f"a size has no hash while it is symbolic: {number}", NUMBER, origin()))
    return _torch_hash(number)


def _number(number: torch.SymInt | torch.SymFloat | torch.SymBool) -> float:
    """Its value, with a guard."""
    if isinstance(number, torch.SymBool):
        return bool(number)
    return int(number) if isinstance(number, torch.SymInt) else float(number)


_EXPRESSIONS: Final = {kind: kind.__repr__ for kind in (torch.SymInt, torch.SymFloat, torch.SymBool)}
"""How torch writes a symbolic number."""


def _array(number: torch.SymInt | torch.SymFloat, dtype: object = None, copy: object = None) -> object:
    """What NumPy makes of a number: one that it computes with."""
    numpy = sys.modules["numpy"]
    return numpy.asarray(_number(number), dtype=dtype)


def _product(plain):
    """`numpy.prod`, of sizes without making numbers of them: of how many elements there are."""

    def prod(numbers, *args, **kwargs):
        if isinstance(numbers, list | tuple) and not args and not kwargs and any(map(ours, numbers)):
            return math.prod(numbers)
        return plain(numbers, *args, **kwargs)

    return prod


def _text(number: torch.SymInt | torch.SymFloat | torch.SymBool) -> str:
    """The digits, where the program asks, of a list of sizes too, or by way of Python's library: it may go by them.
    Torch and we get the expression."""
    if ours(number) and is_told(sys._getframe(1).f_code.co_filename):
        return str(_number(number))
    return _EXPRESSIONS[type(number)](number)


def _formatted(number: torch.SymInt | torch.SymFloat | torch.SymBool, form: str) -> str:
    if ours(number) and (form or is_told(sys._getframe(1).f_code.co_filename)):
        return format(_number(number), form)
    return _EXPRESSIONS[type(number)](number)


__all__ = ["Symbolic", "is_rewritten", "own_code", "suspended", "tracing"]
