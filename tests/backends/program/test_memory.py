"""Where memory comes from while a program runs, and when it is let go of."""

from __future__ import annotations

import warnings
import weakref

import pytest
import torch

from backends import cpu
from backends.decisions.questions import Decisions
from backends.interpreter import Interpreted
from backends.loops.kernels import Kernel
from backends.loops.program import Call, Program
from backends.loops.schedule import schedule
from backends.program.host import Host, hosted
from frontends.pytorch import Policy, compile
from shapes import ShapeEnv


def program():
    """Nothing, and two sizes."""
    env = ShapeEnv(origin=lambda: None)
    b, s = [size.expr for size in env.sizes("b s", hints=(3, 5))]
    return Program(Decisions(env)), b, s


def product(made, x, y, sizes):
    """A matrix product as a call that is given its memory."""
    buffer = made.buffer("float32", sizes, (sizes[1], made.build.one))
    made.steps.append(Call(torch.mm, (x, y), {}, (buffer,), has_layout=True, into=torch.mm))
    return made.build.memory(buffer)


def test_results_of_calls_are_put_where_memory_is_free():
    """Every matrix product touches fresh memory, although what was there before is not needed any more."""
    made, b, _ = program()
    build = made.build
    square = (b, b)
    x = made.input("x", "float32", square, (b, build.one))
    value = x
    for _ in range(6):
        value = product(made, value, x, square)
    made.outputs.append(value)
    host = hosted(made, cpu)
    assert host.source.count("empty(") == 2
    given = torch.randn(4, 4)
    expected = torch.linalg.matrix_power(given, 7)
    torch.testing.assert_close(host.function((given,))[0], expected, rtol=1e-4, atol=1e-4)


