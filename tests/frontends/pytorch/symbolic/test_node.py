"""The node protocol, asked by torch's own callers: Python operators, `torch.sym_*`, C++, `symbolic_shapes`."""

from __future__ import annotations

import operator
from collections.abc import Callable

import pytest
import torch
from torch.fx.experimental import symbolic_shapes as asked_by_torch

from frontends.pytorch.symbolic.formulas import general_path
from frontends.pytorch.symbolic.node import Node, Nodes, value_of
from shapes import ShapeEnv, SymInt
from shapes.errors import UndecidedGuard

LARGEST = 2**63 - 1
HINTS = {"b": 6, "s": 35}


def symbols() -> tuple[ShapeEnv, list[torch.SymInt]]:
    env = ShapeEnv(origin=lambda: None, policy=general_path)
    nodes = Nodes(env)
    return env, [nodes.wrap(env.symbol(name, lo=1, hi=LARGEST, hint=hint)) for name, hint in HINTS.items()]


def at_hint(number: object) -> object:
    """The value this time, without a guard."""
    if isinstance(number, torch.SymInt | torch.SymFloat | torch.SymBool):
        assert isinstance(number.node, Node)
        return number.node.hint
    return number


BINARY: dict[str, Callable[..., object]] = {
    **{
        function.__name__: function
        for function in (
            operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.truediv,
            operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
            torch.sym_max, torch.sym_min,
        )
    },
    "square": lambda a, b: a**2 + b,
    "divmod": lambda a, b: a // b * b + a % b,
    "shift": lambda a, b: (a << 3) - (b >> 1),
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_operators_of_integers(name: str) -> None:
    """A size that a program computes is Python's number."""
    compute = BINARY[name]
    env, (b, s) = symbols()
    for left, right, plain in ((b, s, (6, 35)), (s, b, (35, 6)), (b, 4, (6, 4)), (40, s, (40, 35)), (s, True, (35, 1))):
        found = compute(left, right)
        assert at_hint(found) == compute(*plain)
        assert type(at_hint(found)) is type(compute(*plain))
    assert env.guards() == ()


def test_an_operation_is_done_once() -> None:
    """Each operation is interned: equal sizes are one node."""
    _, (b, s) = symbols()
    assert (b * s + 1).node is (b * s + 1).node
    assert (b * s - s * b) == 0
    assert type(b * s - s * b) is int or (b * s - s * b).node.is_constant()


def test_cplusplus_asks() -> None:
    """C++ reads sizes of a tensor without pinning them."""
    env, (b, s) = symbols()
    x = torch.empty(b, s, 3, device="meta")
    assert at_hint(x.numel()) == 6 * 35 * 3
    assert at_hint(x.stride(0)) == 105
    assert x.is_contiguous()
    assert at_hint(x.transpose(0, 2).stride(2)) == 105
    assert str(x.shape) == "torch.Size([b, s, 3])"
    assert env.guards() == ()
    assert not x.transpose(0, 1).is_contiguous()
    assert len(env.guards()) == 1  # neither of the two is 1


def test_a_branch_is_a_guard_and_asked_once() -> None:
    """A branch of the program leaves exactly one guard."""
    env, (b, s) = symbols()
    for _ in range(3):
        assert b < s
        assert bool(s > 34)
    assert [str(guard) for guard in env.guards()] == ["b < s", "s >= 35"]


def test_a_forced_number_is_a_specialization() -> None:
    """`range(b)` specializes a size, with a record."""
    env, (b, _) = symbols()
    assert len(range(b)) == 6
    assert [each.text for each in env.specializations()] == ["b"]


def test_what_torch_reads_of_an_expression() -> None:
    """Torch's own helpers take our numbers and answer from the facts."""
    env, (b, s) = symbols()
    assert asked_by_torch.statically_known_true(b >= 1)
    assert not asked_by_torch.statically_known_true(b >= 2)
    assert not asked_by_torch.guard_or_false(b == 1)
    assert asked_by_torch.guard_or_true(b != 1)
    assert not asked_by_torch.guard_or_false(s * b == 0)
    assert asked_by_torch.is_symbolic(b)
    assert asked_by_torch.free_unbacked_symbols(torch.empty(b, s, device="meta")) == set()
    assert asked_by_torch.has_free_symbols(b * s)
    assert env.guards() == ()
    assert asked_by_torch.guard_int(b) == 6


def test_checks_are_facts() -> None:
    """A checked condition is a fact, and a false check raises."""
    _, (b, s) = symbols()
    torch._check(b <= s)
    assert isinstance(value_of(b), SymInt)
    assert asked_by_torch.statically_known_true(b <= s)
    with pytest.raises(RuntimeError):  # torch's own, as for plain numbers
        torch._check(b > s)


def test_values_of_the_run() -> None:
    """A value known only at run time has no hint, and keeps its check."""
    env = ShapeEnv(origin=lambda: None, policy=general_path)
    nodes = Nodes(env)
    u = nodes.wrap(env.unbacked("u0", lo=0))
    assert not u.node.has_hint()
    assert len(asked_by_torch.free_unbacked_symbols(torch.empty(u, 3, device="meta"))) == 1
    assert not asked_by_torch.guard_or_false(u == 0)
    with pytest.raises(UndecidedGuard):
        bool(u == 4)
    torch._check(u <= 7)
    assert [str(check) for check in env.runtime_asserts()] == ["u0 <= 7"]
    assert asked_by_torch.statically_known_true(u < 8)


def test_booleans() -> None:
    """Conditions combine to the right truth values."""
    _, (b, s) = symbols()
    both, either = (b > 7) & (s > 7), (b > 7) | (s > 7)
    assert at_hint(both) is False
    assert at_hint(either) is True
    assert at_hint(torch.sym_not(both)) is True
    assert at_hint((b > 7) == (s > 7)) is False
    assert at_hint(either + 1) == 2


def test_where_the_general_path_is_this_times_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """An optional question of torch's is not decided if both outcomes give the same answer."""
    env, (b, s) = symbols()
    asked: list[object] = []
    monkeypatch.setattr(env, "verdict_on", lambda prop, *rest: asked.append(prop))
    assert not asked_by_torch.guard_or_false(b == 1) and asked_by_torch.guard_or_true(s != 1)
    assert not asked_by_torch.statically_known_true(b * s == 5)
    assert (asked, env.guards()) == ([], ())


def test_the_general_path_in_a_scope_that_this_run_does_not_enter() -> None:
    """A branch of `torch.cond` for sizes of 1 is traced for its own condition, not for the sizes at hand."""
    env, (b, s) = symbols()
    with env.hypothesis(value_of(b) == 1):
        assert asked_by_torch.guard_or_false(b == 1) and not asked_by_torch.guard_or_false(s == 1)
    assert not asked_by_torch.guard_or_false(b == 1)
