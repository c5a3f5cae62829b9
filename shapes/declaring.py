"""The sizes of an environment: of inputs, found at run time, with places, and adopted from a fork.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> s = env.symbol("s", lo=1, hint=128)
    >>> kept = env.unbacked("kept", hi=4096)
    >>> env.bounds(s), env.bounds(kept), env.hint(kept)
    ((1, None), (None, 4096), None)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, Literal, overload

from shapes.accepted import one_of, shown
from shapes.commitments import Commitments
from shapes.environment.access import synchronized
from shapes.environment.events import Sourced, SymbolKind
from shapes.errors import ShapeError
from shapes.origin import Origin
from shapes.symbolic.numbers import SymBool, SymFloat, SymInt
from solver.terms.expr import Expr

ORDINARY_FLOAT: Final = 0x4008_0000_0000_0000
"""The bits of 3.0."""


class Declaring(Commitments):
    """The declarations of an environment, and the place of what is committed."""

    @contextmanager
    def at(self, origin: Origin | None) -> Iterator[None]:
        """Set the source location of everything committed inside, whatever the stack says."""
        if origin is not None and not isinstance(origin, Origin):
            raise ShapeError(f"origin={shown(origin)}: expected an Origin, or None")
        before = self._ledger.origin
        self._ledger.origin = lambda: origin
        try:
            yield
        finally:
            self._ledger.origin = before

    @synchronized
    def symbol(
        self,
        name: str,
        lo: int | None = 0,
        hi: int | None = None,
        hint: int | None = None,
        *,
        source: str | None = None,
        strict: bool = False,
    ) -> SymInt:
        """A size of an input, between `lo` and `hi` inclusive; `hint` is its value this time.

        `source` says where the size is found, for people. With `strict`, a guard that makes it a constant is an error.
        """
        declare = self._declarations.declare
        return self._size(declare(name, lo, hi, hint, "backed", source, policy=self.policy, strict=strict))

    @synchronized
    def sizes(
        self,
        spec: str,
        hints: Sequence[int | None] | Mapping[str, int] | None = None,
        *,
        lo: int | None = 0,
        hi: int | None = None,
    ) -> tuple[SymInt | int, ...]:
        """One size for each word: a name is a symbol (declared unless it is known), a number stands for itself,
        anything else is an expression over the names so far. One hint per name."""
        return tuple(
            [
                expr.constant if expr.is_constant and domain is self._true else self._size(expr, domain)
                for expr, domain in self._declarations.sizes(spec, hints, lo, hi, self.policy)
            ]
        )

    @overload
    def unbacked(
        self,
        name: str | None = ...,
        lo: int | None = ...,
        hi: int | None = ...,
        *,
        kind: Literal["int"] = ...,
        source: str | None = ...,
    ) -> SymInt: ...

    @overload
    def unbacked(self, name: str | None = ..., *, kind: Literal["float"], source: str | None = ...) -> SymFloat: ...

    @overload
    def unbacked(self, name: str | None = ..., *, kind: Literal["bool"], source: str | None = ...) -> SymBool: ...

    def unbacked(
        self,
        name: str | None = None,
        lo: int | None = None,
        hi: int | None = None,
        *,
        kind: Literal["int", "float", "bool"] = "int",
        source: str | None = None,
    ) -> SymInt | SymFloat | SymBool:
        """A value that is known only at run time, of `item()` or `nonzero()` for instance: no hint, refined by
        run-time checks.

        A bool is a symbol that is 0 or 1, a float one for the 64 bits of its pattern: text asks about them as such,
        about a float u as `double(u) > 2.5`. Witnesses print it as a decimal.
        """
        one_of("kind", kind, ("int", "float", "bool"))
        if kind != "int":
            lo, hi = 0, 1 if kind == "bool" else 2**64 - 1
        symbol = self._unbacked(name, lo, hi, source, ORDINARY_FLOAT if kind == "float" else None)
        match kind:
            case "int":
                return self._size(symbol)
            case "bool":
                return SymBool(self, self.interner.eq(symbol, 1), self._true)
            case "float":
                from solver.floats.values import from_pattern

                self.interner.doubles.add(symbol.atom)
                return SymFloat(self, from_pattern(symbol), self._true)

    @synchronized
    def _unbacked(
        self, name: str | None, lo: int | None, hi: int | None, source: str | None, sample: int | None
    ) -> Expr:
        if name is None:
            name = self._ledger.table.free_name("u")
        return self._declarations.declare(name, lo, hi, None, "unbacked", source, sample=sample)

    @synchronized
    def add_source(self, size: SymInt | str, source: str) -> None:
        """One more place where the value of a symbol is found at run time; a compiled check tests that they agree."""
        _, name = self._reader.read_symbol(size, "size")
        if not isinstance(source, str):
            raise ShapeError(f"source={shown(source)}: expected text that says where the value is found")
        self._ledger.commit(self.known, Sourced(name, source))

    @synchronized
    def restore_symbol(
        self,
        name: str,
        kind: SymbolKind,
        lo: int | None,
        hi: int | None,
        hint: int | None,
        source: str | None,
        origin: Origin | None,
        line: int | None = None,
    ) -> SymInt:
        """A symbol as it was recorded; the policy had its say then, if any."""
        with self.at(origin):
            return self._size(self._declarations.declare(name, lo, hi, hint, kind, source, line=line))

    @synchronized
    def adopt(self, size: SymInt) -> SymInt:
        """A size of the environment that this one was forked from, as a size of this one: branching on it commits
        here. Symbols that were declared there since are symbols here from now on."""
        if not isinstance(size, SymInt):
            raise ShapeError(f"size={shown(size)}: expected a size of an environment that was forked from this one")
        for atom in sorted(size.expr.symbols, key=lambda atom: atom.serial):
            if atom not in self.symbols and isinstance(size.env, Declaring):
                self._declarations.adopt(size.env.symbols[atom])
        return self._size(*self._reader.read_expr(size))
