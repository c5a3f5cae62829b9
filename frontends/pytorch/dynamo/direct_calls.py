"""Direct calls of what Dynamo has compiled: its guards are checked, and its transformed code is called.

    >>> import torch
    >>> from frontends.pytorch.dynamo.direct_calls import MISSED, direct_calls
    >>> def f(x, y=2):
    ...     return x * y
    >>> compiled = torch.compile(f, backend="eager", isolate_recompiles=True)
    >>> calls = direct_calls(f)
    >>> calls.call((torch.ones(3),), {}) is MISSED
    True
    >>> out = compiled(torch.ones(3))
    >>> calls.refresh(compiled._isolate_recompiles_id)
    >>> calls.call((torch.ones(3),), {}), calls.call((torch.ones(4),), {}) is MISSED
    (tensor([2., 2., 2.]), True)

The wrapper of `torch.compile` costs about 10 us a call: it saves and restores the state of Dynamo's frame evaluation,
which direct calls do not touch. Guards and code are those of Dynamo's cache entries. A direct call is valid while the
entry is in Dynamo's cache, the function has the code for which it was compiled, and no stance is set.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any, Final

import torch
from torch._C import _get_torch_function_state, _set_torch_function_state  # type: ignore[attr-defined]
from torch._C import _is_torch_function_enabled as is_enabled
from torch._dynamo import eval_frame, trace_rules
from torch._dynamo.variables import UserFunctionVariable
from torch.nn.modules import module as modules

from frontends.pytorch.shape_env.translation import shown
from frontends.pytorch.source_location import name_of

MISSED: Final = object()
"""The result if no entry accepts the call."""
HOOKS: Final = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
GLOBAL_HOOKS: Final = tuple([getattr(modules, f"_global{name}") for name in HOOKS])
NUMBER: Final = re.compile(r"(?<![\w.])\d+(\.\d+)?")
SIZE: Final = re.compile(
    r"tensor '(?P<name>.+?)' size mismatch at index (?P<axis>\d+). expected (?P<was>\d+), actual (?P<size>\d+)"
)
Bind = Callable[..., dict[str, object]]
PASSED: Final = {
    inspect.Parameter.POSITIONAL_ONLY: "{0}",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "{0}",
    inspect.Parameter.VAR_POSITIONAL: "*{0}",
    inspect.Parameter.VAR_KEYWORD: "**{0}",
    inspect.Parameter.KEYWORD_ONLY: "{0}={0}",
}
"""An argument, by the kind of its parameter."""
ENABLED: Final = torch._C._TorchFunctionState.ENABLED
"""The state of torch functions, usually."""
GRAPH: Final = "__compiled_fn_"
"""The prefix of the globals by which Dynamo's code calls graphs."""
RESUMED: Final = "__resume_at_"
"""The prefix of those by which it calls the rest of a function after a graph break."""
DIRECT: Final = "_direct"
Direct = Callable[[str, object], "Callable[..., object] | None"]
"""The direct callable for such a global, from its name and value; None if there is none."""


@dataclass(frozen=True, slots=True)
class FailedGuard:
    """The guard that a call fails.

    Attributes:
        key: equal for other values of the same source.
        text: the description.
        code: the transformed code of the entry.
        is_size: True if it is that of a static size, which becomes a symbol once it differs.
    """

    key: str
    text: str
    code: CodeType
    is_size: bool = False


