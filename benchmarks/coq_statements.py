"""Exported theorems read again, by a reader that shares nothing with the exporter, and compared with Python.

>>> from benchmarks.coq_statements import read_statement
>>> theorem = read_statement("Theorem always : forall n d : Z, (d <> 0) -> (n mod d < d).  (* n % d < d *) Proof.")
>>> theorem.variables, [theorem.holds({"n": n, "d": d}) for n, d in ((7, 2), (7, -2), (1, 0))]
(['n', 'd'], [True, False, True])
"""

from __future__ import annotations

import math
import operator
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

Environment = Mapping[str, int]
Term = Callable[[Environment], int]
TOKEN: Final = re.compile(r"\(\*.*?\*\)|<->|->|/\\|\\/|<=\?|<\?|=\?|<=|>=|<>|&&|\|\||%bool|[\w.]+|\S", re.DOTALL)
NEAR: Final = (*range(-4, 9), 16, 17, 24, 64)


def _quotient(a: int, b: int) -> int:
    return a // b if b else 0


def _remainder(a: int, b: int) -> int:
    return a % b if b else a


def _shift(a: int, b: int) -> int:
    return a << b if b >= 0 else a >> -b


# `...` counts as an explicit Any: the functions take different numbers of arguments
FUNCTIONS: Final[dict[str, tuple[int, Callable[..., int]]]] = {  # type: ignore[explicit-any]
    "Z.max": (2, max),
    "Z.min": (2, min),
    "Z.abs": (1, abs),
    "Z.land": (2, operator.and_),
    "Z.gcd": (2, math.gcd),
    "Z.sqrt": (1, lambda n: math.isqrt(n) if n >= 0 else 0),
    "Z.shiftl": (2, _shift),
    "Z.shiftr": (2, lambda a, b: _shift(a, -b)),
    "bit_length": (1, int.bit_length),
    "negb": (1, operator.not_),
}
BINARY: Final[tuple[dict[str, Callable[[int, int], int]], ...]] = (
    {"||": lambda a, b: a or b},
    {"&&": lambda a, b: a and b},
    {"=?": operator.eq, "<=?": operator.le, "<?": operator.lt},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": _quotient, "mod": _remainder},
)
RELATIONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "=": operator.eq, "<>": operator.ne, "<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt,
}  # fmt: skip


class Unreadable(Exception):
    """Text outside of the grammar of statements."""


@dataclass
class Statement:
    """A theorem: variables, hypotheses with the comments after them, and the conclusion."""

    name: str
    variables: list[str] = field(default_factory=list)
    hypotheses: list[tuple[Term, str]] = field(default_factory=list)
    defined: list[tuple[str, Term]] = field(default_factory=list)
    conclusion: Term = bool
    text: str = ""
    opaque: bool = False

    def complete(self, sizes: Environment) -> dict[str, int]:
        """The sizes with the variables that hypotheses define."""
        values = dict(sizes)
        for name, term in self.defined:
            if name not in values:
                values[name] = term(values)
        return values

    def holds(self, sizes: Environment) -> bool:
        """The truth of the whole implication at some sizes."""
        values = self.complete(sizes)
        return not all(term(values) for term, _ in self.hypotheses) or bool(self.conclusion(values))


def read_statement(text: str) -> Statement:
    """The statement of a theorem that was exported."""
    return Grammar(text[text.index("Theorem ") :].partition("Proof.")[0]).theorem()


