"""Torch's own compilation beside what the reasoner remembers: the same graphs, guards and results, and less work."""

from __future__ import annotations

import gc
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, Final

import pytest
import sympy
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
from torch.nn import functional

from frontends.pytorch import reasoner
from frontends.pytorch.reasoning import arithmetic
from frontends.pytorch.reasoning.arithmetic import Environments, operations
from frontends.pytorch.reasoning.comparing import Comparison
from frontends.pytorch.reasoning.installing import INSTALLATION

Program = Callable[..., Any]
METHODS: Final = ("add", "mul", "eq", "int_floordiv", "sym_max", "and_", "wrap_int", "maybe_as_int", "expect_true")
OUTPUTS: Final = ("_get_output_info_for_cache_entry", "_output_from_cache_entry", "_get_output_tensor_from_cache_entry")


@pytest.fixture(autouse=True)
def _off() -> Iterator[None]:
    """Each test begins and ends without."""
    assert INSTALLATION.count == 0
    yield
    assert INSTALLATION.count == 0


def drawn(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(0))


# ---------------------------------------------------------------------- graphs and guards


def attention(x: torch.Tensor, y: torch.Tensor) -> Any:
    b, s, d = x.shape
    q = x.view(b, s, 2, d // 2).transpose(1, 2)
    k = y.view(b, y.shape[1], 2, d // 2).transpose(1, 2)
    return torch.softmax(q @ k.transpose(-1, -2), -1).matmul(k).transpose(1, 2).reshape(b, s, d)


def equal_sizes_found_late(x: torch.Tensor, y: torch.Tensor) -> Any:
    before = x.shape[1] * y.shape[0] + x.shape[1]
    z = x.new_zeros(before)
    w = x.new_ones(x.shape[1]) + y.new_ones(y.shape[1])
    return z, w, x.new_zeros(x.shape[1] * y.shape[0] + y.shape[1]), (x + y).reshape(-1)


def branches(x: torch.Tensor, y: torch.Tensor) -> Any:
    if x.shape[0] * 2 > y.shape[1] and x.shape[1] % 2 == 0:
        return x[: x.shape[0] // 2].flatten() * max(x.shape[0], 3)
    return y[: min(y.shape[0], 2)].flatten()


def images(x: torch.Tensor, y: torch.Tensor) -> Any:
    z = x.unsqueeze(1).contiguous(memory_format=torch.channels_last)
    z = functional.conv2d(z, torch.ones(4, 1, 3, 3), stride=2, padding=1)
    return functional.interpolate(z, scale_factor=2, mode="bilinear"), functional.max_pool2d(z, 2)


def by_data(x: torch.Tensor, y: torch.Tensor) -> Any:
    found = x[x > 0]
    torch._check(found.shape[0] >= 4)
    return found.new_zeros(found.shape[0] + y.shape[0]), found[:2], torch.cat([found, y.flatten()])


def gradients(x: torch.Tensor, y: torch.Tensor) -> Any:
    x = x.detach().requires_grad_()
    loss = functional.layer_norm(functional.gelu(x), x.shape[-1:]).square().sum() + (x.sum(1, keepdim=True) * y).sum()
    return torch.autograd.grad(loss, x)


PROGRAMS: Final[dict[str, tuple[Program, tuple[int, ...], tuple[int, ...]]]] = {
    "attention": (attention, (3, 5, 8), (3, 6, 8)),
    "equal sizes found late": (equal_sizes_found_late, (4, 6, 5), (4, 6, 5)),
    "branches": (branches, (4, 6), (3, 7)),
    "images": (images, (2, 9, 12), (5, 3)),
    "data": (by_data, (6, 7), (3, 4)),
    "gradients": (gradients, (4, 6, 5), (4, 6, 5)),
}


def captured(function: Program, *sizes: tuple[int, ...]) -> tuple[str, list[str], list[str], Any]:
    """The graph, the guards and the run-time checks of a function with symbolic sizes, with the lines that torch says
    they come from, and what the graph gives."""
    shapes = ShapeEnv(duck_shape=False)
    mode = FakeTensorMode(shape_env=shapes, allow_non_fake_inputs=True)
    inputs = [drawn(*each) for each in sizes]
    fakes = [
        mode.from_tensor(
            each, symbolic_context=StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC] * each.dim())
        )
        for each in inputs
    ]
    with mode:
        graph = make_fx(function, tracing_mode="real")(*fakes)
    assert any(not expression.is_number for expression in shapes.var_to_range)
    checks = [str(check.expr) for each in shapes.deferred_runtime_asserts.values() for check in each]
    places = "".join([node.stack_trace or "" for node in graph.graph.nodes])
    guards = [f"{guard.expr} {guard.sloc}" for guard in shapes.guards]
    assert not re.search(r"(?<!tests/)frontends/pytorch/reasoning", places + "".join(guards))
    return graph.code, guards, checks, graph(*inputs)


@pytest.mark.parametrize("name", PROGRAMS)
def test_graphs_and_guards_are_torchs(name: str) -> None:
    """If it fails, what is remembered is not what torch computes: another graph, a further guard, or one that is left
    out though it does not follow from the others."""
    function, *sizes = PROGRAMS[name]
    expected = captured(function, *sizes)
    with reasoner():
        found = captured(function, *sizes)
    code, guards, checks, results = found
    assert (code, checks) == (expected[0], expected[2])
    assert guards == [guard for guard in expected[1] if guard in guards]
    for guard in set(expected[1]).difference(guards):
        assert follows(proposition(guard), list(map(proposition, guards)))
    torch.testing.assert_close(results, expected[3], rtol=0, atol=0)


def proposition(guard: str) -> Any:
    """A guard as `captured` writes it, without its place, over positive integers."""
    text = guard.partition(" (_")[0].partition(" (fx/")[0]
    names = {name: sympy.Symbol(name, integer=True, positive=True) for name in re.findall(r"\bs\d+\b", text)}
    scope = {**names, "Eq": sympy.Eq, "Ne": sympy.Ne, "Max": sympy.Max, "Mod": sympy.Mod}
    return eval(text, scope)


def follows(guard: Any, others: list[Any]) -> bool:
    """Whether a guard holds for all small sizes that those of the others hold for which are of no other sizes."""
    (size,) = guard.free_symbols
    same = [other for other in others if other.free_symbols == {size}]
    holding = [n for n in range(2, 200) if all(other.subs(size, n) == sympy.true for other in same)]
    assert len(holding) > 20
    return all(guard.subs(size, n) == sympy.true for n in holding)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_answer_is_torchs(name: str) -> None:
    """If it fails, an expression, hint or constant that is remembered is none that torch gives in its place."""
    function, *sizes = PROGRAMS[name]
    with reasoner(compare=True) as comparison:
        captured(function, *sizes)
    assert comparison is not None
    assert comparison.count > 300
    assert comparison.differences == []


def test_torch_compile_gives_the_same_with_fewer_operations() -> None:
    """If it fails, compiled results differ, or torch does again what it has done."""
    results, counts = [], []
    for within in (nullcontext(), reasoner()):
        torch.compiler.reset()
        calls = 0
        before = arithmetic.torchs.SymNode._mul, arithmetic.torchs.SymNode._eq

        def counting(original: Program) -> Program:
            def counted(*operands: Any) -> Any:
                nonlocal calls
                calls += 1
                return original(*operands)

            return counted

        SymNode._mul, SymNode._eq = counting(before[0]), counting(before[1])
        try:
            with within:
                compiled = torch.compile(attention, backend="aot_eager", dynamic=True)
                results.append([compiled(drawn(b, s, 8), drawn(b, s + 1, 8)) for b, s in ((3, 5), (2, 7))])
        finally:
            SymNode._mul, SymNode._eq = before
            torch.compiler.reset()
        counts.append(calls)
    torch.testing.assert_close(results[1], results[0], rtol=0, atol=0)
    assert counts[0] > 500
    assert counts[1] < counts[0] / 2, counts


# ---------------------------------------------------------------------- what is remembered, and when it is forgotten


def sizes_of(shapes: ShapeEnv, *hints: int) -> list[torch.SymInt]:
    mode = FakeTensorMode(shape_env=shapes)
    context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC] * len(hints))
    return list(mode.from_tensor(torch.empty(*hints), symbolic_context=context).shape)


