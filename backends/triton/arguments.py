"""The arguments of a kernel's text: pointers and sizes.

    >>> from shapes import ShapeEnv
    >>> b, s = [size.expr for size in ShapeEnv(origin=lambda: None).sizes("b s")]
    >>> arguments = Arguments([b, s], bits=32)
    >>> arguments.size(s), arguments.size(s), arguments.product([b, s]), arguments.value(s)
    ('n1', 'n1', 'n0_n1', 'v1')
    >>> [(each.name, each.type, each.sizes) for each in arguments.made]
    [('n1', 'i32', (<s>,)), ('n0_n1', 'i32', (<b>, <s>)), ('v1', 'i64', (<s>,))]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from solver.terms.expr import Expr


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument.

    Attributes:
        type: in the words of Triton's signatures.
        sizes: those that it is the product of; none for what `backends.triton.forms.Parts` says.
    """

    name: str
    type: str
    sizes: tuple[Expr, ...]


@dataclass
class Arguments:
    """Names for sizes, each passed if it is asked for.

    Attributes:
        given: the numbers that a launch is given.
        bits: of an index.
    """

    given: Sequence[Expr]
    bits: int
    _made: dict[str, Argument] = field(default_factory=dict)

    @property
    def made(self) -> tuple[Argument, ...]:
        return tuple(self._made.values())

    def size(self, size: Expr) -> str:
        """A size as an index is computed with."""
        return self.product([size])

    def product(self, sizes: Sequence[Expr]) -> str:
        """Several sizes, multiplied."""
        constant, factors = 1, []
        for size in sizes:
            if size.is_constant:
                constant *= size.constant
            else:
                factors.append(f"n{self.given.index(size)}")
        if not factors:
            return str(constant)
        if constant != 1:
            factors.append(str(constant))
        return self._argument("_".join(factors), f"i{self.bits}", sizes)

    def value(self, size: Expr) -> str:
        """A size as a number that elements are computed with."""
        if size.is_constant:
            return f"tl.full((), {size.constant}, tl.int64)"
        place = self.given.index(size)
        return self._argument(f"v{place}", "i64", [size])

    def parts(self, name: str) -> str:
        """The number of parts of a row, or the length of one."""
        return self._argument(name, f"i{self.bits}", [])

    def _argument(self, name: str, kind: str, sizes: Sequence[Expr]) -> str:
        self._made.setdefault(name, Argument(name, kind, tuple(sizes)))
        return name
