"""`compile`, its result, and the reports of what either spelling has compiled.

    >>> import torch
    >>> from frontends.pytorch import compile, explain
    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    >>> compiled = compile(net)
    >>> isinstance(compiled, torch.nn.Module), len(compiled), compiled[1], list(compiled.state_dict())
    (True, 2, ReLU(), ['0.weight', '0.bias'])
    >>> compiled.scale = 3.0
    >>> net.scale, len(compiled.variants)
    (3.0, 0)
    >>> f = torch.compile(lambda x: x * 2 if x.shape[0] > 2 else x * 3, backend="symshape", dynamic=True)
    >>> out = f(torch.randn(4, 5))
    >>> explain(f).splitlines()[:4]
    ['<lambda>: 1 variant', '', 'variant 0: first call', '  x: float32[x.shape[0], x.shape[1]]']

PyTorch's Dynamo reads the function's Python; its graphs run by our variants and kernels, over sizes about which this
engine is asked (`frontends.pytorch.dynamo.program`). `torch.compile(fn, backend="symshape")` is the same compiler: its
result tells which function makes its graphs, and each graph is noted under that function.

The result of `compile` is a transparent proxy. Reads and writes are forwarded to the original: attributes, methods,
`vars`, `dir`, operators such as `len` and `[]`. The public attributes of `Program` (`variants`, `explain()` etc.) are
visible only if the original has none of that name. `compiled._program` always has them; it is the one reserved name.

Copies and pickles keep the function and its options, not the variants:

    >>> import copy, pickle
    >>> linear = compile(torch.nn.Linear(2, 3), dynamic=True)
    >>> again = pickle.loads(pickle.dumps(linear))
    >>> bool((again(torch.ones(5, 2)) == linear(torch.ones(5, 2))).all()), again.fn is linear.fn
    (True, False)
    >>> pickle.dumps(compile(lambda x: x * 2))
    Traceback (most recent call last):
    _pickle.PicklingError: cannot pickle the compiled function <lambda>: pickle finds functions by module and name, ...
"""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable, Sequence
from inspect import getclosurevars, isfunction
from pickle import PicklingError
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final, Unpack, overload

import torch
from torch._dynamo.eval_frame import _debug_get_cache_entry_list
from torch.compiler import is_dynamo_compiling
from wrapt import ObjectProxy

from backends import named
from frontends.pytorch.dynamo.backend import CAPTURES
from frontends.pytorch.dynamo.direct_calls import MISSED
from frontends.pytorch.dynamo.program import Program
from frontends.pytorch.errors import rejected
from frontends.pytorch.variants.policy import Options, Policy, Setting, check_settings

if TYPE_CHECKING:
    # `__getattr__` finds them
    from frontends.pytorch.dynamo.program import Program as Attributes
    from shapes.reports.report import Report
else:
    Attributes = ObjectProxy

OWN: Final = "_program"
GIVES_ITSELF: Final = frozenset((
    "apply", "bfloat16", "cpu", "cuda", "double", "eval", "float", "half", "requires_grad_", "share_memory", "to",
    "to_empty", "train", "type", "compile", "xpu", "ipu", "mtia",
))  # fmt: skip
"""Methods of modules that return the module; `model = compile(net).to(device)` must stay compiled."""
PUBLIC: Final = frozenset((
    *("fn", "options", "backend", "dynamic", "fullgraph", "policy", "relations", "graphs", "breaks"),
    *("variants", "fallbacks", "times", "explain", "report", "timed", "coverage"),
))  # fmt: skip
"""Attributes of the program that are visible if the original has no such name."""


class Compiled(Attributes):
    """A compiled function or module: see the module's documentation."""

    __slots__ = (OWN,)

    def __init__(self, fn: Callable[..., object], **options: Unpack[Options]) -> None:
        """The function `fn` compiled; `options` are those of `compile`."""
        super().__init__(fn)
        self._program: Program = Program(fn, **options)
        self._program.front = Compiled

    def __call__(self, /, *args: object, **kwargs: object) -> object:
        program = self._program
        if is_dynamo_compiling():
            # inside of another compiled function, this one is part of its graph
            return program.fn(*args, **kwargs)
        result = program.enter(args, kwargs)
        return program.missed(args, kwargs) if result is MISSED else result

    def __getattr__(self, name: str) -> object:
        if name == OWN:
            # nothing is compiled yet, while an object is being constructed
            raise AttributeError(name)
        program = self._program
        fn = program.fn
        try:
            found = getattr(fn, name)
        except Exception:
            # an object with dynamic attributes may raise anything
            if name == "_orig_mod" and isinstance(fn, torch.nn.Module):
                return fn
            if name in PUBLIC:
                return getattr(program, name)
            raise
        if name in GIVES_ITSELF and type(found) is MethodType and found.__self__ is fn:
            return returning(self, found)
        return found

    def __get__(self, instance: object, owner: type | None = None) -> object:
        """A function binds as a method."""
        binds = instance is not None and isinstance(self._program.fn, FunctionType)
        return MethodType(self, instance) if binds else self

    def __dir__(self) -> Sequence[str]:
        return sorted({*dir(self._program.fn), *PUBLIC, OWN, "__wrapped__"})

    def __repr__(self) -> str:
        fn = self._program.fn
        return f"<compiled {fn!r}>" if isinstance(fn, FunctionType) else repr(fn)

    __str__ = __repr__

    def __copy__(self) -> Compiled:
        """The same function, or a shallow copy of the module, with separate variants."""
        fn = self._program.fn
        return Compiled(fn if isinstance(fn, FunctionType) else copy.copy(fn), **self._program.options)

    def __deepcopy__(self, memo: dict[int, object]) -> object:
        """Functions are not copied; a module is, with separate variants."""
        if isinstance(self._program.fn, FunctionType):
            return self
        fn = copy.deepcopy(self._program.fn, memo)
        known = memo.get(id(self))  # the module may reference its own compiled form
        if known is None:
            known = memo[id(self)] = Compiled(fn, **self._program.options)
        return known

    def __reduce_ex__(self, protocol: object) -> str | tuple[object, ...]:
        """A function is pickled by its name, as in Python; a module is compiled again with its parameters.

        Raises:
            PicklingError: no name refers to the function.
        """
        fn = self._program.fn
        made_again = functools.partial(Compiled, **self._program.options), (fn,)
        if not isinstance(fn, FunctionType):
            return made_again
        found: object = sys.modules.get(fn.__module__)
        for name in fn.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is self:
            return fn.__qualname__
        if found is fn:
            return made_again
        raise PicklingError(
            f"cannot pickle the compiled function {fn.__qualname__}: pickle finds functions by module and name, and "
            f"there is none of this name in {fn.__module__}; define it at the top of a module, or pickle what it is "
            "made of and compile it again where that is loaded"
        )