def test_replacements_are_seen() -> None:
    """If it fails, a product of a size that was found to equal another is still a product of the size itself."""
    with reasoner():
        a, b, c = sizes_of(ShapeEnv(duck_shape=False), 6, 6, 4)
        before, same_before = str(a * c), (a * c).node.expr == (b * c).node.expr
        assert a == b
        same_after = (a * c).node.expr == (b * c).node.expr
    assert "*" in before
    assert not same_before
    assert same_after


def test_what_holds_in_a_block_alone_is_forgotten_after_it() -> None:
    """If it fails, arithmetic for a graph of one size, which torch replaces without counting, is that of every size."""

    def fresh(number: torch.SymInt) -> Any:
        """As of another tensor: a node keeps the expression that it once had."""
        node = number.node
        return torch.SymInt(SymNode(node._expr, node.shape_env, int, node._hint))

    def of_another_environment() -> None:
        """Has torch forget: it holds all environments against the count of the last one that was asked."""
        x, y, z = sizes_of(ShapeEnv(duck_shape=False), 6, 6, 6)
        assert x == y and y == z and (x * y).node.expr is not None

    def expressions(a: torch.SymInt, b: torch.SymInt) -> list[str]:
        of_another_environment()
        return [str((fresh(a) + fresh(b)).node.expr), str((fresh(a) * fresh(b)).node.expr)]

    found = []
    for within in (nullcontext(), reasoner()):
        with within:
            shapes = ShapeEnv(duck_shape=False)
            a, b, c, d = sizes_of(shapes, 6, 4, 5, 5)
            assert c == d
            (source,) = [name for name, symbol in shapes.source_to_var.items() if symbol == a.node._expr]
            results = []
            for size in (8, 16):
                with shapes.patch_source_specialization(SimpleNamespace(name=source), lambda s, size=size: s == size):
                    results.append(expressions(a, b))
            results.append(expressions(a, b))
        found.append(results)
    assert "8" in found[0][0][0]
    assert "8" not in found[0][2][0]
    assert found[1] == found[0]