class Grammar:
    """Recursive descent over Coq's own precedence."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = [*TOKEN.findall(text.rstrip().removesuffix(".")), ""]
        self.at = 0
        self.variables: set[str] = set()

    def comment(self) -> str:
        if self.tokens[self.at].startswith("(*"):
            self.at += 1
            return self.tokens[self.at - 1][2:-2].strip()
        return ""

    @property
    def token(self) -> str:
        return self.tokens[self.at]

    def take(self, expected: str = "") -> str:
        token = self.token
        if expected and token != expected:
            raise Unreadable(f"expected {expected}, found {token}")
        self.at += 1
        return token

    def theorem(self) -> Statement:
        self.take("Theorem")
        found = Statement(self.take())
        self.take(":")
        while self.token == "forall":
            self.take()
            names = []
            while self.token != ":":
                names.append(self.take())
            kind = []
            self.take()
            while self.token != ",":
                kind.append(self.take())
            self.take()
            self.comment()
            if kind != ["Z"]:
                found.opaque = True
                return found
            found.variables += names
        self.variables = set(found.variables)
        while True:
            start = self.at
            term = self.disjunction()
            words = self.tokens[start : self.at]
            if self.token != "->":
                break
            self.take()
            if len(words) > 2 and words[0] in self.variables and words[1] == "=":
                back, self.at = self.at, start + 2
                found.defined.append((words[0], self.sum(0)))
                self.at = back
            found.hypotheses.append((term, self.comment()))
        found.conclusion, found.text = term, " ".join(words)
        if self.token.startswith("."):
            self.take()
        self.comment()
        if self.token not in ("", "."):
            raise Unreadable(f"{self.token} after the conclusion")
        return found

    # ------------------------------------------------------------------ propositions

    def implication(self) -> Term:
        left = self.disjunction()
        if self.token == "->":
            self.take()
            right = self.implication()
            return lambda v: not left(v) or bool(right(v))
        return left

    def disjunction(self) -> Term:
        left = self.conjunction()
        if self.token == "\\/":
            self.take()
            right = self.disjunction()
            return lambda v: bool(left(v)) or bool(right(v))
        return left

    def conjunction(self) -> Term:
        left = self.negation()
        if self.token == "/\\":
            self.take()
            right = self.conjunction()
            return lambda v: bool(left(v)) and bool(right(v))
        return left

    def negation(self) -> Term:
        if self.token == "~":
            self.take()
            inside = self.negation()
            return lambda v: not inside(v)
        left = self.sum(0)
        if self.token in RELATIONS:
            relation = RELATIONS[self.take()]
            right = self.sum(0)
            return lambda v: relation(left(v), right(v))
        return left

    # ------------------------------------------------------------------ integers and booleans

    def sum(self, level: int) -> Term:
        if level == len(BINARY):
            return self.opposite()
        left = self.sum(level + 1)
        while self.token in BINARY[level]:
            left = self.joined(BINARY[level][self.take()], left, self.sum(level + 1))
        return left

    def joined(self, operation: Callable[[int, int], int], left: Term, right: Term) -> Term:
        return lambda v: operation(left(v), right(v))

    def opposite(self) -> Term:
        if self.token == "-":
            self.take()
            inside = self.opposite()
            return lambda v: -inside(v)
        base = self.application()
        if self.token == "^":
            self.take()
            exponent = self.opposite()
            return lambda v: base(v) ** exponent(v) if exponent(v) >= 0 else 0
        return base

    def application(self) -> Term:
        if self.token == "if":
            self.take()
            test = self.sum(0)
            self.take("then")
            yes = self.sum(0)
            self.take("else")
            no = self.sum(0)
            return lambda v: yes(v) if test(v) else no(v)
        if self.token in FUNCTIONS:
            arity, function = FUNCTIONS[self.take()]
            arguments = [self.atom() for _ in range(arity)]
            return lambda v: function(*[argument(v) for argument in arguments])
        return self.atom()

    def atom(self) -> Term:
        token = self.take()
        if token == "(":
            inside = self.implication()
            self.take(")")
            if self.token == "%bool":
                self.take()
            return inside
        if token.isdecimal():
            value = int(token)
            return lambda _: value
        if token in ("True", "False", "true", "false"):
            truth = token in ("True", "true")
            return lambda _: truth
        if token not in self.variables:
            raise Unreadable(f"unknown {token}")
        return lambda v: v[token]


# ---------------------------------------------------------------------- Python's own evaluation


def _root(n: int) -> int:
    return math.isqrt(n)


PYTHON: Final[dict[str, object]] = {
    "__builtins__": {},
    "max": max,
    "min": min,
    "abs": abs,
    "ceildiv": lambda a, b: -(-a // b),
    "gcd": math.gcd,
    "isqrt": _root,
    "bit_length": int.bit_length,
}


def python_truth(code: object, sizes: Environment) -> bool | None:
    """The truth that Python gives a text; None where it raises."""
    try:
        return bool(eval(code, PYTHON, dict(sizes)))  # type: ignore[arg-type]
    except (ArithmeticError, ValueError):
        return None


def disagreement(
    text: str, question: str, facts: Sequence[str], *, negated: bool, points: int = 60, seed: int = 0
) -> str | None:
    """Where an exported theorem says something else than Python does about these texts, at random small sizes.

    The conclusion must be the question (or its negation) wherever Python evaluates it; the hypothesis about where it
    makes sense must hold exactly there; a hypothesis of a fact must hold exactly where the fact is true.
    """
    found = read_statement(text)
    if found.opaque:
        return None
    asked = compile(f"({question})", "question", "eval")
    compiled = {fact: compile(f"({fact})", "fact", "eval") for fact in facts if _is_expression(fact)}
    symbols = [name for name in found.variables if name not in dict(found.defined)]
    if "True" in found.text.split() and not symbols:
        return "states nothing"
    chance = random.Random(seed)
    for sizes in _assignments(symbols, chance, points):
        values = found.complete(sizes)
        truth = python_truth(asked, sizes)
        domain = all(term(values) for term, why in found.hypotheses if why.startswith("where the question makes sense"))
        if domain is not (truth is not None):
            return f"makes sense: {domain} at {sizes}"
        if truth is not None and bool(found.conclusion(values)) is (truth is negated):
            return f"concludes otherwise at {sizes}"
        if truth is negated and all(term(values) for term, _ in found.hypotheses):
            return f"is wrong at {sizes}"
        for term, why in found.hypotheses:
            code = compiled.get(why.partition(": ")[2])
            if code is not None and bool(term(values)) is not (python_truth(code, sizes) is True):
                return f"states `{why}` otherwise at {sizes}"
    return None


def _is_expression(text: str) -> bool:
    try:
        compile(f"({text})", "fact", "eval")
    except SyntaxError:
        return False
    return "None" not in text


def _assignments(symbols: Sequence[str], chance: random.Random, count: int) -> Iterable[dict[str, int]]:
    for _ in range(count):
        yield {name: chance.choice(NEAR) for name in symbols}
