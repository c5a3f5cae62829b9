"""From sympy to expressions and propositions: one function for each kind of node.

    >>> import sympy
    >>> from solver.interop.sympy_reading import Reading
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> value, domain = Reading(terms, {"s": s}).read(sympy.ceiling(sympy.Symbol("s") / 4))
    >>> value is terms.ceildiv(s, 4), domain is terms.true
    (True, True)

A node is an integer expression, an exact quotient of two (see `solver.floats.quotients`) or a proposition, and has a
domain: where it makes sense. Nodes are read without recursion, arguments first. `solver.interop.sympy_floats` reads
floats as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from math import gcd
from typing import TYPE_CHECKING, Final

from solver.errors import NotExpressible
from solver.floats import quotients as reals
from solver.floats.quotients import Ratio
from solver.floats.value import Float
from solver.syntax.connectives import choice, connective, same
from solver.terms.atoms import domain_of
from solver.terms.expr import Expr
from solver.terms.functions import function
from solver.terms.interner import Interner
from solver.terms.operations import OPERATIONS
from solver.terms.prop import Prop
from solver.terms.quotients import divide, divide_content

if TYPE_CHECKING:
    import sympy

Value = Expr | Ratio | Float | Prop

ROWS: Final = {name: row for row in OPERATIONS.values() for name in row.sympy}
"""Operations by the name of their class in sympy, torch or this package."""
RELATIONS: Final = {
    "GreaterThan": ">=",
    "LessThan": "<=",
    "StrictGreaterThan": ">",
    "StrictLessThan": "<",
    "Equality": "==",
    "Unequality": "!=",
}
LARGEST_EXPONENT: Final = 64


class Reading:
    """The values of the nodes read so far; names keep their meaning."""

    def __init__(self, interner: Interner, names: Mapping[str, Expr | Float]) -> None:
        self.interner = interner
        self.names = names
        self.done: dict[sympy.Basic, tuple[Value, Prop]] = {}

    def read(self, root: sympy.Basic) -> tuple[Value, Prop]:
        """The value and the domain of a node."""
        import sympy

        done, root = self.done, sympy.sympify(root)
        stack = [root]
        while stack:
            node = stack[-1]
            parts = () if node in done else self.parts(node)
            waiting = [part for part in parts if part not in done]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            if node in done:
                continue
            if self.is_leaf(node):
                done[node] = self.leaf(node), self.interner.true
            else:
                done[node] = self.inner(node, [done[part] for part in parts])
        return done[root]

    def parts(self, node: sympy.Basic) -> tuple[sympy.Basic, ...]:
        """The arguments; of a Piecewise, its values and conditions in turn."""
        if self.is_leaf(node):
            return ()
        if node.func.__name__ == "Piecewise":
            return tuple([part for case in node.args for part in case.args])
        return tuple(node.args)

    # ------------------------------------------------------------------ leaves

    def is_leaf(self, node: sympy.Basic) -> bool:
        return not node.args or bool(getattr(node, "is_Symbol", False))

    def leaf(self, node: sympy.Basic) -> Value:
        interner = self.interner
        if getattr(node, "is_Integer", False):
            return interner.constant(int(node))
        if getattr(node, "is_Rational", False):
            return Ratio(interner.constant(int(node.p)), interner.constant(int(node.q)))
        if getattr(node, "is_Symbol", False):
            found = self.names.get(node.name)
            if found is None:
                raise NotExpressible(f"the symbol `{node}` has no name here")
            return found
        kind = type(node).__name__
        if kind in ("BooleanTrue", "BooleanFalse"):
            return interner.true if kind == "BooleanTrue" else interner.false
        raise refused(node)

    # ------------------------------------------------------------------ operations

    def inner(self, node: sympy.Basic, read: Sequence[tuple[Value, Prop]]) -> tuple[Value, Prop]:
        values = [value for value, _ in read]
        domains = [domain for _, domain in read]
        kind = node.func.__name__
        try:
            match kind:
                case "And" | "Or":
                    return connective(kind.lower(), [(prop(value), domain) for value, domain in read])
                case "Piecewise" | "Choice" | "ITE" | "Where":
                    return self.choice(kind, node, read)
            value, needed = self.operation(kind, node, values)
        except NotExpressible:
            raise
        except (TypeError, ValueError, LookupError) as error:
            raise refused(node) from error
        return value, self.interner.conjunction([*domains, *needed])

    def choice(self, kind: str, node: sympy.Basic, read: Sequence[tuple[Value, Prop]]) -> tuple[Value, Prop]:
        """Conditional values: `Piecewise` is read from its last case backwards."""
        interner = self.interner
        cases = list(read)
        if kind != "Piecewise":
            condition, first, last = cases
            cases = [first, condition, last, (interner.true, interner.true)]
        if prop(cases[-1][0]).kind != "true":
            raise NotExpressible(f"the last case of a Piecewise must be `True`: {node}")
        value, domain = cases[-2]
        for (a, of_a), (p, of_p) in zip(cases[-4::-2], cases[-3::-2], strict=True):
            condition_holds = prop(p)
            if type(a) is not type(value) or isinstance(a, Ratio):
                raise NotExpressible("the values of a choice are not all integers, or not all propositions")
            last = (value, domain)
            value, domain = choice((condition_holds, of_p), (a, of_a), last)  # type: ignore[type-var]
        return value, domain

    def operation(self, kind: str, node: sympy.Basic, values: list[Value]) -> tuple[Value, list[Prop]]:
        """The value of an operation, and its domain."""
        interner = self.interner
        match kind, values:
            case "Not", [p]:
                return prop(p).negation, []
            case "Implies", [p, q]:
                return interner.disjunction([prop(p).negation, prop(q)]), []
            case "Xor", _:
                return reduce(lambda p, q: same(p, q).negation, [prop(value) for value in values]), []
            case "Equivalent", [first, *others]:
                return interner.conjunction([same(prop(first), prop(other)) for other in others]), []
            case ("Equality" | "Unequality"), [Prop() as p, Prop() as q]:
                return (same(p, q) if kind == "Equality" else same(p, q).negation), []
            case _, [a, b] if kind in RELATIONS:
                x, y = number(a), number(b)
                return reals.compare(RELATIONS[kind], reals.ratio(x), reals.ratio(y)), []
            case "Add", _:
                return reduce(added, [number(value) for value in values]), []
            case "Mul", _:
                return reduce(multiplied, [number(value) for value in values]), []
            case "Pow", [base, exponent]:
                return self.power(node, number(base), number(exponent))
            case ("floor" | "FloorToInt"), [x]:
                return reals.floor(reals.ratio(number(x))), []
            case ("ceiling" | "CeilToInt"), [x]:
                return reals.ceil(reals.ratio(number(x))), []
            case ("TruncToInt" | "TruncToFloat"), [x]:
                return reals.trunc(reals.ratio(number(x))), []
            case "RoundToInt", [x]:
                return reals.round_half_even(reals.ratio(number(x))), []
            case "sign", [x]:
                e = integer(x, node)
                return interner.ite(interner.ge(e, 1), 1, interner.ite(interner.eq(e, 0), 0, -1)), []
            case ("Max" | "Min"), [_, _, _, *_]:
                first, _ = self.operation(kind, node, values[:2])
                return self.operation(kind, node, [first, *values[2:]])
            case "Mod", [Expr() as x, Expr() as d]:
                return interner.mod(x, d), [interner.ne(d, 0)]
            case "Mod", [a, b]:
                # x - d*floor(x/d) also for quotients
                x_over, d_over = reals.ratio(number(a)), reals.ratio(number(b))
                quotient = reals.floor(reals.divide(x_over, d_over))
                remainder = reals.add(x_over, -reals.multiply(d_over, reals.ratio(quotient)))
                return simplified(remainder), [interner.ne(d_over.numerator, 0)]
            case "ModularIndexing", [a, b, c]:
                x, d, k = integer(a, node), integer(b, node), integer(c, node)
                return interner.mod(interner.floordiv(x, d), k), [interner.ne(d, 0), interner.ne(k, 0)]
            case "IntTrueDiv", [a, b]:
                divisor = reals.ratio(number(b))
                return reals.divide(reals.ratio(number(a)), divisor), [interner.ne(divisor.numerator, 0)]
            case _ if kind in ROWS or getattr(node, "is_Function", False):
                arguments = [integer(value, node) for value in values]
                known = ROWS.get(kind) or function(kind)
                if len(arguments) != known.arity:
                    raise refused(node)
                return interner.apply(known, *arguments), [domain_of(interner, known, arguments)]
        raise refused(node)

    def power(self, node: sympy.Basic, base: Expr | Ratio, exponent: Expr | Ratio) -> tuple[Value, list[Prop]]:
        interner = self.interner
        if isinstance(exponent, Ratio):
            if is_half(exponent):
                radicand = reals.ratio(base)
                return reals.square_root(radicand), [reals.at_least_zero(radicand)]
            raise refused(node)
        if exponent.terms:
            if not isinstance(base, Expr):
                raise refused(node)
            return interner.power(base, exponent), [interner.ge(exponent, 0)]
        k = exponent.constant
        if abs(k) > LARGEST_EXPONENT and not (isinstance(base, Expr) and base.is_constant):
            raise NotExpressible(f"the exponent {k} is too large: {node}")
        if isinstance(base, Expr) and k >= 0:
            return interner.power(base, k), []
        x = reals.ratio(base)
        if x.root is not None:
            if k == 2:
                return added(x.root, interner.zero), []
            raise refused(node)
        raised = Ratio(interner.power(x.numerator, abs(k)), interner.power(x.denominator, abs(k)))
        if k >= 0:
            return raised, []
        return Ratio(raised.denominator, raised.numerator), [interner.ne(x.numerator, 0)]


def refused(node: sympy.Basic) -> NotExpressible:
    return NotExpressible(f"`{node!s}` ({type(node).__name__}) has no exact integer form")


def prop(value: Value) -> Prop:
    if isinstance(value, Prop):
        return value
    raise TypeError("expected a proposition, not a number")


def number(value: Value) -> Expr | Ratio:
    if isinstance(value, Prop | Float):
        raise TypeError("expected an exact number, not a proposition or a float")
    return value


def is_half(value: Value) -> bool:
    """Return True for the constant 1/2, the exponent of a square root."""
    if not isinstance(value, Ratio) or value.root is not None:
        return False
    above, below = value.numerator, value.denominator
    return above is above.interner.one and below is above.interner.constant(2)


def integer(value: Value, node: sympy.Basic) -> Expr:
    return as_integer(number(value), str(node))


def as_integer(value: Expr | Ratio | Float, text: str) -> Expr:
    """An exact quotient as an expression.

    Raises:
        NotExpressible: it is not an integer for all integers.
    """
    whole = simplified(value) if isinstance(value, Ratio) else value
    if isinstance(whole, Expr):
        return whole
    raise NotExpressible(f"`{text}` need not be an integer: round it, or compare it")


def simplified(x: Ratio) -> Expr | Ratio:
    """A quotient in lowest terms; an expression if the denominator cancels."""
    if x.root is not None:
        return x
    n, d = x.numerator, x.denominator
    if not d.terms:
        k = gcd(n.content(), n.constant, d.constant)
        k = -k if d.constant < 0 else k
        n, d = divide_content(n, k), divide_content(d, k)
    else:
        exact, rest = divide(n.interner, n, d)
        if not rest.terms and not rest.constant:
            return exact
    return n if d is n.interner.one else Ratio(n, d)


def added(a: Expr | Ratio, b: Expr | Ratio) -> Expr | Ratio:
    if isinstance(a, Expr) and isinstance(b, Expr):
        return a + b
    return simplified(reals.add(reals.ratio(a), reals.ratio(b)))


def multiplied(a: Expr | Ratio, b: Expr | Ratio) -> Expr | Ratio:
    if isinstance(a, Expr) and isinstance(b, Expr):
        return a * b
    return simplified(reals.multiply(reals.ratio(a), reals.ratio(b)))
