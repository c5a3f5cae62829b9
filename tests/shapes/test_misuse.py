"""Every public function of an environment, given what it does not take: an error of ours, where it is given."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from shapes import (
    Always,
    Dispatch,
    ShapeEnv,
    ShapeError,
    sym_and,
    sym_float,
    sym_gcd,
    sym_int,
    sym_ite,
    sym_max,
    sym_min,
    sym_sqrt,
    sym_sum,
)
from shapes.environment.layout import contiguous, contiguous_strides, numel, storage_size
from shapes.errors import Contradiction
from shapes.rules import rules
from shapes.symbolic.numbers import SymInt

Misuse = Callable[[ShapeEnv, SymInt], object]

WRONG: list[tuple[Misuse, str]] = [
    (lambda env, s: ShapeEnv(policy="strict"), r"policy='strict': expected .*torch_defaults.*did you mean 'static'"),
    (lambda env, s: ShapeEnv(policy=None), r"policy=None: expected one of"),
    (lambda env, s: ShapeEnv(decimals="ieeee"), r"decimals='ieeee': expected ieee or real; did you mean 'ieee'"),
    (lambda env, s: ShapeEnv(origin=3), r"origin=3: expected a function"),
    (lambda env, s: ShapeEnv(solvers="no"), r"solvers='no': expected True or False"),
    (lambda env, s: ShapeEnv(interner=3), r"interner=3: expected"),
    (lambda env, s: env.symbol(3), r"name=3: expected an identifier"),
    (lambda env, s: env.symbol("a b"), r"name='a b': expected an identifier"),
    (lambda env, s: env.symbol("if"), r"name='if': expected an identifier"),
    (lambda env, s: env.symbol("max"), r"name='max': expected an identifier"),
    (lambda env, s: env.symbol("s"), r"name='s': a symbol of this name exists already"),
    (lambda env, s: env.symbol("x", lo=True), r"lo=True: expected an integer"),
    (lambda env, s: env.symbol("x", hi=np.True_), r"hi=.*True.*: expected an integer"),
    (lambda env, s: env.symbol("x", lo=1.0), r"lo=1.0: expected an integer"),
    (lambda env, s: env.symbol("x", hint="3"), r"hint='3': expected an integer"),
    (lambda env, s: env.symbol("x", lo=3, hi=2), r"lo=3, hi=2: no value"),
    (lambda env, s: env.unbacked(3), r"name=3: expected"),
    (lambda env, s: env.ask("s >= 0", effort="turbo"), r"effort='turbo': expected fast, default, thorough or full"),
    (lambda env, s: env.ask(s >= 0, effort=["fast"]), r"effort=\['fast'\]: expected"),
    (lambda env, s: env.ask(s * 3 >= 7, timeout="soon"), r"timeout='soon': expected seconds from 0, such as 0.02"),
    (lambda env, s: env.proves("s >= 0", timeout=-1), r"timeout=-1: expected seconds"),
    (lambda env, s: env.ask("s >= 0").export("lean"), r"system='lean': .*'coq'; SMT-LIB has `env.export\('smtlib'\)`"),
    (lambda env, s: env.export("lean"), r"system='lean': expected smtlib"),
    (lambda env, s: env.ask("s // 0 == 1"), r"`s // 0 == 1` is undefined for all sizes: a divisor in it is 0"),
    (lambda env, s: env.guard("s % 0 == 1"), r"`s % 0 == 1` is undefined for all sizes"),
    (lambda env, s: env.fork(under="s == 0").ask("7 // s > 3"), r"`7 // s > 3` is undefined here: .*refute `s != 0`"),
    (lambda env, s: env.unbacked("u", kind="floatt"), r"kind='floatt': .*did you mean 'float'"),
    (lambda env, s: env.sizes(3), r"spec=3: expected"),
    (lambda env, s: env.sizes("a b", hints=(1,)), r"has 2 names"),
    (lambda env, s: env.sizes("a", hints={"c": 1}), r"no c in 'a'"),
    (lambda env, s: env.sizes("a b", hints="ab"), r"hints='ab': expected one hint"),
    (lambda env, s: env.input("x", 3), r"sizes=3: expected"),
    (lambda env, s: env.input("x", "ab"), r"sizes='ab': expected"),
    (lambda env, s: env.input("x", [1.5]), r"sizes=1.5: expected an integer"),
    (lambda env, s: env.input("x", [2, 3], [1]), r"one of each for every axis"),
    (lambda env, s: env.input("x", [2], [None]), r"strides=None: expected"),
    (lambda env, s: env.ask(None), r"question=None: expected text"),
    (lambda env, s: env.ask(s), r"question=s: expected text or a comparison"),
    (lambda env, s: env.ask(1.5), r"question=1.5: expected"),
    (lambda env, s: env.ask("s"), r"expected a proposition"),
    (lambda env, s: env.ask("s > 0 and", effort="fast"), r"expected a value"),
    (lambda env, s: env.ask("sz > 7"), r"unknown name `sz`; did you mean `s`"),
    (
        lambda env, s: env.ask("s % 7 == 5", effort="fats"),
        r"effort='fats': expected fast, default, thorough or full; did you mean 'fast'",
    ),
    (lambda env, s: env.assume([s]), r"question=\[s\]: expected"),
    (lambda env, s: env.guard(3), r"question=3: expected"),
    (lambda env, s: env.expect_true(3), r"question=3: expected"),
    (lambda env, s: env.require(3), r"question=3: expected"),
    (lambda env, s: env.explain(3), r"question=3: expected"),
    (lambda env, s: env.hypothesis(3).__enter__(), r"question=3: expected"),
    (lambda env, s: env.fork(under=3), r"question=3: expected"),
    (lambda env, s: env.bounds([1]), r"size=\[1\]: expected"),
    (lambda env, s: env.bounds(1.5), r"size=1.5: expected"),
    (lambda env, s: env.simplify(None), r"size=None: expected"),
    (lambda env, s: env.hint(None), r"size=None: expected"),
    (lambda env, s: env.fits(s, "x"), r"bits='x': expected"),
    (lambda env, s: env.fits(s, -1), r"bits=-1: expected"),
    (lambda env, s: env.specialize("zz", "why"), r"unknown name `zz`"),
    (lambda env, s: env.rebind(3, 4), r"symbol=3: expected"),
    (lambda env, s: env.add_source(s, 3), r"source=3: expected text"),
    (lambda env, s: env.add_source(s + 1, "x"), r"expected a symbol"),
    (lambda env, s: env.listen(3), r"listener=3: expected a function"),
    (lambda env, s: env.at(3).__enter__(), r"origin=3: expected an Origin"),
    (lambda env, s: env.rollback(3), r"mark=3: expected the result of `checkpoint`"),
    (lambda env, s: env.join(3), r"join takes forks"),
    (lambda env, s: env.adopt(3), r"size=3: expected a size of an environment"),
    (lambda env, s: env.upper_bound(s, 3), r"over=3: expected"),
    (lambda env, s: env.lower_bound(s, [3]), r"over=\[3\]: expected"),
    (lambda env, s: env.translate("s > 0", 3), r"mapping=3: expected"),
    (lambda env, s: env.certify({"zz": 3}), r"zz=3: no such symbol"),
    (lambda env, s: env.certify(s="x"), r"s='x': expected a size, or a pair"),
    (lambda env, s: env.certify(s=(1, 2, 3)), r"s=\(1, 2, 3\): expected a size, or a pair"),
    (lambda env, s: env.certify(s=(5, 2)), r"no size lies between"),
    (lambda env, s: env.compile_guards(3), r"sources=3: expected"),
    (lambda env, s: env.compile_guards({"s": 1.5}), r"sources\['s'\]=1.5: expected a position"),
    (lambda env, s: env.compile_guards({"z": ("x", 0)}), r"sources\['z'\]: no such symbol"),
    (lambda env, s: env.compile_guards({"s": []}), r"at least one source"),
    (lambda env, s: env.parse(3), r"text=3: expected"),
    (lambda env, s: env.parse_expr(3), r"text=3: expected"),
    (lambda env, s: env.save(3), r"path=3: expected"),
    (lambda env, s: ShapeEnv.load(3), r"path=3: expected"),
    (lambda env, s: env.save(""), r"path='': expected the path of a file to write"),
    (lambda env, s: env.record(None), r"path=None: expected the path of a file to write"),
    (lambda env, s: env.record("a\0b"), r"path='a.*b': expected"),
    (lambda env, s: env.parse([]), r"text=\[\]: expected"),
    (lambda env, s: env.fits(s, 10**400), r"bits=.*: expected an integer from 1 to 1,048,576"),
    (lambda env, s: env.certify(1), r"box=1: expected values by name"),
    (lambda env, s: env.sizes("a", hints=1), r"hints=1: expected one hint for each name of 'a', or hints by name"),
    (lambda env, s: (s + 1).substitute(3), r"sizes=3: expected values by name, such as"),
    (lambda env, s: (s > 1).evaluate({3: 4}), r"sizes=\{3: 4\}: expected values by name"),
    (lambda env, s: (s / 2).evaluate(None), r"sizes=None: expected values by name"),
    (lambda env, s: env.compile_guards({"s": 10**10}), r"sources\['s'\]=10000000000: positions end at 99,999"),
    (lambda env, s: env.compile_guards({"s": 0}, arguments=3), r"arguments=3: expected the names"),
    (lambda env, s: env.compile_guards({"s": 0}, arguments=(1, 2)), r"arguments=\(1, 2\): expected the names"),
    (lambda env, s: Dispatch(3), r"arguments=3: expected the names"),
    (lambda env, s: env.ask("isqrt(-1) == s"), r"is undefined for all sizes: .* the operand of a root is negative"),
    (lambda env, s: rules["bmmm"], r"there is no rule 'bmmm'; did you mean 'bmm'"),
    (lambda env, s: rules[3], r"there is no rule 3"),
]  # fmt: skip


@pytest.mark.parametrize(("misuse", "message"), WRONG, ids=range(len(WRONG)))
def test_misuse(misuse: Misuse, message: str) -> None:
    """A mistake is reported at once, in the library's own words."""
    env = ShapeEnv()
    _, s = env.sizes("b s", hints=(4, 8))
    before = env.events
    with pytest.raises(ShapeError, match=message):
        misuse(env, s)  # type: ignore[arg-type]
    assert env.events == before, "what fails changes nothing"


