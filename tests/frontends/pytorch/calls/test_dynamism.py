"""Which sizes become symbols, what that costs in variants, and when a function stops being traced again."""

from __future__ import annotations

import gc
import logging
import weakref

import pytest
import torch
from torch import randn

from frontends.pytorch import (
    Policy,
    compile,
    dims,
    mark_dynamic,
    mark_maybe_dynamic,
    mark_static,
    mark_unbacked,
    one_of,
)
from frontends.pytorch.calls.compiled import Compiled
from shapes.errors import SpecializedDynamic, UndecidedGuard


def agrees(f: Compiled, *inputs: object) -> None:
    """A call gives what the function itself gives."""
    expected, found = f.fn(*inputs), f(*inputs)
    torch.testing.assert_close(found, expected)


def guards(f: Compiled) -> list[list[str]]:
    return [[str(guard) for guard in variant.guards] for variant in f.variants]


def shapes(f: Compiled) -> list[str]:
    return [str(variant.inputs[0].result.metadata) for variant in f.variants]


def causes(f: Compiled) -> list[str]:
    return [variant.cause for variant in f.variants]


# ---------------------------------------------------------------------- automatic


def test_only_the_size_that_differs_becomes_a_symbol() -> None:
    """Fails when the second call with another size makes more, or less, than that dimension dynamic."""
    f = compile(lambda x: (x * 2).sum(0))
    for rows in (3, 5, 7, 1, 64):
        agrees(f, randn(rows, 8))
    assert shapes(f) == ["float32[3, 8]", "float32[x_size0, 8]"]
    assert causes(f) == ["first call", "x.size(0) is 5, was 3"]
    agrees(f, randn(3, 9))
    agrees(f, randn(1, 1))
    assert shapes(f)[2:] == ["float32[x_size0, x_size1]"]
    assert guards(f) == [[], [], []]


def test_what_differed_stays_dynamic() -> None:
    """Fails when a variant for another dtype starts with static sizes again: the history outlives environments."""
    f = compile(lambda x: x + 1)
    for tensor in (randn(3, 8), randn(5, 8), randn(6, 8, dtype=torch.float64), randn(9, 8, dtype=torch.float64)):
        agrees(f, tensor)
    assert shapes(f) == ["float32[3, 8]", "float32[x_size0, 8]", "float64[x_size0, 8]"]


def test_equal_sizes_are_never_taken_for_one() -> None:
    """Fails when two sizes that happen to be equal are merged."""
    f = compile(lambda x, y: (x.sum() + y.sum()).reshape(1), dynamic=True)
    agrees(f, randn(4, 4), randn(4))
    agrees(f, randn(2, 3), randn(5))
    assert guards(f) == [[]]


def test_everything_dynamic() -> None:
    """Fails when a size other than 0 costs a variant that the program does not ask for."""
    f = compile(lambda x: x.reshape(-1).relu(), dynamic=True)
    for sizes in ((3, 8), (1, 1), (2, 5), (7, 1)):
        agrees(f, randn(*sizes))
    assert len(f.variants) == 1 and guards(f) == [[]]
    agrees(f, randn(0, 3))
    assert len(f.variants) == 2


def test_nothing_dynamic_but_what_is_marked() -> None:
    """Fails when `dynamic=False` does not mean it, or overrides a mark."""
    f = compile(lambda x: x * 2, dynamic=False)
    for rows in (2, 3, 4, 5, 2):
        agrees(f, randn(rows, 8))
    assert len(f.variants) == 4 and not f.fallbacks
    marked = randn(6, 8)
    mark_dynamic(marked, 0)
    agrees(f, marked)
    agrees(f, randn(99, 8))
    assert len(f.variants) == 5 and shapes(f)[-1] == "float32[x_size0, 8]"


def test_integers_become_symbols_when_they_differ() -> None:
    """Fails when a counter or length among the arguments is traced for again and again."""
    f = compile(lambda x, n: x[:n] * n, dynamic=True)
    for n in (3, 4, 5, 2, 1, 7):
        agrees(f, randn(9, 2), n)
    assert causes(f) == ["first call", "n is 4, was 3"]
    assert [number.symbol for number in f.variants[1].numbers] == ["n"] and not f.fallbacks


# ---------------------------------------------------------------------- only where the value leaves shape arithmetic


