"""Printing is the exact inverse of reading, and finds the short spelling."""

from __future__ import annotations

import ast
import os
import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import NotExpressible
from solver.syntax.parser import parse, parse_expr
from solver.syntax.printer import text_of, written_out
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop
from tests.effort import examples, processor_seconds
from tests.solver.random_values import some_expression, some_proposition

NAMES = ("a", "b", "c", "d", "h", "k", "n", "p", "s", "t", "u", "w", "x", "y", "z")

EXPECTED = [
    # sums, products, powers
    ("2*b*s + 2*b", "2*b*(s + 1)"),
    ("b*s + b*t + c", "b*(s + t) + c"),
    ("-a*b - a*c + d", "d - a*(b + c)"),
    ("x**2 + 2*x + 1", "(x + 1)**2"),
    ("(x + 1)*(y + 2)", "(x + 1)*(y + 2)"),
    ("(a + b)*(c + d)*(x + y)", "(a + b)*(c + d)*(x + y)"),
    ("x**64*x**36", "x**64*x**36"),
    ("4 - x", "4 - x"),
    ("-x - 4", "-4 - x"),
    ("3*a + 3*b + c", "3*(a + b) + c"),
    # floor division and remainder
    ("(b*s) % 16", "b*s % 16"),
    ("x - 4*(x // 4)", "x % 4"),
    ("(s + 3) % 4 - 7", "(s + 3) % 4 - 7"),
    ("(-s) % 8", "(-s) % 8"),
    ("b*(s % 4)", "b*(s % 4)"),
    ("x - x % 4", "4*(x//4)"),
    ("x % 6 % 3", "x % 3"),
    ("(x % 4) // 3", "(x % 4)//3"),
    ("(x + 1) % (y + 2)", "(x + 1) % (y + 2)"),
    ("(a + b) // 2 * 2 + (a + b) % 2", "a + b"),
    ("-(-a // 4)", "ceildiv(a, 4)"),
    ("-(-a // b)", "ceildiv(a, b)"),
    ("(s + 7) // 8 * 8", "8*ceildiv(s, 8)"),
    ("-s % 8 + s", "8*ceildiv(s, 8)"),
    ("(s - 1) // 2 + 1", "ceildiv(s, 2)"),
    ("(s + 8) // 4", "s//4 + 2"),
    ("((h + 2*p - k)//s + 1) * ((w + 2*p - k)//s + 1)", "((2*p - k + w)//s + 1)*((h - k + 2*p)//s + 1)"),
    # least, greatest, absolute, conditional
    ("max(a, b)", "max(a, b)"),
    ("c + min(a, b)", "c + min(a, b)"),
    ("max(max(x, y), z)", "max(x, y, z)"),
    ("min(a, 3)*b + 2", "b*min(a, 3) + 2"),
    ("max(a, b)*max(c, d)", "max(a, b)*max(c, d)"),
    ("max(a, 3)**2", "max(a, 3)**2"),
    ("10*y - min(x, 3)", "10*y - min(x, 3)"),
    ("min(16, max(x, y) % 4)", "min(max(x, y) % 4, 16)"),
    ("abs(x - y)", "abs(x - y)"),
    ("max(x + y, x - y)", "x + abs(y)"),
    ("a + b - min(a, b)", "max(a, b)"),
    ("x if a > 3 else y", "x if a >= 4 else y"),
    ("(x if a > 3 else y) + z", "z + (x if a >= 4 else y)"),
    ("4 if a > 3 else 0", "4 if a >= 4 else 0"),
    ("b*(x if a == c else y)", "b*(x if a == c else y)"),
    # bits and shifts
    ("a & b", "a & b"),
    ("a | b", "a | b"),
    ("(a | b) ^ c", "c ^ (a | b)"),
    ("a << b", "a << b"),
    ("(a >> b) + 1", "(a >> b) + 1"),
    ("2**n", "2**n"),
    ("isqrt(x + 1)", "isqrt(x + 1)"),
    # numbers
    ("2**100000", "2**100000"),
    ("-(2**63)", "-9223372036854775808"),
]

