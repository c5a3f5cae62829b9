"""Texts as they were written, as propositions of Coq with their definedness, each proven equivalent to its normal form.

    >>> from solver.coq.terms import Names
    >>> from solver.coq.texts import Reader
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> names = {name: terms.symbol(name) for name in ("n", "d")}
    >>> read = Reader(names, terms, Names()).read("d > 0 and n % d == n - d*(n//d)")
    >>> read.text
    '(d > 0) /\\\\ ((n mod d) = (n - (d * (n / d))))'
    >>> read.needs
    ['(d > 0) -> ((d <> 0) /\\\\ (d <> 0))']
    >>> read.prove(["W_"]).value
    <d >= 1>

Python's own parser reads the text, not `solver.syntax`, and no normal form is built for the statement: each operation
is Coq's. `needs` says where Python evaluates the text without an error. The proof follows the text: every operation
equals the canonical form that the interner gives it, which `solver.coq.canonical` proves.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Final

from solver.coq.connectives import Connectives
from solver.coq.terms import Names, call, integer
from solver.coq.written import Proven, Read
from solver.errors import NotExpressible, ParseError
from solver.proofs.fact import Fact
from solver.syntax.parser import parse, parse_expr
from solver.syntax.tokens import Decimals
from solver.terms.expr import Atom, Expr
from solver.terms.functions import called
from solver.terms.interner import Interner
from solver.terms.operations import OPERATIONS
from solver.terms.prop import Prop

DECIMALS: Final[tuple[Decimals, ...]] = ("ieee", "real")


class Reader(Connectives):
    """Reads texts over these names.

    A name that is none of them is a variable of its own, which must cancel.
    """

    def __init__(self, symbols: Mapping[str, Expr], interner: Interner, names: Names) -> None:
        super().__init__(interner, names)
        self.symbols = dict(symbols)
        self.source = ""

    def read(self, text: str) -> Read:
        """A proposition.

        Raises:
            NotExpressible: something in it is not integer arithmetic.
        """
        self.source = f"({text})"
        try:
            tree = ast.parse(self.source, mode="eval").body
        except (SyntaxError, ValueError, MemoryError):
            raise NotExpressible("its text is not an expression of Python") from None
        read = self._read(tree)
        if not read.boolean:
            raise NotExpressible("its text is not a proposition")
        return read

    def _read(self, node: ast.expr) -> Read:
        match node:
            case ast.Constant(value=bool() as value):
                return self._truth(value)
            case ast.Constant(value=int() as value):
                return self._leaf(integer(value), self.interner.constant(value))
            case ast.Name(id=name):
                known = self.symbols.get(name)
                if known is None:
                    known = self.symbols[name] = self.interner.symbol(name)
                return self._leaf(self.names.expression(known), known)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._not(self._proposition(operand))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)) if type(value) is int:
                return self._leaf(integer(-value), self.interner.constant(-value))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._opposite(self._integer(operand))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._integer(operand)
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                opposite = self._opposite(self._integer(operand))
                return self._sum(ast.Sub, opposite, self._leaf("1", self.interner.one))
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(node, op, self._integer(left), self._integer(right))
            case ast.BoolOp(op=op, values=values):
                join = self._and if isinstance(op, ast.And) else self._or
                first, *rest = [self._proposition(value) for value in values]
                return reduce(join, rest, first)
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [self._integer(side) for side in (left, *others)]
                parts = [self._compared(*each) for each in zip(ops, sides, sides[1:], strict=False)]
                return reduce(self._and, parts)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._choice(self._proposition(test), self._integer(body), self._integer(orelse))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(node, name, arguments)
        raise NotExpressible(f"`{ast.unparse(node)}` is not integer arithmetic")

    def _integer(self, node: ast.expr) -> Read:
        read = self._read(node)
        if read.boolean:
            raise NotExpressible(f"`{ast.unparse(node)}` is a truth value, and an integer is expected")
        return read

    def _proposition(self, node: ast.expr) -> Read:
        read = self._read(node)
        if not read.boolean:
            raise NotExpressible(f"`{ast.unparse(node)}` is an integer, and a truth value is expected")
        return read

    def _call(self, node: ast.Call, name: str, arguments: Sequence[ast.expr]) -> Read:
        if name in ("int", "floor", "ceil", "trunc", "round") and len(arguments) == 1:
            return self._rounded(node, arguments[0])
        if name in ("min", "max") and len(arguments) > 1:
            found = self._integer(arguments[0])
            for each in arguments[1:]:
                found = self._extreme(name, found, self._integer(each))
            return found
        operands = [self._integer(each) for each in arguments]
        if name == "abs" and len(operands) == 1:
            return self._abs(operands[0])
        if name == "ceildiv" and len(operands) == 2:
            return self._opposite(self._binary(node, ast.FloorDiv(), self._opposite(operands[0]), operands[1]))
        operation = called(name)
        if operation is not None and len(operands) == operation.arity and not operation.constructor:
            return self._function(operation, operands)
        if operation is not None and operation is OPERATIONS["gcd"] and len(operands) == 2:
            return self._function(operation, operands)
        raise NotExpressible(f"`{ast.unparse(node)}` is not integer arithmetic")

    def _rounded(self, node: ast.Call, inside: ast.expr) -> Read:
        """A rounding of a double, as an uninterpreted function of integers; an integer is its own rounding."""
        try:
            return self._integer(inside)
        except NotExpressible:
            pass
        text = ast.get_source_segment(self.source, node)
        assert text is not None
        unknown = NotExpressible(f"`{text}` rounds a double, of which Coq knows nothing")
        value, domain = parse_expr(text, self.symbols, self.interner)
        if domain.schedule or len(value.schedule) != 1 or "{" not in value.schedule[0].name:
            raise unknown
        try:
            atom = value.atom
        except ValueError:
            raise unknown from None

        def prove(proofs: Sequence[str]) -> Proven:
            self.names.variable(atom)
            defined = list(zip(needs, proofs, strict=True))
            return Proven(value, call("eq_sym", self.names.equation(atom)), defined)

        needs = [] if domain.kind == "true" else [self.names.proposition(domain)]
        return Read(self.names.definition(atom), "", needs, prove)


class Texts:
    """The texts of a theorem: those of its facts and of its question."""

    def __init__(self, names: Names, props: Sequence[Prop], others: Iterable[Atom] = ()) -> None:
        """`others` are symbols that cancelled in the propositions."""
        self.asked: str | None = None
        self.symbols: dict[str, Expr] = {}
        self.ambiguous: set[str] = set()
        symbols = {atom for p in props for atom in p.symbols}.union(others)
        for atom in sorted(symbols, key=lambda atom: atom.serial):
            if atom.name in self.symbols:
                self.ambiguous.add(atom.name)
            self.symbols[atom.name] = atom.expr
        interner = props[0].interner
        assert isinstance(interner, Interner)
        self.reader = Reader(self.symbols, interner, names)
        self.names: set[str] = set()

    def named(self) -> set[Atom]:
        """The symbols that the texts name."""
        values = [self.reader.symbols[name] for name in self.names]
        return {symbol for value in values for symbol in value.symbols}

    def question(self, text: str) -> Read:
        """A question.

        Raises:
            NotExpressible: Coq's integers do not state it.
        """
        self.asked = text
        return self._read(text)

    def fact(self, fact: Fact) -> Read | None:
        """A fact; None if it has no text that was parsed."""
        text = fact.written
        if text is None:
            return None
        new = identifiers(text) - self.reader.symbols.keys()
        missing = {name: self.reader.interner.symbol(name) for name in new}
        for decimals in DECIMALS:
            try:
                parsed = parse(text, {**self.reader.symbols, **missing}, self.reader.interner, decimals=decimals)
            except (ParseError, NotExpressible):
                continue
            if parsed.prop is fact.prop and parsed.domain is fact.domain:
                self.reader.symbols.update(missing)
                return self._read(text)
        return None

    def _read(self, text: str) -> Read:
        found = identifiers(text)
        if not self.ambiguous.isdisjoint(found):
            raise NotExpressible(f"`{text}` has one name for two symbols")
        read = self.reader.read(text)
        self.names |= found
        return read


def identifiers(text: str) -> set[str]:
    """The names of values in a text."""
    try:
        tree = ast.parse(f"({text})", mode="eval")
    except (SyntaxError, ValueError, MemoryError):
        return set()
    called_names = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called_names}
