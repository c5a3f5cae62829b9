"""Translate JAX's symbolic dimensions and their constraints to sizes and facts, and back.

    >>> from jax import export                                                    # doctest: +SKIP
    >>> from frontends.jax import from_jax, to_jax
    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> dims = export.symbolic_shape("b, 4*s", constraints=["b >= s"])            # doctest: +SKIP
    >>> b, width = from_jax(env, dims)                                            # doctest: +SKIP
    >>> env.ask(4 * b >= width)                                                   # doctest: +SKIP
    Always(b >= s)
    >>> to_jax(env, (b, width // 2)).dims                                         # doctest: +SKIP
    (b, 2*s)

JAX has polynomials, `floordiv`, `mod`, `max` and `min`, with Python's meaning; every symbol is at least 1. Constraints
are `==`, `>=` and `<=` between two dimensions, and belong to a scope. Facts that JAX cannot express or does not accept
are reported.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Final

from frontends.arithmetic import OPERATIONS, Walk
from shapes.accepted import shown
from shapes.errors import NotExpressible, ParseError, ShapeError
from shapes.extras import require
from shapes.symbolic.choices import Int, Truth, sym_max, sym_min
from shapes.symbolic.numbers import SymInt
from solver.decide.verdict import Always
from solver.syntax.printer import written_out
from solver.terms.expr import Atom
from solver.terms.prop import Prop

if TYPE_CHECKING:
    from jax import export

    from shapes.env import ShapeEnv

LONGEST_TEXT: Final = 1 << 16
"""Characters of a dimension or constraint."""

# ---------------------------------------------------------------------- from JAX


def from_jax(env: ShapeEnv, dims: Sequence[object]) -> tuple[Int, ...]:
    """Translate dimensions to sizes. Symbols that the environment lacks are declared; the scope's constraints are
    assumed.

    Raises:
        Contradiction: the constraints contradict what the environment knows.
    """
    read_constraints(env, dims)
    return tuple([dim if isinstance(dim, int) else read_dimension(env, str(dim)) for dim in dims])


def read_constraints(env: ShapeEnv, dims: Sequence[object]) -> None:
    """Assume the constraints of the dimensions' scopes, except those that are already known."""
    scopes = {id(scope): scope for dim in dims if (scope := getattr(dim, "scope", None)) is not None}
    for scope in scopes.values():
        for text in constraints_of(scope):
            truth = read_constraint(env, text)
            if isinstance(truth, bool) or not isinstance(env.ask(truth), Always):
                env.assume(truth)


def constraints_of(scope: object) -> list[str]:
    """The text of a scope's constraints; a scope prints one on each line."""
    _, _, listed = str(scope).partition(" with constraints:")
    return [line.strip() for line in listed.splitlines() if line.strip()]


def read_dimension(env: ShapeEnv, text: str) -> Int:
    """Parse a dimension in JAX's syntax.

    Raises:
        ParseError: it is none.
    """
    if not isinstance(text, str):
        raise ShapeError(f"text={shown(text)}: expected a dimension as JAX writes it")
    if len(text) > LONGEST_TEXT:
        raise ParseError(f"a text of {len(text):,} characters; at most {LONGEST_TEXT:,} are read", text, 0)
    refusal = partial(ParseError, "a dimension of JAX has no such part", text)
    walk = Walk(partial(_declared, env), CALLS, WRITTEN, lambda node: refusal(node.col_offset))
    try:
        found: Int = walk.read(_parsed(text.replace("^", "**")))
        return found
    except RecursionError:
        raise ParseError("nested too deeply", text, 0) from None
    except ZeroDivisionError as error:
        raise ParseError(str(error), text, 0) from None


def read_constraint(env: ShapeEnv, text: str) -> Truth:
    """Parse a constraint in JAX's syntax.

    Raises:
        ParseError: it is none.
    """
    if not isinstance(text, str):
        raise ShapeError(f"text={shown(text)}: expected a constraint as JAX writes it")
    for sign, compare in COMPARISONS.items():
        left, found, right = text.partition(sign)
        if found:
            return compare(read_dimension(env, left), read_dimension(env, right))
    raise ParseError(f"expected one of {', '.join(COMPARISONS)} in the constraint {text!r}", text, 0)


COMPARISONS: Final[Mapping[str, Callable[[Int, Int], Truth]]] = {
    "==": lambda a, b: a == b,
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
}

CALLS: Final[Mapping[str, Callable[..., Int]]] = {  # type: ignore[explicit-any]  # each its own
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "max": sym_max,
    "min": sym_min,
    "non_negative": lambda a: sym_max(a, 0),
}


def _declared(env: ShapeEnv, name: str) -> SymInt:
    """The symbol of this name; JAX's are at least 1."""
    if name not in env.names:
        return env.symbol(name, lo=1)
    found = SymInt(env, env.names[name], env.interner.true)
    if not isinstance(env.ask(found >= 1), Always):
        env.assume(found >= 1)
    return found


def _parsed(text: str) -> ast.expr:
    """The syntax tree of an expression."""
    text = text.strip()
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ParseError(f"expected a dimension: {error.msg}", text, (error.offset or 1) - 1) from None


# ---------------------------------------------------------------------- to JAX


