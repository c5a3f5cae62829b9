"""Autograd's API in traced programs: supported for tensors that the call creates.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def slope(x):
    ...     y = x.detach().clone().requires_grad_()
    ...     (y**3).sum().backward()
    ...     return y.grad
    >>> variant = trace(slope, (torch.ones(2),))
    >>> variant.graph(torch.tensor([1.0, 2.0]))[0]
    tensor([ 3., 12.])
    >>> def asks(x):
    ...     x.requires_grad_()
    >>> trace(asks, (torch.ones(2),))
    Traceback (most recent call last):
    frontends.pytorch.errors.EagerOnly: requires_grad of a tensor that the caller has is changed
      at:     `x.requires_grad_()` ...

The autograd state of an argument or parameter (gradient, `requires_grad`, hooks, position in the graph) belongs to the
caller, who sees it after the call, and may change it before the next one. A call that reads or changes it falls back to
eager.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import torch
from torch.autograd.function import FunctionCtx
from torch.autograd.grad_mode import inference_mode
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import CheckpointFunction

from frontends.pytorch.errors import eager_only
from frontends.pytorch.python.effects import is_programs
from frontends.pytorch.python.torch_calls import Arguments, Function, Keywords, TorchCalls, handles
from frontends.pytorch.source_location import origin
from frontends.pytorch.symbolic.tensor import Traced
from shapes.origin import Origin

Tensor: TypeAlias = torch.Tensor
OUTSIDE: Final = "do it outside of the function"
CLASSES: Final = (Tensor, torch.nn.Parameter, torch.nn.Buffer)
CHECKPOINT: Final = "torch.utils.checkpoint"
"""The module whose hooks recompute what the trace records."""
ACCUMULATES: Final = "torch::autograd::AccumulateGrad"


def is_callers(value: object) -> bool:
    """Whether a tensor exists before and after the call. Those of function transforms and of the program's subclasses
    are wrappers."""
    if isinstance(value, Traced):
        return value.is_given
    return type(value) in CLASSES and not torch._C._functorch.is_functorch_wrapped_tensor(value)


def is_view_of_callers(value: Tensor) -> bool:
    """Whether a tensor or its base exists before and after the call."""
    return is_callers(value) or is_callers(value._base)


# ---------------------------------------------------------------------- requires_grad


def refuses(what: str, fix: str, *functions: object) -> Callable[[Callable[..., bool]], Callable[..., bool]]:
    """Fall back to eager for calls of these functions with arguments that the decorated function is true for."""

    def register(is_refused: Callable[..., bool]) -> Callable[..., bool]:
        @handles(*functions)
        def handler(mode: TorchCalls, func: Function, args: Arguments, kwargs: Keywords) -> object:
            if is_refused(*args, **kwargs):
                eager_only(what, fix)
            return NotImplemented

        return is_refused

    return register


CHANGED: Final = "requires_grad of a tensor that the caller has is changed"


@refuses(CHANGED, OUTSIDE, Tensor.requires_grad_, Tensor.requires_grad.__set__)
def requires_grad(tensor: Tensor, requires_grad: object = True) -> bool:
    return is_callers(tensor) and tensor.requires_grad is not bool(requires_grad)


@refuses("detach_() of a tensor that the caller has", "use detach()", Tensor.detach_)
@refuses("retain_grad() of a tensor that the caller has", OUTSIDE, Tensor.retain_grad)
def is_learned(tensor: Tensor) -> bool:
    return is_callers(tensor) and tensor.requires_grad


@refuses("`.data` of a tensor that the function was not given is set", OUTSIDE, Tensor.data.__set__)
def data_set(tensor: Tensor, value: object) -> bool:
    return not isinstance(tensor, Traced)


# ---------------------------------------------------------------------- gradients of the caller


@handles(Tensor.grad.__get__)
def gradient(mode: TorchCalls, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """`weight.grad`, a different tensor on each call."""
    (tensor,) = args
    if is_callers(tensor):
        # an optimizer reads it and keeps state derived from it: partial graphs would see neither
        whose = "an argument" if isinstance(tensor, Traced) else "a parameter"
        eager_only(f"the gradient of {whose} is read, which is another tensor on each call", OUTSIDE)
    return NotImplemented


GRADIENT: Final = "the gradient of a tensor that the caller has is set"


@refuses(GRADIENT, OUTSIDE, Tensor.grad.__set__, Tensor.grad.__delete__)
def gradient_set(tensor: Tensor, *value: object) -> bool:
    return is_callers(tensor) and not (value == (None,) and not isinstance(tensor, Traced) and tensor.grad is None)


def check_backward(roots: Iterable[object], inputs: Iterable[object], *, accumulates: bool) -> None:
    """Refuse a backward that writes gradients to the caller's tensors, or continues through an argument to its history.

    Raises:
        EagerOnly: it would.
    """
    wanted = [each for each in inputs if isinstance(each, torch.Tensor)]
    if accumulates and any(map(is_callers, wanted)):
        eager_only("backward() gives a gradient to a tensor that the caller has", INSTEAD)
    known = {id(each) for each in wanted}
    for leaf in leaves_behind(roots):
        if id(leaf) in known or not is_callers(leaf):
            continue
        if accumulates and not wanted:
            eager_only("backward() gives a gradient to a tensor that the caller has", INSTEAD)
        if isinstance(leaf, Traced):
            eager_only("autograd.grad() goes by an argument, which the caller may have made of something", INSTEAD)


INSTEAD: Final = "use torch.autograd.grad(..., inputs), and give the gradients back"


def leaves_behind(roots: Iterable[object]) -> Iterator[Tensor]:
    """The leaves of autograd's graph."""
    waiting: list[Any] = []  # torch's nodes
    for root in roots:
        if isinstance(root, torch.Tensor):
            if root.grad_fn is None:
                yield root
            waiting.append(root.grad_fn)
    seen: set[object] = {None}
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.name() == ACCUMULATES:
            yield node.variable
        waiting += [following for following, _ in node.next_functions]


