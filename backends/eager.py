"""The eager backend: runs a graph as it is, operator by operator. What every other backend is compared with.

    >>> import torch
    >>> from backends import eager
    >>> graph = torch.fx.symbolic_trace(lambda x, y: [x + y, x * y])
    >>> run = eager.runner(graph)
    >>> run((torch.ones(2), torch.full((2,), 3.0)))
    [tensor([4., 4.]), tensor([3., 3.])]

The graph's own text is compiled once more, with its constants and operators as names of one scope: attributes of
modules would be looked up anew at every use.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Sequence
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from torch.fx import GraphModule

OPERATOR: Final = re.compile(r"^(\s+\w+ = )torch\.ops\.([\w.]+)(?=\()", re.MULTILINE)
"""The call of an operator in the text of a graph."""
_serial: Final = count()


def runner(graph: GraphModule) -> Callable[[Sequence[object]], Sequence[object]]:
    """A call that takes the inputs of a graph as one sequence and returns its outputs."""
    names = [node.target for node in graph.graph.nodes if node.op == "placeholder"]
    constants = SimpleNamespace(
        **{node.target: _attribute(graph, node.target) for node in graph.graph.nodes if node.op == "get_attr"}
    )
    head, found, body = graph.code.partition("\n")
    while found and not head.startswith("def forward("):
        head, found, body = body.partition("\n")
    unpacking = f"    {', '.join(names)}, = _inputs\n" if names else ""
    operators: dict[str, object] = {}
    body = OPERATOR.sub(lambda match: match[1] + _operator(match[2], operators), body)
    text = f"def run(_inputs):\n{unpacking}{body}"
    file = f"<graph {next(_serial)}>"
    scope = {**graph.forward.__func__.__globals__, **operators, "self": constants}
    exec(compile(text, file, "exec"), scope)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    return scope["run"]


def _operator(path: str, names: dict[str, object]) -> str:
    """The name of an operator in the text; an overload is called without what only tracers need."""
    import torch

    name = "_" + path.replace(".", "_")
    if name not in names:
        found: object = torch.ops
        for step in path.split("."):
            found = getattr(found, step)
        names[name] = found._op if type(found) is torch._ops.OpOverload else found
    return name


def _attribute(graph: GraphModule, target: str) -> object:
    found: object = graph
    for step in target.split("."):
        found = getattr(found, step)
    return found
