"""The modules that the proof checker shares with the search: those that the page lists, and two of them alone."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

from solver.proofs.rewriting import Round, apply_round, apply_round_to_prop
from solver.proofs.step import hypothesis
from solver.syntax.parser import parse, parse_expr
from solver.terms import intervals
from solver.terms.interner import Interner
from solver.terms.intervals import Interval

ROOT = Path(__file__).parents[3]
SEARCHING = ("solver.rungs", "solver.decide", "solver.knowledge", "solver.samples", "solver.integer", "solver.interop")


def source(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The modules of the solver that are imported where a module is, those for types alone left out."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef) or isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("solver"):
            for name in node.names:
                inside = f"{node.module}.{name.name}"
                yield inside if source(inside).exists() else node.module
        yield from imported(ast.iter_child_nodes(node))


def test_the_page_lists_what_the_checker_imports() -> None:
    """The page names every module that an accepted certificate rests on, none of which searches, and tests of each."""
    needed: set[str] = set()
    waiting = ["solver.proofs.checker", "solver.terms.interner"]
    while waiting:
        module = waiting.pop()
        if module not in needed:
            needed.add(module)
            waiting += imported([ast.parse(source(module).read_text(encoding="utf-8"))])
    page = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    table = page.partition("## What `check()` trusts")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("| `solver")]
    listed = [name for modules, _, _ in rows for name in re.findall(r"`([\w.]+)`", modules)]
    assert sorted(listed) == sorted(needed)
    assert not [module for module in needed if module.startswith(SEARCHING)]
    for _, _, tests in rows:
        files = re.findall(r"`(tests/[\w/.]+)`", tests)
        assert files or "no answer" in tests
        assert all((ROOT / file).exists() for file in files)


ENDS = (None, -5, -1, 0, 1, 2, 6)
ALL: list[Interval] = [(a, b) for a in ENDS for b in ENDS if a is None or b is None or a <= b]


def inside(interval: Interval, values: Iterable[int] = range(-9, 10)) -> list[int]:
    lo, hi = interval
    return [x for x in values if (lo is None or lo <= x) and (hi is None or x <= hi)]


def test_interval_arithmetic_contains_every_value() -> None:
    """Bounds of every operation, over all small intervals and the values in them."""
    for a in ALL:
        for x in inside(a):
            assert inside(intervals.negate(a), [-x]) and inside(intervals.relu(a), [max(x, 0)])
            assert all(inside(intervals.power(a, k), [x**k]) for k in range(1, 5))
    for a, b in product(ALL, ALL):
        results = intervals.product(a, b), intervals.quotient(a, b), intervals.bitand(a, b), intervals.raised(a, b)
        hull, meet = intervals.hull(a, b), intervals.meet(a, b)
        for x, y in product(inside(a), inside(b)):
            assert inside(results[0], [x * y]) and inside(results[2], [x & y])
            assert not y or inside(results[1], [x // y])
            assert y < 0 or x < 1 or inside(results[3], [x**y])
            assert inside(hull, [x, y]) and (x not in inside(b) or inside(meet, [x]))
    for value, k in product(range(300), range(1, 5)):
        root = intervals.root(value, k)
        assert root**k <= value < (root + 1) ** k


def test_substitution_keeps_the_value_where_the_equality_holds() -> None:
    """Atoms and products replaced in random expressions: the same values wherever what replaces them is equal
    and no divisor is zero."""
    rng = random.Random(5)
    terms = Interner()
    names = {name: terms.symbol(name) for name in "abcs"}

    def text(depth: int) -> str:
        if not depth:
            return rng.choice(("a", "b", "c", "a*b", "a*b*c", str(rng.randrange(1, 5))))
        left, right = text(depth - 1), text(rng.randrange(depth))
        form = rng.choice(("({}) + ({})", "({})*({})", "({})//({})", "({}) % ({})", "max({}, {})", "({}) - 2*({})"))
        return form.format(left, right)

    changed = 0
    for _ in range(300):
        old = rng.choice(("a", "a*b", "a*b", "b*c"))
        new = rng.choice(("s", "2*s", "s + 1", "3 - s"))
        equality = hypothesis(parse(f"{old} == {new}", names, terms).prop)
        ((monomial, _),) = parse_expr(old, names, terms).expr.terms
        round_: Round = ((monomial, parse_expr(new, names, terms).expr, equality),)
        e, where = parse_expr(text(3), names, terms)
        p, where_p = parse(f"{text(2)} >= {text(1)} or {text(1)} == 3", names, terms)
        image, image_p = apply_round(e, round_), apply_round_to_prop(p, round_)
        changed += image is not e
        for values in product(range(-3, 4), repeat=4):
            point = {symbol.atom: value for symbol, value in zip(names.values(), values, strict=True)}
            if equality.conclusion.evaluate(point):
                assert not where.evaluate(point) or image.evaluate(point) == e.evaluate(point), (e, old, new, point)
                assert not where_p.evaluate(point) or image_p.evaluate(point) is p.evaluate(point), (p, old, new, point)
    assert changed > 150
