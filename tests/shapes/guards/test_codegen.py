"""Compiled checks answer as evaluation does, for any integers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings

from shapes.guards.codegen import Check, compile_check
from shapes.guards.lowering import Lowering, Operations
from shapes.guards.ordering import cost, ordered
from solver.errors import ShapeError
from solver.proofs.fact import Fact
from solver.syntax.parser import parse
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from tests.effort import examples
from tests.shapes.guards.propositions import NAMES, edge_values, propositions, requirement, requirements_of, written


def check_of(*texts: str, names: str = "a b c d", native: bool = False) -> Check:
    """A check of these propositions over symbols given by position."""
    requirements, symbols = written(texts, names.split())
    return compile_check(requirements, symbols, {name: i for i, name in enumerate(symbols)}, native=native)


def expected(requirements: list[Fact], symbols: dict[str, Expr], values: tuple[int, ...]) -> bool:
    """The oracle: domain and proposition of every requirement by evaluation."""
    assignment = {atom: value for e, value in zip(symbols.values(), values) for atom in e.symbols}
    return all(r.domain.evaluate(assignment) and r.prop.evaluate(assignment) for r in requirements)


@settings(max_examples=examples(120, thorough=1250), deadline=None)
@given(propositions(), edge_values())
def test_generated_python_answers_as_evaluation_does(texts: list[str], values: tuple[int, ...]) -> None:
    """A failure: a compiled check accepts sizes that a guard refuses, or refuses sizes that all guards accept."""
    requirements, symbols = written(texts, NAMES)
    check = compile_check(requirements, symbols, {name: i for i, name in enumerate(NAMES)})
    try:
        truth = expected(requirements, symbols, values)
    except OverflowError:
        assume(False)
    assert check(*values) is truth
    assert check.explain(*values).holds is truth


@settings(max_examples=examples(120, thorough=1250), deadline=None)
@given(propositions(), edge_values())
def test_generated_python_is_total(texts: list[str], values: tuple[int, ...]) -> None:
    """A failure: where a divisor is zero, generated code raises, or has a value of its own, without a domain."""
    written_out, symbols = written(texts, NAMES)
    true = next(iter(symbols.values())).interner.true
    requirements = [requirement(r.text, r.prop, true) for r in written_out]
    check = compile_check(requirements, symbols, {name: i for i, name in enumerate(NAMES)})
    for divisors in (values, (values[0], 0, values[2]), (values[0], 0, 0), (0, 0, 0)):
        try:
            truth = expected(requirements, symbols, divisors)
        except OverflowError:
            continue
        assert check(*divisors) is truth


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("(1 if b != 0 else a // b) >= 1", False),
        ("(a // b if b == 0 else 1) == 0", True),
        ("b != 0 or a // b >= 1", False),
        ("b != 0 or a // b == 0", True),
        ("b == 0 or a // b >= 1", True),
        ("a % b == 7", True),
        ("a % b + a // b == 7", True),
        ("max(a % b, a // b) == 7", True),
    ],
)
def test_zero_divisors_without_a_domain(text: str, accepted: bool) -> None:
    """A failure: at a = 7, b = 0 a branch is taken to have excluded a zero divisor that it has not."""
    (parsed,), symbols = written([text], ["a", "b"])
    total = requirement(text, parsed.prop, parsed.prop.interner.true)
    assert compile_check([total], symbols, {"a": 0, "b": 1})(7, 0) is accepted


@pytest.mark.parametrize(
    ("texts", "values", "accepted"),
    [
        (["a % b == 0"], (4, 2, 0, 0), True),
        (["a % b == 0"], (4, 0, 0, 0), False),
        (["a % b == 0"], (0, 0, 0, 0), False),
        (["a % b == 0"], (4, -2, 0, 0), True),
        (["a // b == -3"], (5, -2, 0, 0), True),
        (["a // b == -3"], (-5, 2, 0, 0), True),
        (["a % b == -1"], (5, -2, 0, 0), True),
        (["b == 0 or a % b == 0"], (5, 0, 0, 0), True),
        (["b == 0 or a % b == 0"], (5, 2, 0, 0), False),
        (["b != 0 and a // b >= 0"], (5, 0, 0, 0), False),
        (["a // b >= 0", "b >= 1"], (5, 0, 0, 0), False),
        (["a // (b*c) >= 0", "b >= 1", "c >= 1"], (5, 0, 3, 0), False),
        (["a // (b - c) >= 0"], (5, 3, 3, 0), False),
        (["a // (b - c) >= 0"], (5, 4, 3, 0), True),
        (["max(a, b) == 7"], (7, 3, 0, 0), True),
        (["min(a, b) == 3"], (7, 3, 0, 0), True),
        (["abs(a - b) <= 1"], (3, 4, 0, 0), True),
        (["abs(a - b) <= 1"], (3, 5, 0, 0), False),
        (["(a if b > c else d) == 9"], (9, 2, 1, 0), True),
        (["(a if b > c else d) == 9"], (9, 1, 1, 0), False),
        (["a & b == 4"], (6, 12, 0, 0), True),
        (["1 << a <= 64"], (6, 0, 0, 0), True),
        (["1 << a <= 64"], (-1, 0, 0, 0), False),
        (["1 << a <= 64"], (1 << 40, 0, 0, 0), False),
        (["a <= 2**63 - 1"], (2**63, 0, 0, 0), False),
        (["a * b <= 2**63 - 1"], (2**32, 2**31, 0, 0), False),
        (["a * b >= 2**63"], (2**32, 2**31, 0, 0), True),
        (["a >= -2**63"], (-(2**63), 0, 0, 0), True),
        (["a == 2**200"], (2**200, 0, 0, 0), True),
        (["min(-(a % 16), b) == -1"], (1, 9, 0, 0), True),  # not (-a) % 16
        (["abs(a % 16) == a"], (1, 0, 0, 0), True),
        (["3*max(a, 0) - a >= 4"], (2, 0, 0, 0), True),
        (["a >= 5", "a != 5"], (5, 0, 0, 0), False),
        (["a <= 5", "a != 5"], (5, 0, 0, 0), False),
        (["a >= 5", "a <= 4"], (5, 0, 0, 0), False),
        (["a == 5", "a == 4"], (4, 0, 0, 0), False),
        (["a >= -3", "b >= -5", "a*b >= 10"], (1, 1, 0, 0), False),
        (["a >= -3", "b >= -5", "a // b >= 0"], (3, -2, 0, 0), False),
        (["a % b >= 0"], (5, -3, 0, 0), False),
        (["a <= 2**70", "a >= -2**70", "a != 2**70", "a*b < 2**70", "a*b > -2**70"], (5, -7, 0, 0), True),
        (["a >= 2**70"], (5, 0, 0, 0), False),
        (["a <= -2**70"], (5, 0, 0, 0), False),
        (["a == 2**70"], (5, 0, 0, 0), False),
        (["a <= 2**70"], (2**71, 0, 0, 0), False),
        (["True"], (0, 0, 0, 0), True),
        (["1 == 2"], (0, 0, 0, 0), False),
    ],
)
@pytest.mark.parametrize("native", [False, True])
def test_rows(texts: list[str], values: tuple[int, ...], accepted: bool, native: bool) -> None:
    """Each row is a case that a simpler printer gets wrong: divisors of any sign, short circuits, 64 bits."""
    assert check_of(*texts, native=native)(*values) is accepted


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("a % 16 == 0", "a % 16 == 0"),
        ("(a * b) % 64 == 0", "a * b % 64 == 0"),
        ("a - b >= 3", "a >= b + 3"),
        ("a > b", "a > b"),
        ("a <= 4096", "a <= 4096"),
        ("2*a + 3*b == c", "c == 2 * a + 3 * b"),
        ("max(a, 16) <= b", "b >= (a if a > 16 else 16)"),
        ("a // 4 >= 3", "a // 4 >= 3"),
        ("a % 8 != 3", "a % 8 != 3"),
    ],
)
def test_printed_as_a_person_would(text: str, becomes: str) -> None:
    """A failure: the normal form leaks into the generated text, which then does more work than it needs to."""
    body = check_of(text).source.split("if not (")[1].split("):\n")[0]
    sides = body.split(" == ")
    assert becomes in (body, " == ".join(reversed(sides)))


def test_shared_expressions_are_computed_once() -> None:
    """A failure: what several guards share is computed by each of them."""
    source = check_of("a*b % 64 == 0", "a*b <= 4096", "a*b*c <= 2**20", "(a*b) // 8 >= 2").source
    assert source.count("a * b") == 1


def test_divisors_are_tested_once() -> None:
    """A failure: a division repeats the test of a divisor that an earlier guard has settled."""
    assert " else " not in check_of("a // b >= 2", "b >= 1").source
    assert " else " not in check_of("a % (b*c) == 0", "b >= 1", "c >= 2").source
    assert " else " not in check_of("a // (b - c) >= 2").source


def test_domain_comes_before_the_guard() -> None:
    """A failure: generated code divides before it has looked at the divisor."""
    source = check_of("a % b == 0").source
    assert source.index("b != 0") < source.index("a % b")


def test_the_tightest_bound_stands_for_the_others() -> None:
    """A failure: a check spends time on bounds that another of its tests implies."""
    source = check_of("a >= 0", "a >= 2", "a > 64", "a != 7", "a <= 512", "a <= 4096").source
    assert source.count("a ") == 2 and "a >= 65" in source and "a <= 512" in source


def test_cheap_and_selective_tests_come_first() -> None:
    """A failure: sizes that do not fit are refused late."""
    source = check_of("a * b % 64 == 0", "a >= 0", "c == 128").source
    assert source.index("c == 128") < source.index("a * b") < source.index("a >= 0")


def test_order_keeps_all_conditions_that_matter() -> None:
    """A failure: ordering drops a condition that does not follow from the others."""
    interner = Interner()
    names = {name: interner.symbol(name) for name in "ab"}
    operations = Operations()
    lowering = Lowering(operations, {e: operations.leaf(i) for i, e in enumerate(names.values())})
    texts = ["a >= 3", "a <= 9", "a != 5", "a != 2", "b // a >= 1", "b == 8", "b != 7", "a*b >= 1"]
    kept = ordered(operations, [lowering.proposition(parse(text, names, interner).prop) for text in texts])
    assert len(kept) == 5  # a != 2, b != 7 and a*b >= 1 follow
    assert cost(kept[0]) == 1


def test_several_sources_must_agree() -> None:
    """A failure: two tensors that were traced with one batch size are accepted with two."""
    requirements, symbols = written(["b >= 1", "s % 16 == 0"], ["b", "s"])
    check = compile_check(requirements, symbols, {"b": [("x", 0), ("y", 0)], "s": ("x", 1)})
    assert check((4, 32), (4,)) and not check((4, 32), (5,))
    assert str(check.explain((4, 32), (5,))) == "x[0] and y[0] are both b, but 4 != 5"


def test_nested_arguments() -> None:
    """A failure: sizes inside tuples, lists, dicts and attributes are not found, or a missing one is an exception."""

    class Tensor:
        def __init__(self, *shape: int) -> None:
            self.shape = shape

    requirements, symbols = written(["b >= 2", "s % b == 0", "m == s"], ["b", "s", "m"])
    sources = {"b": ("x", ".shape", 0), "s": ("x", ".shape", -1), "m": ("batch", "mask", 1, 0)}
    check = compile_check(requirements, symbols, sources)
    assert check(Tensor(2, 7, 8), {"mask": [(), (8,)]})
    assert not check(Tensor(2, 7, 8), {"mask": [(), (9,)]})
    assert not check(Tensor(), {"mask": [(), (8,)]})
    assert not check(Tensor(2, 8), {})
    assert str(check.explain(Tensor(2, 8), {"mask": None})) == "the arguments have no batch['mask'][1][0]"


def test_explain_names_guard_values_and_place() -> None:
    """A failure: a person cannot see which guard refused a call."""
    requirements, symbols = written(["s % 16 == 0"], ["b", "s"])
    guard = replace(requirements[0], origin="model.py:41 in f", line=3)
    check = compile_check([guard], symbols, {"b": 0, "s": 1})
    explanation = check.explain(4, 100)
    assert (explanation.holds, explanation.requirement, explanation.values) == (False, guard, {"s": 100})
    assert str(explanation) == "guard `s % 16 == 0` fails at s=100 (model.py:41 in f)"
    assert check.explain(4, 128).holds and check.explain(b=4, s=128).holds
    undefined = compile_check(*written(["b % s == 0"], ["b", "s"]), {"b": 0, "s": 1}).explain(4, 0)
    assert "is not defined at b=4, s=0" in str(undefined)


def test_definitions_stand_for_missing_sources() -> None:
    """A failure: a guard on a symbol that is defined by others cannot be checked, or is checked wrongly."""
    interner = Interner()
    s = interner.symbol("s")
    half = interner.symbol("half", definition=s // 2)
    check = compile_check([requirement("half >= 3", interner.ge(half, 3))], {"s": s}, {"s": 0})
    assert [check(n) for n in (5, 6, 7)] == [False, True, True]
    assert [check.explain(n).holds for n in (5, 6, 7)] == [False, True, True]


def test_errors_name_what_is_wrong() -> None:
    """A failure: a mistake in the sources is a KeyError from inside."""
    requirements, symbols = written(["s % 16 == 0"], ["batch", "s"])
    with pytest.raises(ShapeError, match="no source for the symbol s, which `s % 16 == 0` needs"):
        compile_check(requirements, symbols, {"batch": 0})
    with pytest.raises(ShapeError, match="did you mean batch"):
        compile_check(requirements, symbols, {"bacth": 0, "s": 1})
    with pytest.raises(ShapeError, match="at least one source"):
        compile_check(requirements, symbols, {"s": []})
    with pytest.raises(ShapeError, match="count from 0"):
        compile_check(requirements, symbols, {"s": -1})
    with pytest.raises(ShapeError, match="some with a name"):
        compile_check(requirements, symbols, {"s": 1, "batch": ("x", 0)})
    with pytest.raises(ShapeError, match="the arguments are x, y"):
        compile_check(requirements, symbols, {"s": ("z", 0)}, arguments=("x", "y"))
    with pytest.raises(TypeError):
        compile_check(requirements, symbols, {"s": 0})(1, 2)


@pytest.mark.parametrize(
    "name", ["class", "abs", "s.shape[0]", "größe", "t0", "check", "__import__", "s-1", "function_0"]
)
def test_any_symbol_name_will_do(name: str) -> None:
    """A failure: the name of a symbol is taken as code, or hides what generated code uses."""
    interner = Interner()
    s, other = interner.symbol(name), interner.symbol("other")
    prop = interner.conjunction([interner.le(interner.absolute(s * other), 9), interner.ge(s * other, -7)])
    check = compile_check(
        [requirement("", prop, interner.true)], {name: s, "other": other}, {name: 0, "other": 1}
    )
    assert check(3, 3) and check(-1, 7) and not check(2, 5) and not check(-2, 4)


@pytest.mark.parametrize("depth", [60, 400])
def test_deep_and_wide_expressions(depth: int) -> None:
    """A failure: Python's parser refuses what was generated for deep nesting, long sums or huge constants."""
    interner = Interner()
    s = interner.symbol("s")
    deep = s
    for level in range(depth):
        deep = interner.maximum((deep + level) // 3, s % (level + 2))
    narrow = s
    for level in range(depth):
        narrow = (narrow + level) // (s + level)
    wide = interner.sum([interner.floordiv(s + k * k, k + 2) for k in range(depth)])
    props = [
        interner.ge(deep, 0),
        interner.ge(wide, 5),
        interner.ne(narrow, 1),
        interner.le(s, 2**100_000),
        interner.ge(s * 7**40_000, -(3**50_000)),
        interner.disjunction([interner.eq(s % 1009, k) for k in range(1009)]),
        *[interner.ne(s % (k + 3), k + 2) for k in range(0, depth, 8)],
    ]
    requirements = [requirement("", p, interner.true) for p in props]
    check = compile_check(requirements, {"s": s}, {"s": 0})
    (atom,) = s.symbols
    for value in (0, 2520, -5, 2**70, 10**40):
        truth = all(p.evaluate({atom: value}) for p in props)
        assert check(value) is truth
        assert check.explain(value).holds is truth


def test_opaque_functions_are_called_as_registered() -> None:
    """A failure: a guard with a function that has no operator form cannot be checked, or its domain is not."""
    interner = Interner()
    a = interner.symbol("a")
    prop = interner.ge(interner.function("isqrt", a), 5)
    check = compile_check([requirement("", prop, interner.ge(a, 0))], {"a": a}, {"a": 0})
    assert [check(n) for n in (24, 25, 2**200, -25)] == [False, True, True, False]


def test_requirements_helper_covers_all_operations() -> None:
    """A failure: the strategy of this file no longer generates what the printers must handle."""
    assert {"//", "%", "max(", "min(", "abs(", " if ", "&", "<<", " or ", " and "} <= set(requirements_of())
