"""The eager backend: runs a graph as it is, operator by operator. What every other backend is compared with.

    >>> import torch
    >>> from backends import eager
    >>> graph = torch.fx.symbolic_trace(lambda x, y: [x + y, x * y])
    >>> run = eager.runner(graph)
    >>> run((torch.ones(2), torch.full((2,), 3.0)))
    [tensor([4., 4.]), tensor([3., 3.])]

The graph's own text is compiled once more, with its constants as names of one scope: a module's attributes would be
looked up anew at every use.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from torch.fx import GraphModule

_serial: Final = count()


def runner(graph: GraphModule) -> Callable[[Sequence[object]], Sequence[object]]:
    """A call that takes the inputs of a graph as one sequence and returns its outputs."""
    code = graph.graph.python_code("_constants")
    names = [node.target for node in graph.graph.nodes if node.op == "placeholder"]
    constants = SimpleNamespace(
        **{node.target: _attribute(graph, node.target) for node in graph.graph.nodes if node.op == "get_attr"}
    )
    head, found, body = code.src.partition("\n")
    while found and not head.startswith("def forward("):
        head, found, body = body.partition("\n")
    unpacking = f"    {', '.join(names)}, = _inputs\n" if names else ""
    text = f"def run(_inputs):\n{unpacking}{body}"
    file = f"<graph {next(_serial)}>"
    scope = {**code.globals, "_constants": constants}
    exec(compile(text, file, "exec"), scope)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    return scope["run"]


def _attribute(graph: GraphModule, target: str) -> object:
    found: object = graph
    for step in target.split("."):
        found = getattr(found, step)
    return found