def test_only_the_size_that_python_concretizes_is_a_constant() -> None:
    """Fails when a value that reaches Python pins more than the dimension that it came from."""

    def program(x, y):
        for step in range(y.shape[0]):
            x = x * step
        return x + y.sum()

    f = compile(program, dynamic=True)
    for rows, columns, other in ((2, 5, 3), (7, 1, 3), (3, 3, 3)):
        agrees(f, randn(rows, columns), randn(other))
    assert len(f.variants) == 1 and guards(f) == [["y_size0 == 3"]]
    (forced,) = f.variants[0].env.specializations()
    assert forced.origin.source_line == "for step in range(y.shape[0])"
    agrees(f, randn(2, 5), randn(4))
    assert guards(f) == [["y_size0 == 3"], ["y_size0 == 4"]]


# ---------------------------------------------------------------------- backing off


def pinned(x):
    for step in range(x.shape[0]):
        x = x * step
    return x


def test_the_same_question_is_answered_twice(caplog: pytest.LogCaptureFixture) -> None:
    """Fails when a size that the program makes a constant is traced for with every new value."""
    f = compile(pinned, dynamic=True)
    with caplog.at_level(logging.WARNING, "symshape"):
        for rows in (2, 3, 4, 5, 6, 2, 3, 9):
            agrees(f, randn(rows, 8))
    assert guards(f) == [["x_size0 == 2"], ["x_size0 == 3"]]
    (fallback,) = f.fallbacks
    assert "2 recompilations for the same question" in fallback.reason and "test_dynamism.py" in fallback.reason
    assert len(caplog.records) == 1


def test_how_often_is_a_matter_of_policy() -> None:
    """Fails when the limit on recompilations for one question is not the policy's."""
    f = compile(pinned, dynamic=True, policy=Policy(recompile_limit=4))
    for rows in (2, 3, 4, 5, 6, 7):
        agrees(f, randn(rows, 8))
    assert len(f.variants) == 4


def test_another_question_is_still_answered() -> None:
    """Fails when one question that was asked too often leaves all other calls without a graph."""

    def program(x):
        if x.shape[1] > 4:
            return x.sum(0)
        for step in range(x.shape[0]):
            x = x * step
        return x

    f = compile(program, dynamic=True)
    calls = [randn(rows, 2) for rows in (2, 3, 4, 5, 6)]
    for x in calls:
        assert torch.equal(f(x), program(x))
    known = len(f.variants)
    assert len(f.fallbacks) == 1
    for rows, columns in ((4, 8), (7, 5), (5, 2), (6, 9), (9, 9)):
        x = randn(rows, columns)
        assert torch.equal(f(x), program(x))
    assert known < len(f.variants) <= known + 2 and len(f.fallbacks) == 1
    assert any("x_size1 >= 5" in str(guard) for guard in f.variants[known].guards)
    known = len(f.variants)
    for rows in (7, 8, 9, 7):
        x = randn(rows, 2)
        assert torch.equal(f(x), program(x))
    assert len(f.variants) == known and len(f.fallbacks) == 1


def test_calls_that_change_an_object_share_their_variants(caplog: pytest.LogCaptureFixture) -> None:
    """Fails when each new object, or each new state of one, costs a trace: one that holds tensors is not told by its
    identity."""

    class Cache:
        def __init__(self):
            self.x = randn(0)

    def step(x, cache):
        cache.x = torch.cat([cache.x, x])
        return cache.x.sum()

    f = compile(step, dynamic=True)
    for size in range(2, 8):
        cache, x = Cache(), randn(size)
        for _ in range(3):
            f(x, cache)
        assert torch.equal(cache.x, torch.cat([x] * 3))
    assert len(f.variants) == 2 and not f.fallbacks and not caplog.records


def test_calls_that_change_numbers_of_an_object_share_their_variants(caplog: pytest.LogCaptureFixture) -> None:
    """Fails when each new object without tensors, or each new number in one, costs a trace."""

    class Counter:
        def __init__(self):
            self.count = 1

    def step(x, counter):
        counter.count *= 2
        return x * counter.count

    f = compile(step, dynamic=True)
    for size in range(2, 8):
        counter, x = Counter(), randn(size)
        for count in (2, 4, 8):
            assert torch.equal(f(x, counter), x * count)
        assert counter.count == 8
    assert len(f.variants) == 2 and not f.fallbacks and not caplog.records


