"""Chains of long sums are evaluated by their differences, with the values of a plain evaluation."""

import random

from shapes import ShapeEnv, sym_max, sym_min
from solver.terms.differences import LONG, differences_of
from solver.terms.expr import Expr, evaluate_atoms


def arguments_in(prop):
    """The expressions that the atoms of a proposition are made of."""
    return [arg for atom in prop.schedule for arg in atom.args if isinstance(arg, Expr)]


def chain(seed, length):
    """A question about clamps and quotients of each other."""
    drawn = random.Random(seed)
    env = ShapeEnv(origin=lambda: None)
    n = env.symbol("n", 0)
    at, total = 0, n
    for y in [env.symbol(f"y{i}", None) for i in range(length)]:
        match drawn.randrange(5):
            case 0:
                at = sym_min(sym_max(y + at, 0), n)
            case 1:
                at = sym_max(2 * y + at, total)
            case 2:
                at = at + y // 3
            case 3:
                at = 2 * sym_min(at, y) - total % 7
            case _:
                total = total + sym_max(at, y)
                at = total - at
    return (at * (n - at) >= total).prop


def test_chains_are_evaluated_as_their_atoms_are():
    """A sum that is computed from another one has the value of its terms."""
    shared = 0
    for seed in range(30):
        prop = chain(seed, 8 + 3 * seed)
        shared += len(differences_of(arguments_in(prop)))
        drawn = random.Random(seed)
        for _ in range(4):
            values = {atom: drawn.randrange(-50, 50) for atom in prop.symbols}
            plain = evaluate_atoms(prop.schedule, values)
            assert prop.with_atoms(values) == plain
            assert prop.evaluate(values) is prop.at(plain)
    assert shared > 100


def test_a_chain_of_clamps_is_linear():
    """If this fails, a clamp of a clamp has the terms of all clamps inside it, and n of them have n * n terms."""
    env = ShapeEnv(origin=lambda: None)
    n, at, length = env.symbol("n", 0), 0, env.symbol("s", 0)
    for i in range(4 * LONG):
        at = sym_min(sym_max(env.symbol(f"y{i}", None) + at, 0), n)
        length = sym_max(sym_min(env.symbol(f"b{i}", 0), length) - env.symbol(f"a{i}", 0), 0)
    for prop in ((at <= n - 1).prop, (length <= n).prop):
        assert len(prop.schedule) > 4 * LONG
        assert max(len(argument.terms) for argument in arguments_in(prop)) <= 6


def test_a_chain_of_sums_is_linear():
    """The differences of n sums that grow have a few terms each."""
    env = ShapeEnv(origin=lambda: None)
    total = env.symbol("n", 0)
    for i in range(4 * LONG):
        total = total + sym_max(env.symbol(f"y{i}", None), total) // 2
    differences = differences_of(arguments_in((total >= 1).prop))
    assert len(differences) > 2 * LONG
    assert max(len(terms) for _, _, terms, _ in differences.values()) <= 6


def test_long_chains_of_sums_gather_their_atoms():
    """If this fails, the atoms kept with a long sum inside are not those of a walk through all arguments."""
    for seed in range(24):
        prop = chain(seed, 8 + 3 * seed)
        walked, pending = set(), [prop.expr]
        while pending:
            for m, _ in (e := pending.pop()).terms:
                for atom in e.interner.monomials[m]:
                    if atom not in walked:
                        walked.add(atom)
                        pending += [arg if isinstance(arg, Expr) else arg.expr for arg in atom.args]
        assert prop.atoms == prop.expr.atoms == walked
        for atom in walked:
            for arg in atom.args:
                assert arg.atoms <= walked
