"""One meaning of an expression: every conversion keeps the value and where it is defined, as Python has them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from random import Random

import pytest

from shapes import Always, Depends, Never, ShapeEnv, ShapeError
from solver.errors import NotExpressible
from solver.interop import smtlib
from solver.interop.sympy import from_sympy, names_of, to_sympy
from solver.syntax.defined import defined_text
from solver.terms.expr import Expr
from solver.terms.prop import Prop
from tests.properties.definedness import NAMES, Texts, assignments, outcome

Value = Expr | Prop
Sizes = Mapping[str, int]
EXAMPLES = 150
Convert = Callable[[ShapeEnv, Value, Prop], Callable[[Sizes], object]]


def at(value: Value, domain: Prop, sizes: Sizes) -> int | bool | None:
    """The value there; None outside its domain."""
    known = {symbol: sizes[symbol.name] for symbol in value.symbols | domain.symbols}
    return value.evaluate(known) if domain.evaluate(known) else None


def environment(names: Sequence[str] = NAMES) -> ShapeEnv:
    env = ShapeEnv(origin=lambda: None)
    for name in names:
        env.symbol(name, None, None)
    return env


def read(env: ShapeEnv, text: str) -> tuple[Value, Prop]:
    """A proposition, or else a number."""
    try:
        return env.parse(text)
    except ShapeError:
        return env.parse_expr(text)


def printed(env: ShapeEnv, value: Value, domain: Prop) -> Callable[[Sizes], object]:
    text = defined_text(value, domain)
    return lambda sizes: outcome(text, sizes)


def parsed_again(env: ShapeEnv, value: Value, domain: Prop) -> Callable[[Sizes], object]:
    again = read(env, defined_text(value, domain))
    return lambda sizes: at(*again, sizes)


def through_sympy(env: ShapeEnv, value: Value, domain: Prop) -> Callable[[Sizes], object]:
    again = from_sympy(to_sympy(value, domain=domain), env.interner, names_of(value) | names_of(domain))
    return lambda sizes: at(*again, sizes)


def through_smtlib(env: ShapeEnv, value: Value, domain: Prop) -> Callable[[Sizes], object]:
    prop = value if isinstance(value, Prop) else Prop.eq(value, env.names["n"])
    script = smtlib.read(smtlib.question([domain], prop), env.interner, env.names)
    inside, negated = script.assertions
    of_value = at if isinstance(value, Prop) else None

    def found(sizes: Sizes) -> object:
        if not at(*inside, sizes):
            return None
        holds = at(negated.prop.negation, negated.domain, sizes)
        if of_value is not None:
            return holds
        expected = at(value, domain, sizes)
        return expected if holds is (expected == sizes["n"]) else "another value"

    return found


def simplified(env: ShapeEnv, value: Value, domain: Prop) -> Callable[[Sizes], object]:
    from solver.decide.simplify import simplify_pair

    if isinstance(value, Prop):
        value = env.interner.ite(value, env.interner.one, env.interner.zero)
    simple = simplify_pair(env.known, value, domain, solvers=False)
    text = defined_text(*simple)
    return lambda sizes: outcome(text, sizes)


def substituted(env: ShapeEnv, value: Value, domain: Prop) -> Callable[[Sizes], object]:
    mapping = {name.atom: env.names[name.atom.name] - 1 for name in env.names.values()}
    moved, where = value.substitute(mapping), domain.substitute(mapping)
    return lambda sizes: at(moved, where, {name: size + 1 for name, size in sizes.items()})


def pickled(env: ShapeEnv, value: Value, domain: Prop) -> Callable[[Sizes], object]:
    """The value and its domain in another environment, as another process has them."""
    _, again, where = pickle.loads(pickle.dumps((env, value, domain)))
    return lambda sizes: at(again, where, sizes)


EXACT = (printed, parsed_again, through_sympy, through_smtlib, substituted, pickled)


def differences(seed: int, conversions: Sequence[Convert], depth: int = 3) -> list[str]:
    """Where conversions of one random text differ from Python; none if all is well."""
    random = Random(seed)
    texts = Texts(random)
    text = texts.condition(depth) if seed % 2 else texts.number(depth)
    return differences_of(text, environment(), conversions, assignments(random, 12))


def differences_of(
    text: str, env: ShapeEnv, conversions: Sequence[Convert], places: Sequence[dict[str, int]]
) -> list[str]:
    """Where conversions of a text differ from Python at these sizes."""
    try:
        value, domain = read(env, text)
    except ShapeError as error:
        defined = [sizes for sizes in places if outcome(text, sizes) is not None]  # the error says that there is none
        return [f"{text} at {sizes}: {error}" for sizes in defined[:1]]
    found = []
    for name, convert in [("parse", None), *[(each.__name__, each) for each in conversions]]:
        try:
            again = convert(env, value, domain) if convert is not None else lambda sizes: at(value, domain, sizes)
        except NotExpressible:
            continue
        for sizes in places:
            expected, seen = outcome(text, sizes), again(sizes)
            if seen != expected:
                found.append(f"{name} of `{text}` at {sizes}: {seen}, Python: {expected}")
                break
    return found


def test_conversions_keep_the_value_and_where_it_is_defined() -> None:
    """A division that loses its condition makes a value undefined, and a question about it a false Always."""
    found = [line for seed in range(EXAMPLES) for line in differences(seed, EXACT)]
    assert not found, "\n".join(found[:5])


def test_simplification_keeps_where_a_value_is_defined() -> None:
    """The text of a simplified size raises nowhere but where the original does."""
    found = [line for seed in range(EXAMPLES // 5) for line in differences(seed, [simplified], 2)]
    assert not found, "\n".join(found[:5])


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(0, 20_000, 1_000))
def test_many_conversions_keep_the_value_and_where_it_is_defined(first: int) -> None:
    """Twenty thousand texts, as above."""
    found = [line for seed in range(first, first + 1_000) for line in differences(seed, EXACT)]
    assert not found, f"{len(found)}\n" + "\n".join(found[:5])


RANGE = range(-3, 5)
EQUALITIES = [
    ("n", "e - 1"), ("n", "2*e"), ("n", "3*d"), ("d", "e + 1"), ("k", "d"), ("d", "e*k"), ("n", "d*k"), ("d", "2*e"),
    ("n", "e*d"), ("k", "-e"), ("d", "n - e"), ("n", "k*d + d"),
]  # fmt: skip


def wrong_answers(seed: int) -> list[str]:
    """Answers about a random text under an equality of two sizes that some sizes of a small range refute."""
    random = Random(seed)
    texts = Texts(random)
    text, (name, other) = texts.number(2), random.choice(EQUALITIES)
    env = environment()
    env.symbol("e", None, None)
    env.symbol("q", None, None)
    facts = [f"q == {text}", f"{name} == {other}"]
    try:
        for fact in random.sample(facts, 2):
            env.assume(fact)
    except ShapeError:  # it never holds
        return []
    places = [dict(zip("ndke", sizes, strict=True)) for sizes in product(RANGE, repeat=4)]
    places = [{**sizes, "q": outcome(text, sizes)} for sizes in places if sizes[name] == outcome(other, sizes)]
    places = [sizes for sizes in places if sizes["q"] is not None]
    small = [random.randrange(-2, 3) for _ in range(4)]
    questions = [
        texts.condition(2), texts.condition(2), f"q == {small[0]}", f"q == {text.replace(name, f'({other})')}",
        f"{random.choice('nde')} != {small[1]} or q == {small[2]}",
        f"{random.choice('nde')} != {small[1]} or q <= {small[3]}",
    ]  # fmt: skip
    found = []
    for question in questions:
        try:
            verdict = env.ask(question)
        except ShapeError:
            continue
        if isinstance(verdict, Always | Never):
            refuted = isinstance(verdict, Never)
            found += [f"{facts}: {question} at {sizes}" for sizes in places if outcome(question, sizes) is refuted][:1]
    return found


def test_answers_hold_where_operations_are_protected() -> None:
    """A protected operation without its condition took the value of its normal form where it is undefined."""
    found = [line for seed in range(EXAMPLES // 5) for line in wrong_answers(seed)]
    assert not found, "\n".join(found[:5])


def test_a_protected_division_is_zero_once_its_divisor_is_replaced() -> None:
    env = environment()
    env.symbol("q", None, None)
    env.assume("n == d - 1")
    env.assume("q == (n // (n - 1) if n != 1 else 0)")
    assert isinstance(env.ask("d != 2 or q == 0"), Always)
    assert isinstance(env.ask("d != 2 or q == 1"), Depends)


@pytest.mark.thorough
def test_many_answers_hold_where_operations_are_protected() -> None:
    found = [line for seed in range(1_000) for line in wrong_answers(seed)]
    assert not found, f"{len(found)}\n" + "\n".join(found[:5])


@pytest.mark.parametrize(
    ("examples", "native"),
    [(2 * EXAMPLES, False), (EXAMPLES // 5, True), pytest.param(2_000, True, marks=pytest.mark.thorough)],
)
def test_saved_facts_and_compiled_checks_accept_what_python_accepts(
    tmp_path: Path, examples: int, native: bool
) -> None:
    """A session that is saved and loaded, and a check in Python or C, accept exactly the sizes at which the text is
    true."""
    tried = 0
    for seed in range(1, examples, 4):
        random = Random(seed)
        text = Texts(random).condition(2)
        env = environment()
        try:
            env.assume(text)
        except ShapeError:  # it never holds, or always
            continue
        tried += 1
        path = tmp_path / f"{seed}.jsonl"
        env.save(path)
        loaded = ShapeEnv.load(path)
        sources = {name: place for place, name in enumerate(NAMES)}
        checks = [each.compile_guards(sources, native=native) for each in (env, loaded)]
        for sizes in assignments(random, 12):
            expected = outcome(text, sizes) is True
            seen = [check(*[sizes[name] for name in NAMES]) for check in checks]
            assert seen == [expected, expected], (text, sizes)
    assert tried > examples // 8


def test_a_simplified_size_does_not_rule_zero_out_when_it_is_loaded(tmp_path: Path) -> None:
    """A guard on a simplified size meant something else when it was loaded: a false Always that its proof confirmed."""
    env = ShapeEnv(origin=lambda: None)
    env.symbol("n", 0, None, 7)
    env.symbol("d", 0, None, 2)
    size = env.simplify("n // d * d if d != 0 else 0")
    assert outcome(str(size), {"n": 7, "d": 0}) == 0
    env.guard(size <= 6)
    env.save(tmp_path / "saved.jsonl")
    loaded = ShapeEnv.load(tmp_path / "saved.jsonl")
    for each in (env, loaded):
        assert each.compile_guards({"n": 0, "d": 1})(7, 0)
        assert type(each.ask("d != 0")).__name__ == "Depends"


def test_a_simplified_constant_keeps_its_domain() -> None:
    """`1` in place of a size that is defined only for some sizes would be accepted for all."""
    env = environment()
    size = env.simplify("isqrt(n) - isqrt(n) + 1")
    assert str(env.domain_of(size)) == "n >= 0"
