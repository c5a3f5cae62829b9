"""Symbolic numbers against Python's own: the same random program on ints and on sizes with those hints.

What must agree: the value at the hints; and where Python raises, the domain is false there, or the same is raised.
"""

from __future__ import annotations

import copy
import math
import numbers
import operator
import pickle
from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shapes import ShapeEnv, SymBool, SymFloat, SymInt, sym_ite, sym_max, sym_min, sym_not
from shapes.errors import ForeignSymbol, ShapeError, UndecidedGuard, Undefined
from shapes.symbolic.operations import ENTRIES_KEPT
from solver.terms.prop import Prop

Number = int | bool | SymInt | SymBool
Tree = tuple[object, ...]
RAISED = (ArithmeticError, ValueError)

BINARY: dict[str, Callable[[Number, Number], object]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "divmod0": lambda a, b: divmod(a, b)[0],
    "divmod1": lambda a, b: divmod(a, b)[1],
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "max": lambda a, b: sym_max(a, b),
    "min": lambda a, b: sym_min(a, b),
}
UNARY: dict[str, Callable[[Number], object]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": lambda a: ~(+a),
    "abs": abs,
    "square": lambda a: a**2,
    "cube": lambda a: pow(a, 3),
    "round": lambda a: round(+a),
    "tens": lambda a: round(+a, -1),
    "floor": lambda a: math.floor(+a),
    "ceil": lambda a: math.ceil(+a),
    "trunc": lambda a: math.trunc(+a),
    "mod-power": lambda a: pow(a, 3, 7),
    "bits": lambda a: (+a).bit_length(),
}
VALUES = st.integers(-6, 12) | st.sampled_from([64, 255, 2**31, 2**63 - 1, -(2**40)])
LEAVES = st.one_of(
    st.tuples(st.just("variable"), st.integers(0, 2)),
    st.tuples(st.just("constant"), st.integers(-9, 20) | st.booleans()),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(sorted(BINARY)), inner, inner),
        st.tuples(st.sampled_from(sorted(UNARY)), inner),
        st.tuples(st.just("ite"), inner, inner, inner),
    ),
    max_leaves=6,
)


def run(tree: Tree, variables: Sequence[Number]) -> Number:
    match tree:
        case ("variable", int(i)):
            return variables[i]
        case ("constant", int(value)):
            return value
        case ("ite", tuple(p), tuple(a), tuple(b)):
            condition = run(p, variables) > 0
            if isinstance(condition, bool):  # Python evaluates one of them, and `sym_ite` needs the domain of that one
                return +run(a if condition else b, variables)
            return sym_ite(condition, +run(a, variables), +run(b, variables))  # type: ignore[return-value]
        case (str(name), tuple(a), tuple(b)):
            x, y = run(a, variables), run(b, variables)
            if name in ("<<", ">>"):
                x, y = sym_min(+x, 1000), sym_min(+y, 40)
            return BINARY[name](x, y)  # type: ignore[return-value]
        case (str(name), tuple(a)):
            return UNARY[name](run(a, variables))  # type: ignore[return-value]
    raise AssertionError(tree)


def holds(env: ShapeEnv, prop: Prop) -> bool:
    return prop.evaluate(env.hints)


def sized(values: Sequence[int]) -> tuple[ShapeEnv, list[SymInt]]:
    env = ShapeEnv(origin=lambda: None)
    return env, [env.symbol(f"s{i}", lo=None, hint=value) for i, value in enumerate(values)]


@given(TREES, st.lists(VALUES, min_size=3, max_size=3))
@example(("%", ("variable", 0), ("variable", 1)), [5, -3, 0])
@example(("tens", ("variable", 0)), [-15, 0, 0])
@example(("tens", ("variable", 0)), [25, 0, 0])
@example(("//", ("constant", 7), ("==", ("variable", 0), ("variable", 1))), [3, 4, 0])
@example((">>", ("variable", 0), ("variable", 1)), [-5, 1, 0])
def test_programs_mean_what_they_mean_on_ints(tree: Tree, values: list[int]) -> None:
    """A wrong value here is a wrong trace: the graph computes something else than the program."""
    env, symbols = sized(values)
    try:
        expected = run(tree, values)
    except RAISED:
        try:
            result = run(tree, symbols)
        except RAISED:
            return
        assert isinstance(result, SymInt | SymBool) and not holds(env, result.domain)
        return
    try:
        result = run(tree, symbols)
    except RAISED:  # both sides of a choice are built, and one divides by the constant 0
        assert "ite" in repr(tree)
        return
    if isinstance(result, SymInt | SymBool):
        assert holds(env, result.domain)
        assert env.hint(result) == expected
    else:
        assert result == expected
    assert not env.guards() and not env.specializations()


OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.and_, operator.or_,
    operator.xor, operator.lshift, operator.rshift, operator.truediv, divmod, operator.eq, operator.ne, operator.lt,
    operator.le, operator.gt, operator.ge, operator.pow,
]  # fmt: skip


@pytest.mark.parametrize("operation", OPERATORS, ids=lambda operation: operation.__name__)
@pytest.mark.parametrize("first", ["size", "truth", "float"])
@pytest.mark.parametrize("other", [3, 1, True, 0.75, 2.0, "size", "truth", "float"], ids=str)
def test_every_operator_and_its_reflection(
    operation: Callable[[object, object], object], first: str, other: object
) -> None:
    """Every pair of types has the value that Python's own pair has, and the type that stays symbolic."""
    env, (s, t) = sized([7, 3])
    own = {"size": (s, 7), "truth": (s > 2, True), "float": (s / 2, 3.5)}[first]
    symbolic = {"size": (t, 3), "truth": (t > 3, False), "float": (t / 2, 1.5)}
    ours, theirs = symbolic[other] if isinstance(other, str) else (other, other)
    for flipped in (False, True):
        a, b = (ours, own[0]) if flipped else (own[0], ours)
        x, y = (theirs, own[1]) if flipped else (own[1], theirs)
        try:
            expected = operation(x, y)
        except TypeError:
            with pytest.raises(TypeError):
                operation(a, b)
            continue
        except ZeroDivisionError:
            assert not holds(env, operation(a, b).domain) if operation is not divmod else True
            continue
        result = operation(a, b)
        for value, plain_value in zip(*(pair if isinstance(pair, tuple) else (pair,) for pair in (result, expected))):
            assert isinstance(value, SymFloat if isinstance(plain_value, float) else SymInt | SymBool)
            found = at_hints(env, value) if isinstance(value, SymFloat) else env.hint(value)
            assert found == plain_value and holds(env, value.domain)


def at_hints(env: ShapeEnv, value: SymFloat) -> float:
    arguments = [argument.evaluate(env.hints) for argument in value.value.arguments]
    return value.value.program.evaluate(*arguments) if value.value.value is None else value.value.value


