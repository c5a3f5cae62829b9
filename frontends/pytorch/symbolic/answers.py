"""The interface of torch's ShapeEnv that its Python code uses, answered by our environment.

    >>> from shapes import ShapeEnv
    >>> from frontends.pytorch.symbolic.node import Nodes
    >>> env = ShapeEnv(origin=lambda: None)
    >>> nodes = Nodes(env)
    >>> n = nodes.node(env.symbol("n", lo=2))
    >>> nodes.answers.evaluate_sym_node(nodes.node(n.value > 1))
    True
"""

from __future__ import annotations

from typing import Any

from frontends.pytorch.symbolic.values import AnyValue, Value, symbols_of
from shapes.env import ShapeEnv
from solver.decide.verdict import Always, Never


class Answers:
    """An adapter with the methods of torch's ShapeEnv that its Python code calls on a node's `shape_env`.

    Torch expects sympy expressions; a stand-in is a sympy symbol for a whole expression, unbacked if the expression is.
    """

    def __init__(self, env: ShapeEnv) -> None:
        self._env = env
        self._values: dict[object, AnyValue] = {}

    def stand_in(self, value: Value) -> object:
        from torch.utils._sympy.symbol import SymT, make_symbol

        unbacked = any(self._env.symbols[atom].kind == "unbacked" for atom in symbols_of(value))
        made = make_symbol(SymT.UNBACKED_INT if unbacked else SymT.SIZE, len(self._values), integer=True)
        self._values[made] = value
        return made

    def evaluate_sym_node(
        self, node: Any, size_oblivious: bool = False, fallback_value: bool | None = None
    ) -> bool:
        if fallback_value is None:
            return node.guard_bool()
        return node.guard_or_true() if fallback_value else node.guard_or_false()

    def _maybe_evaluate_static(self, stand_in: object) -> bool | None:
        verdict = self._env.ask(self._values[stand_in])
        return True if isinstance(verdict, Always) else False if isinstance(verdict, Never) else None

    def is_unbacked_symint(self, stand_in: object) -> bool:
        return str(stand_in).startswith("u")

    def _constrain_range(self, stand_in: object, least: int, most: int) -> None:
        value = self._values[stand_in]
        self._env.require(value >= least)
        if most < 2**62:
            self._env.require(value <= most)

    _constrain_range_for_size = _constrain_range
