"""SMT-LIB text means the same to z3 as the proposition means to Python, and is read back exactly."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import NotExpressible, ParseError
from solver.interop.smtlib import question, read
from solver.syntax.defined import is_partial
from solver.syntax.parser import parse, parse_expr
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from tests.effort import examples
from tests.solver.random_values import some_proposition

PYTHON = [
    "x // 4 >= y",
    "x // -4 >= y",
    "x % 4 == y",
    "x % -4 == y",
    "x // y >= n",
    "x % y == n",
    "(x + 1) // (y - 2) == n",
    "max(x, y) > min(n, 3)",
    "abs(x) == n",
    "(x if y > n else n) != 3",
    "x*y*n >= x**2 - 7",
    "x > 3 and (y < 2 or n == x)",
    "ceildiv(x, 8) * 8 >= x",
]
SMT = [
    ("(= (div x 4) y)", "x // 4 == y"),
    ("(= (div x (- 4)) y)", "-(x // 4) == y"),
    ("(= (mod x (- 4)) y)", "x % 4 == y"),
    ("(= (div x y n) 2)", None),
    ("(= (mod x y) 2)", "x % abs(y) == 2"),
    ("(distinct x y n)", "x != y and x != n and y != n"),
    ("(<= 0 x y 9)", "0 <= x <= y <= 9"),
    ("(=> (> x 0) (> y 0) (> n 0))", "x <= 0 or y <= 0 or n > 0"),
    ("(xor (> x 0) (> y 0))", None),
    ("(= (> x 0) (> y 0) (> n 0))", None),
    ("(let ((t (+ x y)) (x n)) (and (> t 0) (let ((t (* t x))) (< t 9))))", "x + y > 0 and (x + y)*n < 9"),
    ("(ite (> x 0) (= y 1) (= y 2))", "(x <= 0 or y == 1) and (x > 0 or y == 2)"),
    ("(= (ite (> x 0) y n) (abs (- x)))", "(y if x > 0 else n) == abs(x)"),
    ("(! (>= x (- 3)) :named low)", "x >= -3"),
    ("(not (or (>= x 1) (>= y 1)))", "x < 1 and y < 1"),
]
DECLARED = "(declare-const x Int)(declare-fun y () Int)(declare-const n Int)"
MALFORMED = [
    ("(assert (> x 1)", ParseError, "without its"),
    ("(assert (> x 1)))", ParseError, "unexpected `)`"),
    ("(assert (> z 1))", ParseError, "`z` was not declared"),
    ("(assert (+ x 1))", ParseError, "expected a proposition"),
    ("(assert (and x 1))", ParseError, "expected a proposition"),
    ("(assert (> (> x 1) 1))", ParseError, "expected a number"),
    ("(assert (ite (> x 1)))", ParseError, "ite"),
    ("(assert (> x 1.5))", NotExpressible, "1.5"),
    ("(assert (> (/ x 2) 1))", NotExpressible, "`/`"),
    ("(declare-const r Real)", NotExpressible, "`r`"),
    ("(assert (forall ((k Int)) (> k 0)))", NotExpressible, "quantifier-free"),
    ("(maximize x)", NotExpressible, "maximize"),
    ("(pop 1)", ParseError, "pop"),
]


def names_in(terms: Interner) -> dict[str, Expr]:
    return {name: terms.symbol(name) for name in ("x", "y", "n")}


def truth_in_z3(assertion: z3.BoolRef, values: dict[str, int]) -> bool:
    """z3's own reading of an assertion at an assignment."""
    at = [(z3.Int(name), z3.IntVal(value)) for name, value in values.items()]
    settled = z3.simplify(z3.substitute(assertion, *at))
    if z3.is_true(settled):
        return True
    assert z3.is_false(settled), settled
    return False


@pytest.mark.parametrize("text", PYTHON)
def test_what_is_written_means_the_same(text: str) -> None:
    """A failure means that another solver is asked another question, for a negative divisor say."""
    terms = Interner()
    names = names_in(terms)
    parsed = parse(text, names, terms)
    script = question([parsed.prop], terms.true)
    first, *_ = z3.parse_smt2_string(script)
    rng = random.Random(3)
    for _ in range(150):
        values = {name: rng.randint(-9, 9) for name in names}
        ours = {names[name].atom: value for name, value in values.items()}
        if parsed.domain.evaluate(ours):
            assert truth_in_z3(first, values) == parsed.prop.evaluate(ours), values
    assert read(script, terms, names).assertions[0].prop is parsed.prop


