"""The engine as torch's ShapeEnv: what it learns, what it answers, and which guards torch writes."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
import sympy
import torch
from torch.export import Dim
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, guard_or_false
from torch.fx.experimental.symbolic_shapes import ShapeEnv as Torchs
from torch.utils._sympy.functions import FloorDiv, Mod

from frontends.pytorch.shape_env import UndecidedBranch, installed
from frontends.pytorch.shape_env.adapter import EngineShapeEnv
from frontends.pytorch.shape_env.installing import ACTIVE
from frontends.pytorch.shape_env.nodes import RELATIONS
from shapes.environment.events import Declared
from shapes.errors import UndecidedGuard
from tests.frontends.pytorch.shape_env.environments import guards, made, number, sizes_of


@pytest.fixture(autouse=True)
def _inside() -> Iterator[None]:
    with installed():
        yield


# ---------------------------------------------------------------------- learning


def test_symbols_have_words_hints_ranges_and_sources() -> None:
    """Symbols have readable names, and torch's hints, ranges and sources."""
    shapes = made()
    sizes_of(shapes, 6, 1, name="L['x']")
    shapes.create_unbacked_symint()
    shapes.create_unbacked_symbool()
    declared = [event for event in shapes.engine.events if isinstance(event, Declared)]
    assert [(each.name, each.kind, each.lo, each.hi, each.hint, each.source) for each in declared] == [
        ("x_size0", "backed", 2, None, 6, "x.shape[0]"),
        ("u0", "unbacked", None, None, None, None),
        ("u1", "unbacked", 0, 1, None, None),
    ]


def test_a_guard_is_known_with_the_users_line() -> None:
    """The engine knows torch's guards, each with the line that made it."""

    def program(x: torch.Tensor) -> torch.Tensor:
        return x.view(-1, 4) if x.shape[0] % 4 == 0 else x

    graph = make_fx(program, tracing_mode="symbolic")(torch.ones(8))
    (x,) = graph.graph.find_nodes(op="placeholder")
    shapes = x.meta["val"].fake_mode.shape_env
    guard = shapes.engine.guards()[0]
    assert (guard.text.endswith(".shape[0] % 4 == 0"), guard.origin.function) == (True, "program")
    assert guard.origin.line == program.__code__.co_firstlineno + 1


def test_replacements_and_ranges_are_facts() -> None:
    """Sizes that torch found equal or constrained are facts."""
    shapes = made(duck_shape=False)
    a, b = sizes_of(shapes, 6, 6)
    assert a == b
    assert shapes.engine.proves("x_size0 == x_size1")
    u = shapes.create_unbacked_symint()
    torch.fx.experimental.symbolic_shapes._constrain_range_for_size(u, 3, 9)
    assert shapes.engine.bounds("u0") == (3, 9)
    v = shapes.create_unbacked_symint()
    shapes._eliminate_unbacked(v.node.expr, u.node.expr * 2)
    assert shapes.engine.bounds("u1") == (6, 18)


@pytest.mark.parametrize("most", (None, 40))
def test_an_equality_refines_what_torch_refines(most: int | None) -> None:
    """Two equal sizes have both ranges. Fails when a range is lost because the equality is taken for one that refines
    nothing, or one of the symbols is not replaced."""
    found = []
    for shapes in (made(duck_shape=False), Torchs(duck_shape=False)):
        a, b = sizes_of(shapes, 6, 6)
        first, second = a.node.expr, b.node.expr
        if most is not None:
            shapes.constrain_symbol_range(first, 3, most)
        assert a == b
        ranges = [shapes.bound_sympy(shapes.simplify(each)) for each in (first, second)]
        found.append(([(each.lower, each.upper) for each in ranges], len(shapes.replacements)))
    assert found[0] == found[1]


