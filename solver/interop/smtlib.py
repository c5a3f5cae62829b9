"""SMT-LIB 2: questions written for other solvers, and assertions over the integers read from files.

    >>> from solver.interop.smtlib import question, read
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> b, s = terms.symbol("b"), terms.symbol("s")
    >>> print(question([terms.ge(b, 1)], terms.ge((b * s) // 4, s // 4)))
    (set-logic ALL)
    (declare-const b Int)
    (declare-const s Int)
    (define-fun q1 () Int (div (* b s) 4))
    (define-fun q2 () Int (div s 4))
    (assert (>= b 1))
    ; the question, negated: unsat means that it follows
    (assert (not (>= q1 q2)))
    (check-sat)
    >>> script = read("(declare-const n Int) (assert (= (mod n (- 4)) 3))", terms)
    >>> print(script.assertions[0].prop)
    n % 4 == 3

`div` and `mod` there are Euclidean: `n = d*q + r` with `0 <= r < |d|`. For d > 0 that is Python's `//` and `%`. For
d < 0 the remainder stays nonnegative, so `(div n d)` is `-(n // -d)` and `(mod n d)` is `n % -d`; and Python's `n // d`
is `(div (- n) (- d))`. For a divisor of unknown sign both are written, under `(ite (> d 0) ...)`. A zero divisor, to
which SMT-LIB gives an unknown value, gives 0, as in the engine; `(div n d)` that is read asks for `d != 0`. `&`,
powers with a symbolic exponent and opaque functions are uninterpreted: "unsat" is still an answer about the integers,
"sat" need not be.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from solver.errors import ParseError
from solver.interop.smtlib_reading import Reading, Script
from solver.syntax.precedence import digits
from solver.terms.atoms import domain_of, operands
from solver.terms.expr import Atom, Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop

SIMPLE: Final = re.compile(r"[A-Za-z~!@$%^&*_+=<>.?/-][A-Za-z0-9~!@$%^&*_+=<>.?/-]*")
RESERVED: Final = frozenset(
    (
        *("!", "_", "as", "exists", "forall", "let", "match", "par", "true", "false", "not", "and", "or", "xor", "=>"),
        *("ite", "distinct", "div", "mod", "abs", "+", "-", "*", "/", "=", "<", ">", "<=", ">=", "Int", "Bool", "Real"),
        *("Array", "select", "store", "to_real", "to_int", "is_int", "bit_and", "power"),
    )
)


def question(facts: Sequence[Prop], goal: Prop) -> str:
    """A whole script: the symbols, the facts, and the goal negated. "unsat" means that the goal follows."""
    writer = Writing([*facts, goal])
    definitions = [line for p in (*facts, goal) for line in writer.definitions(p)]
    assertions = [f"(assert {writer.proposition(fact)})" for fact in facts]
    negated = ["; the question, negated: unsat means that it follows", f"(assert (not {writer.proposition(goal)}))"]
    return "\n".join(["(set-logic ALL)", *writer.declarations, *definitions, *assertions, *negated, "(check-sat)"])


@dataclass(frozen=True, slots=True)
class Assertion:
    """A proposition that holds from here on; `note` says what it is."""

    prop: Prop
    note: str


@dataclass(frozen=True, slots=True)
class Check:
    """A satisfiability check of these beside the assertions so far, and the expected status."""

    props: tuple[Prop, ...]
    status: Literal["sat", "unsat", "unknown"]
    note: str


def script(steps: Sequence[Assertion | Check | str]) -> str:
    """Many questions in one script: assertions that stand, and checks between `push` and `pop`; text is a heading.

    >>> from solver.interop.smtlib import Assertion, Check, script
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> s = terms.symbol("s")
    >>> print(script([Assertion(terms.ge(s, 8), "s >= 8"), Check((terms.lt(s, 4),), "unsat", "s >= 4 follows")]))
    (set-logic ALL)
    (declare-const s Int)
    ; s >= 8
    (assert (>= s 8))
    ; s >= 4 follows
    (push 1)
    (assert (>= 0 (+ s (- 3))))
    (set-info :status unsat)
    (check-sat)
    (pop 1)
    """
    values = [prop for step in steps if not isinstance(step, str) for prop in _propositions(step)]
    writer = Writing(values)
    lines = ["(set-logic ALL)", *writer.declarations, *[line for p in values for line in writer.definitions(p)]]
    for step in steps:
        match step:
            case str():
                lines += ["", f"; {remark(step)}"]
            case Assertion(prop, note):
                lines += [f"; {remark(note)}", f"(assert {writer.proposition(prop)})"]
            case Check(props, status, note):
                asserted = [f"(assert {writer.proposition(prop)})" for prop in props]
                asked = [f"(set-info :status {status})", "(check-sat)"]
                lines += [f"; {remark(note)}", "(push 1)", *asserted, *asked, "(pop 1)"]
    return "\n".join(lines)


def _propositions(step: Assertion | Check) -> tuple[Prop, ...]:
    return (step.prop,) if isinstance(step, Assertion) else step.props


def remark(text: str) -> str:
    """Text as one line of a comment."""
    return " ".join(text.split())


def is_opaque(p: Prop) -> bool:
    """Return True if an operation in the proposition is uninterpreted in a script."""
    return any(opaque_name(atom) for atom in p.schedule)


def read(text: str, interner: Interner, names: Mapping[str, Expr] | None = None) -> Script:
    """The symbols and assertions of a script. Constants not among the given names become new symbols.

    Raises:
        ParseError: the text is not SMT-LIB 2, or uses what was not declared.
        NotExpressible: it goes beyond integers and propositions.
    """
    try:
        return Reading(text, interner, names or {}).script()
    except RecursionError:
        raise ParseError("nested too deeply, or a function defined in terms of itself", text, 0) from None


def integer(value: int) -> str:
    """An integer literal; a negative one is `(- n)`, as SMT-LIB has no negative literals."""
    return digits(value) if value >= 0 else f"(- {digits(-value)})"


class Writing:
    """The names of one script: symbols keep theirs where they can, every operation gets one."""

    def __init__(self, values: Iterable[Expr | Prop]) -> None:
        self.names: dict[Atom, str] = {}
        self.declarations: list[str] = []
        operations = {atom for value in values for atom in value.schedule}
        opaque = {opaque_name(atom): len(atom.args) for atom in sorted(operations, key=_depth)}
        opaque.pop("", None)
        self.taken = {name.strip("|") for name in opaque}
        self.operations = 0
        symbols = {atom for value in values for atom in value.symbols}
        for atom in sorted(symbols, key=_serial):
            name = self.free(atom.name)
            self.names[atom] = name
            self.declarations.append(f"(declare-const {name} Int)")
        for name, arity in opaque.items():
            self.declarations.append(f"(declare-fun {name} ({' '.join(['Int'] * arity)}) Int)")

    def free(self, name: str) -> str:
        """A name that is not taken, quoted where it must be."""
        plain = name.replace("|", "!").replace("\\", "!")
        wanted, number = plain, 1
        while wanted in self.taken or wanted in RESERVED:
            number += 1
            wanted = f"{plain}!{number}"
        self.taken.add(wanted)
        return wanted if SIMPLE.fullmatch(wanted) else f"|{wanted}|"

    def definitions(self, value: Expr | Prop) -> list[str]:
        """A definition for each operation in the value that has none yet."""
        lines = []
        for atom in value.schedule:
            if atom not in self.names:
                term = self.operation(atom)
                self.operations += 1
                name = self.free(f"q{self.operations}")
                self.names[atom] = name
                lines.append(f"(define-fun {name} () Int {term})")
        return lines

    def operation(self, atom: Atom) -> str:
        texts = [self.expression(arg) if isinstance(arg, Expr) else self.proposition(arg) for arg in operands(atom)]
        name = opaque_name(atom)
        if name:
            term = f"({name} {' '.join(texts)})"
            domain = domain_of(atom.expr.interner, atom.operation, [arg for arg in atom.args if isinstance(arg, Expr)])
            return term if domain.kind == "true" else f"(ite {self.proposition(domain)} {term} 0)"
        if atom.kind == "floordiv" and not atom.args[1].symbols:
            return f"(div {' '.join(texts)})"
        return atom.operation.smtlib.format(*texts)

    def expression(self, e: Expr) -> str:
        """A polynomial over the names."""
        monomials = e.interner.monomials
        parts = []
        for m, c in e.terms:
            factors = [self.names[atom] for atom in monomials[m]]
            if c != 1:
                factors.insert(0, integer(c))
            parts.append(factors[0] if len(factors) == 1 else f"(* {' '.join(factors)})")
        if e.constant or not parts:
            parts.append(integer(e.constant))
        return parts[0] if len(parts) == 1 else f"(+ {' '.join(parts)})"

    def proposition(self, root: Prop) -> str:
        done: dict[Prop, str] = {}
        for p in root.nodes:
            done[p] = f"({p.kind} {' '.join([done[part] for part in p.parts])})" if p.parts else self.comparison(p)
        return done[root]

    def comparison(self, p: Prop) -> str:
        if p.kind in ("true", "false"):
            return p.kind
        e = p.expr
        left = e.interner.expr(tuple([term for term in e.terms if term[1] > 0]), 0)
        right = left - e
        sides = f"{self.expression(left)} {self.expression(right)}"
        return f"(not (= {sides}))" if p.kind == "ne" else f"({'>=' if p.kind == 'ge' else '='} {sides})"


def opaque_name(atom: Atom) -> str:
    """The name of an operation that SMT-LIB does not have over integers of any size; "" for one that it has."""
    form = atom.operation.smtlib
    if form:
        return "" if form.startswith("(") else form
    return atom.name if SIMPLE.fullmatch(atom.name) else f"|{atom.name}|"


def _serial(atom: Atom) -> int:
    return atom.serial


def _depth(atom: Atom) -> tuple[int, int]:
    return (atom.depth, atom.serial)
