"""Masked updates and reductions have no size that data decides, and eager torch's values and gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest
import torch

from backends import eager
from frontends.pytorch import Variant, compile, trace
from frontends.pytorch.graphs.functional import functional, functional_joint
from frontends.pytorch.graphs.joint import JointRunner
from frontends.pytorch.graphs.joint import runner as recorded_runner
from frontends.pytorch.lowering import LOWERINGS
from frontends.pytorch.recording.operations import Operation
from frontends.pytorch.symbolic.tensor import Result
from tests.frontends.pytorch.graphs.masked_forms import FORMS, REDUCTIONS, STAY, Form

aten: Final = torch.ops.aten
Call = Callable[..., Any]
MASKS: Final = ("drawn", "without", "all", "one", "empty", "zeros", "other sizes")
EXTREMES: Final = ("max", "min", "amax", "amax of rows", "max of rows", "extremes")
"""Which of two zeros is the extreme depends on the order in which they are compared, in eager torch as well. The number
of elements is read once, for the check that there is one."""
UNSIGNED: Final = (*EXTREMES, "product")
"""The sign of a zero in a matrix product depends on where a kernel starts to add, which differs between processors."""


def arguments(kind: str, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A tensor, a mask and another tensor; `without` has NaN and infinities where no mask selects."""
    rows = 7 if kind == "other sizes" else 4
    generator = torch.Generator().manual_seed(1)
    x, z = [torch.randn(rows, 3, generator=generator) for _ in range(2)]
    mask = torch.rand(rows, 3, generator=generator) > 0.4
    match kind:
        case "empty":
            mask = torch.zeros_like(mask)
        case "all":
            mask = torch.ones_like(mask)
        case "one":
            mask = torch.zeros_like(mask)
            mask[1, 0] = True
        case "without":
            read = mask | mask[:, :1] | mask[:1]
            x, z = torch.where(read, x, torch.nan), torch.where(read, z, torch.inf)
        case "zeros":
            x = torch.where(x > 0, -0.0, 0.0)
    return x.to(dtype), mask, z.to(dtype)


def outcome(call: Call, given: Sequence[torch.Tensor], *, learns: bool = True) -> list[torch.Tensor | None] | None:
    """The result and the gradients; None if it raises an error."""
    x, mask, z = given
    x, z = [each.clone().requires_grad_(learns) for each in (x, z)]
    try:
        found = call(x, mask.clone(), z)
    except (RuntimeError, IndexError):
        return None
    if found.requires_grad:
        (found * torch.linspace(0.5, 1.5, found.numel()).reshape(found.shape)).sum().backward()
    return [found.detach(), x.grad, z.grad]


def assert_same(found: Sequence[Any] | None, expected: Sequence[Any] | None, *, signs: bool = True) -> None:
    """Equal values, signs of zeros, strides and dtypes."""
    assert (found is None) == (expected is None)
    for one, other in zip(found or (), expected or ()):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one, other, equal_nan=True)
            assert one.stride() == other.stride()
            zeros = (one == 0) & (other == 0)
            assert not signs or torch.equal(one[zeros].signbit(), other[zeros].signbit())


def operations(variant: Variant) -> list[Operation]:
    """The operators of the functional forward and backward."""
    if variant.joint is None:
        return list(functional(variant).operations)
    joint = functional_joint(variant, LOWERINGS)
    return [*joint.forward.operations, *joint.backward.operations]


def decided_by_data(operation: Operation) -> bool:
    """Return True if the size that an operator gives is decided by data."""
    target = operation.target
    if target in (aten.index.Tensor, aten.index_put.default):
        return any(isinstance(each, Result) and each.metadata.dtype is torch.bool for each in operation.args[1])
    return torch.Tag.dynamic_output_shape in target.tags


def reads(operations: Sequence[Operation]) -> int:
    """The number of operators that read a number from data."""
    return sum(torch.Tag.data_dependent_output in each.target.tags for each in operations)