def test_environments_are_told_apart() -> None:
    """If it fails, an operation of one environment is answered by another's."""
    with reasoner():
        first, second = ShapeEnv(duck_shape=False), ShapeEnv(duck_shape=False)
        results = [(a * b, a.node.shape_env) for a, b in (sizes_of(first, 6, 4), sizes_of(second, 6, 4)) for _ in "ab"]
    for product, environment in results:
        assert product.node.shape_env is environment
        assert product.node.hint == 24


def test_each_result_is_a_node_of_its_own() -> None:
    """If it fails, what tells numbers apart by their nodes, as traces by proxies do, takes two for one."""
    with reasoner():
        a, b = sizes_of(ShapeEnv(duck_shape=False), 6, 4)
        x, y = a * b, a * b
    assert x.node is not y.node
    assert x.node.expr is y.node.expr


def test_hints_are_computed() -> None:
    """If it fails, a number that has no hint, or another, is given the hint of one with the same expression."""
    with reasoner():
        a, b = sizes_of(ShapeEnv(duck_shape=False), 6, 4)
        known = (a * b).node
        unknown = SymNode(a.node.expr, a.node.shape_env, int, arithmetic.torchs._NO_HINT).mul(b.node)
    assert (known.hint, unknown.hint) == (24, None)


def test_divisions_by_zero_are_errors() -> None:
    """If it fails, a division that torch refuses has a value."""
    with reasoner():
        a, b = sizes_of(ShapeEnv(duck_shape=False), 6, 4)
        for _ in "ab":
            with pytest.raises(ZeroDivisionError):
                a // (b - 4)