def test_a_deferred_assert_is_a_check_with_its_message() -> None:
    """A deferred assert of the program is known as a check, with its message, and is no guard."""
    shapes = made()
    u = shapes.create_unbacked_symint()
    torch._check(u % 4 == 0, lambda: "a multiple of four")
    (check,) = shapes.engine.runtime_asserts()
    assert (check.text, guards(shapes)) == ("u0 % 4 == 0", [])
    assert bool(u == 4 * (u // 4))  # torch alone refuses to decide this


def test_a_comparison_that_sympy_decides_is_decided_without_it() -> None:
    """Comparisons are made unevaluated. Fails when the engine leaves one open, or guards one, that sympy decides."""
    shapes = made()
    a, b = sizes_of(shapes, 6, 4)
    assert (a > 1).node._expr == sympy.Gt(a.node.expr, 1, evaluate=False)
    terms = [a, a * b, a + 2 * b, a // 2, 0, 1, -2]
    decided = 0
    for name, relation in RELATIONS.items():
        for x in terms:
            for y in terms:
                if isinstance(x, int):
                    continue
                made_of = [each.node.expr if isinstance(each, torch.SymInt) else sympy.Integer(each) for each in (x, y)]
                answer = relation(*made_of)
                if answer in (sympy.true, sympy.false):
                    decided += 1
                    asked = getattr(operator, name)(x, y)
                    assert bool(asked) is bool(answer), (name, made_of)
    assert decided > 40
    assert guards(shapes) == []


# ---------------------------------------------------------------------- asking


def test_suppressed_guards_are_no_facts() -> None:
    """A branch that torch did not guard on decides no later one."""
    shapes = made()
    (n,) = sizes_of(shapes, 6)
    with shapes.suppress_guards():
        assert n > 4
    assert guards(shapes) == []
    assert not shapes.engine.proves("x_size0 > 4")
    assert n > 4
    assert guards(shapes) == ["x.shape[0] >= 5"]


def test_questions_under_other_axioms_are_torchs() -> None:
    """A question under other axioms is not answered from known guards: one that follows from itself would be lost."""
    shapes = made()
    (n,) = sizes_of(shapes, 6)
    assert n * n > 30
    (guard,) = shapes.guards
    assert shapes._maybe_evaluate_static(guard.expr) is sympy.true
    assert shapes._maybe_evaluate_static(guard.expr, axioms=()) is None
    assert shapes._maybe_evaluate_static(guard.expr, compute_hint=True) is sympy.true
    shapes._maybe_evaluate_static.cache_clear()


def test_an_open_question_is_asked_again_after_a_fact() -> None:
    """An answer is not remembered past the fact that changed it."""
    shapes = made()
    u = shapes.create_unbacked_symint()
    assert not guard_or_false(u >= 3)
    torch._check(u >= 5)
    assert guard_or_false(u >= 3)


def test_a_size_of_one_is_not_excluded_where_torch_allows_it() -> None:
    """Sizes of `item()` may be 0 and 1 in guards and answers."""
    shapes = made()
    u = shapes.create_unbacked_symint()
    torch._check(u >= 0)
    torch.fx.experimental.symbolic_shapes._constrain_range_for_size(u)
    for value in (0, 1):
        assert shapes.answer(sympy.Eq(u.node.expr, value)) is None
    n = number(shapes, 5, "n")
    assert shapes.answer(sympy.Ge(n.node.expr, 2)) is None
    shapes = made(specialize_zero_one=False)
    (a,) = sizes_of(shapes, 5)
    assert shapes.answer(sympy.Ne(a.node.expr, 1)) is None


# ---------------------------------------------------------------------- floats


def test_floats_have_words() -> None:
    """Questions about floats go to the engine, which knows the guards on them."""
    shapes = made()
    share, (n,) = number(shapes, 0.5, "share"), sizes_of(shapes, 6)
    assert share < 0.75
    assert not share > 1.0  # follows
    assert [guard.expr for guard in shapes.guards] == [share.node.expr < 0.75]
    assert torch.sym_float(n) > 3.5
    assert n >= 4  # follows from it
    assert int(n * 0.5) == 3
    assert len(shapes.symbols.opaque) == 0
    u = shapes.create_unbacked_symfloat()
    torch._check(u > 2.5)
    assert bool(u > 1.0)


def test_sums_of_three_floats_have_no_order() -> None:
    """A sum that sympy reorders is opaque: another order has another rounding than the program's."""
    shapes = made()
    a, b, c = (number(shapes, value, name) for value, name in ((0.1, "a"), (0.2, "b"), (0.3, "c")))
    assert a + b + c > 0.5
    assert len(shapes.symbols.opaque) == 1
    assert a + b + c > 0.25  # the same opaque number


def test_functions_without_an_exact_form_are_numbers_of_their_own() -> None:
    """A function without an exact form is one opaque number."""
    shapes = made()
    (n,) = sizes_of(shapes, 6)
    log = torch._sym_log2(torch.sym_float(n))
    assert log > 2.0
    assert log > 1.0
    assert len(shapes.guards) == 1


# ---------------------------------------------------------------------- guards


def test_the_guards_that_torch_writes_are_minimal() -> None:
    """Guards that follow from others are left out, and no other is."""

    def program(x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] > 3:
            x = x + 1
        if x.shape[0] > 8 and x.shape[0] % 2 == 0:
            x = x * 2
        return x if x.shape[0] % 4 else x - 1

    kept = []
    for size, expected in ((12, 3), (10, 3)):
        shapes = made()
        x = torch.empty(sizes_of(shapes, size), device="meta")
        program(x)
        needed = [str(guard.expr) for guard in shapes.needed_guards()]
        assert len(shapes.guards) == expected + 1
        kept.append(needed)
    assert [len(each) for each in kept] == [2, 3]
    assert not any(each.endswith("> 3") for each in kept[0])


def test_a_size_that_violates_a_guard_is_compiled_again() -> None:
    """A size that violates a guard is compiled again."""

    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if x.shape[0] >= y.shape[0] * 2:
            return x[: y.shape[0]] * y
        if x.shape[0] % 3 == 0 and y.shape[0] % 3 == 0:
            return x.view(3, -1).sum() + y
        return x.sum() * y

    torch._dynamo.reset()
    compiled = torch.compile(program, backend="eager", dynamic=True)
    for a in (8, 9, 3, 1, 2):
        for b in (4, 3, 6, 1):
            x, y = torch.arange(a).float(), torch.arange(b).float()
            torch.testing.assert_close(compiled(x, y), program(x, y))


class Equal(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y.view(-1)[: x.shape[0]]


@pytest.mark.parametrize("strict", [False, True])
def test_export_asks_the_engine(strict: bool) -> None:
    """Export asks the engine, and has the right constraints."""
    dynamic: Any = ({0: Dim("a", min=2, max=64)}, {0: Dim("b", min=64, max=128), 1: 2})
    program = torch.export.export(Equal(), (torch.ones(5), torch.ones(70, 2)), dynamic_shapes=dynamic, strict=strict)
    (x, _) = program.graph.find_nodes(op="placeholder")
    assert type(x.meta["val"].fake_mode.shape_env) is EngineShapeEnv
    assert sorted(str(each) for each in program.range_constraints.values()) == ["VR[2, 64]", "VR[64, 128]"]


# ---------------------------------------------------------------------- errors


def test_an_undecided_branch_says_what_is_known_and_what_helps() -> None:
    """A data-dependent branch raises an error that torch handles, with the known facts and a fix."""
    shapes = made()
    u = shapes.create_unbacked_symint()
    torch._check(u <= 20)
    with pytest.raises(UndecidedGuard) as found:
        if u >= 8:
            pass
    error = found.value
    assert isinstance(error, GuardOnDataDependentSymNode)
    assert isinstance(error, UndecidedBranch)
    assert error.cond == (u.node.expr >= 8)
    lines = str(error).splitlines()
    assert lines[0].startswith("cannot decide `u0 >= 8`: true at u0=")
    assert any("u0 <= 20" in line for line in lines if line.startswith("  known:"))
    assert any(line.startswith("  needed: `if u >= 8`") for line in lines)
    assert any(line.startswith("  fix:    torch._check(u >= 8)") for line in lines)
    with pytest.raises(UndecidedGuard, match="cannot take `u0` as a number"):
        int(u)


# ---------------------------------------------------------------------- the same as torch

PROGRAMS: Final[dict[str, tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]]] = {}


def program(*sizes: tuple[int, ...]) -> Callable[[Callable[..., Any]], None]:
    def declare(function: Callable[..., Any]) -> None:
        PROGRAMS[function.__name__] = (function, *sizes)  # type: ignore[assignment]

    return declare


@program((3, 5, 8), (3, 6, 8))
def attention(x: torch.Tensor, y: torch.Tensor) -> Any:
    b, s, d = x.shape
    q = x.view(b, s, 2, d // 2).transpose(1, 2)
    k = y.view(b, y.shape[1], 2, d // 2).transpose(1, 2)
    return torch.softmax(q @ k.transpose(-1, -2), -1).matmul(k).transpose(1, 2).reshape(b, s, d)


@program((4, 6, 5), (4, 6, 5))
def equal_sizes_found_late(x: torch.Tensor, y: torch.Tensor) -> Any:
    before = x.shape[1] * y.shape[0] + x.shape[1]
    z = x.new_zeros(before)
    w = x.new_ones(x.shape[1]) + y.new_ones(y.shape[1])
    return z, w, x.new_zeros(x.shape[1] * y.shape[0] + y.shape[1]), (x + y).reshape(-1)


@program((4, 6), (3, 7))
def branches(x: torch.Tensor, y: torch.Tensor) -> Any:
    if x.shape[0] * 2 > y.shape[1] and x.shape[1] % 2 == 0:
        return x[: x.shape[0] // 2].flatten() * max(x.shape[0], 3)
    return y[: min(y.shape[0], 2)].flatten()


@program((6, 7), (3, 4))
def by_data(x: torch.Tensor, y: torch.Tensor) -> Any:
    found = x[x > 0]
    torch._check(found.shape[0] >= 4)
    return found.new_zeros(found.shape[0] + y.shape[0]), found[:2], torch.cat([found, y.flatten()])


@program((4, 6, 5), (4, 6, 5))
def gradients(x: torch.Tensor, y: torch.Tensor) -> Any:
    x = x.detach().requires_grad_()
    return torch.autograd.grad(torch.nn.functional.gelu(x).square().sum() + (x.sum(1, keepdim=True) * y).sum(), x)


@pytest.mark.parametrize("name", PROGRAMS)
def test_graphs_are_torchs(name: str) -> None:
    """A program has the graph that torch makes of it, with a subset of torch's guards."""
    function, *sizes = PROGRAMS[name]
    inputs = [torch.randn(*each, generator=torch.Generator().manual_seed(0)) for each in sizes]

    def captured() -> tuple[str, list[str], Any]:
        graph = make_fx(function, tracing_mode="symbolic")(*inputs)
        (x, _) = graph.graph.find_nodes(op="placeholder")
        shapes = x.meta["val"].fake_mode.shape_env
        return graph.code, [str(guard.expr) for guard in shapes.guards], graph(*inputs)

    ours = captured()
    token = ACTIVE.set(None)
    theirs = captured()
    ACTIVE.reset(token)
    assert ours[0] == theirs[0]
    assert set(ours[1]) <= set(theirs[1])
    torch.testing.assert_close(ours[2], theirs[2])


def test_a_copy_knows_the_same_and_learns_alone() -> None:
    """A copied environment has the same facts and learns on its own."""
    shapes = made()
    (n,) = sizes_of(shapes, 6)
    assert n > 3
    other = copy.deepcopy(shapes)
    s = n.node.expr
    assert n < 10
    assert other.answer(s > 2) is sympy.true
    assert (other.answer(s < 10), shapes.answer(s < 10)) == (None, sympy.true)
    assert other.evaluate_expr(s < 20) is sympy.true
    assert guards(other) == ["x.shape[0] >= 4", "x.shape[0] <= 19"]


def test_translation() -> None:
    """An expression of torch's is the right one of ours."""
    shapes = made()
    (n,) = sizes_of(shapes, 6)
    s = n.node.expr
    pairs = {FloorDiv(s, 4) * 4: "x_size0//4*4", Mod(s * 3, 5): "x_size0*3 % 5", s**2 - 1: "x_size0*x_size0 - 1"}
    for theirs, ours in pairs.items():
        assert shapes.expression(theirs) is shapes.engine.expression(ours)
    assert shapes.proposition(sympy.Ge(s, 7)).prop is shapes.engine.parse("x_size0 >= 7")[0]
    assert shapes.expression(sympy.Ge(s, 7)) is None
    assert shapes.proposition(s) is None
