"""The eager backend: runs a graph operator by operator; the oracle of every other backend.

    >>> import torch
    >>> from backends import eager
    >>> graph = torch.fx.symbolic_trace(lambda x, y: [x + y, x * y])
    >>> run = eager.runner(graph)
    >>> run((torch.ones(2), torch.full((2,), 3.0)))
    [tensor([4., 4.]), tensor([3., 3.])]
    >>> print(eager.Text(graph).body)
        x, y, = _inputs
        add = x + y
        mul = x * y;  x = y = None
        return [add, mul]

A graph is written as one function and compiled once, with its constants and operators as names of its scope. A value is
freed after its last use.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from itertools import count
from math import isfinite
from typing import TYPE_CHECKING, Final

from backends.program.generated_functions import defined

if TYPE_CHECKING:
    from torch.fx import GraphModule, Node

PLAIN: Final = (int, bool, str, type(None), type(...))
"""Values that are written as they print, as finite floats are."""
ILLEGAL: Final = re.compile(r"\W")
_serial: Final = count()


def runner(graph: GraphModule) -> Callable[[Sequence[object]], Sequence[object]]:
    """A call that takes the inputs of a graph as one sequence and returns its outputs."""
    written = Text(graph)
    text = f"def run(_inputs):\n{written.body}\n"
    return defined(text, f"<graph {next(_serial)}>", written.scope)


class Text:
    """A graph as the body of a function, and the scope of that."""

    def __init__(self, graph: GraphModule) -> None:
        from torch.fx import Node
        from torch.fx.graph import magic_methods

        # a power is right-associative and binds closer than a sign
        signs: dict[str, str] = magic_methods | {"pow": "({}) ** {}"}
        self._signs = {getattr(operator, name, None): sign for name, sign in signs.items()}
        self.graph = graph
        self._node = Node
        self.scope: dict[str, object] = {}
        self._taken = {"_inputs", "run"}
        self._named: dict[object, str] = {}
        """Names in the scope, by operator or identity of a constant."""
        self._names: dict[Node, str] = {}
        self.body = "\n".join(self._lines())

    def _lines(self) -> list[str]:
        nodes = list(self.graph.graph.nodes)
        self._taken.update([node.name for node in nodes])
        names = self._names
        inputs = [node for node in nodes if node.op == "placeholder"]
        for node in nodes:
            names[node] = self._constant(node.target) if node.op == "get_attr" else node.name
        lines = [f"    {''.join([names[node] + ', ' for node in inputs]).rstrip()} = _inputs"] if inputs else []
        last: dict[Node, list[str]] = {}
        seen: set[Node] = {node for node in nodes if node.op == "get_attr"}
        for node in reversed(nodes):
            used = [each for each in node.all_input_nodes if each not in seen]
            seen.update(used)
            last[node] = [names[each] for each in used]
        for node in nodes:
            if node.op in ("placeholder", "get_attr"):
                continue
            if node.op == "output":
                lines.append(f"    return {self._argument(node.args[0])}")
                break
            freed = last[node]
            if not node.users:
                freed = [*freed, names[node]]
            behind = f";  {' = '.join(freed)} = None" if freed else ""
            lines.append(f"    {names[node]} = {self._call(node)}{behind}")
        return lines

    def _call(self, node: Node) -> str:
        arguments = [self._argument(arg) for arg in node.args]
        sign = self._signs.get(node.target) if node.op == "call_function" else None
        if sign is not None and not node.kwargs and len(arguments) == sign.count("{}"):
            return sign.format(*arguments)
        if node.op == "call_method":
            called = f"{arguments.pop(0)}.{node.target}"
        elif node.op == "call_module":
            called = self._constant(node.target)
        else:
            called = self._operator(node.target)
        arguments += [f"{name}={self._argument(value)}" for name, value in node.kwargs.items()]
        return f"{called}({', '.join(arguments)})"

    def _argument(self, value: object) -> str:
        """A value in the text: what does not print as itself is a name of the scope."""
        kind = type(value)
        if kind is self._node:
            return self._names[value]
        if kind in PLAIN or (isinstance(value, float) and kind is float and isfinite(value)):
            return repr(value)
        if isinstance(value, list):
            return f"[{', '.join([self._argument(item) for item in value])}]"
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            return f"({''.join([self._argument(item) + ', ' for item in value])})"
        if isinstance(value, dict):
            return f"{{{', '.join([f'{key!r}: {self._argument(item)}' for key, item in value.items()])}}}"
        if isinstance(value, slice):
            return f"slice({', '.join([self._argument(end) for end in (value.start, value.stop, value.step)])})"
        return self._bound(id(value), str(value), value)

    def _operator(self, target: object) -> str:
        """The name of an operator; an overload is called without what only tracers need."""
        import torch

        name = self._named.get(target)
        if name is None:
            if isinstance(target, torch._ops.OpOverload):
                return self._bound(target, str(target), target._op)
            name = self._bound(target, getattr(target, "__name__", "operator"), target)
        return name

    def _constant(self, path: str) -> str:
        """The name of an attribute of the graph."""
        found: object = self.graph
        for step in path.split("."):
            found = getattr(found, step)
        return self._bound(path, path, found)

    def _bound(self, key: object, label: str, value: object) -> str:
        name = self._named.get(key)
        if name is None:
            name = free = "_" + ILLEGAL.sub("_", label)[:60]
            while free in self._taken:
                free = f"{name}_{next(_serial)}"
            name = self._named[key] = free
            self._taken.add(name)
            self.scope[name] = value
        return name