def test_objects_that_are_others_each_time(caplog: pytest.LogCaptureFixture) -> None:
    """Fails when each new object costs a trace or a look-up, or is kept for ever."""

    class Batch:
        def __init__(self, x):
            self.x = x

    f = compile(lambda batch, y: batch.x * 2 + y, dynamic=True)
    references = []
    for size in range(2, 14):
        batch, y = Batch(randn(size)), randn(size)
        assert torch.equal(f(batch, y), batch.x * 2 + y)
        batch.x = randn(size)
        assert torch.equal(f(batch, y), batch.x * 2 + y)
        references.append(weakref.ref(batch))
    del batch
    gc.collect()
    assert len(f.variants) <= 4 and len(f.fallbacks) <= 4 and len(caplog.records) <= 4
    assert sum(each() is not None for each in references) <= 4


def test_two_sides_of_a_branch_are_two_variants() -> None:
    """Fails when a branch on a size costs more than one variant for each side."""

    def program(x):
        if x.size(1) == 10:
            return x * 2
        return x * 3

    f = compile(program, dynamic=True)
    for columns in (10, 3, 4, 10, 11, 1):
        agrees(f, randn(2, columns))
    assert guards(f) == [["x_size1 == 10"], ["x_size1 != 10"]] and not f.fallbacks


def test_no_more_variants_than_allowed() -> None:
    """Fails when a function is traced without end."""
    f = compile(lambda x: x * 2, dynamic=False, policy=Policy(variants=3))
    for rows in (2, 3, 4, 5, 6, 5):
        agrees(f, randn(rows))
    assert len(f.variants) == 3 and "3 variants" in f.fallbacks[0].reason


def test_no_more_variants_of_a_module_than_allowed() -> None:
    """Fails when the functions of one module are counted apart."""
    module = torch.nn.Linear(4, 2)
    policy = Policy(of_module=3)
    first, second = compile(module, dynamic=False, policy=policy), compile(module.forward, dynamic=False, policy=policy)
    for rows in (2, 3):
        agrees(first, randn(rows, 4))
    for rows in (2, 3, 5):
        agrees(second, randn(rows, 4))
    assert (len(first.variants), len(second.variants)) == (2, 1)


def test_a_value_that_changes_with_every_call() -> None:
    """Fails when a global that keeps changing is traced for with every value, or read only once."""
    scope = {"torch": torch, "scale": ("1",)}
    exec("def program(x):\n    return x * float(scale[0])\n", scope)
    f = compile(scope["program"])
    x = randn(3)
    for scale in "12342":
        scope["scale"] = (scale,)
        agrees(f, x)
    assert len(f.variants) == 2 and "scale is ('3',)" in f.fallbacks[0].reason


# ---------------------------------------------------------------------- marks


def test_a_marked_size_is_a_symbol_from_the_first_call() -> None:
    """Fails when a mark or its bounds are not seen."""
    f = compile(lambda x: x * 2)
    x = randn(3, 8)
    mark_dynamic(x, 0, lo=1, hi=64)
    agrees(f, x)
    agrees(f, randn(64, 8))
    assert shapes(f) == ["float32[x_size0, 8]"]
    assert f.variants[0].env.bounds("x_size0") == (1, 64)
    agrees(f, randn(65, 8))
    assert len(f.variants) == 2


def test_a_marked_size_that_becomes_a_constant_is_an_error() -> None:
    """Fails when a strictly dynamic size is specialized without a word, or the error does not name the guard."""
    f = compile(lambda x: x * 2 if x.shape[0] == 8 else x * 3)
    x = randn(8, 3)
    mark_dynamic(x, 0)
    with pytest.raises(SpecializedDynamic, match=r"x_size0 == 8.*test_dynamism.py"):
        f(x)


def test_a_size_that_may_be_dynamic_may_become_a_constant() -> None:
    """Fails when a size that is only maybe dynamic is as strict as one that is."""
    f = compile(lambda x: x * 2 if x.shape[0] == 8 else x * 3)
    x = randn(8, 3)
    mark_maybe_dynamic(x, 0)
    agrees(f, x)
    assert guards(f) == [["x_size0 == 8"]]


def test_a_marked_static_size_stays_one() -> None:
    """Fails when a size that is marked as static becomes a symbol."""
    f = compile(lambda x: x * 2, dynamic=True)
    x = randn(3, 8)
    mark_static(x, 1)
    agrees(f, x)
    assert shapes(f) == ["float32[x_size0, 8]"]


