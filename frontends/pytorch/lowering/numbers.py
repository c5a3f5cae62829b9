"""Scalars of a program's steps: sizes directly, floats and truth values of sizes by a call.

A float of the run is the integer of its 64 bits, as in the engine, until a call computes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from backends.loops.program import Call, Check, Program
from frontends.pytorch.graphs.graph import reads_floats, undefined
from frontends.pytorch.symbolic.node import Node
from frontends.pytorch.symbolic.values import symbols_of
from shapes.symbolic.numbers import SymBool, SymFloat, SymInt
from solver.floats.ordinals import pattern as pattern_of
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop


class Numbers:
    """The expression for each scalar; one that is no size has a symbol of its own, computed by a call."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._made: dict[Node, Expr] = {}
        self._checked: set[Prop] = set()

    def of(self, node: Node) -> Expr | int | float | bool:
        """A scalar as an argument."""
        value = node.value
        if isinstance(value, SymInt):
            self._check(value)
            return value.expr.constant if value.expr.is_constant else value.expr
        if not isinstance(value, SymBool | SymFloat):
            return value
        found = self._made.get(node)
        if found is None:
            if isinstance(value, SymFloat) and reads_floats(value):
                self._check(value)
            found = self._made[node] = self._computed(value)
        return found

    def _check(self, value: SymInt | SymFloat) -> None:
        found = None if value.domain in self._checked else undefined(value)
        if found is not None:
            self._checked.add(value.domain)
            self.program.steps.append(Check(*found))

    def _computed(self, value: SymBool | SymFloat) -> Expr:
        interner = self.program.build.interner
        arguments: Sequence[Expr]
        target: Callable[..., object]
        if isinstance(value, SymBool):
            arguments, target = (interner.ite(value.prop, 1, 0),), bool
        else:
            arguments, target = value.value.arguments, value.value.program.evaluate
        symbol = interner.symbol(f"number{len(self._made)}")
        (atom,) = symbol.symbols
        self.program.steps.append(Call(target, tuple(arguments), {}, (atom,)))
        return symbol

    def given(self, atom: Atom) -> Atom:
        """The symbol of a float argument with these bits."""
        (number,) = self.program.build.interner.symbol(f"{atom.name}_float").symbols
        self.program.steps.append(Call(pattern_of, (number.expr,), {}, (atom,)))
        return number

    def bind(self, node: Node) -> tuple[Atom, Callable[[Any], object]]:
        """The symbol of an operator's scalar result, and the conversion to it."""
        (atom,) = symbols_of(node.value)
        return atom, pattern_of if isinstance(node.value, SymFloat) else int