def test_floats_and_remainders_are_torchs() -> None:
    """If it fails, what depends on more than its operands is remembered, or floats are taken for integers."""
    with reasoner(compare=True) as comparison:
        a, b = sizes_of(ShapeEnv(duck_shape=False), 6, 4)
        for _ in "ab":
            values = [a / b, a * 0.5, a % b, (a - b) % 3, -a + b, a**2, torch.sym_max(a, b), torch.sym_min(a, 2)]
            assert bool(torch.sym_float(a) > 2.5)
    assert comparison is not None and comparison.differences == []
    assert "mod" not in operations(Environments())
    assert [type(each) for each in values[:2]] == [torch.SymFloat, torch.SymFloat]


def test_a_difference_is_noticed(caplog: pytest.LogCaptureFixture) -> None:
    """If it fails, comparing finds nothing, whatever is remembered."""
    comparison = Comparison()
    (a, b) = sizes_of(ShapeEnv(duck_shape=False), 6, 4)
    wrong = comparison.both("mul", lambda x, y: x.add(y), SymNode.mul)
    with caplog.at_level(logging.ERROR, "symshape"):
        answer = wrong(a.node, b.node)
    assert answer.hint == 24
    assert len(comparison.differences) == 1 and "mul(" in comparison.differences[0]
    assert comparison.differences[0] in caplog.text


def test_a_stale_answer_is_noticed() -> None:
    """If it fails, an answer that stood once and stands no longer is compared with nothing."""
    environments, comparison = Environments(), Comparison()
    product = comparison.both("mul", operations(environments)["mul"], SymNode.mul)
    shapes = ShapeEnv(duck_shape=False)
    a, b = sizes_of(shapes, 6, 4)
    for _ in "ab":
        product(a.node, b.node)
    assert (comparison.count, comparison.differences) == (2, [])
    ((key, answer),) = environments.of(shapes).operations["mul"].items()
    environments.of(shapes).operations["mul"][key] = (8 * b.node.expr, *answer[1:])
    assert product(a.node, b.node).expr == a.node.expr * b.node.expr
    assert len(comparison.differences) == 1


def test_what_is_remembered_is_bounded_and_goes_with_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """If it fails, a process that compiles for long keeps every expression it ever saw."""
    monkeypatch.setattr(arithmetic, "LARGEST", 5)
    environments = Environments()
    remembered = operations(environments)["add"]
    shapes = ShapeEnv(duck_shape=False)
    a, _ = sizes_of(shapes, 6, 4)
    for number in range(12):
        assert remembered(a.node, a.node.wrap_int(number + 1)).hint == 7 + number
    assert 0 < len(environments.of(shapes).operations["add"]) <= 5

    # torch's own caches keep an environment for a while: one that nothing keeps
    class Environment:
        _replacements_version_counter = 0

    passing = Environment()
    environments.of(passing)
    assert len(environments.answers) == 2
    del passing
    gc.collect()
    assert list(environments.answers) == [id(shapes)]


# ---------------------------------------------------------------------- on and off


def attributes() -> list[Any]:
    nodes = [SymNode.__dict__[name] for name in (*METHODS, "expr")]
    return [*nodes, ShapeEnv.__dict__["evaluate_sym_node"], *[FakeTensorMode.__dict__[name] for name in OUTPUTS]]


def test_what_was_there_is_put_back() -> None:
    """If it fails, torch stays changed after the block: after an error in it, or after the inner of two blocks."""
    before = attributes()
    with pytest.raises(KeyError), reasoner():
        with reasoner():
            pass
        inside = attributes()
        raise KeyError
    assert all(x is not y for x, y in zip(before, inside, strict=True))
    assert all(x is y for x, y in zip(before, attributes(), strict=True))