def test_division_by_zero() -> None:
    """A constant zero is Python's error; a size that may be zero leaves an obligation."""
    env, (s, t) = sized([6, 3])
    for attempt in (
        lambda: s // 0,
        lambda: s % 0,
        lambda: divmod(s, 0),
        lambda: s / 0,
        lambda: s // (t - t),
        lambda: s / 0.0,
    ):
        with pytest.raises(ZeroDivisionError, match=r"s0|float"):
            attempt()
    for attempt in (lambda: s << -1, lambda: s >> -1, lambda: 1 << (t - t - 1)):
        with pytest.raises(ValueError, match="negative shift"):
            attempt()
    assert str((s // t).domain) == "s1 != 0"
    assert str((s // t + t % s).domain) == "s1 != 0 and s0 != 0"
    assert str((1 << t).domain) == "s1 >= 0"
    assert str((s // t > 1).domain) == "s1 != 0"
    assert (s // 4).domain is env.interner.true


@given(st.integers(-5, 5), st.integers(-3, 6))
def test_powers(base: int, exponent: int) -> None:
    """The sign of the exponent decides between int and float, so it is a branch; the value is Python's."""
    env, (s, n) = sized([base, exponent])
    for result, expected in (
        (lambda: s**exponent, lambda: base**exponent),
        (lambda: s**n, lambda: base**exponent),
        (lambda: base**n, lambda: base**exponent),
    ):
        try:
            value = expected()
        except ZeroDivisionError:
            outcome = result()
            assert isinstance(outcome, SymFloat)
            assert not holds(env, outcome.domain)
            continue
        outcome = result()
        if isinstance(value, int):
            assert isinstance(outcome, SymInt) and env.hint(outcome) == value
        else:
            assert isinstance(outcome, SymFloat) and at_hints(env, outcome) == value


def test_seen_before_is_the_same_object() -> None:
    """A rebuilt question finds its verdict by identity; equal domains and operands must not make new objects."""
    _, (s, t) = sized([6, 3])
    assert (s * t + 1) % 64 is (t * s + 1) % 64
    assert (s // t == 2) is (s // t == 2)
    assert s * 2 is 2 * s and s * True is s and s - 0 is s
    assert s * 2.0 is not s * 2 and isinstance(s * 2.0, SymFloat)


def test_the_memory_of_operations_is_bounded() -> None:
    """A long-running process asks millions of different questions."""
    _, (s, _) = sized([6, 3])
    for i in range(ENTRIES_KEPT + 100):
        _ = s + i == 1
    for table in (s.operations.memo, s.operations.integers, s.operations.booleans):
        assert len(table) <= ENTRIES_KEPT
    assert s + 1 is s + 1


def test_numbers_of_two_environments_do_not_mix() -> None:
    """Symbols are identities: a size of another environment is no size here."""
    _, (s, _) = sized([6, 3])
    _, (t, _) = sized([6, 3])
    for mix in (lambda: s + t, lambda: s < t, lambda: (s > 1) & (t > 1), lambda: s / 2 + t / 2, lambda: sym_max(s, t)):
        with pytest.raises(ForeignSymbol, match="two environments"):
            mix()
    forked = s.env.fork()
    u = forked.symbol("u", hint=2)
    assert str(u + s) == "s0 + u"


def test_other_types_are_refused_as_ints_refuse_them() -> None:
    """`s + "x"` is a TypeError, `s == "x"` is False."""
    _, (s, _) = sized([6, 3])
    for operation in (
        operator.add,
        operator.mul,
        operator.floordiv,
        operator.and_,
        operator.lt,
        operator.truediv,
        operator.pow,
    ):
        for other in (None, object(), {}):
            with pytest.raises(TypeError):
                operation(s, other)
            with pytest.raises(TypeError):
                operation(other, s)
    assert (s == "x") is False and (s != None) is True  # noqa: E711
    assert (s > 3) != "x" and (s / 2) != "x"
    with pytest.raises(TypeError):
        _ = s & 1.5  # type: ignore[operator]
    assert s + Fraction(1, 2) == Fraction(13, 2)


def test_abstract_numbers() -> None:
    """Code that tests `isinstance(n, numbers.Integral)` takes the integer path."""
    _, (s, _) = sized([6, 3])
    assert isinstance(s, numbers.Integral) and not isinstance(s, int)
    assert isinstance(s / 2, numbers.Real) and not isinstance(s / 2, numbers.Integral)
    assert s.numerator is s.real is s.conjugate() is s and (s.denominator, s.imag) == (1, 0)
    assert s.as_integer_ratio() == (s, 1) and s.is_integer()


def test_truth_values() -> None:
    """`&`, `|`, `^`, `==` of propositions are propositions; arithmetic counts."""
    env, (s, t) = sized([6, 3])
    p, q = s > 2, t > 5
    assert str(p & q) == "s0 >= 3 and s1 >= 6" and str(True & p) == "s0 >= 3" and (p & False).is_constant
    assert str(p | q) == "s0 >= 3 or s1 >= 6" and (p | True).is_constant and str(False | q) == "s1 >= 6"
    assert (
        env.hint(p ^ q) is True
        and env.hint(p == q) is False
        and env.hint(p != q) is True
        and env.hint(True ^ p) is False
    )
    assert env.hint(sum([p, q, p])) == 2 and env.hint(-p) == -1 and env.hint(p * s) == 6
    assert (p == 1).prop is p.prop and env.hint(p < q) is False and env.hint(p == 2) is False
    assert str(sym_not(p)) == "s0 <= 2"
    with pytest.raises(TypeError, match=r"`~\(s0 >= 3\)`: use sym_not .*\(test_symint.py:\d+\)"):
        _ = ~p
    assert isinstance(p + q, SymInt) and isinstance(p / 2, SymFloat)
    assert not env.guards()


def test_errors_name_operation_expression_and_line() -> None:
    """A failure inside arithmetic is reported where the user wrote it, not as a traceback of the engine."""
    env = ShapeEnv()
    s = env.symbol("s")
    with pytest.raises(ZeroDivisionError, match=r"`s // 0`: division by zero  \(test_symint.py:\d+\)"):
        _ = s // 0
    with pytest.raises(ShapeError, match=r"`s \*\* 1000000`: .*\(test_symint.py:\d+\)"):
        _ = s**1000000
    with pytest.raises(TypeError, match=r"unhashable: `s` is symbolic; .*\(test_symint.py:\d+\)"):
        hash(s)
    with pytest.raises(UndecidedGuard, match=r"test_symint.py:\d+"):
        int(s)


def test_copies_and_pickles() -> None:
    """A copy of a model's configuration keeps its sizes; a pickle takes their environment along."""
    env, (s, _) = sized([6, 3])
    for value in (s, s > 2, s / 2):
        assert copy.copy(value) is value and copy.deepcopy([value])[0] is value
        loaded, other = pickle.loads(pickle.dumps((value, env)))
        assert type(loaded) is type(value) and str(loaded) == str(value) and loaded.env is other
    assert pickle.loads(pickle.dumps(s - s + 3)) == 3
    assert pickle.loads(pickle.dumps(s - s == 0)) is True
    assert pickle.loads(pickle.dumps((s - s) * 0.5 + 1)) == 1.0


def test_constants_are_what_they_are() -> None:
    """A size that cancels out behaves as its number, and leaves no guard."""
    env, (s, _) = sized([6, 3])
    five = s - s + 5
    assert hash(five) == hash(5) and {5: "x"}[five] == "x" and five in {5} and five in (4, 5)
    assert [0] * five == [0] * 5 and list(range(five)) == [0, 1, 2, 3, 4] and f"{five:3d}" == "  5"
    assert int(five) == 5 and float(five) == 5.0 and complex(five) == 5 and bool(five) and bin(five) == "0b101"
    assert math.sqrt((s - s) * 0.5 + 4) == 2.0 and hash(five * 0.5) == hash(2.5)
    assert not env.guards() and not env.specializations()


@given(TREES, st.lists(VALUES, min_size=3, max_size=3))
def test_values_by_name_are_those_of_python(tree: Tree, values: list[int]) -> None:
    """Evaluation and substitution by name give what Python gives for these integers, or say that it gives nothing."""
    env, symbols = sized([1, 1, 1])
    names = [str(symbol) for symbol in symbols]
    try:
        symbolic = run(tree, symbols)
    except (ShapeError, ArithmeticError, ValueError):
        return
    if env.guards() or not isinstance(symbolic, SymInt | SymFloat | SymBool):
        return  # the program has branched on the hints
    try:
        expected = run(tree, values)
    except (ArithmeticError, ValueError):
        with pytest.raises((ShapeError, ArithmeticError, ValueError)):
            symbolic.evaluate(dict(zip(names, values)))
        return
    if isinstance(expected, complex) or isinstance(symbolic, SymInt) and isinstance(expected, float):
        return
    got = [symbolic.evaluate(dict(zip(names, values))), symbolic.substitute(dict(zip(names, values)))]
    rest = symbolic.substitute({names[0]: values[0]})
    if isinstance(rest, SymInt | SymFloat | SymBool):
        got.append(rest.evaluate({names[1]: values[1], names[2]: values[2]}))
    for value in got:
        assert value == expected or (value != value and expected != expected)


def test_names_and_values_that_do_not_fit() -> None:
    """A name that is none, a value that is missing and a place where Python raises are errors that say so."""
    env = ShapeEnv()
    b, s = env.sizes("b s")
    with pytest.raises(ShapeError, match="bb=3: no such symbol; there are b, s; did you mean 'b'"):
        (b * s).evaluate(bb=3)
    with pytest.raises(ShapeError, match=r"`b\*s` needs a value for s; `substitute` leaves symbols open"):
        (b * s).evaluate(b=3)
    with pytest.raises(ShapeError, match="b='x': expected an integer"):
        (b * s).substitute(b="x")  # type: ignore[arg-type]
    for number in (b // s, b / s, b % s > 2):
        for call in (number.evaluate, number.substitute):
            with pytest.raises(Undefined, match=r"` is undefined "):
                call(b=1, s=0)
    assert (b // s).substitute(b=s, s=b + 1).domain is (s // (b + 1)).domain
    with pytest.raises(ForeignSymbol):
        (b * s).substitute(b=ShapeEnv().symbol("b"))
    assert (b > s).evaluate(b=True, s=0) is True and env.size("4 + 3") == 7 and str(env.size("b // 2")) == "b//2"
