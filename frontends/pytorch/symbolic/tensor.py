"""The tensors of a trace: on their real device, with symbolic sizes, without elements.

Every operator on one goes to the recorder of its trace. A `Traced` outside of a trace, kept by the program for
later, is of no use, and says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from frontends.pytorch.errors import EscapedTensor
from frontends.pytorch.symbolic.metadata import Metadata

if TYPE_CHECKING:
    from frontends.pytorch.recording.recorder import Result

_without_dispatch: Final = torch._C._DisableTorchDispatch
_data: Final = torch.Tensor.data


class Traced(torch.Tensor):
    """A tensor of a trace.

    Attributes:
        metadata: its kind.
        result: the value in the graph that it stands for.
        lifted: the program's own tensor, where it stands for one.
    """

    metadata: Metadata
    result: Result
    lifted: torch.Tensor | None = None

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise EscapedTensor(
            f"{func}: this tensor belongs to a trace that has ended; it was kept in a global, an attribute or a"
            " container of the traced program"
        )

    __torch_function__ = torch._C._disabled_torch_function_impl

    def storage_offset(self) -> int:
        """Where it begins; a program that asks relies on it."""
        self.metadata.offset_read = True
        return super().storage_offset()

    @property
    def data(self) -> torch.Tensor:
        """The same elements, apart from gradients."""
        return _data.__get__(self)

    @data.setter
    def data(self, other: torch.Tensor) -> None:
        if not isinstance(other, Traced):
            from frontends.pytorch.recording.recorder import current_recorder

            other = current_recorder().lift(other)
        become(self, other.metadata, other.result)

    def tolist(self) -> object:
        """Numbers that only the run knows, in lists as long as the axes are this time."""
        return self.item() if self.dim() == 0 else [row.tolist() for row in self.unbind()]

    def __repr__(self, *, tensor_contents: object = None) -> str:
        return f"Traced({self.metadata})"


def tensor_of(metadata: Metadata, result: Result) -> Traced:
    """A tensor of this kind that stands for a value in the graph."""
    exemplar = metadata.exemplar
    if exemplar is None:
        exemplar = metadata.exemplar = exemplar_of(metadata)
    with _without_dispatch():
        made = torch.Tensor._make_subclass(Traced, exemplar)
    made.metadata = metadata
    made.result = result
    return made


def exemplar_of(metadata: Metadata) -> torch.Tensor:
    """The first tensor of a kind. C++ asks how it lies, and whether it has elements: no answer is a guard."""
    numbers = (*metadata.sizes, *metadata.strides, metadata.offset)
    nodes = next((number.node.nodes for number in numbers if type(number) is not int), None)
    before = nodes is not None and nodes.laying_out
    if nodes is not None:
        nodes.laying_out = True
    try:
        return torch.Tensor._make_wrapper_subclass(
            Traced,
            metadata.sizes,
            strides=metadata.strides,
            storage_offset=metadata.offset,
            dtype=metadata.dtype,
            device=metadata.device,
        )
    finally:
        if nodes is not None:
            nodes.laying_out = before


def become(tensor: Traced, metadata: Metadata, result: Result) -> None:
    """Give a tensor another kind in place, as `t_` and `squeeze_` do."""
    other = tensor_of(metadata, result)
    with _without_dispatch():
        _data.__set__(tensor, other)
    tensor.metadata = metadata
    tensor.result = result