class DirectCalls:
    """The entries of one function.

    Attributes:
        call: takes the arguments, and returns the result or MISSED.
        compiles: the callable that Dynamo compiles: of a method, its function with the object.
        first: the arguments before those of a call: the object of a method.
        entries: Dynamo's guards and its transformed code, by entry.
        has_raised: True if a guard of the last call has raised an error.
        around: takes the arguments in the stead of an entry's code, where that calls functions with compiled frames.
    """

    def __init__(
        self, function: FunctionType, compiles: Any = None, first: tuple[object, ...] = (), module: Any = None
    ) -> None:
        self.function = function
        self.compiles = compiles
        self.first = first
        self.has_raised = False
        self.around: Callable[..., object] | None = None
        self._module = module
        self._region = -1
        self.entries: tuple[tuple[Any, FunctionType], ...] = ()
        self._renew()
        self.call = self._of_function if not first and module is None else self._of_method

    def _renew(self) -> None:
        """Bind arguments as the function does now: its code and defaults may be replaced."""
        function = self.function
        self._code, self._defaults, self._named = function.__code__, function.__defaults__, function.__kwdefaults__
        self._binding = binding(function)
        self._bind = self._binding(*(function.__closure__ or ()))

    def over(self, closure: tuple[CellType, ...]) -> DirectCalls:
        """The same entries for the function of the same code over other cells."""
        calls = copy.copy(self)
        calls.function = over(self.function, closure)
        calls._bind = self._binding(*closure)
        calls.entries = tuple([(guards, over(call, closure)) for guards, call in self.entries])
        calls.call = calls._of_function
        return calls

    @property
    def is_current(self) -> bool:
        """True if all entries of Dynamo are known."""
        return len(eval_frame._get_cache_entries_for_region(self.function.__code__, self._region)) == len(self.entries)

    def refresh(self, region: int, direct: Direct | None = None) -> None:
        """Read the entries of a region from Dynamo's cache; their code calls graphs and rests as `direct` has it."""
        self._region = region
        self._renew()
        function = self.function
        entries = []
        for entry in eval_frame._get_cache_entries_for_region(self._code, region):
            if entry.code is None:
                # Dynamo has dropped it
                continue
            code = entry.code if direct is None else called_directly(entry.code, function.__globals__, direct)
            entries.append((entry.guard_manager, over(function, function.__closure__, code)))
        self.entries = tuple(entries)

    def _of_function(self, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        entries = self.entries
        function = self.function
        if (
            not entries
            or function.__code__ is not self._code
            or function.__defaults__ is not self._defaults
            or function.__kwdefaults__ is not self._named
            or eval_frame._stance.stance != "default"
        ):
            return MISSED
        try:
            given = self._bind(*args, **kwargs)
        except (TypeError, ValueError):
            # Python raises the error, or a cell is empty
            return MISSED
        # asked for the state itself, torch makes an object: 0.14 us
        state = ENABLED if is_enabled() else _get_torch_function_state()
        for guards, call in entries:
            try:
                fits = guards.cache_entry is not None and guards.check(given)
            except RuntimeError:
                # one reads the strides of a tensor that has none; torch leaves its functions disabled
                _set_torch_function_state(state)
                self.has_raised = True
                return MISSED
            if fits:
                around = self.around
                return call(*args, **kwargs) if around is None else around(*args[len(self.first) :], **kwargs)
        return MISSED

    def _of_method(self, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        if self._module is not None and has_hooks(self._module):
            return MISSED
        return self._of_function((*self.first, *args), kwargs)

    def locals_of(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object] | None:
        """The arguments of a call by name; None if the function does not take them."""
        try:
            return self._bind(*self.first, *args, **kwargs)
        except (TypeError, ValueError):
            return None

    @property
    def guards(self) -> list[tuple[Any, CodeType]]:
        """The guards of each entry, and its code."""
        return [(guards, call.__code__) for guards, call in self.entries]


def closest(entries: Sequence[tuple[Any, CodeType]], given: Mapping[str, object]) -> FailedGuard | None:
    """The failed guard of the closest entry, the one that passed most guards.

    None if there is no entry, or one accepts the call.
    """
    failed = []
    for guards, code in entries:
        found = guards.check_verbose(given)
        if found.result:
            return None
        failed.append((found, code))
    if not failed:
        return None
    found, code = max(failed, key=lambda each: each[0].num_guards_executed)
    text = "; ".join([str(part).partition("  # ")[0].strip() for part in found.verbose_code_parts])
    size = SIZE.search(text)
    if size is None:
        return FailedGuard(NUMBER.sub("#", text), f"{text} fails", code)
    name = f"{shown(size['name'])}.shape[{size['axis']}]"
    return FailedGuard(name, f"{name} is {size['size']}, was {size['was']}", code, True)


def direct_calls(fn: Any) -> DirectCalls:
    """The direct calls of a function, a method, a module, or another callable."""
    match fn:
        case FunctionType() if begins_in(fn):
            return DirectCalls(fn, fn)
        case MethodType(__func__=FunctionType() as function) if begins_in(function):
            return DirectCalls(function, fn, (fn.__self__,))
        case torch.nn.Module() if type(fn).__call__ is torch.nn.Module.__call__:
            forward = getattr(type(fn), "forward", None)
            if isinstance(forward, FunctionType) and begins_in(forward):
                return DirectCalls(forward, fn.__call__, (fn,), fn)
    made = caller(fn)
    return DirectCalls(made, made)


def begins_in(function: FunctionType) -> bool:
    """Return True if Dynamo captures calls of a function from its own code on: not of torch's own functions and
    modules, and not of Python's library."""
    return not trace_rules.check(function) and trace_rules.lookup(function) is UserFunctionVariable


def caller(fn: Any) -> FunctionType:
    """A function that calls another callable. Its parameters have the same names."""
    known = fn
    if isinstance(fn, torch.nn.Module):
        known = fn.forward
    elif not isinstance(fn, FunctionType | MethodType):
        known = fn.__call__
    parameters: list[inspect.Parameter] = []
    if isinstance(known, FunctionType | MethodType):
        parameters = list(inspect.signature(known, follow_wrapped=False).parameters.values())
    if not parameters or any(each.name == "_callee" for each in parameters):
        empty = inspect.Parameter.empty
        kinds = {"args": inspect.Parameter.VAR_POSITIONAL, "kwargs": inspect.Parameter.VAR_KEYWORD}
        parameters = [inspect.Parameter(name, kind, default=empty) for name, kind in kinds.items()]
    signature, scope = printed(parameters)
    passed = ", ".join([PASSED[each.kind].format(each.name) for each in parameters])
    source = f"def of(_callee):\n def call{signature}: return _callee({passed})\n return call"
    exec(compile(source, __file__, "exec"), scope)
    made: FunctionType = scope["of"](fn)
    # torch remembers by the name of a function which sizes have varied
    code = made.__code__.replace(co_name=name_of(fn).rpartition(".")[2])
    return over(made, made.__closure__, code)


def called_directly(code: CodeType, scope: dict[str, Any], direct: Direct) -> CodeType:
    """Transformed code that calls graphs, and the rest of a function after a graph break, by globals of ours beside
    those of Dynamo: these enter and leave Dynamo's evaluation of frames."""
    names = list(code.co_names)
    for place, name in enumerate(names):
        call = direct(name, scope[name]) if name.startswith((GRAPH, RESUMED)) and name in scope else None
        if call is not None:
            names[place] = name + DIRECT
            scope[names[place]] = call
    return code.replace(co_names=tuple(names))


def has_hooks(module: Any) -> bool:
    """Return True if a call of a module runs hooks beside its forward."""
    return bool(
        module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
        or any(GLOBAL_HOOKS)
        or "forward" in module.__dict__
        or module._compiled_call_impl is not None
    )


def over(function: FunctionType, closure: tuple[CellType, ...] | None, code: CodeType | None = None) -> FunctionType:
    """A function over these cells, with other code if given."""
    made = FunctionType(code or function.__code__, function.__globals__, function.__name__, None, closure)
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return made


def binding(function: FunctionType) -> Callable[..., Bind]:
    """A function from the cells of the free variables to a binder of arguments: it binds as `function` does, to the
    locals that Dynamo's guards read (parameters and free variables)."""
    parameters = inspect.signature(function, follow_wrapped=False).parameters
    signature, scope = printed(list(parameters.values()))
    free = function.__code__.co_freevars
    values = [f"{name!r}: {name}" for name in parameters]
    values += [f"{name!r}: _cell_{name}.cell_contents" for name in free]
    cells = ", ".join([f"_cell_{name}" for name in free])
    bind = f"def bind{signature}: return {{{', '.join(values)}}}"
    exec(f"def binding({cells}):\n {bind}\n return bind", scope)
    return scope["binding"]


def printed(parameters: Sequence[inspect.Parameter]) -> tuple[inspect.Signature, dict[str, Any]]:
    """Parameters as code, and the values of the names for their defaults."""
    scope: dict[str, Any] = {}
    plain = []
    for each in parameters:
        default = each.default
        if default is not each.empty:
            default = Named(f"_default_{len(scope)}")
            scope[default] = each.default
        plain.append(each.replace(default=default, annotation=each.empty))
    return inspect.Signature(plain), scope


class Named(str):
    """A default that a signature prints as a name."""

    __repr__ = str.__str__
