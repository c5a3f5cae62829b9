"""Propositions whose parts are shared many times: what is done with them takes as long as they have nodes."""

import pytest

from shapes import ShapeEnv
from solver.expr import Atom
from solver.facts import Facts
from solver.interner import Interner
from solver.prop import Prop
from solver.table import Table


def parity(terms: Interner, count: int) -> tuple[Prop, list[Atom]]:
    """Whether an even number of symbols is not 1, as a chain of equalities: 2**count comparisons written out."""
    symbols = [terms.symbol(f"s{i}") for i in range(count)]
    whole = terms.eq(symbols[0], 1)
    for symbol in symbols[1:]:
        one = terms.eq(symbol, 1)
        same = [terms.conjunction([whole, one]), terms.conjunction([whole.negation, one.negation])]
        whole = terms.disjunction(same)
    return whole, [symbol.atom for symbol in symbols]


@pytest.mark.parametrize("count", [40, 400])
def test_each_node_is_looked_at_once(count: int) -> None:
    """If it fails, a question that is a chain of n truths takes 2**n steps: this does not end at 400."""
    terms = Interner()
    whole, symbols = parity(terms, count)
    assert whole.written > 2**39
    assert len(whole.nodes) <= 8 * count
    assert len(whole.comparisons()) == 2 * count
    assert whole.atoms == set(symbols)
    for ones in (count, count - 1, count - 2):
        values = {symbol: 1 if place < ones else 0 for place, symbol in enumerate(symbols)}
        expected = (count - ones) % 2 == 0
        assert whole.evaluate(values) is expected
        assert whole.negation.evaluate(values) is not expected
    table = Table(symbols[:1] + symbols[1:], [[0, 1], *[[1]] * (count - 1)])
    assert [bool(truth) for truth in table.truths(whole)] == [False, True]


def test_what_is_replaced_is_replaced_in_each_node() -> None:
    """If it fails, a shared part is replaced at one of its places only, or anew at each."""
    terms = Interner()
    whole, symbols = parity(terms, 60)
    moved = whole.substitute({symbols[0]: terms.constant(1)})
    rest = dict.fromkeys(symbols[1:], 1)
    assert moved.atoms == set(symbols[1:]) and moved.evaluate(rest) and len(moved.nodes) < len(whole.nodes)


def test_small_shared_parts_are_as_written_out() -> None:
    """If it fails, propositions that are walked node by node have another truth than as they are written."""
    terms = Interner()
    for count in (2, 5, 7, 8):
        whole, symbols = parity(terms, count)
        for bits in range(2**count):
            values = {symbol: bits >> place & 1 for place, symbol in enumerate(symbols)}
            assert whole.evaluate(values) is ((count - bits.bit_count()) % 2 == 0)


def test_facts_and_questions_share_their_parts() -> None:
    """If it fails, learning, asking and sampling write shared parts out."""
    env = ShapeEnv(solvers=False)
    count = 120
    for i in range(count):
        env.symbol(f"s{i}", 0, 1)
    text = "(" * (count - 1) + "(s0 == 1)" + "".join(f" == (s{i} == 1))" for i in range(1, count))
    env.assume(text)
    assert type(env.ask(text)).__name__ == "Always"
    assert type(env.ask("s0 == 1")).__name__ == "Depends"
    verdict = env.ask(f"not ({text})")
    assert type(verdict).__name__ == "Never" and verdict.check()
    facts: Facts = env.facts
    assert facts.pool.alive


def test_complements_are_made_once() -> None:
    """If it fails, a chain of n truths that is built from its end takes the complement of all before it n times."""
    terms = Interner()
    whole = terms.eq(terms.symbol("s0"), 1)
    looked_at = 0
    for i in range(1, 300):
        one = terms.eq(terms.symbol(f"s{i}"), 1)
        whole = terms.disjunction(
            [terms.conjunction([whole, one]), terms.conjunction([whole.negation, one.negation])]
        )
        looked_at += whole._nodes is not None  # what lists all its parts takes as long as they are many
    assert whole.negation.negation is whole
    assert looked_at == 0
