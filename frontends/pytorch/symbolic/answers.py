"""What torch's own Python asks of the "shape env" that it finds behind a number.

    >>> from shapes import ShapeEnv
    >>> from frontends.pytorch.symbolic.nodes import Nodes
    >>> env = ShapeEnv(origin=lambda: None)
    >>> nodes = Nodes(env)
    >>> n = nodes.node(env.symbol("n", lo=2))
    >>> nodes.answers.evaluate_sym_node(nodes.node(n.value > 1))
    True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from frontends.pytorch.symbolic.values import symbols_of
from solver.verdict import Always, Never

if TYPE_CHECKING:
    from frontends.pytorch.symbolic.node import Node
    from frontends.pytorch.symbolic.nodes import Nodes


class Answers:
    """What torch's own Python asks of the "shape env" behind a number, answered by ours.

    Torch names expressions by sympy; a stand-in is a symbol of sympy for a whole expression, unbacked if a value of
    the run is in it.
    """

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self._nodes_of: dict[object, Node] = {}

    def stand_in(self, node: Node) -> object:
        from torch.utils._sympy.symbol import SymT, make_symbol

        env = self.nodes.env
        unbacked = any(env.symbols[atom].kind == "unbacked" for atom in symbols_of(node.value))
        made = make_symbol(SymT.UNBACKED_INT if unbacked else SymT.SIZE, len(self._nodes_of), integer=True)
        self._nodes_of[made] = node
        return made

    def evaluate_sym_node(self, node: Node, size_oblivious: bool = False, fallback_value: bool | None = None) -> bool:
        if fallback_value is None:
            return node.guard_bool()
        return node.guard_or_true() if fallback_value else node.guard_or_false()

    def _maybe_evaluate_static(self, stand_in: object) -> bool | None:
        node = self._nodes_of[stand_in]
        verdict = self.nodes.env.ask(node.value, effort="fast")
        return True if isinstance(verdict, Always) else False if isinstance(verdict, Never) else None

    def is_unbacked_symint(self, stand_in: object) -> bool:
        return str(stand_in).startswith("u")

    def _constrain_range(self, stand_in: object, least: int, most: int) -> None:
        value = self._nodes_of[stand_in].value
        self.nodes.env.require(value >= least)
        if most < 2**62:
            self.nodes.env.require(value <= most)

    _constrain_range_for_size = _constrain_range
