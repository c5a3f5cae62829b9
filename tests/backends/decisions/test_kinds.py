"""Every kind of question about kernels: answered both ways, other words in the log, other code, and never a guard."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from backends import cpu
from backends.cpu.emission import file_source
from backends.decisions.questions import KINDS, Decisions
from backends.loops.kernels import Kernel
from backends.loops.program import Call, Program
from backends.loops.schedule import schedule
from backends.program.host import hosted
from backends.triton.emission import source
from backends.triton.facts import Facts
from backends.triton.forms import choose
from frontends.pytorch import trace
from frontends.pytorch.graphs.functional import functional_joint
from frontends.pytorch.lowering import LOWERINGS
from shapes import ShapeEnv


def program(names, facts, hints=None):
    """An empty program, its sizes by name, with what is known of them."""
    env = ShapeEnv(origin=lambda: None)
    sizes = [size.expr for size in env.sizes(names, **({} if hints is None else {"hints": hints}))]
    for fact in facts:
        env.assume(fact)
    return Program(Decisions(env)), *sizes


def as_c(made):
    """The decisions, and the kernels as C."""
    kernels = [step for step in schedule(made, interchanges=cpu.interchanges) if isinstance(step, Kernel)]
    text = file_source(kernels, made.decisions)
    return made.decisions.log, text


def as_host(made):
    """The decisions, and the host side of the kernels."""
    host = hosted(made, cpu)
    return made.decisions.log, host.source


def as_triton(made):
    """The decisions, and the kernel as Triton source where nothing is left open."""
    (kernel,) = schedule(made)
    facts = Facts.of(kernel, made.decisions)
    form = choose(facts, rows=64, columns=64, narrow=facts.narrow is not False, aligned=False)
    text = source(kernel, facts, form).text
    return made.decisions.log, text


def traced(function, inputs, facts=()):
    """The decisions for a traced function, and the compiled program."""
    variant = trace(function, inputs)
    for fact in facts:
        variant.env.assume(fact)
    variant.run_by(cpu)
    (host,) = variant.running.hosts
    return host.program.decisions.log, "\n".join(map(str, host.steps))


def elementwise(made, sizes, strides, operation="exp"):
    """One input of these sizes and strides, computed into memory without gaps."""
    x = made.input("x", "float32", sizes, strides)
    packed = [made.build.product(sizes[axis + 1 :]) for axis in range(len(sizes))]
    made.outputs.append(made.stored(made.build.apply(operation, x), packed))
    return made


def reduced(made, sizes, axes, operation="sum"):
    """One input without gaps, some of its axes reduced."""
    packed = [made.build.product(sizes[axis + 1 :]) for axis in range(len(sizes))]
    value = made.build.reduce(operation, made.input("x", "float32", sizes, tuple(packed)), axes)
    strides = [made.build.product(value.sizes[axis + 1 :]) for axis in range(value.rank)]
    made.outputs.append(made.stored(value, strides))
    return made


def equal(*facts):
    made, s, t = program("s t", facts)
    build, one = made.build, made.build.one
    scale = build.memory(made.input("scale", "float32", (one,), (one,)).buffer)
    for name, size in (("x", s), ("y", t)):
        x = made.input(name, "float32", (size,), (one,))
        made.outputs.append(made.stored(build.apply("mul", x, build.expand(scale, (size,))), (one,)))
    return as_c(made)


def constant(*facts):
    made, b, s = program("b s", facts, hints=(4, 56))
    return as_c(reduced(made, (b, s), (1,)))


def size_one(*facts):
    made, b, c, s, t = program("b c s t", ("b >= c", *facts))
    return as_c(elementwise(made, (b - c, s), (t, made.build.one)))


def stride_one(*facts):
    made, s, t, u = program("s t u", ("t > u", *facts))
    return as_c(elementwise(made, (s,), (t - u,)))


def collapse(*facts):
    made, b, s, t = program("b s t", facts)
    return as_c(elementwise(made, (b, s), (t, made.build.one)))


def lanes(*facts):
    made, b, s = program("b s", facts)
    x = made.input("x", "float32", (s, b), (b, made.build.one))
    turned = made.build.permute(made.build.apply("exp", x), (1, 0))
    made.outputs.append(made.stored(turned, (s, made.build.one)))
    return as_c(made)


def order(*facts):
    made, b, s, c, t, u = program("b s c t u", facts)
    build = made.build
    x, y = [made.input(name, "float32", (b, s, c), (t, u, build.one)) for name in "xy"]
    made.outputs.append(made.stored(build.apply("add", x, y), (s * c, c, build.one)))
    return as_c(made)


def in_rows(*facts):
    made, b, s = program("b s", facts)
    build = made.build
    x = made.input("x", "float32", (b, s), (s, build.one))
    total = build.expand(build.reduce("sum", x, (1,), keepdim=True), (b, s))
    made.outputs.append(made.stored(build.apply("div", x, total), (s, build.one)))
    return as_c(made)


def on_a_gpu(*facts):
    made, b, s = program("b s", facts)
    return as_triton(elementwise(made, (b, s), (s, made.build.one)))


def turns(is_part):
    made, a, b, c, e = program("a b c e", ())
    build = made.build
    x = made.input("x", "float32", (a, b, c), (b * c, c, build.one))
    for axis in (1, 2):
        x = build.slice(x, 0, build.zero, 1, e) if is_part and axis == 2 else x
        total = build.expand(build.reduce("sum", x, (axis,), keepdim=True), x.sizes)
        x = made.stored(build.apply("sub", x, total), (b * c, c, build.one))
    made.outputs.append(x)
    return as_c(made)


def across(*facts):
    made, b, h, s, t = program("b h s t", facts)
    build = made.build
    sizes = (b, h, s, t)
    scores = made.input("scores", "float32", sizes, (h * s * t, s * t, t, build.one))
    bias = made.input("bias", "float32", (s, t, h), (t * h, h, build.one))
    seen = build.expand(build.permute(bias, (2, 0, 1)), sizes)
    made.outputs.append(made.stored(build.apply("add", scores, seen), (h * s * t, s * t, t, build.one)))
    return as_c(made)


def reuse(*facts):
    made, b, s, c = program("b s c", ("b >= 1", "s >= 1", "c >= 1", *facts))
    build, one = made.build, made.build.one
    x = made.input("x", "float32", (b, s), (s, one))
    first = made.stored(build.apply("exp", x), (s, one))
    short = made.buffer("float32", (b, c), (c, one))
    made.steps.append(Call(torch.relu, (first,), {}, (short,), has_layout=True))
    second = made.stored(build.apply("neg", build.memory(short)), (c, one))
    last = made.buffer("float32", (b, c), (c, one))
    made.steps.append(Call(torch.relu, (second,), {}, (last,), has_layout=True))
    made.outputs += [build.memory(last), build.memory(short)]
    return as_host(made)


def large(*facts):
    made, s = program("s", facts)
    return as_host(elementwise(made, (s,), (made.build.one,)))


def sign(*facts):
    def shares(x, y):
        count = x[x > 0].shape[0]
        for least in facts:
            torch._check(count >= least)
        return y // count

    return traced(shares, (torch.tensor([1.0, -1.0, 2.0]), torch.arange(5)))


def inside(*facts):
    def rows(x, y):
        return x.exp().gather(0, torch.arange(y.shape[0])[:, None].expand(y.shape[0], x.shape[1]))

    return traced(rows, (torch.randn(4, 5), torch.randn(3)), facts)


def channels(*facts):
    (width,) = facts
    weights = [torch.randn(width, width, 3, 3) for _ in range(2)]

    def images(x):
        for weight in weights:
            x = torch.nn.functional.conv2d(x, weight, padding=1).relu()
        return x

    return traced(images, (torch.randn(2, width, 4, 5),))


def again(rows, *facts):
    def outer(x, *others):
        return sum([other.sum(0) for other in others], start=x.sum(1)[:, None]).sin()

    given = [torch.randn(rows, 3), *[torch.randn(2, 4) for _ in range(5)]]
    variant = trace(outer, tuple([each.requires_grad_() for each in given]), gradients=True)
    for fact in facts:
        variant.env.assume(fact)
    decisions = Decisions(variant.env)
    joint = functional_joint(variant, LOWERINGS, decisions)
    return decisions.log, str([str(each.metadata) for each in joint.saved])


CASES: dict[str, tuple[Callable[..., tuple[object, str]], tuple[object, ...], tuple[object, ...]]] = {
    "equal": (equal, (), ("s == t",)),
    "constant": (constant, (), ("s == 56",)),
    "size one": (size_one, (), ("b == c + 1",)),
    "stride one": (stride_one, (), ("t == u + 1",)),
    "collapse": (collapse, (), ("t == s",)),
    "divisible": (collapse, (), ("s % 64 == 0",)),
    "lanes": (lanes, (), ("s >= 64",)),
    "inside": (inside, (), ("y_size0 <= x_size0",)),
    "order": (order, ("t > u",), ("t < u",)),
    "parallel": (collapse, (), ("b*s <= 1000",)),
    "split": (lambda *facts: as_c(reduced(*_two(facts), (0, 1))), (), ("b*s <= 1000",)),
    "parts": (constant, (), ("s <= 100",)),
    "reversed": (in_rows, (), ("s <= 100",)),
    "index width": (on_a_gpu, ("b*s <= 1000",), ("b*s >= 10000000000",)),
    "short": (in_rows, (), ("s >= 65",)),
    "sign": (sign, (), (1,)),
    "channels": (channels, (16,), (128,)),
    "interleaving": (turns, (False,), (True,)),
    "repack": (across, (), ("b <= 1",)),
    "recompute": (again, (2,), (8, "x.shape[0] >= 8")),
    "reuse": (reuse, (), ("c <= s",)),
    "large": (large, (), ("s >= 1048576",)),
}
"""For each kind, a program and what is known of its sizes, twice."""


def _two(facts):
    made, b, s = program("b s", facts)
    return made, (b, s)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_both_answers_have_code_of_their_own(kind):
    """A kind is asked for nothing, or its answer makes no difference; or a kernel makes a function recompile."""
    build, *known = CASES[kind]
    found = []
    for facts in known:
        log, code = build(*facts)
        about = [each for each in log if each.kind == kind]
        found.append(({(each.answer, each.chosen) for each in about}, code))
        assert about
        for each in log:
            assert each.verdict is not None, each
            assert each.added in ("nothing", "branch"), each
            assert each.answer in ("always", "never", "depends"), each
            assert f"{each.kind}: " in str(each) and f"; {each.added} added" in str(each)
    (first, code), (second, other) = found
    assert first != second
    assert len({answer for answer, _ in first | second}) > 1
    assert len({chosen for _, chosen in first | second}) > 1
    assert code != other