def test_a_missing_rule_is_a_missing_key() -> None:
    """`rules.get` and `in` treat a missing rule as a missing key."""
    assert rules.get("bmmm") is None and "bmmm" not in rules and rules["bmm"]


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, np.int16])
def test_integers_of_numpy_are_integers(kind: type[np.integer]) -> None:
    """NumPy's integers are accepted as Python's."""
    env, three, nine = ShapeEnv(), kind(3), kind(9)
    s = env.symbol("s", lo=three, hi=nine, hint=kind(4))
    assert (env.symbols[next(iter(s.expr.symbols))].lo, env.hint(s)) == (3, 4)
    assert all(type(value) is int for value in (env.hint(s), *env.bounds(s), *env.bounds(three)))
    for one, other in (
        (s + three, s + 3), (three + s, 3 + s), (s * three, 3 * s), (three * s, 3 * s), (s // three, s // 3),
        (s % three, s % 3), (s**three, s**3), (three - s, 3 - s), (s - three, s - 3),
    ):  # fmt: skip
        assert one.expr is other.expr
    for one, other in ((s == three, s == 3), (three < s, s > 3), (s <= three, s <= 3), (three >= s, s <= 3)):
        assert one.prop is other.prop
    assert env.guard(s >= three) and isinstance(env.ask(np.bool_(True)), Always)
    assert env.guarding_hint(three) == 3 and env.simplify(three) == 3
    layout = env.input("x", np.array([3, 4], kind), [kind(4), kind(1)])
    assert [env.hint(size) for size in layout.sizes] == [3, 4]
    assert contiguous_strides((s, three, nine)) == (27, 9, 1) and numel((three, nine)) == 27
    assert contiguous((three, nine), (nine, kind(1))) is True and contiguous((three, nine), (three, kind(1))) is False
    assert storage_size((three, nine), (nine, kind(1)), kind(2)) == 29
    largest = sym_max(three, nine)
    assert (type(largest), largest) == (int, 9)
    for one, other in (
        (sym_sum([three, s]), s + 3), (sym_ite(s > 4, nine, s), sym_ite(s > 4, 9, s)),
        (sym_max(s, three), sym_max(s, 3)),
    ):  # fmt: skip
        assert isinstance(one, SymInt) and isinstance(other, SymInt) and one.expr is other.expr
    assert sym_and(np.bool_(True), s > 4) is not False and sym_and(s > 4, np.bool_(False)) is not True
    assert sym_ite(np.bool_(True), 1, 2) == 1
    env = ShapeEnv()
    env.symbol("s", lo=three, hi=nine)
    assert isinstance(env.certify(s=(three, nine)), Always)
    assert env.compile_guards({"s": 0})(kind(4)) is True
    assert [env.hint(size) for size in env.sizes("p q", hints=np.array([5, 6], kind))] == [5, 6]


def test_efforts_and_timeouts_are_read_before_what_is_known_already() -> None:
    """An effort that is none is an error for a question that was answered before, too."""
    env = ShapeEnv()
    s = env.symbol("s", hint=200)
    for question in (s >= 0, s % 4 == 0, "s >= 0", "s % 4 == 0"):
        env.ask(question)
        for wrong in ({"effort": "turbo"}, {"timeout": -1}, {"timeout": "soon"}):
            with pytest.raises(ValueError, match="expected"):
                env.ask(question, **wrong)  # type: ignore[arg-type]


def test_a_power_that_nobody_can_write_is_no_error() -> None:
    """The powers of a tower have more digits than Python prints: that is not an error of the question."""
    env = ShapeEnv()
    env.symbol("a")
    assert not isinstance(env.ask("a**a**a == 1"), Always)


def test_sums_and_divisors_count_every_integer_and_nothing_else() -> None:
    """Integers of other libraries and truth values count; a float is a TypeError that says so, with its line."""
    env = ShapeEnv()
    s = env.symbol("s", hint=200)
    assert str(sym_gcd(s, np.int64(4), True)) == "1" and str(sym_gcd(s, np.int64(4))) == "gcd(4, s)"
    for call in (lambda: sym_gcd(s, 2.0), lambda: sym_gcd(2.0, s), lambda: sym_sum([s, 2.0])):
        with pytest.raises(TypeError, match=r"2.0: expected an int or a SymInt  \(test_misuse.py:\d+\)"):
            call()
    with pytest.raises(TypeError, match="'x': expected an int or a SymInt"):
        sym_ite(s > 3, s, "x")  # type: ignore[call-overload]


def test_a_known_size_takes_the_place_of_its_name() -> None:
    """`4*s` says more than `b*s` where b is known, although it is as many operations."""
    env = ShapeEnv()
    b, s = env.sizes("b s", hints=(4, 128))
    env.assume("b == 4")
    assert str(env.simplify("b*s")) == "4*s" and env.simplify(b * b) == 16 and env.simplify(s - s + b) == 4


def test_a_format_never_asks_for_the_value() -> None:
    """Logging commits to nothing: the text of the expression, as wide as the format says."""
    env = ShapeEnv()
    s = env.symbol("s", hint=200)
    assert [f"{s:>4}", f"{s:<4}|", f"{s:*^5}", f"{s:4d}", f"{s:04,}"] == ["   s", "s   |", "**s**", "   s", "   s"]
    assert [f"{s:x}", f"{s / 2:15.2f}", f"{s > 3:8}"] == ["s", "  truediv(s, 2)", "s >= 4  "]
    assert len(env.events) == 1
    assert (f"{s - s + 5:3d}", f"{(s - s + 1) / 2:.2f}", f"{s - s == 0}") == ("  5", "0.50", "True")
    with pytest.raises(ValueError, match="format"):
        f"{s:wide}"


def test_copies_of_an_environment_are_its_own(tmp_path: Path) -> None:
    """A copy of an environment learns on its own."""
    env = ShapeEnv()
    s = env.symbol("s", hint=200)
    env.assume(s % 4 == 0)
    for made in (copy.copy(env), copy.deepcopy(env), copy.deepcopy({"env": env, "s": s})["env"]):
        assert isinstance(made.ask(s % 2 == 0), Always)
        made.assume(s > 100)
        assert not isinstance(env.ask(s > 50), Always)
    assert copy.deepcopy(s) is s and copy.copy(s > 3).prop is (s > 3).prop
    assert isinstance(pickle.loads(pickle.dumps(env)).ask("s % 2 == 0"), Always)
    env.save(tmp_path / "env.jsonl")
    assert isinstance(ShapeEnv.load(tmp_path / "env.jsonl").ask("s % 2 == 0"), Always)


def test_a_wrong_hint_is_told_where_it_is_given() -> None:
    """A wrong hint is an error where it is given."""
    with pytest.raises(Contradiction, match="hint=-3"):
        ShapeEnv().input("x", [-3, 4])


@pytest.mark.parametrize(
    ("misuse", "error"),
    [
        (lambda s: sym_max(s, "b"), TypeError), (lambda s: sym_min(None, s / 2), TypeError),
        (lambda s: sym_max("a", "b"), TypeError), (lambda s: sym_int("12"), TypeError),
        (lambda s: sym_float(None), TypeError), (lambda s: sym_float(10**400), OverflowError),
        (lambda s: sym_sqrt("4"), TypeError), (lambda s: sym_sqrt(-1), ValueError),
    ],
)  # fmt: skip
def test_numbers_that_are_none_name_the_function_and_the_line(
    misuse: Callable[[SymInt], object], error: type[Exception]
) -> None:
    """An error of `int` or of `<` would speak of neither."""
    with pytest.raises(error, match=r"`sym_.*\(test_misuse.py:\d+\)"):
        misuse(ShapeEnv().symbol("s"))


def test_an_explanation_names_an_argument_that_is_no_integer() -> None:
    env = ShapeEnv()
    env.guard(env.symbol("s", hint=4) > 2)
    check = env.compile_guards({"s": 0})
    for wrong, text in ((None, "None"), ("b", "'b'"), (float("nan"), "nan")):
        assert str(check.explain(wrong)).endswith(f"s is {text}, no integer")
