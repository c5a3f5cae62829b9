"""Guards and sizes as the launcher goes through them, beside the checks in Python and plain evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.cpu.launcher import Unavailable
from backends.cpu.launcher.program import Description, Fixed, Number, make_native
from shapes.guards.codegen import compile_check
from solver.syntax.parser import parse_expr
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.operations import OPERATIONS as TABLE
from tests.effort import examples
from tests.shapes.guards.propositions import EDGES, NAMES, edge_values, expressions, propositions, written

WITHIN = range(-(2**63), 2**63)


def guarded(texts: Sequence[str]) -> tuple[object, object]:
    """A program that does nothing under these guards, and the check in Python."""
    requirements, symbols = written(texts, NAMES)
    check = compile_check(requirements, symbols, {name: (name,) for name in NAMES}, arguments=NAMES)
    run = make_native(
        Description(
            tensors=[],
            integers=NAMES,
            symbols={symbols[name]: (name,) for name in NAMES},
            outputs=[Fixed(True)],
            launches=[],
            structure=None,
            guards=check,
        )
    )
    return run, check


def computing(text: str) -> tuple[object, Expr, list[Expr]]:
    """A program that gives the value of an expression."""
    terms = Interner()
    symbols = {name: terms.symbol(name) for name in NAMES}
    wanted = parse_expr(text, symbols, terms).expr
    run = make_native(
        Description(
            tensors=[],
            integers=NAMES,
            symbols={symbol: (name,) for name, symbol in symbols.items()},
            outputs=[Number(wanted)],
            launches=[],
            structure=None,
        )
    )
    return run, wanted, list(symbols.values())


@settings(max_examples=examples(150), deadline=None)
@given(propositions(), st.lists(edge_values(), min_size=1, max_size=8))
def test_guards_are_those_of_the_check(texts: list[str], tuples: list[tuple[int, ...]]) -> None:
    """Fails when a program runs for sizes that its guards exclude."""
    run, check = guarded(texts)
    if isinstance(run, Unavailable):
        assert "64 bits" in run.reason
        return
    for values in tuples:
        found = run(*values)
        assert found is NotImplemented or (found is True and check(*values)), (texts, values)
        if check(*values) and all(abs(value) < 2**10 for value in values) and "2**" not in "".join(texts):
            assert found is True, (texts, values)


OPERATIONS = [
    *("a + b - c", "3*a - 2*b + 7", "a * b", "a * b * c", "a // b", "a % b", "a // -1", "a // 16", "a % 16", "abs(a)"),
    *("max(a, b)", "min(a, b)", "max(a, 0)", "a & b", "(a if b > c else c)", "(a if b == c or a > 1 else c)", "-a"),
    *("(1 << a) * b", "a << 3", "ceildiv(a, 8)", "gcd(a, b)", "gcd(a*b, c)"),
]
EXTREMES = [0, 1, -1, 12, -18, 2**31, 2**62, -(2**62), 2**63 - 1, -(2**63) + 1, -(2**63)]


def test_every_operation_at_every_edge() -> None:
    """Fails when an operation is wrong at the ends of 64 bits, at zero or for negative integers."""
    for text in OPERATIONS:
        run, wanted, symbols = computing(text)
        assert not isinstance(run, Unavailable), run.reason
        agreed = 0
        for a in [*EDGES, *range(-70, 70)] if "<< a" in text else EDGES:
            for b in EDGES:
                for c in (0, -1, 5, 2**62, -(2**63)):
                    found = run(a, b, c)
                    if found is NotImplemented:
                        continue
                    atoms = dict(zip([next(iter(symbol.symbols)) for symbol in symbols], (a, b, c)))
                    assert found == wanted.evaluate(atoms), (text, a, b, c)
                    agreed += 1
        assert agreed > 100, text


@pytest.mark.parametrize("name", [row.name for row in TABLE.values() if row.c and row.name != "select"])
def test_the_launcher_computes_every_operation_with_a_c_text(name: str) -> None:
    """Fails when the launcher refuses an operation that has a C text, computes another value than Python, or one that
    leaves 64 bits."""
    row, terms = TABLE[name], Interner()
    symbols = [terms.symbol(text) for text in NAMES[: row.arity]]
    run = make_native(
        Description(
            tensors=[],
            integers=NAMES[: row.arity],
            symbols={symbol: (text,) for text, symbol in zip(NAMES, symbols)},
            outputs=[Number(terms.apply(row, *symbols))],
            launches=[],
            structure=None,
        )
    )
    assert not isinstance(run, Unavailable), run.reason
    bits, numbers = range(63), Random(1)
    drawn = [[numbers.choice((-1, 1)) * numbers.getrandbits(numbers.choice(bits)) for _ in symbols] for _ in range(500)]
    refused = 0
    for values in [*product(EXTREMES, repeat=row.arity), *drawn]:
        if name == "power" and (values[1] < 0 or (values[1] > 64 and abs(values[0]) > 1)):
            continue
        found, expected = run(*values), row.evaluate(*values)
        if expected in WITHIN or found is not NotImplemented:
            assert found == expected or (found is NotImplemented and -(2**63) in values), (name, values)
        refused += found is NotImplemented
    assert refused < 700


def test_a_divisor_that_leaves_64_bits_is_refused() -> None:
    """Fails when `gcd` of the least integer gives a negative number, as its absolute value has 65 bits."""
    run, _, _ = computing("gcd(a, b)")
    least = -(2**63)
    assert run(least, 0, 0) is run(0, least, 0) is run(least, least, 0) is NotImplemented
    assert (run(least, 6, 0), run(2**62, least, 0), run(least, -(2**62), 0)) == (2, 2**62, 2**62)


@settings(max_examples=examples(200), deadline=None)
@given(expressions(), st.lists(st.tuples(*[st.integers(-40, 200)] * 3), min_size=1, max_size=6))
def test_values_are_those_of_the_expression(text: str, tuples: list[tuple[int, ...]]) -> None:
    """Fails when a size is computed otherwise than by the engine."""
    run, wanted, symbols = computing(text)
    if isinstance(run, Unavailable):
        assert "64 bits" in run.reason
        return
    atoms = [next(iter(symbol.symbols)) for symbol in symbols]
    for values in tuples:
        expected = wanted.evaluate(dict(zip(atoms, values)))
        found = run(*values)
        assert found == expected or (found is NotImplemented and ("2**" in text or expected not in WITHIN)), values
