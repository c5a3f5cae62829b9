"""Interval analysis of integer tensors, and gathers that need no bounds check."""

from __future__ import annotations

import random

import pytest
import torch

from backends.decisions.questions import Decisions
from backends.loops.kernels import Buffer
from backends.loops.program import Call, Program
from backends.loops.tensors import Expressions
from backends.loops.value_ranges import bounds, is_inside
from frontends.pytorch import compile
from shapes import ShapeEnv
from tests.backends.evaluation import evaluate


def number(build, value):
    return build.number(value, "int64")


def truth(build, x):
    return build.cast(build.apply("gt", x, build.number(0.0, "float32")), "int64")


PLACES = {
    "a place": (lambda build, x, n: build.iota((n,), 0), "0", "n - 1"),
    "a truth": (lambda build, x, n: truth(build, x), "0", "1"),
    "the last or the first": (
        lambda build, x, n: build.apply("mul", truth(build, x), number(build, n - 1)),
        "0",
        "n - 1",
    ),
    "of all": (lambda build, x, n: build.reduce("maximum", truth(build, x), (0,)), "0", "1"),
    "from the end": (
        lambda build, x, n: build.apply("sub", number(build, n - 1), build.iota((n,), 0)),
        "0",
        "n - 1",
    ),
    "at most": (
        lambda build, x, n: build.apply("minimum", build.iota((n,), 0), number(build, 3)),
        "0",
        "min(n - 1, 3)",
    ),
    "chosen": (
        lambda build, x, n: build.apply("select", build.apply("gt", x, x), number(build, -2), build.iota((n,), 0)),
        "-2",
        "max(n - 1, -2)",
    ),
}
UNKNOWN = {
    "given": lambda build, x, n: build.memory(Buffer("i", "int64", (n,), (build.one,))),
    "of a float": lambda build, x, n: build.cast(x, "int64"),
    "too large": lambda build, x, n: build.apply("mul", build.iota((n,), 0), number(build, 1 << 40)),
    "a sum of any number of truths": lambda build, x, n: build.reduce("sum", truth(build, x), (0,)),
    "less than 0 times": lambda build, x, n: build.apply("mul", truth(build, x), number(build, -1)),
}


def expressions():
    env = ShapeEnv(origin=lambda: None)
    (n,) = [size.expr for size in env.sizes("n")]
    env.assume("1 <= n")
    env.assume("n <= 1 << 40")
    build = Expressions(Decisions(env))
    return build, build.memory(Buffer("x", "float32", (n,), (build.one,))), n


@pytest.mark.parametrize("name", PLACES)
def test_bounds(name):
    """A place that can be outside is not tested, or one that cannot be is."""
    made, least, most = PLACES[name]
    build, x, n = expressions()
    assert [str(each) for each in bounds(build, made(build, x, n))] == [least, most]


def random_numbers(build, x, n, draw, depth):
    """Integers computed from indices, booleans and numbers by any operations, as long as x."""
    kind = draw.randrange(3) if not depth else draw.randrange(9)
    if kind == 0:
        return build.iota((n,), 0)
    if kind == 1:
        return truth(build, x)
    first = random_numbers(build, x, n, draw, depth - 1) if depth else build.iota((n,), 0)
    if kind == 2:
        return build.apply("add", first, number(build, draw.choice([-3, 0, 2, n, n - 1])))
    second = random_numbers(build, x, n, draw, depth - 1)
    if kind == 8:
        return build.apply("select", build.apply("gt", x, build.number(0.5, "float32")), first, second)
    return build.apply(("add", "sub", "mul", "minimum", "maximum")[kind - 3], first, second)


@pytest.mark.parametrize("seed", range(60))
def test_elements_lie_between_their_bounds(seed):
    """An element is outside the inferred bounds."""
    draw = random.Random(seed)
    env = ShapeEnv(origin=lambda: None)
    (n,) = [size.expr for size in env.sizes("n")]
    for fact in ("1 <= n", "n <= 64"):
        env.assume(fact)
    program = Program(Decisions(env))
    build = program.build
    x = program.input("x", "float32", (n,), (build.one,))
    made = random_numbers(build, x, n, draw, 3)
    program.outputs.append(program.stored(made, (build.one,)))
    (symbol,) = n.symbols
    found = bounds(build, made)
    for length in (1, 2, 5, 64) if found else ():
        (values,) = evaluate(program, [torch.randn(length, generator=torch.Generator().manual_seed(seed))])
        least, most = [each.evaluate({symbol: length}) for each in found]
        assert least <= values.min() and values.max() <= most, (length, str(made))


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_can_be_anything(name):
    """A number that may be anything, as it wraps around, is taken for a place inside of an axis."""
    build, x, n = expressions()
    assert bounds(build, UNKNOWN[name](build, x, n)) is None


def test_inside_is_a_decision():
    """A place is tested though it is known, or not though it may be the first behind the last."""
    build, _, n = expressions()
    place = build.iota((n,), 0)
    assert is_inside(build, place, n) and not is_inside(build, place, n - 1)
    found = [(each.answer, each.chosen) for each in build.decisions.log if each.kind == "inside"]
    assert found == [("always", "no bounds check"), ("never", "a bounds check")]


def first_or_last(x):
    place = (x > 0).long().amax(0, keepdim=True) * (x.shape[0] - 1)
    return x - x.sigmoid().gather(0, place)


def test_a_gather_at_the_first_or_the_last_is_one_kernel():
    """Each place is tested, in a kernel of its own."""
    compiled = compile(first_or_last, backend="cpu", dynamic=True)
    for rows in (2, 1, 5):
        x = torch.randn(rows, 37)
        torch.testing.assert_close(compiled(x), first_or_last(x))
    (host,) = compiled.variants[0].running.hosts
    assert len(host.steps) == 1 and len(compiled.variants) == 1


def test_a_gather_at_given_places_is_tested():
    """Memory of others is read."""
    compiled = compile(lambda x, i: x.exp().gather(0, i), backend="cpu", dynamic=True)
    x, places = torch.randn(3, 5), torch.tensor([[0, 1, 2, 1, 0]])
    torch.testing.assert_close(compiled(x, places), x.exp().gather(0, places))
    (host,) = compiled.variants[0].running.hosts
    assert any(isinstance(step, Call) for step in host.steps)
    with pytest.raises(RuntimeError):
        compiled(x, places + 1)


@pytest.mark.parametrize(("operation", "of_truths"), [("maximum", "any"), ("minimum", "all")])
def test_extremes_of_truths_are_truths(operation, of_truths):
    """Truths are widened to 64 bits before they are reduced."""
    build, x, _ = expressions()
    found = build.reduce(operation, truth(build, x), (0,))
    assert (found.operation, found.operands[0].operation, found.operands[0].dtype) == ("cast", of_truths, "bool")
