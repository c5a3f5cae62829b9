"""Deeply nested operations: an answer or a clear error, in a thread with little stack too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shapes import Always, Depends, ShapeEnv, sym_ite
from solver.errors import NotExpressible
from solver.knowledge.facts import Facts
from solver.samples.repair import EVALUATED, FEWEST, Search, terms_evaluated
from solver.terms.depth import DEEPEST
from solver.terms.interner import Interner

NESTS = {
    "halves": lambda levels: "(" * levels + "x" + " // 2 + y)" * levels + " >= 0",
    "divisors": lambda levels: "x // (" * levels + "y + 1" + ")" * levels + " >= 0",
    "choices": lambda levels: "min(max(" * (levels // 2) + "x" + ", y), z)" * (levels // 2) + " >= 3",
}


ROOT = Path(__file__).parents[3]
IN_A_THREAD = """
import sys
import threading

from shapes.errors import ParseError
from tests.solver.terms.test_depth import NESTS, asked

def ask():
    try:
        print(asked(NESTS[sys.argv[1]](int(sys.argv[2]))).split()[0])
    except ParseError as error:
        assert "levels deep" in str(error)
        print("ParseError")

threading.stack_size(int(sys.argv[3]))
thread = threading.Thread(target=ask)
thread.start()
thread.join()
"""


def apart(nest: str, levels: int, stack: int) -> str:
    """The outcome of a question in a thread with so much stack, in a process of its own: a hook of the interpreter that
    another test has left, such as Dynamo's where a backend raises, makes Python's recursion take the C stack.
    """
    command = [sys.executable, "-c", IN_A_THREAD, nest, str(levels), str(stack)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout.strip()


def asked(text: str) -> str:
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.sizes("x y z")
    verdict = env.ask(text)
    return f"{type(verdict).__name__} {getattr(verdict, 'core', '')}"


@pytest.mark.parametrize("nest", NESTS)
def test_as_deep_as_allowed(nest: str) -> None:
    """A failure means that a deep question ends in a RecursionError, or takes the process with it."""
    levels = DEEPEST // (3 if nest == "choices" else 1)
    assert apart(nest, levels, 1 << 20) in ("Always", "Depends", "GaveUp")


@pytest.mark.parametrize("nest", NESTS)
def test_deeper_is_a_clear_error(nest: str) -> None:
    """A failure means that a text can make the parser run for minutes, or crash."""
    assert apart(nest, 5 * DEEPEST, 8 << 20) == "ParseError"


@pytest.mark.parametrize(
    "text",
    ["(" * 5000 + "x" + ")" * 5000 + " >= 0", "-" * 999 + "x <= 0", "max(" * 5000 + "x" + ", 0)" * 5000 + " >= 0"],
)
def test_brackets_are_no_depth(text: str) -> None:
    """A failure means that brackets and signs which mean nothing are counted, or overflow the stack."""
    assert asked(text).startswith("Always")


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("x >= 3", 0),
        ("x*y*z + 2 != y", 0),
        ("x // 2 + y >= 0", 1),
        ("max(x // 2, y) // (z // 3 + 1) >= (x // 5) * y", 3),
        ("x >= 3 and (y % 2 == 0 or z // (x // 2 + 1) == 4)", 2),
        ("(x if y // (z // 2 + 1) > 3 else 5) * z > 7", 3),
        ("(x // 2 == 3) == (y // (z // 7 + 1) > 4)", 2),
    ],
)
def test_the_depth_is_that_of_the_deepest_operation(text: str, depth: int) -> None:
    """The stack that a question is given is the one that its deepest operation needs."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    env.sizes("x y z")
    for prop in env.parse(text):
        assert prop.depth == max((atom.depth for atom in prop.atoms), default=0)
    assert env.parse(text)[0].depth == depth


