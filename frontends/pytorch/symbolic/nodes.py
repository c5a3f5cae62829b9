"""The nodes of one environment: one for each number, what was computed from them, and what the program branched on.

    >>> from shapes import ShapeEnv
    >>> from frontends.pytorch.symbolic.nodes import Nodes
    >>> env = ShapeEnv(origin=lambda: None)
    >>> n = env.symbol("n", lo=0)
    >>> nodes = Nodes(env)
    >>> nodes.node(n + 1) is nodes.node(1 + n), nodes.wrap(n - n)
    (True, 0)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from frontends.pytorch.symbolic.answers import Answers
from frontends.pytorch.symbolic.node import Node, TorchValue
from frontends.pytorch.symbolic.values import Value
from shapes.symbool import SymBool
from shapes.symfloat import SymFloat
from shapes.symint import SymInt

if TYPE_CHECKING:
    from frontends.pytorch.symbolic.metadata import Metadata
    from shapes.env import ShapeEnv
    from solver.facts import Facts

RECENT: Final = 6
"""As many results of operators are kept at hand."""


class Nodes:
    """The nodes of one environment: one for each number, and what was computed from them."""

    def __init__(self, env: ShapeEnv) -> None:
        self.env = env
        self.memo: dict[tuple[object, ...], Node] = {}
        self.truths: dict[Node, bool] = {}
        """What the program has branched on; a rollback may take it back, and clears it."""
        self.inferring = False
        """While it is worked out what an operator gives, no formula for a gradient asks."""
        self.made: deque[Metadata] = deque(maxlen=RECENT)
        """The kinds of what the last operators gave: gradients, where a formula for them has run."""
        self.laying_out = False
        """While a tensor is made, C++ asks how it lies, and no answer is a guard."""
        self.answered: tuple[dict[Node, tuple[Facts, bool]], dict[Node, tuple[Facts, bool]]] = ({}, {})
        """What was answered where a fallback was named, False or True, and what was known then."""
        self.answers = Answers(self)
        self._constants: dict[tuple[type, object], Node] = {}
        self._symbolic: dict[object, Node] = {}
        env.attach(self._restoring)

    @contextmanager
    def infers(self) -> Iterator[None]:
        """It is worked out what an operator gives."""
        before = self.inferring, self.laying_out
        self.inferring, self.laying_out = True, False
        try:
            yield
        finally:
            self.inferring, self.laying_out = before

    @contextmanager
    def lays_out(self) -> Iterator[None]:
        """What is done is the same however tensors lie and whatever their sizes: no question about that is a guard."""
        before, self.laying_out = self.laying_out, True
        try:
            yield
        finally:
            self.laying_out = before

    def _restoring(self) -> Callable[[], None]:
        return self._forget

    def _forget(self) -> None:
        """What followed from facts that are taken back."""
        self.truths.clear()
        self.memo.clear()

    def node(self, value: Value) -> Node:
        """The node of a number, the same each time."""
        kind = type(value)
        if kind is SymInt:
            if value.expr.is_constant and value.domain is value.operations.true:
                return self.constant(value.expr.constant)
            key: object = (value.expr, value.domain)
        elif kind is SymBool:
            if value.is_constant:
                return self.constant(value.prop.kind == "true")
            key = (value.prop, value.domain)
        elif kind is SymFloat:
            key = (value.value.pattern_key, value.domain) if hasattr(value.value, "pattern_key") else id(value)
        else:
            return self.constant(value)
        found = self._symbolic.get(key)
        if found is None:
            found = self._symbolic[key] = Node(self, value)
        return found

    def constant(self, value: float) -> Node:
        key = (type(value), repr(value) if type(value) is float else value)
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = Node(self, value)
        return found

    def wrap(self, value: Value) -> TorchValue:
        """A number of ours as torch takes it: a plain one as it is."""
        return self.node(value).outside
