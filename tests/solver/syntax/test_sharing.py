"""Texts with names for what is shared: they are as long as the graph is large, and read back as what they say."""

import random
from pathlib import Path

import pytest

from shapes import ShapeEnv, ShapeError
from shapes.symbolic.numbers import SymInt
from solver.errors import LONGEST_LINE, ParseError
from solver.syntax.parser import parse, parse_expr
from solver.syntax.printer import FEW, SHORT, text_of, text_of_both, text_with_names, written_out, written_with
from solver.syntax.sharing import Shared
from solver.terms.expr import Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop
from tests.solver.random_values import some_proposition
from tests.solver.terms.test_shared_subterms import parity


def steps(x: Expr, count: int) -> Expr:
    """The result of a loop that halves and takes remainders."""
    for _ in range(count):
        x = x // 2 + x % 3
    return x


def test_a_chain_of_shared_parts_has_a_text_as_long_as_the_chain() -> None:
    """The text of a chain of shared parts is as long as the chain."""
    lengths = []
    for count in (20, 200):
        terms = Interner()
        x = terms.symbol("x")
        e = steps(x, count)
        text = text_of(e)
        assert " where t0 = " in text
        assert parse_expr(text, {"x": x}, terms).expr is e
        lengths.append(len(text))
    assert lengths[1] <= 60 * lengths[0], "the sums themselves grow with the square of the steps"


@pytest.mark.parametrize("count", [20, 200])
def test_shared_propositions_have_names(count: int) -> None:
    """Shared propositions have names: the parity of n truths is not printed as 2**n of them."""
    terms = Interner()
    whole, symbols = parity(terms, count)
    text = text_of(whole)
    assert len(text) < 120 * count
    names = {symbol.name: symbol.expr for symbol in symbols}
    back = parse(text, names, terms).prop
    assert back is whole
    assert parse(text_of(whole.negation), names, terms).prop is whole.negation


def test_short_texts_are_written_out() -> None:
    """Short texts are written out, without names."""
    terms = Interner()
    x = terms.symbol("x")
    for count in range(1, 12):
        e = steps(x, count)
        text = text_of(e)
        assert "where" not in text or (Shared(e).size > FEW and len(written_out(e)) > SHORT)
    assert "where" not in text_of(steps(x, 5)) and "where" in text_of(steps(x, 11))


