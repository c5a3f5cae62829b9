"""jax.export's symbolic dimensions.

They are at least 1, so a symbol that may be 0 or less is inexpressible. A scope's constraints are fixed when it is
created: the first question after a new fact creates a new scope with all the constraints.
"""

import ast
import operator
from typing import Any

import jax.core
from jax import export

from benchmarks.baselines import Answer, Inexpressible, verdict_of
from benchmarks.baselines.phrase import ARITHMETIC, phrase

Truth = bool | None


def negation(p: Truth) -> Truth:
    return None if p is None else not p


def conjunction(p: Truth, q: Truth) -> Truth:
    return False if p is False or q is False else True if p and q else None


def at_least(a: Any, b: Any) -> Truth:
    try:
        return bool(a >= b)
    except Exception:  # jax raises where a comparison is inconclusive
        return None


def equal(a: Any, b: Any) -> Truth:
    if at_least(a, b) and at_least(b, a):
        return True
    return False if at_least(a, b + 1) or at_least(b, a + 1) else None


WORDS = ARITHMETIC | {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": jax.core.max_dim,
    "min": jax.core.min_dim,
    "eq": equal,
    "ne": lambda a, b: negation(equal(a, b)),
    "ge": at_least,
    "gt": lambda a, b: at_least(a, b + 1),
    "le": lambda a, b: at_least(b, a),
    "lt": lambda a, b: at_least(b, a + 1),
    "not": negation,
    "and": conjunction,
    "or": lambda p, q: negation(conjunction(negation(p), negation(q))),
}


class Divisions(ast.NodeTransformer):
    """`a // b` and `a % b` as the calls that jax's constraints use."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        name = {ast.FloorDiv: "floordiv", ast.Mod: "mod"}.get(type(node.op))
        return ast.Call(ast.Name(name), [node.left, node.right], []) if name else node


class Jax:
    def __init__(self) -> None:
        self.symbols: list[str] = []
        self.accepted: list[str] = []
        self.pending: list[str] = []
        self.names: dict[str, Any] | None = None

    def symbol(self, name: str, hint: int | None, lo: int | None, hi: int | None) -> None:
        if lo is None or lo < 1:
            return
        self.symbols.append(name)
        self.pending.append(f"{name} >= {lo}")
        if hi is not None:
            self.pending.append(f"{name} <= {hi}")
        self.names = None

    def assume(self, prop: str) -> None:
        self.pending.append(self.constraint(prop))
        self.names = None

    def constraint(self, prop: str) -> str:
        """A fact in the syntax of jax's constraints, which are `==`, `<=` and `>=` of two dimensions."""
        tree = ast.parse(prop, mode="eval").body
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - {"min", "max"}
        if not isinstance(tree, ast.Compare) or not used <= set(self.symbols):
            raise Inexpressible(prop)
        left, right = (ast.unparse(Divisions().visit(side)) for side in (tree.left, tree.comparators[0]))
        match tree.ops:
            case [ast.Eq()]:
                return f"{left} == {right}"
            case [ast.LtE()]:
                return f"{left} <= {right}"
            case [ast.GtE()]:
                return f"{left} >= {right}"
            case [ast.Lt()]:
                return f"{left} + 1 <= {right}"
            case [ast.Gt()]:
                return f"{left} >= {right} + 1"
        raise Inexpressible(prop)

    def open_scope(self) -> dict[str, Any]:
        """Dimensions under the facts so far, without those that jax rejects."""
        try:
            scope = export.SymbolicScope(self.accepted + self.pending)
            self.accepted += self.pending
        except Exception:  # one of them is not of a form that jax takes: find the others
            for fact in self.pending:
                try:
                    export.SymbolicScope([*self.accepted, fact])
                except Exception:
                    continue
                self.accepted.append(fact)
            scope = export.SymbolicScope(self.accepted)
        self.pending.clear()
        dims = export.symbolic_shape(",".join(self.symbols), scope=scope) if self.symbols else ()
        return dict(zip(self.symbols, dims))

    def ask(self, prop: str) -> Answer:
        if self.names is None:
            self.names = self.open_scope()
        return verdict_of(phrase(prop, WORDS, self.names))

    def simplify(self, expr: str) -> str:
        if self.names is None:
            self.names = self.open_scope()
        return str(phrase(expr, WORDS, self.names))

    def close(self) -> None:
        pass
