"""Enumerative synthesis: short expressions that agree with a given one on every sample, proposed for simplification.

    >>> from solver.terms.interner import Interner
    >>> from solver.samples.proposals import proposals
    >>> from solver.samples.sampling import Probes
    >>> terms = Interner()
    >>> x, y = terms.symbol("x"), terms.symbol("y")
    >>> rows = [{x.atom: a, y.atom: b} for a in (0, 3, 5, 8) for b in (1, 2, 7)]
    >>> [str(e) for e in proposals(Probes(rows), terms.minimum(x, y) * terms.maximum(x, y))][:1]
    ['x*y']

Bottom-up, by observational equivalence: the building blocks are symbols, subexpressions and their numbers; then one
operation on two of them; then a sum of two of those, a linear function or a quotient of one, a minimum or maximum of
three. Columns of values are hashed, so thousands of candidates cost milliseconds; only matches are built, and each has
yet to be proven equal.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Final

from solver.knowledge.symbols import by_age
from solver.samples.sampling import Column, Probes
from solver.terms.expr import Atom, Expr
from solver.terms.operations import OPERATIONS

BLOCKS: Final = 14
"""Building blocks at most."""
NUMBERS: Final = 8
"""Numbers of the expression used as operands."""
ENOUGH_ROWS: Final = 6
"""Fewest samples: with fewer, too much would match."""


OF_INTEGERS: Final[dict[str, Callable[[int, int], int]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": min,
    "max": max,
}
OF_EXPRESSIONS: Final[dict[str, Callable[[Expr, Expr | int], Expr]]] = {
    **OF_INTEGERS,  # type: ignore[dict-item]
    "min": lambda a, b: a.interner.apply(OPERATIONS["min"], a, b),
    "max": lambda a, b: a.interner.apply(OPERATIONS["max"], a, b),
}


class Block:
    """An expression, or one operation on two, with its column of values; built only when it matches."""

    __slots__ = ("a", "b", "column", "operation")

    def __init__(self, column: Column, a: Expr, operation: str = "", b: Expr | int = 0) -> None:
        self.column = column
        self.a = a
        self.operation = operation
        self.b = b

    def build(self) -> Expr:
        return OF_EXPRESSIONS[self.operation](self.a, self.b) if self.operation else self.a


def proposals(samples: Probes, e: Expr, related: Sequence[Expr] = ()) -> Iterator[Expr]:
    """Expressions that agree with e in every sample, roughly by size; `related` are more building blocks."""
    target = samples.column(e)
    if target is None or len(samples.rows) < ENOUGH_ROWS:
        return
    terms = e.interner
    if len(set(target)) == 1:
        yield terms.constant(target[0])
        return
    blocks = building_blocks(samples, e, related)
    numbers = numbers_of(e)
    known: dict[Column, Block] = {}
    for block in blocks:
        known.setdefault(block.column, block)
    found = known.get(target)
    if found is not None:
        yield found.build()
    yield from shifted(blocks, target)
    simple = list(one_operation(blocks, numbers))
    for block in simple:
        if block.column == target:
            yield block.build()
        known.setdefault(block.column, block)
    for block in (*blocks, *simple):
        made = linear(block, target)
        if made is not None:
            yield made
    yield from divided((*blocks, *simple), numbers, target)
    yield from products(blocks, known, target)
    yield from extremes(blocks, simple, target)
    yield from sums(blocks, simple, known, target)


def building_blocks(samples: Probes, e: Expr, related: Sequence[Expr]) -> list[Block]:
    """Symbols, operations and arguments of e, the branches of its choices, and related expressions."""
    found: dict[Expr, None] = {}
    for atom in sorted(e.symbols, key=by_age):
        found[atom.expr] = None
    for other in related:
        found[other] = None
    monomials = e.interner.monomials
    direct = dict.fromkeys(atom for m, _ in e.terms for atom in monomials[m])
    for atom in direct:
        for side in sides(e, atom):
            found[side] = None
    for atom in reversed(e.schedule):
        found[atom.expr] = None
        for arg in atom.args:
            if isinstance(arg, Expr) and arg.terms:
                found[arg] = None
    for m, _ in e.terms:
        found[e.interner.expr(((m, 1),), 0)] = None
    blocks: list[Block] = []
    columns: set[Column] = set()
    for each in found:
        column = samples.column(each) if each is not e else None
        if column is not None and column not in columns and len(set(column)) > 1:
            columns.add(column)
            blocks.append(Block(column, each))
        if len(blocks) == BLOCKS:
            break
    return blocks


def sides(e: Expr, atom: Atom) -> list[Expr]:
    """The branches of the choices in e: the arguments of a `max`, the values of a conditional."""
    value = atom.args[-1] if atom.args else None
    if atom.kind not in ("relu", "ite") or not isinstance(value, Expr):
        return []
    return [e.replace({atom: e.interner.zero}), e.replace({atom: value})]


def numbers_of(e: Expr) -> list[int]:
    """The numbers in e that may be operands: divisors first, then by size."""
    divisors: dict[int, None] = {}
    others: dict[int, None] = {}
    for each in [e, *[arg for atom in e.schedule for arg in atom.args if isinstance(arg, Expr)]]:
        for number in (each.constant, *[abs(c) for _, c in each.terms]):
            if number not in (0, 1):
                others[number] = None
    for atom in e.schedule:
        if atom.kind == "floordiv" and isinstance(atom.args[1], Expr) and not atom.args[1].terms:
            divisors[atom.args[1].constant] = None
    for a in list(divisors):
        for b in list(divisors) + [number for number in others if number > 1]:
            if a != b and a % b == 0:
                divisors.setdefault(a // b)
    divisors.pop(1, None)
    ordered = dict.fromkeys([*divisors, *sorted(others, key=_size)])
    return list(ordered)[:NUMBERS]


def shifted(blocks: Sequence[Block], target: Column) -> Iterator[Expr]:
    """A block plus a number, a number minus a block."""
    for block in blocks:
        difference = target[0] - block.column[0]
        if all(t - v == difference for t, v in zip(target, block.column, strict=True)):
            yield block.a + difference
        total = target[0] + block.column[0]
        if all(t + v == total for t, v in zip(target, block.column, strict=True)):
            yield total - block.a


def one_operation(blocks: Sequence[Block], numbers: Sequence[int]) -> Iterator[Block]:
    """One operation on two blocks, or on a block and a number."""

    def applied(name: str, a: Block, b: Expr | int, column: Iterable[int]) -> Block:
        return Block(tuple(map(OF_INTEGERS[name], a.column, column)), a.a, name, b)

    for block in blocks:
        for k in numbers:
            for name in ("//", "%", "*") if k > 1 else ():
                yield applied(name, block, k, repeat(k))
        for k in (0, 1, *numbers):
            for name in ("min", "max"):
                yield applied(name, block, k, repeat(k))
    for i, first in enumerate(blocks):
        for j, second in enumerate(blocks):
            unordered = ("-", "//", "%") if 0 not in second.column else ("-",)
            ordered = ("*", "+", "min", "max") if i < j else ("*",) if i == j else ()
            for name in (*(unordered if i != j else ()), *ordered):
                yield applied(name, first, second.a, second.column)


def linear(block: Block, target: Column) -> Expr | None:
    """`k * block + c` for integers k and c."""
    x = block.column
    first, other = 0, next((i for i in range(1, len(x)) if x[i] != x[0]), 0)
    if not other:
        return None
    k, odd = divmod(target[other] - target[first], x[other] - x[first])
    if odd or k in (0, 1):
        return None
    c = target[first] - k * x[first]
    if any(k * v + c != t for v, t in zip(x, target, strict=True)):
        return None
    return k * block.build() + c


def sums(
    blocks: Sequence[Block], simple: Sequence[Block], known: Mapping[Column, Block], target: Column
) -> Iterator[Expr]:
    """A sum or difference of two, at least one of them an operation."""
    for block in (*blocks, *simple):
        if block.column == target or not any(block.column):
            continue  # one of the two alone is proposed already
        rest = known.get(tuple([t - v for t, v in zip(target, block.column, strict=True)]))
        if rest is not None:
            yield block.build() + rest.build()
        more = known.get(tuple([t + v for t, v in zip(target, block.column, strict=True)]))
        if more is not None:
            yield more.build() - block.build()


def products(blocks: Sequence[Block], known: Mapping[Column, Block], target: Column) -> Iterator[Expr]:
    """A block times an operation."""
    for block in blocks:
        if 0 in block.column or any(t % v for t, v in zip(target, block.column, strict=True)):
            continue
        rest = known.get(tuple([t // v for t, v in zip(target, block.column, strict=True)]))
        if rest is not None:
            yield block.build() * rest.build()


def extremes(blocks: Sequence[Block], simple: Sequence[Block], target: Column) -> Iterator[Expr]:
    """The minimum or maximum of a block and an operation."""
    for block in blocks:
        row = next((i for i, (t, v) in enumerate(zip(target, block.column, strict=True)) if t != v), None)
        if row is None:
            continue  # proposed already, by itself
        at = target[row]
        above = at > block.column[row]
        if any((t < v) if above else (t > v) for t, v in zip(target, block.column, strict=True)):
            continue
        name, pick = ("max", max) if above else ("min", min)
        built = block.build()
        for other in simple:
            if other.column[row] == at and matches(target, block.column, other.column, pick):
                yield built.interner.apply(OPERATIONS[name], built, other.build())


def divided(blocks: Sequence[Block], numbers: Sequence[int], target: Column) -> Iterator[Expr]:
    """An operation divided by a number, rounded down or up, or its remainder."""
    for k in numbers:
        if k < 2:
            continue
        at = target[0]
        for block in blocks:
            v = block.column[0]
            if block.operation in ("//", "%") or at not in (v // k, -v // k, -(-v // k), v % k):
                continue
            if all(v // k == t for v, t in zip(block.column, target, strict=True)):
                yield block.build() // k
            elif all(-v // k == t for v, t in zip(block.column, target, strict=True)):
                yield -block.build() // k
            elif all(-v // k == -t for v, t in zip(block.column, target, strict=True)):
                yield -(-block.build() // k)
            elif all(v % k == t for v, t in zip(block.column, target, strict=True)):
                yield block.build() % k


def matches(target: Column, a: Column, b: Column, pick: Callable[[int, int], int]) -> bool:
    return all(pick(v, w) == t for t, v, w in zip(target, a, b, strict=True))


def _size(number: int) -> tuple[int, int]:
    return (abs(number), number)
