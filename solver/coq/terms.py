"""Expressions and propositions as terms of Coq, over one variable for each symbol and each operation.

    >>> from solver.coq.terms import Names
    >>> from solver.terms.interner import Interner
    >>> terms = Interner()
    >>> b, s = terms.symbol("b"), terms.symbol("s")
    >>> names = Names()
    >>> names.proposition(terms.ge(b * s, (b * s) // 4 + 2))
    '0 <= b * s - q1 - 2'
    >>> names.definition((b * s // 4).atom)
    '(b * s) / 4'

An operation is a variable with an equation, so that every identity that a proof needs is one of polynomials, and text
does not grow where operations are shared. Division, `Z.max`, `Z.land`, `Z.pow` and `Z.sqrt` are total in Coq and agree
with evaluation here: a zero divisor gives 0, and so do a negative exponent and the root of a negative number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from solver.coq.library import library
from solver.syntax.precedence import digits
from solver.terms.atoms import operands
from solver.terms.expr import Atom, Expr
from solver.terms.functions import function
from solver.terms.operations import OPERATIONS
from solver.terms.prop import Prop

IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
KEYWORDS: Final = frozenset(
    (
        *("_", "as", "at", "cofix", "do", "else", "end", "exists", "exists2", "fix", "for", "forall", "fun", "if"),
        *("in", "let", "match", "mod", "return", "then", "with", "where", "by", "using", "IF", "Prop", "SProp", "Set"),
        *("Type", "Definition", "Fixpoint", "Inductive", "Lemma", "Theorem", "Proof", "Qed", "Section", "True"),
        *("False", "I", "Z", "nat", "bool", "list", "eq_refl", "eq_sym", "eq_trans", "conj", "or_introl", "or_intror"),
        *("proj1", "proj2", "False_ind", "ltac", "by_ring", "always", "never", "true_at", "false_at", "true", "false"),
        *("negb", "implb", "z_", "u_", "v_", "w_", "g_", "h_", "x_", "a_", "b_", "W_", "zero", "by_lia", "by_division"),
    )
)


def integer(value: int) -> str:
    return digits(value) if value >= 0 else f"(-{digits(-value)})"


def argument(text: str) -> str:
    """A term as an argument of a function."""
    return f"({text})" if " " in text or text.startswith("-") else text


def call(name: str, *arguments: str | int) -> str:
    """The application of a lemma."""
    return " ".join([name, *[integer(each) if isinstance(each, int) else argument(each) for each in arguments]])


def conjoined(proofs: Sequence[str]) -> str:
    """A conjunction, nested to the right; `True` without parts."""
    *rest, text = proofs or ("I",)
    for proof in reversed(rest):
        text = call("conj", proof, text)
    return text


def conjunct(proof: str, index: int, count: int) -> str:
    """One part of a conjunction with this many parts."""
    for _ in range(index):
        proof = call("proj2", proof)
    return proof if index == count - 1 else call("proj1", proof)


def by_lia(wanted: str, *proofs: str) -> str:
    """A proof from these proofs by `lia`: linear arithmetic over monomials, `Z.max`, logic, truth values."""
    return call("since", wanted, conjoined(proofs), "by_lia")


def comment(text: str) -> str:
    """Text inside of a comment, where Coq reads strings and comments too."""
    plain = " ".join(text.replace("(*", "( *").replace("*)", "* )").replace('"', "'").split())
    return f"(* {plain} *)"


class Names:
    """The variables of a script.

    Asking for one makes it; `made` are those of operations and definitions, in order.
    """

    def __init__(self) -> None:
        self.variables: dict[Atom, str] = {}
        self.functions: dict[str, tuple[str, int]] = {}
        self.made: list[Atom] = []
        self.taken: set[str] = set()
        self.operations = 0
        self.locals = 0

    def local(self) -> str:
        """A name for a proof in one branch. Terms are built inside out, so such names only have to differ."""
        self.locals += 1
        return f"c{self.locals}_"

    def free(self, wanted: str) -> str:
        """An unused name."""
        plain = wanted if IDENTIFIER.fullmatch(wanted) else "s_" + re.sub(r"[^A-Za-z0-9_]", "_", wanted)
        if plain.endswith("_") or plain.startswith("D_"):
            plain = f"s{plain}s"  # such names are those of hypotheses and local variables
        name, number = plain, 1
        while name in self.taken or name in KEYWORDS or name in library():
            number += 1
            name = f"{plain}_{number}"
        self.taken.add(name)
        return name

    def variable(self, atom: Atom) -> str:
        """The variable of an atom, those in its definition first, without recursion."""
        found = self.variables.get(atom)
        if found is not None:
            return found
        stack = [atom]
        while stack:
            top = stack[-1]
            inside = [other for arg in defining(top) for other in direct_atoms(arg) if other not in self.variables]
            if top in self.variables:
                stack.pop()
            elif inside:
                stack.extend(inside)
            else:
                stack.pop()
                if top.kind == "symbol":
                    self.variables[top] = self.free(top.name)
                else:
                    self.operations += 1
                    self.variables[top] = self.free(f"q{self.operations}")
                if top.kind != "symbol" or top.definition is not None:
                    self.made.append(top)
        return self.variables[atom]

    def function(self, name: str, arity: int) -> str:
        """The variable of an opaque function."""
        found = self.functions.get(name)
        if found is None:
            plain = name if IDENTIFIER.fullmatch(name) else f"f{len(self.functions) + 1}"
            found = self.functions[name] = (self.free(plain), arity)
        return found[0]

    def definition(self, atom: Atom) -> str:
        """The text of an operation, or of the expression that a symbol stands for."""
        if atom.definition is not None and atom.kind == "symbol":
            return self.expression(atom.definition)
        return self.operation(atom.kind, atom.name, operands(atom))

    def operation(self, kind: str, name: str, args: Sequence[Expr | Prop]) -> str:
        """An operation of these arguments."""
        match kind, args:
            case "ite", (Prop() as p, Expr() as e):
                return f"(if {self.truth(p)} then {self.expression(e)} else 0)"
        texts = [argument(self.expression(arg)) for arg in args if isinstance(arg, Expr)]
        form = (OPERATIONS.get(kind) or function(name)).coq
        return form.format(*texts) if form else " ".join([self.function(name, len(texts)), *texts])

    def equation(self, atom: Atom) -> str:
        """The name of the equation that defines a variable."""
        return f"D_{self.variable(atom)}"

    def expression(self, e: Expr) -> str:
        """A polynomial over the variables."""
        return self.polynomial(e, {})

    def polynomial(self, e: Expr, images: dict[Atom, str]) -> str:
        """A polynomial with texts in the place of some atoms."""
        monomials = e.interner.monomials
        text = ""
        for m, c in sorted(e.terms, key=lambda term: term[1] < 0):
            factors = [images.get(atom) or self.variable(atom) for atom in monomials[m]]
            if abs(c) != 1:
                factors.insert(0, digits(abs(c)))
            text += (" - " if text else "-") if c < 0 else (" + " if text else "")
            text += " * ".join(factors)
        if e.constant or not text:
            if text:
                return f"{text} {'-' if e.constant < 0 else '+'} {digits(abs(e.constant))}"
            return integer(e.constant)
        return text

    def proposition(self, p: Prop) -> str:
        match p.kind:
            case "ge":
                return f"0 <= {self.expression(p.expr)}"
            case "eq":
                return f"{self.expression(p.expr)} = 0"
            case "ne":
                return f"{self.expression(p.expr)} <> 0"
            case "and" | "or":
                sign = " /\\ " if p.kind == "and" else " \\/ "
                return sign.join([argument(self.proposition(part)) for part in p.parts])
            case _:
                return "True" if p.kind == "true" else "False"

    def follows(self, p: Prop, *proofs: str) -> str:
        """A proof of a proposition by `lia` from these proofs."""
        return by_lia(self.proposition(p), *proofs)

    def by_cases(self, p: Prop, yes: str, proof: str, no: str, otherwise: str) -> str:
        """Case analysis by excluded middle: one proof where p holds, by the name of its proof, and one elsewhere."""
        sides = [argument(self.proposition(each)) for each in (p, p.negation)]
        decided = by_lia(" \\/ ".join(sides))
        return f"match {decided} with or_introl {yes} => {proof} | or_intror {no} => {otherwise} end"

    def truth(self, p: Prop) -> str:
        """A proposition as a boolean."""
        match p.kind:
            case "ge":
                return f"(0 <=? {self.expression(p.expr)})"
            case "eq":
                return f"({self.expression(p.expr)} =? 0)"
            case "ne":
                return f"negb ({self.expression(p.expr)} =? 0)"
            case "and" | "or":
                sign = " && " if p.kind == "and" else " || "
                text = self.truth(p.parts[-1])
                for part in reversed(p.parts[:-1]):
                    text = f"({self.truth(part)}{sign}{argument(text)})%bool"
                return text
            case _:
                return p.kind


def defining(atom: Atom) -> Iterable[Expr | Prop]:
    """The operands of an operation, or the definition of a symbol."""
    if atom.kind == "symbol":
        return () if atom.definition is None else (atom.definition,)
    return operands(atom)


def direct_atoms(value: Expr | Prop) -> list[Atom]:
    """The atoms that the text of a value names."""
    monomials = value.interner.monomials
    parts = [value] if isinstance(value, Expr) else [p.expr for p in value.comparisons()]
    return list(dict.fromkeys([atom for e in parts for m, _ in e.terms for atom in monomials[m]]))