EXPECTED_PROPOSITIONS = [
    ("-x + y - 1 >= 0", "x < y"),
    ("s > 3", "s >= 4"),
    ("-x + 4 >= 0", "x <= 4"),
    ("x >= 0", "x >= 0"),
    ("not x >= 0", "x < 0"),
    ("b*s % 16 == 0", "b*s % 16 == 0"),
    ("s % 4 == 1", "s % 4 == 1"),
    ("a % b == c", "a % b == c"),
    ("a % b != 0", "a % b != 0"),
    ("x // 4 * 4 == x", "x % 4 == 0"),
    ("b*s - b*t >= 0", "b*s >= b*t"),
    ("x - 2*y + 3*z <= 5", "x + 3*z <= 2*y + 5"),
    ("min(x, y) == x", "max(x, y) == y"),
    ("12*((s - 1)//8 + 1)*((h - 1)//8 + 1) > 4", "ceildiv(h, 8)*ceildiv(s, 8) >= 1"),
    ("0 <= x and x < 8", "0 <= x <= 7"),
    ("0 <= x < y <= z", "0 <= x < y <= z"),
    ("a == 0 or b == 0 and c == 0", "a == 0 or b == 0 and c == 0"),
    ("(a == 0 or b == 0) and c == 0", "(a == 0 or b == 0) and c == 0"),
    ("not (a == 0 and b > 2)", "a != 0 or b <= 2"),
    ("True", "True"),
    ("2 < 1", "False"),
]


def environment() -> tuple[Interner, dict[str, Expr]]:
    terms = Interner()
    return terms, {name: terms.symbol(name) for name in NAMES}


def operators(text: str) -> int:
    """The number of operators of a text; a call of n arguments has n - 1, at least one."""
    count = 0
    for node in ast.walk(ast.parse(text, mode="eval")):
        match node:
            case ast.BinOp() | ast.IfExp():
                count += 1
            case ast.UnaryOp(operand=operand):
                count += not isinstance(operand, ast.Constant)
            case ast.Call(args=args):
                count += max(1, len(args) - 1)
            case ast.BoolOp(values=values):
                count += len(values) - 1
            case ast.Compare(ops=ops):
                count += len(ops)
    return count


@pytest.mark.parametrize(("text", "printed"), EXPECTED)
def test_expressions_print_short(text: str, printed: str) -> None:
    """A failure means that people see the normal form, not what they wrote, or a text that means something else."""
    terms, names = environment()
    e = parse_expr(text, names, terms).expr
    assert text_of(e) == printed
    assert parse_expr(printed, names, terms).expr is e


@pytest.mark.parametrize(("text", "printed"), EXPECTED_PROPOSITIONS)
def test_propositions_print_short(text: str, printed: str) -> None:
    """A failure means that guards and facts are shown with needless minus signs, or wrongly."""
    terms, names = environment()
    p = parse(text, names, terms).prop
    assert text_of(p) == printed
    assert parse(printed, names, terms).prop is p


@given(st.integers(0, 2**64), st.integers(1, 5))
@settings(max_examples=examples(400))
def test_expressions_are_read_back(seed: int, depth: int) -> None:
    """A failure means that a saved session or a printed guard does not say what the environment knows."""
    terms = Interner()
    names = {name: terms.symbol(name) for name in "wxyz"}
    e = some_expression(terms, list(names.values()), random.Random(seed), depth)
    if len(e.terms) > 200:
        return
    assert parse_expr(text_of(e), names, terms).expr is e


@given(st.integers(0, 2**64), st.integers(1, 4))
@settings(max_examples=examples(400))
def test_propositions_are_read_back(seed: int, depth: int) -> None:
    """A failure means that a saved session or a printed guard does not say what the environment knows."""
    terms = Interner()
    names = {name: terms.symbol(name) for name in "wxyz"}
    p = some_proposition(terms, list(names.values()), random.Random(seed), depth)
    if sum(len(part.expr.terms) for part in p.comparisons()) > 200:
        return
    assert parse(text_of(p), names, terms).prop is p


@given(st.integers(0, 2**64))
@settings(max_examples=examples(100))
def test_text_does_not_depend_on_age(seed: int) -> None:
    """A failure means that two processes print the same program's guards differently."""
    texts = []
    for order in ("wxyz", "zyxw"):
        terms = Interner()
        made = {name: terms.symbol(name) for name in order}
        if order == "zyxw":
            # other monomials first
            some_expression(terms, list(made.values()), random.Random(seed + 1), 4)
        rng = random.Random(seed)
        symbols = [made[name] for name in "wxyz"]
        e = terms.sum([rng.randint(-3, 3) * rng.choice(symbols) * rng.choice(symbols) for _ in range(4)])
        texts.append(text_of(e + terms.floordiv(symbols[0] * 3 + symbols[1], 7)))
    assert texts[0] == texts[1]


