"""Reading SMT-LIB 2 scripts over the integers (see `solver.interop.smtlib` for what `div` and `mod` mean).

    >>> from solver.interop.smtlib_reading import Reading
    >>> from solver.terms.interner import Interner
    >>> script = Reading('''
    ...     (declare-fun x () Int) (declare-const y Int)
    ...     (assert (let ((t (+ x y))) (and (<= 0 t 9) (distinct x y))))
    ... ''', Interner(), {}).script()
    >>> print(script.assertions[0].prop)
    0 <= x + y <= 9 and x != y

A term is an expression or a proposition with its domain. Connectives have no order of evaluation there: the parts that
always make sense are taken to come first, as in `solver.interop.sympy`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Final, NoReturn, TypeVar

from solver.errors import NotExpressible, ParseError
from solver.syntax.connectives import choice, connective, same
from solver.syntax.parser import Parsed
from solver.syntax.tokens import long_integer
from solver.terms.atoms import domain_of
from solver.terms.expr import Expr
from solver.terms.functions import function
from solver.terms.interner import Interner
from solver.terms.operations import ATOMS
from solver.terms.prop import Prop

MOST_DISTINCT: Final = 300
TOKEN: Final = re.compile(r'\s+|;[^\n]*|(\(|\)|"(?:[^"]|"")*"|\|[^|\\]*\||[^\s();"|]+)|(.)')
NUMERAL: Final = re.compile(r"0|[1-9][0-9]*")
IGNORED: Final = frozenset(
    (
        *("set-logic", "set-info", "set-option", "check-sat", "check-sat-assuming", "echo", "exit"),
        *("get-model", "get-value", "get-unsat-core", "get-info", "get-assertions", "get-proof", "get-assignment"),
    )
)
UNINTERPRETED: Final = {row.smtlib: row for row in ATOMS if row.smtlib and not row.smtlib.startswith("(")}
COMPARISONS: Final = frozenset((">=", ">", "<=", "<"))

Item = TypeVar("Item")
Term = Expr | Prop
Read = tuple[Term, Prop]


@dataclass(frozen=True, slots=True)
class Token:
    """A token and where it stands; numerals, symbols and keywords."""

    text: str
    place: int


Sexp = Token | list["Sexp"]


@dataclass(frozen=True, slots=True)
class Script:
    """The constants of a script by name, and its assertions with their domains."""

    names: Mapping[str, Expr]
    assertions: tuple[Parsed, ...]

    def prop(self, interner: Interner) -> Prop:
        """All that the script asserts, domains included."""
        return interner.conjunction([p for parsed in self.assertions for p in (parsed.domain, parsed.prop)])


@dataclass(frozen=True, slots=True)
class Macro:
    """A function defined by the script."""

    parameters: tuple[str, ...]
    body: Sexp


class Reading:
    """One script: its tokens as nested lists, and what its names mean so far."""

    def __init__(self, text: str, interner: Interner, given: Mapping[str, Expr]) -> None:
        self.text = text
        self.interner = interner
        self.given = given
        self.names: dict[str, Expr] = {}
        self.meaning: dict[str, Read] = {}
        self.macros: dict[str, Macro] = {}
        self.functions: set[str] = set()
        self.depth = 0

    # ------------------------------------------------------------------ structure

    def nested(self) -> list[Sexp]:
        """The text as nested lists."""
        top: list[Sexp] = []
        open_lists: list[list[Sexp]] = [top]
        starts: list[int] = []
        for match in TOKEN.finditer(self.text):
            token = match.group(1)
            if match.group(2) is not None:
                self.fail(f"unexpected `{match.group(2)}`", match.start())
            if token is None:
                continue
            if token == "(":
                inner: list[Sexp] = []
                open_lists[-1].append(inner)
                open_lists.append(inner)
                starts.append(match.start())
                self.depth = max(self.depth, len(starts))
            elif token == ")":
                if not starts:
                    self.fail("unexpected `)`", match.start())
                open_lists.pop()
                starts.pop()
            else:
                open_lists[-1].append(Token(token, match.start()))
        if starts:
            self.fail("a `(` without its `)`", starts[-1])
        return top

    def fail(self, message: str, place: int) -> NoReturn:
        raise ParseError(message, self.text, place)

    def place(self, sexp: Sexp) -> int:
        while isinstance(sexp, list):
            if not sexp:
                return 0
            sexp = sexp[0]
        return sexp.place

    # ------------------------------------------------------------------ commands

    def script(self) -> Script:
        commands = self.nested()
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + 6 * self.depth)
        try:
            return self.run(commands)
        finally:
            sys.setrecursionlimit(limit)

    def run(self, commands: Sequence[Sexp]) -> Script:
        asserted: list[Parsed] = []
        marks: list[int] = []
        for command in commands:
            match command:
                case [Token(text="assert"), term]:
                    value, domain = self.term(term, {})
                    asserted.append(Parsed(self.prop(value, term), domain))
                case [Token(text="declare-const"), Token() as name, sort]:
                    self.declare(name, [], sort)
                case [Token(text="declare-fun"), Token() as name, list() as parameters, sort]:
                    self.declare(name, parameters, sort)
                case [Token(text="define-fun"), Token() as name, list() as parameters, _, body]:
                    self.define(name, parameters, body)
                case [Token(text="push"), *count]:
                    marks.extend([len(asserted)] * self.count(count))
                case [Token(text="pop"), *count]:
                    for _ in range(self.count(count)):
                        if not marks:
                            self.fail("`pop` without `push`", self.place(command))
                        del asserted[marks.pop() :]
                case [Token(text=word), *_] if word in IGNORED:
                    pass
                case [Token() as word, *_]:
                    raise NotExpressible(f"the command `{word.text}` is not about integers and propositions")
                case _:
                    self.fail("expected a command in parentheses", self.place(command))
        return Script(dict(self.names), tuple(asserted))

    def count(self, words: Sequence[Sexp]) -> int:
        match words:
            case []:
                return 1
            case [Token(text=text)] if NUMERAL.fullmatch(text):
                return int(text)
        self.fail("expected a numeral", self.place(list(words)))

    def declare(self, name: Token, parameters: Sequence[Sexp], sort: Sexp) -> None:
        for part in (*parameters, sort):
            if not isinstance(part, Token) or part.text != "Int":
                raise NotExpressible(f"`{name.text}` is declared with a sort other than Int")
        plain = unquoted(name.text)
        if parameters:
            self.functions.add(plain)
            return
        e = self.given.get(plain)
        self.names[plain] = e if e is not None else self.interner.symbol(plain)
        self.meaning[plain] = self.names[plain], self.interner.true

    def define(self, name: Token, parameters: Sequence[Sexp], body: Sexp) -> None:
        names = []
        for parameter in parameters:
            match parameter:
                case [Token(text=text), Token()]:
                    names.append(unquoted(text))
                case _:
                    self.fail("expected a parameter and its sort", self.place(parameter))
        plain = unquoted(name.text)
        if names:
            self.macros[plain] = Macro(tuple(names), body)
        else:
            self.meaning[plain] = self.term(body, {})

    # ------------------------------------------------------------------ terms

    def term(self, sexp: Sexp, local: Mapping[str, Read]) -> Read:
        if isinstance(sexp, Token):
            return self.word(sexp, local)
        match sexp:
            case [Token(text="let"), list() as bindings, body]:
                inner = dict(local)
                for binding in bindings:
                    match binding:
                        case [Token(text=name), value]:
                            inner[unquoted(name)] = self.term(value, local)
                        case _:
                            self.fail("expected a name and its value", self.place(binding))
                return self.term(body, inner)
            case [Token(text="forall" | "exists") as head, *_]:
                raise NotExpressible(f"`{head.text}` is not a quantifier-free proposition")
            case [Token(text="!"), body, *_]:
                return self.term(body, local)
            case [[Token(text="_"), Token(text="divisible"), Token(text=text)], value]:
                e, domain = self.term(value, local)
                return self.interner.divides(int(text), self.integer(e, value)), domain
            case [Token(text="ite"), _, [Token(text="div"), n, d], _] if (
                same_shape(sexp, floor_division(n, d)) or same_shape(sexp, total_division(n, d))
            ):
                (a, of_a), (b, of_b) = self.term(n, local), self.term(d, local)
                x, y = self.integer(a, n), self.integer(b, d)
                defined = self.interner.true if same_shape(sexp, total_division(n, d)) else self.interner.ne(y, 0)
                return self.interner.floordiv(x, y), self.interner.conjunction([of_a, of_b, defined])
            case [Token() as head, *arguments]:
                return self.application(head, arguments, local)
        self.fail("expected a term", self.place(sexp))

    def word(self, word: Token, local: Mapping[str, Read]) -> Read:
        interner = self.interner
        text = word.text
        plain = unquoted(text)
        found = local.get(plain) or self.meaning.get(plain)
        if found is not None:
            return found
        if NUMERAL.fullmatch(text):
            return interner.constant(long_integer(text)), interner.true
        if text in ("true", "false"):
            return (interner.true if text == "true" else interner.false), interner.true
        if text[0] in '#"' or re.fullmatch(r"[0-9]+\.[0-9]+", text):
            raise NotExpressible(f"the literal `{text}` is not an integer")
        self.fail(f"`{text}` was not declared", word.place)

    def application(self, head: Token, arguments: Sequence[Sexp], local: Mapping[str, Read]) -> Read:
        interner = self.interner
        read = [self.term(argument, local) for argument in arguments]
        name = unquoted(head.text)
        macro = self.macros.get(name)
        if macro is not None:
            if len(macro.parameters) != len(read):
                self.fail(f"`{name}` takes {len(macro.parameters)} values", head.place)
            return self.term(macro.body, dict(zip(macro.parameters, read, strict=True)))
        domains = [domain for _, domain in read]
        if not read:
            self.fail(f"`{name}` takes values", head.place)
        first = read[0][0]
        match name:
            case "and" | "or":
                return connective(name, self.props(read, arguments))
            case "=>":
                *premises, last = self.props(read, arguments)
                return connective("or", [*[(p.negation, domain) for p, domain in premises], last])
            case "ite":
                return self.choice(head, read, arguments)
            case "not":
                return self.prop(first, arguments[0]).negation, domains[0]
            case "xor":
                props = [p for p, _ in self.props(read, arguments)]
                return reduce(lambda p, q: same(p, q).negation, props), interner.conjunction(domains)
            case "=" | "distinct" if isinstance(first, Prop):
                props = [p for p, _ in self.props(read, arguments)]
                equal = [same(p, q) for p, q in pairwise(props)] if name == "=" else []
                apart = [same(p, q).negation for p, q in pairs(props)] if name != "=" else []
                return interner.conjunction([*equal, *apart]), interner.conjunction(domains)
        values = [self.integer(value, at) for (value, _), at in zip(read, arguments, strict=True)]
        value_read, needed = self.operation(head, name, values)
        return value_read, interner.conjunction([*domains, *needed])

    def operation(self, head: Token, name: str, values: list[Expr]) -> tuple[Term, list[Prop]]:
        """The value of an operation on integers, and its domain."""
        interner = self.interner
        first, others = values[0], values[1:]
        match name:
            case "+":
                return interner.sum(values), []
            case "-":
                return (first - interner.sum(others) if others else -first), []
            case "*":
                return reduce(interner.multiply, values), []
            case "div" if others:
                return reduce(self.quotient, values), [interner.ne(d, 0) for d in others]
            case "mod" if len(others) == 1:
                return interner.mod(first, interner.absolute(others[0])), [interner.ne(others[0], 0)]
            case "abs" if not others:
                return interner.absolute(first), []
            case "=":
                return interner.conjunction([interner.eq(a, b) for a, b in pairwise(values)]), []
            case "distinct":
                return interner.conjunction([interner.ne(a, b) for a, b in pairs(values)]), []
            case _ if name in COMPARISONS:
                compare = {">=": interner.ge, ">": interner.gt, "<=": interner.le, "<": interner.lt}[name]
                return interner.conjunction([compare(a, b) for a, b in pairwise(values)]), []
        if name in self.functions:
            try:
                known = UNINTERPRETED.get(name) or function(name)
            except LookupError:
                raise NotExpressible(f"nothing is known about the function `{name}`") from None
            if known.arity == len(values):
                return interner.apply(known, *values), [domain_of(interner, known, values)]
        if name in ("+", "-", "*", "div", "mod", "abs", "not", "ite"):
            self.fail(f"`{name}` does not take {len(values)} values", head.place)
        if name in self.functions or name in ("/", "to_real", "to_int", "select", "store"):
            raise NotExpressible(f"`{name}` has no exact integer form")
        self.fail(f"`{name}` was not declared", head.place)

    def quotient(self, n: Expr, d: Expr) -> Expr:
        """`(div n d)`: the remainder is never negative."""
        interner = self.interner
        if not d.terms:
            return interner.floordiv(n, d) if d.constant >= 0 else -interner.floordiv(n, -d)
        return interner.ite(interner.gt(d, 0), interner.floordiv(n, d), -interner.floordiv(n, -d))

    def choice(self, head: Token, read: Sequence[Read], arguments: Sequence[Sexp]) -> Read:
        if len(read) != 3:
            self.fail("`ite` takes a condition and two values", head.place)
        (condition, of_p), (a, of_a), (b, of_b) = read
        p, at = self.prop(condition, arguments[0]), arguments[2]
        if isinstance(a, Prop):
            return choice((p, of_p), (a, of_a), (self.prop(b, at), of_b))
        return choice((p, of_p), (a, of_a), (self.integer(b, at), of_b))

    # ------------------------------------------------------------------ sorts

    def prop(self, value: Term, at: Sexp) -> Prop:
        if isinstance(value, Prop):
            return value
        self.fail("expected a proposition, not a number", self.place(at))

    def props(self, read: Sequence[Read], arguments: Sequence[Sexp]) -> list[tuple[Prop, Prop]]:
        return [(self.prop(p, at), domain) for (p, domain), at in zip(read, arguments, strict=True)]

    def integer(self, value: Term, at: Sexp) -> Expr:
        if isinstance(value, Expr):
            return value
        self.fail("expected a number, not a proposition", self.place(at))


def unquoted(name: str) -> str:
    return name[1:-1] if name[0] == "|" and len(name) > 1 else name


def floor_division(n: Sexp, d: Sexp) -> Sexp:
    """Python's `n // d` as `solver.interop.smtlib` writes it."""
    minus, div, zero = Token("-", 0), Token("div", 0), Token("0", 0)
    return [Token("ite", 0), [Token(">", 0), d, zero], [div, n, d], [div, [minus, n], [minus, d]]]


def total_division(n: Sexp, d: Sexp) -> Sexp:
    """The same as the engine defines it: 0 for d = 0."""
    minus, div, zero = Token("-", 0), Token("div", 0), Token("0", 0)
    negative: Sexp = [Token("ite", 0), [Token("<", 0), d, zero], [div, [minus, n], [minus, d]], zero]
    return [Token("ite", 0), [Token(">", 0), d, zero], [div, n, d], negative]


def same_shape(a: Sexp, b: Sexp) -> bool:
    """Return True if two terms are written alike; without recursion, as terms may be deep."""
    stack = [(a, b)]
    while stack:
        left, right = stack.pop()
        if isinstance(left, Token) or isinstance(right, Token):
            if not (isinstance(left, Token) and isinstance(right, Token) and left.text == right.text):
                return False
        elif len(left) != len(right):
            return False
        else:
            stack.extend(zip(left, right, strict=True))
    return True


def pairs(items: Sequence[Item]) -> list[tuple[Item, Item]]:
    if len(items) > MOST_DISTINCT:
        raise NotExpressible(f"`distinct` of {len(items):,} terms; at most {MOST_DISTINCT} are compared")
    return [(a, b) for i, a in enumerate(items) for b in items[i + 1 :]]