def test_operations_refuse_to_be_built_too_deep() -> None:
    """A failure means that a program's loop can build an expression that nothing can walk."""
    terms = Interner()
    e = x = terms.symbol("x")
    with pytest.raises(NotExpressible):
        for _ in range(2 * DEEPEST):
            e = (e * x + 1) // 2


def test_a_search_costs_what_its_goals_cost() -> None:
    """A question about an expression of ten thousands of terms costs no more than its goals."""
    terms = Interner()
    x, n = terms.symbol("x"), terms.symbol("n")
    known = Facts.empty(terms).declare_range(x, 1, None).declare_range(n, 1, None)
    costs, moves = [], []
    for depth in (4, 100, 200):
        nested = x
        for _ in range(depth):
            nested = (nested * 3 + 1) // 2 % n
        search = Search(known, known.samples, known.samples.alive[0])
        goal = terms.eq(nested, -1)
        costs.append(terms_evaluated(goal))
        assert search.reach([terms.true, goal]) is None
        moves.append(search.left)
    assert costs == sorted(costs) and costs[0] < 100 and costs[-1] > 10_000
    assert FEWEST < moves[0] < EVALUATED // costs[0], "a small goal is searched for"
    # of the large one no move is tried: what is left is what its price allowed, and a search that moved has less
    assert 0 < moves[-1] == EVALUATED // costs[-1] < FEWEST


def test_clamps_that_make_clamps() -> None:
    """The canonical forms of clamps that make clamps come to an end."""
    env = ShapeEnv(origin=lambda: None, solvers=False)
    for name in "abcn":
        env.symbol(name, 2, None)
    env.assume("min(max(n*c*a, 1), (a + (c - min(n, n)))) % (((b//b) - max(b, 0))) == 0")
    env.assume("max(b, 0) == (max((b*b//max(n, 1)), b) - (n//16)*b*a*n)")
    verdict = env.ask("(n - min(min((b - c), min(c, b)), a)) == max((c*n + (c//b))*min((a//16), n), 1)")
    assert type(verdict).__name__ in ("GaveUp", "Depends", "Never")


def test_what_lies_inside_is_looked_at_once() -> None:
    """Terms are visited once, not once per enclosing level: caches grow linearly in the number of operations."""
    sizes = []
    for levels in (60, 600):
        env = ShapeEnv(origin=lambda: None, solvers=False)
        size = env.symbol("x", hint=5)
        for i in range(levels):
            size = sym_ite(size > i, size + 1, size)
        assert isinstance(env.ask(size >= 0), Always)
        facts, seen, pending = env.known, 0, list(size.expr.atoms)
        for atom in pending:
            found = atom.expr._atoms
            seen += 0 if found is None else len(found)
        assert facts.samples.values(size.expr)
        sizes.append(seen)
    assert sizes[1] <= 20 * sizes[0]


@pytest.mark.parametrize("levels", [3, 25, 60])
def test_a_remainder_of_a_long_sum(levels: int) -> None:
    env = ShapeEnv(origin=lambda: None, solvers=False)
    size, divisor = env.symbol("x", hint=50), env.symbol("n", 1, None, hint=7)
    for _ in range(levels):
        size = (3 * size + 1) // 2 % divisor
    for question in (size >= 0, size < divisor, size <= divisor + 3):
        verdict = env.ask(question)
        assert isinstance(verdict, Always) and verdict.check()
    assert not isinstance(env.ask(size < divisor - 1), Always)


@pytest.mark.parametrize("length", [10, 30, 100])
def test_a_remainder_of_many_sizes(length: int) -> None:
    env = ShapeEnv(origin=lambda: None, solvers=False)
    divisor = env.symbol("n", 2, None)
    total = sum((i + 1) * env.symbol(f"x{i}") for i in range(length))
    for question in (total % divisor >= 0, total % divisor < divisor, total // divisor * divisor <= total):
        verdict = env.ask(question)
        assert isinstance(verdict, Always) and verdict.check()
    assert isinstance(env.ask(total % divisor < divisor - 1), Depends)