def traced(form: Form, dtype: torch.dtype = torch.float32) -> Variant:
    x, mask, z = arguments("drawn", dtype)
    return trace(form, (x.requires_grad_(), mask, z.requires_grad_()), gradients=True)


def runner(variant: Variant) -> Call:
    """Runs the functional forward and backward operator by operator."""
    split = functional_joint(variant, LOWERINGS)
    run = JointRunner(variant, split, eager.runner(split.forward.graph), lambda form: eager.runner(form.graph))
    return lambda *tensors: variant.assembled(run(tensors))


def test_forty_forms() -> None:
    """Forms were lost from the list."""
    assert len(FORMS) >= 40


@pytest.mark.parametrize("name", FORMS)
def test_no_size_is_decided_by_data(name: str) -> None:
    """A selection of a form stays, or another value, gradient, sign of zero or stride than eager torch's comes out."""
    variant = traced(FORMS[name])
    found = operations(variant)
    assert not [str(each.target) for each in found if decided_by_data(each)]
    assert reads(found) == (name in EXTREMES)
    run = runner(variant)
    for kind in MASKS:
        given = arguments(kind)
        assert_same(outcome(run, given), outcome(FORMS[name], given), signs=name not in EXTREMES)


@pytest.mark.parametrize("name", STAY)
def test_a_selection_stays(name: str) -> None:
    """An operator without a rule makes a program wrong, instead of leaving its selections."""
    variant = traced(STAY[name])
    assert any(map(decided_by_data, operations(variant)))
    run = runner(variant)
    for kind in MASKS:
        given = arguments(kind)
        assert_same(outcome(run, given), outcome(STAY[name], given))


QUICK: Final = ("a scalar", "another's elements", "rows", "columns", "index_put_", "the others")


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=() if name.removeprefix("update: ") in QUICK else pytest.mark.thorough)
    for name in (*FORMS, *STAY)
])  # fmt: skip
def test_compiled(name: str) -> None:
    """The kernels of a form give other values than eager torch, or it is no whole graph."""
    form = {**FORMS, **STAY}[name]
    compiled = compile(form, dynamic=True, backend="cpu", fullgraph=True)
    for learns in (True, False):
        for kind in MASKS:
            given = arguments(kind)
            expected = outcome(form, given, learns=learns)
            assert_same(outcome(compiled, given, learns=learns), expected, signs=name not in UNSIGNED)
    ran = [each for variant in compiled.variants for each in operations(variant)]
    assert name in STAY or not any(map(decided_by_data, ran))


