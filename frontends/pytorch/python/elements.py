"""Reads of elements that bypass torch's dispatcher: `tolist()`, `numpy()`, `repr`, an address.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> factors = torch.tensor([2.0, 3.0])
    >>> f = compile(lambda x: x * factors.tolist()[0])
    >>> f(torch.ones(1)), factors.fill_(5.0), f(torch.ones(1))
    (tensor([2.]), tensor([5., 5.]), tensor([5.]))

A traced tensor has no elements. Those of a captured tensor would become constants of the graph, so here it is treated
like a traced one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

import torch

from frontends.pytorch.errors import eager_only
from frontends.pytorch.python.ran import ENGINE, PRINTED
from frontends.pytorch.python.torch_calls import HANDLERS
from frontends.pytorch.source_location import FRAMEWORKS, OURS
from frontends.pytorch.symbolic.tensor import TEXT, current_trace

READ: Final = "read them outside of the compiled function, or by torch's operators; fullgraph=False reads them then"


class Active(Protocol):
    """The interface of a trace that may become a graph."""

    @property
    def is_of_graph(self) -> bool: ...

    def refuse(self, what: str, fix: str) -> None: ...


def stand_ins(tracing: Callable[[], Active | None]) -> Iterator[tuple[type, str, object]]:
    """The replacements of these methods while a trace runs."""

    def active_for(tensor: torch.Tensor) -> Active | None:
        """The trace or session whose program reads elements of a plain tensor."""
        active = tracing()
        if active is None or type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.is_meta:
            return None
        return None if sys._getframe(2).f_code.co_filename.startswith((OURS, *ENGINE, *PRINTED)) else active

    def read(active: Active, name: str, tensor: torch.Tensor, *args: object, **kwargs: object) -> object:
        """The result of a method in a program with graph breaks, after flushing pending operators."""
        active.refuse(f"{name}(): the elements of a tensor that the function is not given may be others later", READ)
        # its inner calls are not deferred like the program's operators
        with torch._C._DisableTorchDispatch():
            return PLAIN[name](tensor, *args, **kwargs)

    def listed(self: Any) -> object:
        active = active_for(self)
        if active is None:
            return PLAIN["tolist"](self)
        return current_trace().lift(self).tolist() if active.is_of_graph else read(active, "tolist", self)

    def refusing(name: str) -> Callable[..., object]:
        def function(self: Any, *args: object, **kwargs: object) -> object:
            active = active_for(self)
            return PLAIN[name](self, *args, **kwargs) if active is None else read(active, name, self, *args, **kwargs)

        function.__name__ = name
        return function

    def written(name: str) -> Callable[..., object]:
        def function(self: Any, *args: object, **kwargs: object) -> object:
            active = active_for(self)
            if active is None or is_torchs(sys._getframe(1).f_code.co_filename):
                return PLAIN[name](self, *args, **kwargs)
            if active.is_of_graph:
                eager_only("a tensor is written as text, for which its elements are needed", TEXT)
            return read(active, name, self, *args, **kwargs)

        function.__name__ = name
        return function

    yield torch.Tensor, "tolist", listed
    for name in ("numpy", "__array__", "data_ptr"):
        function = refusing(name)
        # for a traced tensor, modes receive the attribute found by name
        HANDLERS[function] = HANDLERS[PLAIN[name]]
        yield torch.Tensor, name, function
    for name in ("__repr__", "__format__"):
        yield torch.Tensor, name, written(name)
    yield torch.nn.Parameter, "__repr__", written("Parameter.__repr__")


def is_torchs(file: str) -> bool:
    """Whether torch itself reads, for a message."""
    return file.startswith(FRAMEWORKS)


PLAIN: Final = {
    name: getattr(torch.Tensor, name) for name in ("tolist", "numpy", "__array__", "data_ptr", "__repr__", "__format__")
}
"""Torch's original methods."""
PLAIN["Parameter.__repr__"] = torch.nn.Parameter.__repr__