PROGRAM = """
from solver.syntax.printer import text_of, written_out
from solver.knowledge.facts import Facts
from solver.terms.interner import Interner
from solver.decide.simplify import simplify
from solver.syntax.parser import parse, parse_expr
import random
from tests.solver.random_values import some_expression, some_proposition
terms = Interner()
names = {name: terms.symbol(name) for name in "wxyz"}
rng = random.Random(11)
for _ in range(60):
    print(text_of(some_expression(terms, list(names.values()), rng, 4)))
    print(text_of(some_proposition(terms, list(names.values()), rng, 3)))
known = Facts.empty(terms)
for symbol in names.values():
    known = known.declare_range(symbol, 0, 50)
for _ in range(12):
    print(text_of(simplify(known, some_expression(terms, list(names.values()), rng, 2))))
"""


def test_every_process_prints_alike() -> None:
    """A failure means that ranks of one program disagree about its guards: hash seeds or addresses are in the text."""
    printed = set()
    for seed in ("0", "1", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.getcwd()}
        command = [sys.executable, "-c", PROGRAM]
        printed.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(printed) == 1


def deep_cases() -> dict[str, Expr | Prop]:
    terms, names = environment()
    x, y, z = names["x"], names["y"], names["z"]
    many = [terms.symbol(f"s{i}") for i in range(200)]
    greatest, quotient, nested, root, bits = x, x, x, x, x
    tree = terms.eq(x, 0)
    for i in range(300):
        greatest = terms.maximum(greatest, many[i % 200] - i)
        quotient = terms.floordiv(quotient * 3 + i, 7) + many[i % 50]
        nested = terms.floordiv(x + 1, nested * y + z)
        root = terms.function("isqrt", root + 1)
        bits = terms.bit_and(bits + 1, many[i % 200])
        tree = terms.conjunction([terms.ge(y, i), terms.disjunction([tree, terms.eq(z, i)])])
    wide = terms.sum([many[i] * (i + 1) for i in range(200)])
    return {
        "300 nested max": greatest,
        "300 nested constant divisions": quotient,
        "300 nested symbolic divisions": nested,
        "300 nested roots": root,
        "300 nested bitwise": bits,
        "300 nested and, or": tree,
        "a sum of 200 terms": wide,
        "its quotient and remainder": wide // 7 + wide % 5,
        "its quotient by itself": wide // (wide - x),
        "its cube": wide * wide * wide,
        "an inequality of its cube": terms.ge(wide * wide * wide, wide * wide),
        "a square of 40 terms": terms.sum(many[:40]) * terms.sum(many[:40]),
        "20,000 digits": terms.constant(10**20_000 + 7) * x - 10**5_000,
    }


@pytest.mark.parametrize("case", sorted(deep_cases()))
def test_deep_and_wide(case: str) -> None:
    """A failure means that some program makes printing overflow the stack, take minutes, or be wrong."""
    value = deep_cases()[case]
    terms = value.interner
    names = {atom.name: atom.expr for atom in value.symbols}
    limit = sys.getrecursionlimit()
    with processor_seconds(100):
        text = text_of(value)
    assert sys.getrecursionlimit() == limit
    back = parse_expr(text, names, terms).expr if isinstance(value, Expr) else parse(text, names, terms).prop
    assert back is value


def test_a_shared_expression_that_is_too_long() -> None:
    """A failure means that printing a small graph with exponentially many paths fills the memory."""
    terms, names = environment()
    e = names["x"]
    for i in range(200):
        e = terms.ite(terms.ge(e, names["y"] + i), e + 1, i * names["z"])
    with pytest.raises(NotExpressible, match="characters"):
        written_out(e)
    text = text_of(e)
    assert len(text) < 40_000 and parse_expr(text, names, terms).expr is e


def test_equal_names() -> None:
    """A failure means that two symbols with the same name are merged in print."""
    terms = Interner()
    first, second = terms.symbol("u0"), terms.symbol("u0")
    assert text_of(first + second) == "u0 + u0"
    assert text_of(terms.lt(first, second)) in ("u0 < u0", "u0 > u0")


def test_few_operators() -> None:
    """A failure means that printed results have grown; the bound is what the written texts have."""
    terms, names = environment()
    written = printed = 0
    values: list[tuple[str, Expr | Prop]] = [(text, parse_expr(text, names, terms).expr) for text, _ in EXPECTED]
    values += [(text, parse(text, names, terms).prop) for text, _ in EXPECTED_PROPOSITIONS]
    for text, value in values:
        short = text_of(value)
        written += operators(text)
        printed += operators(short)
        assert operators(short) <= operators(text) or text == "2**100000", (text, short)
    assert printed <= 0.85 * written