@pytest.mark.parametrize("name", ["mean", "sum", "norm", "update: another's elements", "squared error"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_dtypes(name: str, dtype: torch.dtype) -> None:
    """A sum overflows or is rounded in a dtype that eager torch accumulates in a wider one."""
    run = runner(traced(FORMS[name], dtype))
    for kind in ("drawn", "without", "empty"):
        given = arguments(kind, dtype)
        assert_same(outcome(run, given), outcome(FORMS[name], given))


def test_a_mean_of_many_halves() -> None:
    """The sum of a mean is beyond the largest half, and the count as well."""
    run = runner(traced(REDUCTIONS["mean"], torch.float16))
    x, mask = torch.full((400, 300), 7.0, dtype=torch.float16), torch.ones(400, 300, dtype=torch.bool)
    assert run(x, mask, x).item() == 7.0


INTEGERS: Final[dict[str, Call]] = {
    "quotient": lambda x, m, z: (x[m] // z[m]).sum(),
    "remainder": lambda x, m, z: (x[m] % z[m]).sum(),
    "extremes": lambda x, m, z: x[m].amax() - x[m].amin(),
    "mean": lambda x, m, z: x[m].sum() / x[m].numel(),
    "bools": lambda x, m, z: (x[m] > 0).all() & (x > 2)[m].any(),
}


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8])
def test_integers(name: str, dtype: torch.dtype) -> None:
    """An integer that is not selected divides by zero, or the identity of a reduction is none of its dtype's."""
    x, z = torch.tensor([5, 7, 9, 2], dtype=dtype), torch.tensor([0, 2, 0, 3], dtype=dtype)
    mask = torch.tensor([False, True, False, True])
    variant = trace(INTEGERS[name], (x, mask, z))
    form = functional(variant)
    assert not any(map(decided_by_data, form.operations)) and reads(form.operations) == (name in EXTREMES)
    (found,) = eager.runner(form.graph)((x, mask, z))
    expected = INTEGERS[name](x, mask, z)
    assert torch.equal(found, expected) and found.dtype is expected.dtype


def test_nothing_is_divided_by_zero() -> None:
    """A quotient by 0 raises an error though no element is selected."""
    x, none = torch.tensor([5, 7]), torch.tensor([False, False])
    programs: list[Call] = [
        lambda x, m, z: (x[m] // z).sum(),
        lambda x, m, z: (x[m] % 0).sum(),
        lambda x, m, z: (5 // x[m]).sum(),
    ]
    for program in programs:
        for value in (0, 1):
            z = torch.tensor(value)
            form = functional(trace(program, (x, none, z)))
            (found,) = eager.runner(form.graph)((x * value, none, z))
            assert found.item() == program(x * value, none, z).item() == 0


def test_an_empty_selection_raises_as_in_eager() -> None:
    """The check that there is a maximum is lost with the size that it was about."""
    form = functional(trace(lambda x, m: x[m].max(), (torch.ones(3), torch.ones(3) > 0)))
    run = eager.runner(form.graph)
    with pytest.raises(RuntimeError, match="no elements to choose from"):
        run((torch.ones(3), torch.zeros(3) > 0))


def test_the_number_is_read_once() -> None:
    """A number that a program returns is not the one that is selected, or is read by a selection of its own."""
    variant = trace(lambda x, m: (x[m].sum(), x[m].shape[0], x[m].numel() * 2), (torch.ones(3), torch.ones(3) > 0))
    form = functional(variant)
    assert not any(map(decided_by_data, form.operations)) and reads(form.operations) == 1
    found = eager.runner(form.graph)((torch.ones(3), torch.tensor([True, False, True])))
    assert [float(each) for each in found] == [2.0, 2.0, 4.0]


def test_written_afterwards() -> None:
    """Selected elements change when the tensor or the mask is written afterwards."""

    def program(x: torch.Tensor, m: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        chosen = x[m]
        x.zero_()
        m.logical_not_()
        return chosen.sum(), x[m].sum()

    form = functional(trace(program, (torch.ones(4), torch.ones(4) > 0)))
    found = eager.runner(form.graph)((torch.arange(4.0), torch.tensor([True, False, True, True])))
    assert [each.item() for each in found[:2]] == [5.0, 0.0]


def test_the_graph_after_a_masked_write_with_a_gradient() -> None:
    """Operators of the backward are in the graph of the forward, where nothing gives their arguments."""
    compiled = compile(FORMS["update: a number"], dynamic=True, backend="cpu")
    x, mask, z = arguments("drawn")
    compiled(x.requires_grad_(), mask, z)
    assert "where" in compiled.explain()
    (variant,) = compiled.variants
    assert any("where" in node.name for node in variant.graph.graph.nodes)


@pytest.mark.parametrize("name", ["prod", "var", "std", "max of rows"])
def test_gradients_of_a_number_of_elements_that_data_decides(name: str) -> None:
    """The recorded graph, which runs operator by operator, is wrong without elements, or asks how many there are."""
    form = {**REDUCTIONS, **STAY}[name]
    run = runner_of_recording(traced(form))
    for kind in MASKS:
        given = arguments(kind)
        assert_same(outcome(run, given), outcome(form, given), signs=False)


def runner_of_recording(variant: Variant) -> Call:
    run = recorded_runner(variant)
    return lambda *tensors: variant.assembled(run(tensors))