def test_a_result_in_the_place_of_one_of_other_sizes():
    """An operator is given memory of other sizes to write to, and resizes it or refuses."""
    made, b, s = program()
    build = made.build
    x = made.input("x", "float32", (b, s, b * s), (s * b * s, b * s, build.one))
    fresh = made.buffer("float32", x.sizes, x.buffer.strides)
    made.steps.append(Call(torch.relu, (x,), {}, (fresh,), has_layout=True))
    flat = made.input("flat", "float32", (b * s, b * s), (b * s, build.one))
    doubled = made.stored(build.apply("add", build.memory(fresh), x), (s * b * s, b * s, build.one))
    total = made.stored(build.reduce("sum", doubled, (0, 1, 2)), ())
    result = product(made, flat, flat, (b * s, b * s))
    made.outputs += [total, made.stored(build.apply("neg", result), (b * s, build.one))]
    host = hosted(made, cpu)
    x, flat = torch.randn(2, 3, 6), torch.randn(6, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, two = host.function((x, flat))
    torch.testing.assert_close(one, (x.relu() + x).sum())
    torch.testing.assert_close(two, -(flat @ flat))
    assert result.buffer in host.memory.slots


def test_what_is_returned_shares_memory_with_nothing():
    """A result that the caller keeps is overwritten, or is a view that keeps more memory than it needs."""
    made, b, _ = program()
    build = made.build
    x = made.input("x", "float32", (b, b), (b, build.one))
    first = product(made, x, x, (b, b))
    second = made.stored(build.apply("exp", first), (b, build.one))
    made.outputs += [second, product(made, second, x, (b, b))]
    host = hosted(made, cpu)
    given = torch.randn(4, 4)
    one, two = host.function((given,))
    torch.testing.assert_close(one, (given @ given).exp())
    torch.testing.assert_close(two, (given @ given).exp() @ given)
    assert not one._is_view() and not two._is_view()
    assert one.untyped_storage().nbytes() == two.untyped_storage().nbytes() == 64


@pytest.mark.parametrize("between", [1, 1000])
def test_a_place_is_kept_for_later_only_if_the_peak_does_not_grow(between):
    """Memory that nobody needs for a while is held where other memory is needed most."""
    made, b, _ = program()
    build = made.build
    x = made.input("x", "float32", (b, b), (b, build.one))
    wide = build.lift(between)
    y = made.input("y", "float32", (b, wide), (wide, build.one))
    before = product(made, x, x, (b, b))
    small = product(made, before, y, (b, wide))
    narrow = made.stored(build.reduce("sum", small, (1,), keepdim=True), (build.one, build.one))
    after = product(made, x, x, (b, b))
    made.outputs += [made.stored(build.apply("neg", narrow), (build.one, build.one))]
    made.outputs += [made.stored(build.reduce("sum", after, (1,)), (build.one,))]
    host = hosted(made, cpu)
    assert (host.memory.slots.get(after.buffer) is before.buffer) == (between == 1)
    given, other = torch.randn(3, 3), torch.randn(3, between)
    found = host.function((given, other))
    torch.testing.assert_close(found[0], (given @ given @ other).sum(1, keepdim=True).neg(), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(found[1], (given @ given).sum(1))


def test_a_program_lets_go_of_what_it_is_given():
    """A program frees what the forward saved before the backward is through."""
    made, b, s = program()
    build = made.build
    x, y = [made.input(name, "float32", (b, s), (s, build.one)) for name in ("x", "y")]
    first = made.stored(build.apply("exp", x), (s, build.one))
    there = []
    looked = made.buffer("float32", (b, s), (s, build.one))

    def look(value):
        there.append((gone[0]() is None, gone[1]() is None))
        return value.clone()

    made.steps.append(Call(look, (first,), {}, (looked,), has_layout=True))
    made.outputs.append(made.stored(build.apply("add", build.memory(looked), y), (s, build.one)))
    host = hosted(made, cpu, consuming=True)
    given = [torch.randn(3, 5), torch.randn(3, 5)]
    expected = given[0].exp() + given[1]
    gone = [weakref.ref(each) for each in given]
    (found,) = host.function(given)
    torch.testing.assert_close(found, expected)
    assert there == [(True, False)] and given == []


@pytest.mark.parametrize("times", [1, 2])
def test_a_graph_that_is_kept_runs_backward_again(times):
    """The second backward finds that the first let go of what both need."""
    weight = torch.randn(5, 4, requires_grad=True)
    compiled = compile(lambda x: torch.tanh(x @ weight).exp().sum(), backend="cpu", dynamic=True)
    x = torch.randn(3, 5)
    result = compiled(x)
    found = [torch.autograd.grad(result, weight, retain_graph=time < times - 1)[0] for time in range(times)]
    (expected,) = torch.autograd.grad(torch.tanh(x @ weight).exp().sum(), weight)
    for gradient in found:
        torch.testing.assert_close(gradient, expected)
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(result, weight)


def test_large_memory_is_asked_for_in_large_pages():
    """Fresh memory of many megabytes is touched page by small page; or little memory costs a call of the system."""
    made, b, s = program()
    build = made.build
    x = made.input("x", "float32", (b, s), (s, build.one))
    made.outputs.append(made.stored(build.apply("exp", x), (s, build.one)))
    steps = schedule(made)
    asked = []
    launches = cpu.kernels(steps, made.decisions)
    options = Interpreted(threads=cpu.threads, large=(1024, lambda tensor: asked.append(tensor.shape)))
    host = Host(made, steps, launches, options)
    for sizes in ((4, 8), (16, 16), (3, 100)):
        given = torch.randn(sizes)
        torch.testing.assert_close(host.function((given,))[0], given.exp())
    assert asked == [(16, 16), (3, 100)]


def test_only_what_the_caller_does_not_see_is_kept():
    """A result cannot be resized, as its memory is another's; or temporaries are fresh memory at every call."""
    made, b, s = program()
    build = made.build
    x = made.input("x", "float32", (b, s), (s, build.one))
    total = made.stored(build.reduce("sum", x, (1,), keepdim=True), (build.one, build.one))
    shared = made.buffer("float32", (b, s), (s, build.one))
    copied = made.stored(build.apply("add", x, build.expand(total, x.sizes)), (s, build.one))
    made.steps.append(Call(torch.ops.aten.alias, (copied,), {}, (shared,)))
    saved = made.stored(build.apply("exp", x), (s, build.one))
    made.outputs += [build.memory(shared), saved]
    steps = schedule(made)
    asked = []

    def kept(count, sizes, strides, dtype):
        asked.append((count, sizes))
        return torch.empty_strided(sizes, strides, dtype=dtype)

    launches = cpu.kernels([step for step in steps if isinstance(step, Kernel)], made.decisions)
    options = Interpreted(threads=cpu.threads, large=(16, lambda tensor: None), pooled=kept)
    host = Host(made, steps, launches, options, returned=1)
    given = torch.randn(40, 3)
    first, second = host.function((given,))
    torch.testing.assert_close(first, given + given.sum(1, keepdim=True))
    torch.testing.assert_close(second, given.exp())
    assert asked == [(480, (40, 3))]


@pytest.mark.parametrize("withheld", [(), ("equal",)], ids=["views are known", "views are calls"])
def test_what_a_result_may_share_memory_with_is_kept(withheld):
    """A product is written over another one that is still read, by way of an operator whose schema names no view."""

    def program(x, first, second):
        return (x @ first).relu_() + (x @ second) * (x @ first.t())

    compiled = compile(program, backend="cpu", dynamic=True, policy=Policy(withheld=frozenset(withheld)))
    arguments = torch.randn(3, 5, 8), torch.randn(8, 8), torch.randn(8, 8)
    torch.testing.assert_close(compiled(*arguments), program(*arguments))