# ---------------------------------------------------------------------- hooks


HOOK: Final = "a hook is registered for a tensor that the caller has"


@refuses(HOOK, OUTSIDE, Tensor.register_hook, Tensor.register_post_accumulate_grad_hook)
def hook(tensor: Tensor, *args: object, **kwargs: object) -> bool:
    return is_callers(tensor)


# ---------------------------------------------------------------------- autograd state of a tensor


def _reading(name: str) -> object:
    """The function that a function mode sees for an attribute read or a method call."""
    found = getattr(Tensor, name)
    return found if callable(found) else found.__get__


NODES: Final = [_reading(name) for name in ("is_leaf", "grad_fn", "retains_grad", "output_nr", "_backward_hooks")]
VIEWS: Final = [_reading(name) for name in ("_is_view", "_base")]


@refuses("an argument's place in autograd's graph is read", "do not go by `is_leaf`, `grad_fn` and the like", *NODES)
def of_graph(tensor: Tensor) -> bool:
    """Whether it is an argument with a position in the caller's autograd graph: there is none without gradient."""
    return isinstance(tensor, Traced) and tensor.is_given and tensor.requires_grad


@refuses("what an argument is a view of is read", "do not go by `_base`", *VIEWS)
def of_views(tensor: Tensor) -> bool:
    return isinstance(tensor, Traced) and is_view_of_callers(tensor)


