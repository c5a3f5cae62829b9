"""Programs on an accelerator, as far as that is seen without one: where tensors are, and what is brought there."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest
import torch

from backends.loops.program import Call
from backends.program.runtime_functions import Brought
from frontends.pytorch import trace
from frontends.pytorch.errors import Unsupported
from frontends.pytorch.graphs.form import Form
from frontends.pytorch.lowering import lower
from frontends.pytorch.lowering.results import place_of
from frontends.pytorch.meta_rules.by_shape_rule import statistics_dtype
from frontends.pytorch.recording.operations import Operation, Result
from frontends.pytorch.recording.predictions import device_of, numbered
from frontends.pytorch.symbolic.metadata import Kinds
from frontends.pytorch.symbolic.node import Nodes
from frontends.pytorch.variant import placed
from shapes import ShapeEnv

aten = torch.ops.aten
GPU, SECOND, CPU = torch.device("cuda", 0), torch.device("cuda", 1), torch.device("cpu")
ENV = ShapeEnv(origin=lambda: None)
KINDS = Kinds(Nodes(ENV))


def result(place: int, device: torch.device, sizes: Sequence[int] = ()) -> Result:
    return Result(place, KINDS.laid(sizes, None, 0, torch.float32, device))


def product(other: Result, made: Result, *operations: Operation, returned: Sequence[Result] = ()) -> Form:
    """A tensor on the first GPU times another one."""
    x = result(0, GPU, (3,))
    given = [("x", x)] if operations else [("x", x), ("other", other)]
    return Form(
        tuple(given), (), (*operations, Operation(aten.mul.Tensor, (x, other), {}, made)), (made, *returned)
    )


def test_a_number_on_the_cpu_is_brought() -> None:
    """A number on the CPU is copied to the device once, and the graph still becomes kernels."""
    number = result(1, CPU)
    form = product(number, result(2, GPU, (3,)))
    assert place_of(form).brought == {number}
    calls = [step for step in lower(form, ENV).steps if isinstance(step, Call)]
    assert [call.target for call in calls] == [Brought(GPU)]
    assert Brought(CPU)(torch.tensor(2.5)).item() == 2.5


@pytest.mark.parametrize("target", [aten.lift_fresh_copy.default, aten.scalar_tensor.default, aten.full.default])
def test_a_number_that_is_written_down_is_in_the_code(target: object) -> None:
    """A literal number is part of the code: `x[:, 0] = 5` calls no operator."""
    literal = Result(5, KINDS.laid((), None, 0, torch.float32, CPU), torch.tensor(5.0))
    args = {aten.lift_fresh_copy.default: (literal,), aten.full.default: ([], 5.0)}.get(target, (5.0,))
    number = result(1, CPU)
    form = product(number, result(2, GPU, (3,)), Operation(target, args, {}, number))
    assert place_of(form).device == GPU and not place_of(form).brought
    assert not [step for step in lower(form, ENV).steps if isinstance(step, Call)]


@pytest.mark.parametrize(
    ("other", "made", "is_returned"),
    [
        (result(1, CPU, (3,)), result(2, GPU, (3,)), False),
        (result(1, SECOND), result(2, GPU, (3,)), False),
        (result(1, GPU), result(2, CPU, (3,)), False),
        (result(1, GPU), result(2, CPU), False),
        (result(1, CPU), result(2, GPU, (3,)), True),
    ],
    ids=["a tensor", "another device", "a result", "a number as a result", "a number that is returned"],
)
def test_what_is_on_two_devices_is_no_program(other: Result, made: Result, is_returned: bool) -> None:
    """A graph with tensors on two devices is not lowered to kernels."""
    with pytest.raises(Unsupported, match="on both cuda:0 and"):
        place_of(product(other, made, returned=[other] * is_returned))


def test_a_device_without_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """`device="cuda"` is the current GPU, on which its tensors are."""
    monkeypatch.setattr(torch.accelerator, "current_device_index", lambda: 1)
    assert [numbered(each) for each in (torch.device("cuda"), GPU, CPU)] == [SECOND, GPU, CPU]


def test_numbers_of_both_devices() -> None:
    """The sum of a number on the CPU and one on a GPU is inferred to be on the GPU."""
    pair = [SimpleNamespace(metadata=result(0, device).metadata) for device in (CPU, GPU)]
    assert device_of(pair) == device_of(pair[::-1]) == GPU


@pytest.mark.parametrize(
    ("dtype", "device", "kept"),
    [
        (torch.bfloat16, GPU, torch.float32),
        (torch.bfloat16, CPU, torch.bfloat16),
        (torch.float16, GPU, torch.float32),
        (torch.float64, GPU, torch.float64),
    ],
)
def test_statistics_of_halves_are_not_rounded(dtype: torch.dtype, device: torch.device, kept: torch.dtype) -> None:
    """Norms of half-precision tensors keep statistics in a dtype as exact as eager's."""
    assert statistics_dtype(KINDS.laid((3,), None, 0, dtype, device)) is kept


def test_memory_is_made_on_the_device_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of tensors on the second GPU are allocated there, not on the current one."""
    at = [0]

    class Index:
        def __init__(self, index: int) -> None:
            self.index = index

        def __enter__(self) -> None:
            at.append(self.index)

        def __exit__(self, *error: object) -> None:
            at.pop()

    monkeypatch.setattr(torch.accelerator, "current_device_index", lambda: at[-1])
    monkeypatch.setattr(torch.accelerator, "device_index", Index)
    for device in (GPU, SECOND):
        assert placed(lambda tensors: [at[-1]], device)(()) == [device.index]
    assert at == [0]


def test_what_cudnn_makes_of_a_grid() -> None:
    """A graph samples images also where there is cuDNN."""
    x, grid = torch.randn(2, 3, 5, 7), torch.rand(2, 4, 6, 2)
    made = trace(lambda x, grid: aten.cudnn_grid_sampler(x, grid), (x, grid))
    (sampled,) = made.recording.operations
    assert sizes_in(sampled.output) == ["x.shape[0]", "x.shape[1]", "grid.shape[1]", "grid.shape[2]"]
    made = trace(lambda x, grid: aten.cudnn_grid_sampler_backward(x, grid, x[..., :2]), (x, grid))
    first, second = made.recording.operations[-1].output
    assert sizes_in(first) == ["x.shape[0]", "x.shape[1]", "x.shape[2]", "x.shape[3]"]
    assert sizes_in(second)[:3] == ["grid.shape[0]", "grid.shape[1]", "grid.shape[2]"]


def sizes_in(made: Result) -> list[str]:
    return [str(size) for size in made.metadata.shape]


def test_a_loss_that_cudnn_has_too() -> None:
    """A loss of sequences is in a graph also where there is cuDNN."""
    x = torch.randn(5, 2, 3).log_softmax(-1)
    places = torch.zeros(2, 2, dtype=torch.int64)
    assert trace(lambda x: aten._use_cudnn_ctc_loss(x, places, [5, 5], [2, 2], 0), (x,)).outputs == (False,)