def test_nothing_is_guarded_about_an_unbacked_size() -> None:
    """Fails when a size that is marked as unbacked has a hint or a guard; its bounds are checked by the run."""
    f = compile(lambda x: x.reshape(-1) * 2, fullgraph=True)
    x = randn(3, 8)
    mark_unbacked(x, 0, hi=100)
    agrees(f, x)
    agrees(f, randn(0, 8))
    assert len(f.variants) == 1 and guards(f) == [[]]
    assert [str(check) for check in f.variants[0].runtime_asserts] == [
        "x_size0 <= 100: x.size(0) is stated to be at most 100"
    ]
    with pytest.raises(RuntimeError, match="at most 100"):
        f(randn(101, 8))


def test_a_branch_on_an_unbacked_size_is_an_error() -> None:
    """Fails when an undecidable branch is taken, or the error does not say where and what to do."""
    f = compile(lambda x: x * 2 if x.shape[0] > 8 else x * 3, fullgraph=True)
    x = randn(9, 8)
    mark_unbacked(x, 0)
    with pytest.raises(UndecidedGuard) as error:
        f(x)
    assert "x_size0 >= 9" in str(error.value) and "test_dynamism.py" in str(error.value) and "fix:" in str(error.value)


# ---------------------------------------------------------------------- relations


def test_a_stated_relation_is_used() -> None:
    """Fails when `x.view(5, -1)` with a dimension of `5*b` costs a guard or excludes b = 1 (PyTorch 176349)."""
    (b,) = dims("b", lo=1, hi=8)
    f = compile(lambda x: x.view(5, -1).relu(), dynamic={"x": (5 * b,)})
    for size in (10, 5, 40):
        agrees(f, randn(size))
    assert len(f.variants) == 1 and guards(f) == [[]]


def test_relations_as_text() -> None:
    """Fails when names in text are not the same size everywhere."""
    f = compile(
        lambda x, y: x.view(x.shape[0], 5, -1) + y if x.shape[1] == 5 * x.shape[0] else x,
        dynamic={"x": ("b", "5*b"), "y": ("b", None, "b")},
    )
    for b in (2, 3, 1):
        agrees(f, randn(b, 5 * b), randn(b, 1, b))
    assert [str(given.result.metadata) for given in f.variants[0].inputs] == [
        "float32[b, x_size1]",
        "float32[y_size0, 1, y_size2]",
    ]
    assert guards(f) == [[]]


def test_one_of_several_values() -> None:
    """Fails when branches on a size that is one of several need guards although all values go one way."""
    f = compile(lambda x: x * 2 if x.shape[0] % 4 == 0 and x.shape[0] <= 16 else x, dynamic={"x": (one_of(4, 8, 16),)})
    for size in (8, 4, 16):
        agrees(f, randn(size))
    assert len(f.variants) == 1 and guards(f) == [[]]


def test_conditions_on_named_sizes() -> None:
    """Fails when a statement about names is not understood."""
    s, t = dims("s", "t", where="s % 16 == 0 and t <= s")
    f = compile(lambda x, y: x.reshape(16, -1) if y.shape[0] <= x.shape[0] else x, dynamic={"x": (s,), "y": (t,)})
    agrees(f, randn(32), randn(32))
    agrees(f, randn(16), randn(1))
    assert len(f.variants) == 1 and guards(f) == [[]]


def test_reshape_to_a_shape_needs_one_fact() -> None:
    """Fails when `y.reshape(x.shape)` makes constants of sizes (PyTorch 139408)."""
    f = compile(lambda x, y: y.reshape(x.shape) + x, dynamic=True)
    agrees(f, randn(4, 6), randn(8, 3))
    agrees(f, randn(5, 2), randn(1, 10))
    assert guards(f) == [["x_size0*x_size1 == y_size0*y_size1"]] and len(f.variants) == 1


def test_both_sides_of_a_maximum() -> None:
    """Fails when `max(n, 16)` costs a variant for each side of 16 (PyTorch 149635)."""
    f = compile(lambda x: x.new_zeros(max(x.shape[0], 16)), dynamic=True)
    for size in (3, 16, 40, 1):
        agrees(f, randn(size))
    assert guards(f) == [[]] and len(f.variants) == 1


def test_what_torch_asks_by_the_way_is_no_check_of_the_run() -> None:
    """If it fails, what finds nothing is refused, because torch asked whether the strides divide each other."""
    f = compile(lambda x: (x.nonzero() * 2.0).softmax(0), dynamic=True)
    agrees(f, torch.ones(3, 4))
    agrees(f, torch.zeros(3, 4))
    assert len(f.variants) == 1