def test_random_graphs_read_back() -> None:
    """The texts of random graphs are read back as the same graphs."""
    named = alike = 0
    for seed in range(150):
        pick = random.Random(seed)
        terms = Interner()
        names = {name: terms.symbol(name) for name in ("a", "b", "t0", "t1")}
        values: list[Expr] = list(names.values())
        props: list[Prop] = [terms.ge(values[0], values[1])]
        for _ in range(14):
            e, f = pick.choice(values[-4:]), pick.choice(values)
            kind = pick.randrange(8)
            if kind == 0:
                values.append(e // pick.choice([2, 3, 7]) + f)
            elif kind == 1:
                values.append(terms.maximum(e, f) - pick.randrange(3))
            elif kind == 2:
                values.append(e % pick.choice([2, 5, 8]) + f)
            elif kind == 3:
                values.append(terms.ite(pick.choice(props), e, f))
            elif kind == 4 and len(e.terms) + len(f.terms) < 8:
                values.append(e * f)
            elif kind == 5:
                p, q = pick.choice(props), pick.choice(props)
                same = [terms.conjunction([p, q]), terms.conjunction([p.negation, q.negation])]
                props.append(terms.disjunction(same))
            else:
                props.append(pick.choice([terms.ge, terms.eq, terms.ne])(e, f))
        for e in values[-3:]:
            main, definitions = Shared(e).parts("t", written_with)
            text = main + (" where " + ", ".join([f"{n} = {d}" for n, d in definitions]) if definitions else "")
            named += bool(definitions)
            back = parse_expr(text, names, terms).expr
            alike += back is e
            for _ in range(5):
                values_of = {symbol.atom: pick.randrange(-9, 40) for symbol in names.values()}
                assert back.evaluate(values_of) == e.evaluate(values_of), text
            assert parse_expr(text_of(e), names, terms).expr is e
        for p in props[-3:]:
            text = text_with_names(p)
            assert parse(text, names, terms).prop is p, text
    assert named > 100 and alike > 440


def test_a_proposition_behind_its_domain_reads_back() -> None:
    """A proposition saved with its domain reads back as the same fact."""
    terms = Interner()
    x, y = terms.symbol("x"), terms.symbol("y")
    domain, prop = terms.ne(steps(y, 12), 0), terms.ge(steps(x + y, 14), 7)
    parsed = parse(text_of_both(domain, prop), {"x": x, "y": y}, terms)
    assert parsed.prop is terms.conjunction([domain, prop])


def test_names_make_sense_where_they_are_used() -> None:
    """A divisor in a definition must not be zero only where its name is evaluated."""
    terms = Interner()
    x, y = terms.symbol("x"), terms.symbol("y")
    names = {"x": x, "y": y}
    plain = parse("y != 0 and x//y + x >= 3", names, terms)
    assert parse("y != 0 and t + x >= 3 where t = x//y", names, terms) == plain
    assert parse("t + x >= 3 where t = x//y", names, terms).domain is terms.ne(y, 0)
    assert parse("p or q where q = x > y, p = not q", names, terms).prop is terms.true
    hidden = parse("x >= 3 where x = y + 1", names, terms)
    assert hidden.prop is terms.ge(y, 2)
    chain = parse("a >= 3 where b = y + 1, a = 2*b", names, terms)
    assert chain.prop is terms.ge(y, 1)
    assert parse("where >= 3", {"where": x}, terms).prop is terms.ge(x, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t >= 3 where", "expected `name = value` after `where`"),
        ("t >= 3 where t", "expected `name = value`"),
        ("t >= 3 where t = x, t = 2", "`t` is defined twice"),
        ("t >= 3 where t = x y", "unexpected `y`"),
        ("t >= 3 where t = u, u = x", "unknown name `u`"),
        ("t + p >= 3 where t = x, p = x > 1", "a proposition has no arithmetic"),
    ],
)
def test_definitions_that_are_wrong_are_refused(text: str, message: str) -> None:
    """A wrong definition is refused with an error of the parser."""
    terms = Interner()
    with pytest.raises(ParseError, match=message):
        parse(text, {"x": terms.symbol("x"), "y": terms.symbol("y")}, terms)


def test_what_is_long_is_told_in_few_words() -> None:
    """A message about a long expression is short."""
    env = ShapeEnv(solvers=False)
    a, u = env.symbol("a", hint=50), env.unbacked("u")

    def long(x: SymInt) -> SymInt:
        for _ in range(24):
            x = x // 2 + x % 3
        return x

    x, y = long(a), long(u)
    assert env.guard(x > 1) in (True, False)
    assert repr(env.guards()) and repr(env.events) and str(env.explain(y >= 2))
    for fail in (lambda: env.guard(y > 1), lambda: env.assume(x < 0), lambda: range(y), lambda: int(y)):
        with pytest.raises(ShapeError) as raised:
            fail()
        assert all(len(line) <= LONGEST_LINE for line in str(raised.value).split("\n"))
        assert len(str(raised.value)) < 8 * LONGEST_LINE


def test_saved_sessions_keep_long_facts(tmp_path: Path) -> None:
    """A session with a long fact is saved and loaded."""
    env = ShapeEnv(solvers=False)
    a = env.symbol("a", hint=50)
    x = a
    for _ in range(22):
        x = x // 2 + x % 3
    env.guard(x > 1)
    path = tmp_path / "long.jsonl"
    env.save(path)
    loaded = ShapeEnv.load(path)
    assert [guard.text for guard in loaded.guards()] == [guard.text for guard in env.guards()]


def test_random_propositions_are_as_before() -> None:
    """Naming changes no ordinary proposition."""
    for seed in range(200):
        pick = random.Random(seed)
        terms = Interner()
        names = {name: terms.symbol(name) for name in "abc"}
        p = some_proposition(terms, list(names.values()), pick, 3)
        assert parse(text_with_names(p), names, terms).prop is p


def test_a_text_is_as_long_as_the_steps_that_made_it() -> None:
    """A text is as long as the steps that made it."""
    terms = Interner()
    lengths = []
    for count in (20, 100):
        size = terms.symbol("a")
        for _ in range(count):
            size = size // 2 + size % 3
        lengths.append(str(size).split(","))
    assert max(len(part) for part in lengths[1]) < 2 * max(len(part) for part in lengths[0])
    assert sum(map(len, lengths[1])) < 8 * sum(map(len, lengths[0]))
