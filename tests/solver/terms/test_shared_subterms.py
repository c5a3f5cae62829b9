"""Propositions whose parts are shared many times: what is done with them takes as long as they have nodes."""

import pytest

from shapes import ShapeEnv
from solver.knowledge.explain import prove_side
from solver.knowledge.facts import Facts
from solver.proofs.checker import examine
from solver.samples.table import Table
from solver.terms.expr import Atom, Expr
from solver.terms.interner import Interner
from solver.terms.prop import Prop


def parity(terms: Interner, count: int) -> tuple[Prop, list[Atom]]:
    """The proposition that an even number of symbols is not 1, as a chain of equalities: 2**count comparisons written
    out.
    """
    symbols = [terms.symbol(f"s{i}") for i in range(count)]
    whole = terms.eq(symbols[0], 1)
    for symbol in symbols[1:]:
        one = terms.eq(symbol, 1)
        same = [terms.conjunction([whole, one]), terms.conjunction([whole.negation, one.negation])]
        whole = terms.disjunction(same)
    return whole, [symbol.atom for symbol in symbols]


@pytest.mark.parametrize("count", [40, 400])
def test_each_node_is_looked_at_once(count: int) -> None:
    """Each node is visited once: a chain of n truths does not take 2**n steps, and this ends at 400."""
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
    """A shared part is replaced once, at all of its places."""
    terms = Interner()
    whole, symbols = parity(terms, 60)
    moved = whole.substitute({symbols[0]: terms.constant(1)})
    rest = dict.fromkeys(symbols[1:], 1)
    assert moved.atoms == set(symbols[1:]) and moved.evaluate(rest) and len(moved.nodes) < len(whole.nodes)


def test_small_shared_parts_are_as_written_out() -> None:
    """Small shared propositions have the same truth as written out."""
    terms = Interner()
    for count in (2, 5, 7, 8):
        whole, symbols = parity(terms, count)
        for bits in range(2**count):
            values = {symbol: bits >> place & 1 for place, symbol in enumerate(symbols)}
            assert whole.evaluate(values) is ((count - bits.bit_count()) % 2 == 0)


def test_facts_and_questions_share_their_parts() -> None:
    """Learning, asking and sampling do not write shared parts out."""
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
    facts: Facts = env.known
    assert facts.samples.alive


def test_complements_are_made_once() -> None:
    """A chain of n truths that is built from its end makes each complement once."""
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


def chain_of_conditionals(terms: Interner, count: int) -> Expr:
    """`0 + s if s == 0 else 1 + s if s == 1 else ...`: each link is about all the links before it."""
    s = terms.symbol("s")
    whole = s
    for i in range(count):
        whole = terms.ite(terms.eq(s, i), s + i, whole)
    return whole


def test_the_proof_of_a_bound_shares_what_is_in_many_of_its_parts() -> None:
    """The proof of a bound shares its parts: n operations do not take 2**n steps, and this ends."""
    terms = Interner()
    a, s = terms.symbol("a"), terms.symbol("s")
    known = Facts.empty(terms).declare_range(a, 0, None).declare_range(s, 0, 1)
    whole = a
    for i in range(60):
        whole = terms.floordiv(terms.floordiv(whole, 3) + whole + i, 2) + terms.floordiv(whole + s, 5)
    proof = prove_side(known, whole, True, 0)
    assert examine(proof, terms.ge(whole, 0), terms.true) is None
    found, pending = set(), [proof]
    while pending:
        step = pending.pop()
        if id(step) not in found:
            found.add(id(step))
            pending += step.premises
    assert 120 < len(found) < 2000


def test_the_links_of_a_chain_of_conditionals_are_no_longer_than_a_part_of_it() -> None:
    """The links of a chain of n conditionals do not have n*n terms."""
    terms = Interner()
    whole = chain_of_conditionals(terms, 400)
    inside = [arg for atom in whole.schedule for arg in atom.args if isinstance(arg, Expr)]
    assert sum(len(e.terms) for e in inside) < 20 * 400
    (s,) = whole.symbols
    for value in (0, 1, 5, 17, 18, 399, 400, 10**6):
        assert whole.evaluate({s: value}) == (2 * value if value < 400 else value)


@pytest.mark.parametrize("longest", [3, 30])
def test_conditionals_with_long_values_have_one_spelling(longest: int) -> None:
    """A conditional and what is rebuilt from it, or from the opposite condition, are the same."""
    terms = Interner()
    symbols = [terms.symbol(f"s{i}") for i in range(longest)]
    p, q = terms.ge(symbols[0], symbols[1]), terms.disjunction([terms.eq(symbols[0], 1), terms.ge(symbols[2], 5)])
    short, long, other = symbols[0] - 3, terms.sum(symbols) * 2, terms.sum(symbols) * -3 + 1
    for condition in (p, q, p.negation, q.negation):
        for one, two in ((short, long), (long, other), (long, terms.zero), (long, terms.constant(7))):
            whole = terms.ite(condition, one, two)
            assert terms.ite(condition.negation, two, one) is whole
            for atom in whole.schedule:
                assert terms.rebuild(atom.kind, atom.name, atom.args) is atom.expr
            for first in range(-3, 8):
                values = {symbol.atom: first + 2 * place % 5 for place, symbol in enumerate(symbols)}
                expected = one if condition.evaluate(values) else two
                assert whole.evaluate(values) == expected.evaluate(values)


def test_what_is_in_many_monomials_is_looked_at_once() -> None:
    """Substitution visits the factors of a large product once, not once per term."""
    terms = Interner()
    whole = terms.one
    for i in range(60):
        whole = whole * (terms.symbol(f"s{i}") + 1)
    kept = Facts.empty(terms)
    assert kept.is_inert(whole)
    inner = {arg for atom in whole.schedule for arg in atom.args if isinstance(arg, Expr)}
    assert len(inner) > 5 and kept.caches.inert >= {m for e in inner for m, _ in e.terms}
    assert kept.caches.inert >= {atom.monomial for atom in whole.schedule}  # so none is entered again
    solved = Facts.empty(terms)
    for symbol in sorted(whole.symbols, key=lambda atom: atom.serial):
        solved = solved.declare_range(symbol.expr, 0, None)
    for place in (0, 30, 59):
        symbol = sorted(whole.symbols, key=lambda atom: atom.serial)[place]
        assert not solved.learn_prop(terms.eq(symbol.expr, 3)).is_inert(whole)