def returning(compiled: Compiled, method: MethodType) -> Callable[..., object]:
    """A method that returns the module, wrapped to return the compiled one."""

    @functools.wraps(method)
    def call(*args: object, **kwargs: object) -> object:
        result = method(*args, **kwargs)
        return compiled if result is compiled._program.fn else result

    return call


@overload
def compile(fn: None = None, /, **options: Unpack[Options]) -> Callable[[Callable[..., object]], Compiled]: ...
@overload
def compile(fn: Callable[..., object], /, **options: Unpack[Options]) -> Compiled: ...
def compile(
    fn: Callable[..., object] | None = None,
    /,
    *,
    dynamic: Setting = None,
    backend: str = "eager",
    fullgraph: bool = False,
    policy: Policy | None = None,
) -> Compiled | Callable[[Callable[..., object]], Compiled]:
    """Compile a function or module just in time.

    `dynamic` is True (every size is a symbol), False (only marked ones), None (automatic: those that differ between
    calls), a function of name, axis and size, or relations by name of the input: `{"x": ("b", "5*b")}`. With
    `fullgraph`, a program that cannot be one graph is an error; otherwise Python runs between its graphs.
    """
    options: Options = {"dynamic": dynamic, "backend": backend, "fullgraph": fullgraph, "policy": policy}
    if fn is None:
        named(backend)
        check_settings(dynamic=dynamic, fullgraph=fullgraph, policy=policy)
        decorator: Callable[..., Any] = compile
        return functools.partial(decorator, **options)
    if isinstance(fn, staticmethod | classmethod):
        # static and class methods stay what they are
        return type(fn)(compile(fn.__func__, **options))
    if isinstance(fn, Compiled):
        fn = fn._program.fn
    return Compiled(fn, **options)


def explain(compiled: Any, *, kernels: bool = False) -> str:
    """Describe what `compile`, or `torch.compile` with the backend `symshape`, has returned: why it was compiled again,
    its variants with guards and their lines, graph breaks, and calls that run eagerly. With `kernels`, its kernels too.

    Raises:
        ShapeError: it is not compiled by this backend.
    """
    return report(compiled).text(kernels=kernels)


def report(compiled: Any) -> Report:
    """The description as data; `.save("report.html")` writes a page.

    Raises:
        ShapeError: it is not compiled by this backend.
    """
    if isinstance(compiled, Compiled):
        return compiled._program.report()
    function = getattr(compiled, "_compiled_call_impl", None) or compiled
    fn = getattr(function, "_orig_mod", None) or getattr(function, "_torchdynamo_orig_callable", None)
    wrapper = CAPTURES.wrapper(getattr(context_of(compiled), "callback", None))
    if wrapper is None:
        rejected(f"explain({compiled!r}): expected a compiled function", 'torch.compile(f, backend="symshape")')
    captured = CAPTURES.captured(wrapper)
    code = getattr(fn, "__code__", None)
    if not captured.graphs and code is not None:
        # torch gives equal settings the graphs that it has
        known = [each.backend for each in _debug_get_cache_entry_list(code) if each.backend == wrapper]
        captured = CAPTURES.captured(known[0]) if known else captured
    module: Any = compiled if function is not compiled and function is not fn else fn
    return captured.report(module)


def context_of(compiled: Any) -> Any:
    """Torch's context in which a function or module is compiled; None for one that `torch.compile` has not given."""
    function = getattr(compiled, "_compiled_call_impl", None) or compiled
    configured = getattr(function, "get_compiler_config", None)
    # a closure over the context
    return getclosurevars(configured).nonlocals.get("self") if isfunction(configured) else None
