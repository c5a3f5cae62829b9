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

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import torch

from frontends.pytorch.errors import eager_only
from frontends.pytorch.recording.operations import flat
from frontends.pytorch.symbolic.function_mode import Arguments, Function, Keywords, TorchFunctions, handles
from frontends.pytorch.symbolic.tensor import Traced

Tensor: TypeAlias = torch.Tensor
OUTSIDE: Final = "do it outside of the function"
CLASSES: Final = (Tensor, torch.nn.Parameter, torch.nn.Buffer)
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
        def handler(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
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
def gradient(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
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


@handles(Tensor.backward, torch.autograd.backward)
def backward(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """A backward that accumulates gradients."""
    if not mode.trace.backward:
        inputs = kwargs.get("inputs")
        wanted = () if inputs is None else inputs if isinstance(inputs, Sequence) else (inputs,)
        check_backward(flat(args[:1]), wanted, accumulates=True)
    return NotImplemented


@handles(torch.autograd.grad)
def gradients(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """A backward that returns gradients."""
    if not mode.trace.backward:
        outputs, inputs = [*args, *[kwargs[name] for name in ("outputs", "inputs")[len(args) :]]][:2]
        check_backward(flat(outputs), flat(inputs), accumulates=False)
    return NotImplemented


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
def of_run(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """State that may differ in another call."""
    eager_only("the version of a tensor, or whether it was made in inference mode, is read", OUTSIDE)