@handles(Tensor._version.__get__, Tensor.is_inference, torch.is_inference)
def of_run(mode: TorchCalls, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """State that may differ in another call."""
    eager_only("the version of a tensor, or whether it was made in inference mode, is read", OUTSIDE)


# ---------------------------------------------------------------------- replaced parts of autograd

_push: Final = torch._C._autograd._push_saved_tensors_default_hooks
_pop: Final = torch._C._autograd._pop_saved_tensors_default_hooks
_top: Final = torch._C._autograd._top_saved_tensors_default_hooks


@contextmanager
def saving_plainly() -> Iterator[None]:
    """Without the caller's saved-tensor hooks: they apply to the run."""
    above: list[tuple[object, object]] = []
    while (hooks := _top(True)) is not None:
        above.append(hooks)
        _pop()
    try:
        yield
    finally:
        for hooks in reversed(above):
            _push(*hooks)


class _Watch:
    """Observes one trace's use of autograd.

    Attributes:
        is_ours: whether the frontend is the caller, not the program.
        partial: contexts whose backward may receive undefined gradients, with the line that allows it.
    """

    def __init__(self, is_ours: Callable[[], bool]) -> None:
        self.is_ours: Final = is_ours
        self.partial: Final[list[tuple[FunctionCtx, Origin | None]]] = []


_watches: Final = threading.local()
_lock: Final = threading.RLock()
_traces = 0
_run_backward: Final = torch.autograd._engine_run_backward
_enter_inference: Final = inference_mode.__enter__
_enter_hooks: Final = saved_tensors_hooks.__enter__
_materialize: Final = FunctionCtx.set_materialize_grads
_reentrant: Final = CheckpointFunction.forward


def _watching() -> _Watch | None:
    """The innermost trace of this thread."""
    stack = getattr(_watches, "stack", None)
    return stack[-1] if stack else None


def _checked_backward(roots: Arguments, *args: Any, **kwargs: Any) -> object:  # as torch calls it
    watch = _watching()
    if watch is not None and not watch.is_ours():
        check_backward(roots, args[3] if len(args) > 3 else (), accumulates=kwargs.get("accumulate_grad", False))
    return _run_backward(roots, *args, **kwargs)


def _checked_inference(self: inference_mode) -> None:
    if _watching() is not None and self.mode is not torch.is_inference_mode_enabled():
        eager_only("inference mode is entered or left", "torch.no_grad(), or enter it around the call")
    _enter_inference(self)


def _checked_hooks(self: saved_tensors_hooks) -> None:
    # hooks of the program would receive traced tensors
    if _watching() is not None and type(self).__module__ != CHECKPOINT:
        eager_only("hooks for saved tensors are set", OUTSIDE)
    _enter_hooks(self)


def _checked_materialize(self: FunctionCtx, value: bool) -> None:
    _materialize(self, value)
    watch = _watching()
    if watch is not None and not value:
        watch.partial.append((self, origin()))


def _checked_reentrant(ctx: FunctionCtx, *args: object) -> object:
    if _watching() is not None and any(ctx.needs_input_grad):
        what = "a checkpoint with use_reentrant=True is differentiated, which runs autograd inside of a gradient"
        eager_only(what, "use_reentrant=False")
    return _reentrant(ctx, *args)


def _install(*, checked: bool) -> None:
    torch.autograd._engine_run_backward = _checked_backward if checked else _run_backward
    inference_mode.__enter__ = _checked_inference if checked else _enter_inference
    saved_tensors_hooks.__enter__ = _checked_hooks if checked else _enter_hooks
    FunctionCtx.set_materialize_grads = _checked_materialize if checked else _materialize
    CheckpointFunction.forward = staticmethod(_checked_reentrant if checked else _reentrant)


@contextmanager
def autograd_watched(is_ours: Callable[[], bool]) -> Iterator[None]:
    """Observe autograd calls of the program that involve no operator, for the duration of the block; `is_ours` tells
    the frontend's own calls. Other threads are ignored."""
    global _traces
    watch = _Watch(is_ours)
    stack = _watches.__dict__.setdefault("stack", [])
    stack.append(watch)
    with _lock:
        _traces += 1
        _install(checked=True)
    try:
        yield
    finally:
        stack.pop()
        with _lock:
            _traces -= 1
            if not _traces:
                _install(checked=False)
    for node, place in watch.partial:
        if len(node._input_metadata) > 1 and is_programs(sys.modules.get(type(node)._forward_cls.__module__)):
            what = "a function's backward may be given some of its gradients and not others (set_materialize_grads)"
            eager_only(what, "let it have zeros", place)
