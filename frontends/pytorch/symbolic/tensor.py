"""Traced tensors: on their real device, with symbolic sizes, without storage.

Every operator on one is dispatched to the recorder of its trace, whose interface for meta rules and intercepted
functions is `Trace`. Using a `Traced` after its trace is an error.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from frontends.pytorch.errors import EscapedTensor, TraceError, refusal
from frontends.pytorch.source_location import origin
from frontends.pytorch.symbolic.metadata import Kinds, Metadata

if TYPE_CHECKING:
    from frontends.pytorch.symbolic.node import Nodes
    from shapes.env import ShapeEnv
    from shapes.rules.elements import Elements

Function: TypeAlias = Callable[..., Any]
Arguments: TypeAlias = Sequence[Any]
Keywords: TypeAlias = Mapping[str, Any]
"""Torch's functions and what they are called with, its tensors and numbers: torch is Any here."""
DATA: Final = torch.Tensor.data


@dataclass(slots=True, eq=False, repr=False)
class Result:
    """A tensor or number in the graph. `constant` is its value, if it is a constant tensor."""

    index: int
    metadata: Metadata | None
    constant: torch.Tensor | None = None

    def __repr__(self) -> str:
        return f"%{self.index}"


class Traced(torch.Tensor):
    """A tensor of a trace.

    Attributes:
        metadata: sizes, strides, dtype and device.
        result: its value in the graph.
        lifted: the program's own tensor that it represents, if any.
        is_given: True if it represents an argument, whose autograd state is visible to the caller.
    """

    metadata: Metadata
    result: Result
    lifted: torch.Tensor | None = None
    is_given: bool = False

    @classmethod
    def __torch_dispatch__(cls, func: object, types: object, args: object = (), kwargs: object = None) -> NoReturn:
        what = (
            f"{func}: this tensor belongs to a trace that has ended, as it was kept in a global, an attribute or a"
            " container of the traced program, or the trace does not see the call, as that of `as_subclass`, or one in"
            " another thread"
        )
        raise EscapedTensor(refusal(what, "do it outside of the function", origin()))

    __torch_function__ = torch._C._disabled_torch_function_impl

    def storage_offset(self) -> int:
        """The storage offset; reading it makes it a precondition."""
        self.metadata.offset_read = True
        return super().storage_offset()

    def tolist(self) -> object:
        """Unbacked numbers in nested lists; the lengths are specialized."""
        return self.item() if self.dim() == 0 else [row.tolist() for row in self.unbind()]

    def __repr__(self, *, tensor_contents: object = None) -> str:
        return f"Traced({self.metadata})"


Traced.__name__ = torch.Tensor.__name__
# Python's errors name the class of an argument; the program must see the message of eager torch


class Trace(TorchDispatchMode, ABC):
    """The interface of the running trace (a `Recorder`) for code below it.

    Attributes:
        env: the facts about sizes.
        nodes: the symbolic numbers of the trace.
        kinds: the interned metadata of its tensors.
        gradients: True if the frontend will differentiate the outputs.
        backward: True if the frontend differentiates the outputs, after the function has returned.
        marks_asked: True if it has read a tensor's conjugate or negative bit.
    """

    def __init__(self, env: ShapeEnv, nodes: Nodes, kinds: Kinds | None = None) -> None:
        super().__init__()
        self.env: Final = env
        self.nodes: Final = nodes
        self.kinds: Final = Kinds(nodes) if kinds is None else kinds
        self.gradients = False
        self.backward = False
        self.marks_asked = False

    @abstractmethod
    def operator(self, func: torch._ops.OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Record an operator, and return tensors with the predicted metadata."""

    @abstractmethod
    def number(self, func: torch._ops.OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any], value: Any) -> Any:
        """Record an operator whose result is an unbacked number, and return that."""

    @abstractmethod
    def lift(self, tensor: torch.Tensor) -> Traced:
        """Lift a tensor of the program (a parameter, a buffer, a constant) into the graph."""

    @abstractmethod
    def elements(self, tensor: torch.Tensor) -> Elements | None:
        """The facts about a tensor's elements as they are now."""

    @abstractmethod
    def learn(self, tensor: torch.Tensor, elements: Elements) -> None:
        """Add facts about a tensor's elements as they are now."""


def current_trace() -> Trace:
    """The running trace.

    Raises:
        TraceError: none is.
    """
    found = running_trace()
    if found is None:
        raise TraceError("no trace is running")
    return found


def running_trace() -> Trace | None:
    """The running trace, or None."""
    for mode in reversed(_get_current_dispatch_mode_stack()):
        if isinstance(mode, Trace):
            return mode
    return None


def tensor_of(metadata: Metadata, result: Result) -> Traced:
    """A traced tensor for a value in the graph."""
    exemplar = metadata.exemplar
    if exemplar is None:
        exemplar = metadata.exemplar = first_of(metadata)
    made = torch.Tensor._make_subclass(Traced, exemplar)
    made.metadata = metadata
    made.result = result
    return made


def argument_of(metadata: Metadata, result: Result) -> Traced:
    """The same for an argument, whose version counter is visible to the caller: shallow copies share one."""
    shared = tensor_of(metadata, result)
    with torch._C._DisableTorchDispatch():
        made = torch.Tensor._make_subclass(Traced, DATA.__get__(shared))
    made.metadata, made.result, made.is_given = metadata, result, True
    return made


def first_of(metadata: Metadata) -> torch.Tensor:
    """The first tensor with some metadata, of which others are shallow copies.

    Construction queries layout and emptiness from C++; those queries add no guard.
    """
    numbers = (*metadata.sizes, *metadata.strides, metadata.offset)
    nodes = next((number.node.nodes for number in numbers if type(number) is not int), None)
    # copies of an inference tensor are inference tensors
    with nullcontext() if nodes is None else nodes.lays_out(), torch._C._InferenceMode(False):
        first = torch.Tensor._make_wrapper_subclass(
            Traced,
            metadata.sizes,
            strides=metadata.strides,
            storage_offset=metadata.offset,
            dtype=metadata.dtype,
            device=metadata.device,
        )
        with torch._C._DisableTorchDispatch():
            # on the base class, a copy needs no dispatch
            return DATA.__get__(first)


def become(tensor: Traced, metadata: Metadata, result: Result) -> None:
    """Change a tensor's metadata in place, as `t_` and `squeeze_` do."""
    with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction():
        DATA.__set__(tensor, tensor_of(metadata, result))
    tensor.metadata = metadata
    tensor.result = result