@pytest.mark.parametrize(("text", "meant"), SMT)
def test_what_is_read_means_the_same(text: str, meant: str | None) -> None:
    """A failure means that a file from another tool is misread."""
    terms = Interner()
    names = names_in(terms)
    script = DECLARED + f"(assert {text})"
    read_here = read(script, terms, names).assertions[0]
    (there,) = z3.parse_smt2_string(script)
    rng = random.Random(3)
    for _ in range(150):
        values = {name: rng.randint(-9, 9) for name in names}
        ours = {names[name].atom: value for name, value in values.items()}
        if read_here.domain.evaluate(ours):
            assert truth_in_z3(there, values) == read_here.prop.evaluate(ours), values
    if meant is not None:
        assert read_here.prop is parse(meant, names, terms).prop


@pytest.mark.parametrize(("text", "error", "said"), MALFORMED)
def test_what_cannot_be_read(text: str, error: type[Exception], said: str) -> None:
    """A failure means that a malformed or foreign file is taken for something else, or crashes the reader."""
    terms = Interner()
    with pytest.raises(error, match=said.replace("(", r"\(").replace(")", r"\)")):
        read(DECLARED + text, terms)


@given(st.integers(0, 2**64), st.integers(1, 3))
@settings(max_examples=examples(150))
def test_random_questions_come_back(seed: int, depth: int) -> None:
    """A failure means that what is written does not say what was asked."""
    terms = Interner()
    symbols = [terms.symbol(name) for name in "wxyz"]
    names = dict(zip("wxyz", symbols, strict=True))
    rng = random.Random(seed)
    p = some_proposition(terms, symbols, rng, depth)
    if sum(len(part.expr.terms) for part in p.comparisons()) > 100:
        return
    again = read(question([p], terms.false), terms, names).assertions[0].prop
    if not is_partial(p):
        assert again is p
    for _ in range(20):
        values = {atom: rng.randint(-6, 6) for e in symbols for atom in e.symbols}
        with suppress(OverflowError):
            assert again.evaluate(values) == p.evaluate(values)


def test_names_are_quoted_and_kept_apart() -> None:
    """A failure means that two sizes become one, or that a name breaks the file."""
    terms = Interner()
    odd = [terms.symbol(name) for name in ("x.size()[0]", "and", "u0", "u0", "a|b", "div")]
    p = terms.eq(terms.sum([e * (i + 1) for i, e in enumerate(odd)]), 0)
    script = question([p], terms.false)
    assert len(z3.parse_smt2_string(script)) == 2
    back = read(script, terms)
    assert len(back.names) == len(odd)
    assert sorted(c for _, c in back.assertions[0].prop.expr.terms) == [1, 2, 3, 4, 5, 6]


def test_definitions_push_and_pop() -> None:
    """A failure means that assertions of a closed scope stay, or that defined functions are not unfolded."""
    terms = Interner()
    names = names_in(terms)
    script = read(
        DECLARED
        + """
        (define-fun tiles ((a Int) (b Int)) Int (div (+ a (- b 1)) b))
        (assert (= (tiles x 8) n)) ; a comment
        (push 1) (assert (> x 100)) (pop 1)
        (check-sat)
        """,
        terms,
        names,
    )
    assert [str(parsed.prop) for parsed in script.assertions] == ["ceildiv(x, 8) == n"]


def test_domains_are_read() -> None:
    """A failure means that a division read from a file forgets that its divisor is not zero."""
    terms = Interner()
    names = names_in(terms)
    script = read(DECLARED + "(assert (= (mod x y) 0)) (assert (or (= y 0) (= (div x y) 1)))", terms, names)
    assert [parsed.domain for parsed in script.assertions] == [terms.ne(names["y"], 0), terms.true]


def test_divisible() -> None:
    """A failure means that the one indexed operation over integers is misread."""
    terms = Interner()
    names = names_in(terms)
    script = read(DECLARED + "(assert ((_ divisible 3) (+ x 1)))", terms, names)
    assert script.assertions[0].prop is terms.divides(3, names["x"] + 1)


def test_deep_files() -> None:
    """A failure means that a generated file of a thousand nested lets overflows the stack."""
    terms = Interner()
    names = names_in(terms)
    text = "x"
    for i in range(1000):
        text = f"(let ((t{i} (+ {text} 1))) (ite (> t{i} {i}) t{i} 0))" if i % 50 == 0 else f"(+ {text} 1)"
    script = read(DECLARED + f"(assert (> {text} 0))", terms, names)
    assert len(script.assertions) == 1
    deep = parse_expr("x", names, terms).expr
    for i in range(500):
        deep = terms.floordiv(deep + names["y"], i + 2) + i
    written = question([terms.ge(deep, 0)], terms.false)
    assert read(written, terms, names).assertions[0].prop is terms.ge(deep, 0)