def test_comparing_inside_of_another_is_refused() -> None:
    """If it fails, a block that asks to compare is reported equal, though nothing was compared."""
    with reasoner(), pytest.raises(RuntimeError, match="leave that first"), reasoner(compare=True):
        pass


def test_another_torch_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """If it fails, an untested version of torch is patched, or there is no warning that it is not."""
    monkeypatch.setattr(torch, "__version__", "2.99.1+cpu")
    before = attributes()
    with caplog.at_level(logging.WARNING, "symshape"), reasoner(), reasoner():
        assert all(x is y for x, y in zip(before, attributes(), strict=True))
    lines = [record.getMessage() for record in caplog.records if "2.99.1" in record.getMessage()]
    assert lines == ["reasoner: torch 2.99.1 is not among those tested (2.13.0): nothing is changed"]


IMPORTED = """
import importlib, os, sys
import frontends.pytorch
from torch.fx.experimental.sym_node import SymNode
print("frontends.pytorch.reasoning" in sys.modules, SymNode.add.__module__)
os.environ["SYMSHAPE_REASONER"] = "1"
importlib.reload(frontends.pytorch)
print("frontends.pytorch.reasoning" in sys.modules, SymNode.add.__module__)
"""


def test_the_variable_of_the_environment() -> None:
    """If it fails, importing the frontend changes torch unasked, or does not when asked."""
    environment = {**os.environ, "SYMSHAPE_REASONER": "0"}
    command = [sys.executable, "-W", "ignore", "-c", IMPORTED]
    found = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    expected = ["False torch.fx.experimental.sym_node", "True frontends.pytorch.reasoning.arithmetic"]
    assert found.stdout.splitlines() == expected, found.stderr[-2000:]


# ---------------------------------------------------------------------- fake outputs


def kinds(x: torch.Tensor, y: torch.Tensor) -> Any:
    """Outputs of the kinds that torch's cache knows: views, complex and conjugate tensors, integers, gradients."""
    z = torch.complex(x, x)
    views = x.t(), x.unsqueeze(0), x[1:], x.view(-1), x.expand(3, *x.shape), z.real, z.conj(), z.conj().t(), z.imag
    results = x + 1, x.to(torch.float16), x > 0, x.argmax(1), z.conj() * z, x.sum(), torch.empty_like(x.t())
    return *views, *results, x.unsqueeze(0).transpose(1, 2).conj(), y.requires_grad_().t() * 2


def test_fake_outputs_are_torchs() -> None:
    """If it fails, a fake tensor of torch's cache has other metadata, memory or dispatch keys than torch gives it, or
    nothing was compared."""
    mode = FakeTensorMode(shape_env=ShapeEnv(duck_shape=False))
    context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC] * 2)
    x, y = (mode.from_tensor(drawn(*size), symbolic_context=context) for size in ((4, 6), (3, 5)))
    FakeTensorMode.cache_clear()
    with reasoner(compare=True) as comparison, mode:
        for _ in "ab":
            kinds(x, y)
    assert comparison is not None and comparison.differences == []
    assert comparison.compared["dispatch keys"] >= 6, comparison.compared
    assert len({name for name in comparison.compared if "." in name}) >= 3, comparison.compared


def test_what_torch_makes_of_its_cache_is_kept_as_torch_keeps_it() -> None:
    """If it fails, torch keeps other outputs, or answers other calls from what it keeps."""
    found = []
    for within in (nullcontext(), reasoner()):
        mode = FakeTensorMode(shape_env=ShapeEnv(duck_shape=False))
        context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC] * 2)
        x, y = (mode.from_tensor(drawn(*size), symbolic_context=context) for size in ((4, 6), (3, 5)))
        FakeTensorMode.cache_clear()
        with within, mode:
            for _ in "ab":
                kinds(x, y)
        info = FakeTensorMode.cache_info()
        found.append((info.hits, info.misses, info.bypasses, info.size))
    assert found[0] == found[1]
    assert found[0][0] > 10
