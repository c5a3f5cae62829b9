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
from typing import Any, Final

import torch

from frontends.pytorch.errors import eager_only
from frontends.pytorch.python.active_trace import tracing
from frontends.pytorch.python.ran import ENGINE, PRINTED
from frontends.pytorch.python.torch_calls import HANDLERS
from frontends.pytorch.source_location import FRAMEWORKS, OURS
from frontends.pytorch.symbolic.tensor import TEXT, current_trace

READ: Final = "read them outside of the compiled function, or by torch's operators; fullgraph=False reads them then"
NAMES: Final = ("tolist", "numpy", "__array__", "data_ptr", "__repr__", "__format__")
PLAIN: Final = {name: getattr(torch.Tensor, name) for name in NAMES}
"""Torch's original methods."""
PLAIN["Parameter.__repr__"] = torch.nn.Parameter.__repr__
WRITTEN: Final = ("__repr__", "__format__", "Parameter.__repr__")


def _reading(name: str) -> Callable[..., object]:
    """The replacement of a method that reads elements."""
    plain = PLAIN[name]

    def function(self: Any, *args: object, **kwargs: object) -> object:
        active, file = tracing(), sys._getframe(1).f_code.co_filename
        # what torch itself reads for a message is no text of the program's
        others = (OURS, *ENGINE, *PRINTED, *(FRAMEWORKS if name in WRITTEN else ()))
        is_plain = type(self) in (torch.Tensor, torch.nn.Parameter) and not self.is_meta
        if active is None or not is_plain or file.startswith(others):
            return plain(self, *args, **kwargs)
        if active.is_of_graph and name in WRITTEN:
            eager_only("a tensor is written as text, for which its elements are needed", TEXT)
        if active.is_of_graph and name == "tolist":
            return current_trace().lift(self).tolist()
        active.refuse(f"{name}(): the elements of a tensor that the function is not given may be others later", READ)
        # in a program with graph breaks, inner calls are not deferred like the program's operators
        with torch._C._DisableTorchDispatch():
            return plain(self, *args, **kwargs)

    function.__name__ = name
    return function


def stand_ins() -> Iterator[tuple[type, str, object]]:
    """The replacements of these methods while a trace runs."""
    for name in NAMES:
        function = _reading(name)
        if PLAIN[name] in HANDLERS:
            # for a traced tensor, modes receive the attribute found by name
            HANDLERS[function] = HANDLERS[PLAIN[name]]
        yield torch.Tensor, name, function
    yield torch.nn.Parameter, "__repr__", _reading("Parameter.__repr__")