@dataclass(frozen=True, slots=True)
class JaxShape:
    """Sizes as dimensions of JAX.

    Attributes:
        dims: the dimensions, ints where they are constants.
        scope: their scope; pass it to `jax.export.symbolic_shape` for further dimensions.
        left_out: the facts that JAX cannot express or does not accept.
    """

    dims: tuple[object, ...]
    scope: export.SymbolicScope
    left_out: tuple[str, ...]


def to_jax(env: ShapeEnv, sizes: Sequence[Int], scope: export.SymbolicScope | None = None) -> JaxShape:
    """Translate sizes to dimensions of JAX, in the given scope or in a new one whose constraints are the environment's
    facts.

    Raises:
        NotExpressible: JAX cannot express a size, or a symbol of it may be less than 1.
    """
    left_out: tuple[str, ...] = ()
    for size in sizes:
        if isinstance(size, SymInt):
            _require_positive(env, size.expr.symbols)
    if scope is None:
        scope, left_out = scope_of(env)
    writing = _Writing(scope)
    return JaxShape(tuple([writing.dimension(size) for size in sizes]), scope, left_out)


def scope_of(env: ShapeEnv) -> tuple[export.SymbolicScope, tuple[str, ...]]:
    """A scope with the facts of an environment as constraints, and the facts that it lacks."""
    require("jax", extra="jax", needed_by="frontends.jax")
    from jax import export

    writing = _Writing(export.SymbolicScope())
    kept: list[str] = []
    left_out: list[str] = []
    for fact in reversed(list(env.known.records())):
        for part in fact.prop.parts if fact.prop.kind == "and" else (fact.prop,):
            try:
                _require_positive(env, part.symbols)
                kept.append(_accepted(kept, writing.constraints(part)))
            except NotExpressible:
                left_out.append(fact.text)
    return export.SymbolicScope(kept), tuple(dict.fromkeys(left_out))


def _accepted(kept: Sequence[str], spellings: Sequence[str]) -> str:
    """The first spelling of a constraint that JAX accepts together with those it has.

    Raises:
        NotExpressible: it accepts none.
    """
    from jax import export

    for text in spellings:
        try:
            export.SymbolicScope([*kept, text])
        except (ValueError, NotImplementedError):
            continue
        return text
    raise NotExpressible("JAX does not accept this constraint")


def _require_positive(env: ShapeEnv, atoms: Iterable[Atom]) -> None:
    for atom in atoms:
        if not isinstance(env.ask(env.interner.ge(atom.expr, 1)), Always):
            raise NotExpressible(f"{atom.name} may be less than 1, but JAX's symbols are at least 1")


def _inexpressible(node: ast.expr) -> NotExpressible:
    return NotExpressible(f"JAX has no form for `{ast.unparse(node)}`")


class _Writing:
    """Build dimensions of one scope by arithmetic: JAX's text syntax has no parentheses."""

    def __init__(self, scope: export.SymbolicScope) -> None:
        require("jax", extra="jax", needed_by="frontends.jax")
        import jax.core

        self.scope = scope
        calls: Mapping[str, Callable[..., object]] = {  # type: ignore[explicit-any]  # on JAX's
            "ceildiv": lambda a, b: -(-a // b),
            "abs": lambda a: jax.core.max_dim(a, -a),
            "max": lambda *parts: reduce(jax.core.max_dim, parts),
            "min": lambda *parts: reduce(jax.core.min_dim, parts),
        }
        self.read = Walk(self.symbol, calls, OPERATIONS, _inexpressible).read

    def dimension(self, size: Int) -> object:
        """A size as a dimension.

        Raises:
            NotExpressible: JAX cannot express it.
        """
        if isinstance(size, int):
            return size
        return self.read(_parsed(written_out(size.expr)))

    def constraints(self, prop: Prop) -> list[str]:
        """A proposition as a constraint, in every spelling that JAX may take.

        Raises:
            NotExpressible: JAX has no form for it.
        """
        text = written_out(prop)
        tree = _parsed(text)
        if prop.kind not in ("ge", "eq") or not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
            raise NotExpressible(f"JAX has no constraint for `{text}`")
        left, right = self.read(tree.left), self.read(tree.comparators[0])
        match tree.ops[0]:
            case ast.GtE():
                return [f"{left} >= {right}"]
            case ast.LtE():
                return [f"{left} <= {right}"]
            case ast.Gt():
                return [f"{left} >= {right + 1}"]
            case ast.Lt():
                return [f"{left + 1} <= {right}"]
        # the left side of an equality has to be one term
        alone = []
        for monomial, factor in sorted(prop.expr.terms, key=lambda term: abs(term[1])):
            for atom in prop.expr.symbols:
                if atom.monomial == monomial:
                    term = abs(factor) * self.symbol(atom.name)
                    rest = self.read(_parsed(written_out(prop.expr)))
                    alone.append(f"{term} == {term - rest if factor > 0 else term + rest}")
        return [f"{left} == {right}", f"{right} == {left}", *alone]

    def symbol(self, name: str) -> Any:  # type: ignore[explicit-any]  # of JAX
        from jax import export

        return export.symbolic_shape(name, scope=self.scope)[0]


WRITTEN: Final = (ast.Add, ast.Sub, ast.Mult)
"""The operators that the text of JAX's dimensions has."""

__all__ = ["JaxShape", "from_jax", "to_jax"]
