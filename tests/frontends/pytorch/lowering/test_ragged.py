"""Rows of different lengths, as values and offsets: kernels over them beside eager, row by row."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from backends.cpu.launcher.program import make_native
from backends.cpu.launcher.whole_graph import described
from frontends.pytorch import compile
from tests.frontends.pytorch.lowering.rows import (
    COLUMNS,
    MOST,
    OFFSETS,
    by_pieces,
    inputs,
    instance_norm,
    jagged_layer_norm,
    jagged_softmax,
    padded,
    row_of,
    softmax,
    steps_of,
    sums_by_index,
)

FUSED: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], Callable[[Tensor], Tensor]]] = {
    "sum": (lambda x, o: torch.segment_reduce(x, "sum", offsets=o), lambda piece: piece.sum(0, True)),
    "mean": (lambda x, o: torch.segment_reduce(x, "mean", offsets=o), lambda piece: piece.mean(0, True)),
    "product": (lambda x, o: torch.segment_reduce(x, "prod", offsets=o), lambda piece: piece.prod(0, True)),
    "softmax": (softmax, lambda piece: piece.softmax(0)),
    "norm": (
        instance_norm,
        lambda piece: (piece - piece.mean(0)) * torch.rsqrt(piece.var(0, correction=0) + 1e-5),
    ),
    "sums by index": (sums_by_index, lambda piece: piece.sum(0, True)),
    "padded sums": (lambda x, o: padded(x, o).sum(1), lambda piece: piece.sum(0, True)),
    "padded means": (lambda x, o: padded(x, o).sum(1) / o.diff()[:, None], lambda piece: piece.mean(0, True)),
    "padded softmax": (jagged_softmax, lambda piece: piece.softmax(0)),
    "padded layer norm": (
        jagged_layer_norm,
        lambda piece: torch.nn.functional.layer_norm(piece, piece.shape),
    ),
    "padding that adds": (
        lambda x, o: padded(x, o, 0.25).exp().sum(1),
        lambda piece: piece.exp().sum(0, True) + (MOST - len(piece)) * torch.tensor(0.25).exp(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FUSED)
def test_rows_are_reduced_by_one_kernel(name: str) -> None:
    """A row's result is that of another, an empty row's is no identity, or what one kernel does takes several."""
    function, of_piece = FUSED[name]
    compiled = compile(function, backend="cpu", dynamic=True)
    for offsets in OFFSETS:
        for columns in COLUMNS:
            x, rows = inputs(offsets, columns)
            expected = torch.cat(by_pieces(of_piece, x, rows))
            torch.testing.assert_close(compiled(x, rows), expected, rtol=1e-4, atol=1e-5, equal_nan=True)
    kernels, calls = steps_of(compiled)
    assert len(kernels) == 1 and not calls


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod"])
@pytest.mark.parametrize("initial", [None, 2.0])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_segment_reduce(name: str, initial: float | None, dtype: torch.dtype) -> None:
    """Empty rows, nan and infinities are reduced to something else than in eager."""
    compiled = compile(
        lambda x, o: torch.segment_reduce(x, name, offsets=o, initial=initial), backend="cpu", dynamic=True
    )
    for offsets in OFFSETS:
        for columns in COLUMNS:
            x, rows = inputs(offsets, columns, dtype=dtype)
            x[::5, :1] = float("nan")
            x[1::7] = float("inf")
            x[2::7] = -float("inf")
            # eager rounds after each addition of bfloat16
            expected = torch.segment_reduce(x.double(), name, offsets=rows, initial=initial).to(dtype)
            for given in (x, x.t().contiguous().t(), torch.cat([x, x], 1)[:, :columns]):
                torch.testing.assert_close(compiled(given, rows), expected, equal_nan=True, rtol=2e-2, atol=1e-4)
    _, calls = steps_of(compiled) if len(compiled.variants) == 1 else ((), ())
    assert not calls


@pytest.mark.parametrize("lengths", [[2, 0, 5], [0], [3], [0, 0, 4, 0]])
def test_lengths(lengths: list[int]) -> None:
    """Rows that lengths tell begin elsewhere than in eager."""

    def function(x, lengths):
        total = torch.segment_reduce(x, "sum", lengths=lengths)
        return total, torch.repeat_interleave(total, lengths, 0, output_size=x.shape[0])

    compiled = compile(function, backend="cpu", dynamic=True)
    compiled(torch.ones(3, 2), torch.tensor([1, 2]))
    x = torch.randn(sum(lengths), 2)
    torch.testing.assert_close(compiled(x, torch.tensor(lengths)), function(x, torch.tensor(lengths)))


GRADIENTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "sum": lambda x, o: torch.segment_reduce(x, "sum", offsets=o),
    "mean": lambda x, o: torch.segment_reduce(x, "mean", offsets=o),
    "max": lambda x, o: torch.segment_reduce(x, "max", offsets=o),
    "softmax": softmax,
    "norm": instance_norm,
    "sums by index": sums_by_index,
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str) -> None:
    """A gradient goes to another row, or is not divided among equal extremes."""
    compiled = compile(GRADIENTS[name], backend="cpu", dynamic=True)
    for offsets in ([0, 2, 4, 7], [0, 3], [0, 40, 41, 140], [0, 0, 5]):
        x, rows = inputs(offsets, 3)
        x = (2 * x).round() / 2
        found = []
        for function in (compiled, GRADIENTS[name]):
            given = x.clone().requires_grad_()
            made = function(given, rows)
            (made * torch.arange(made.numel()).view_as(made).sin()).sum().backward()
            found.append(given.grad)
        torch.testing.assert_close(*found, rtol=1e-3, atol=1e-4, equal_nan=True)


def test_offsets_of_some_elements() -> None:
    """Elements that no row has get a gradient, or rows that begin after 0 are shifted."""

    def function(x, offsets):
        return torch.segment_reduce(x, "sum", offsets=offsets), x * 2

    compiled = compile(function, backend="cpu", dynamic=True)
    for offsets in ([1, 3, 5], [2, 2], [0, 1]):
        found = []
        for each in (compiled, function):
            x = torch.arange(12.0).view(6, 2).requires_grad_()
            total, _ = each(x, torch.tensor(offsets))
            (total * total).sum().backward()
            found += [total, x.grad]
        torch.testing.assert_close(found[:2], found[2:])


def test_rows_of_offsets_that_begin_after_0() -> None:
    """Differences of offsets say how long rows are, and not where the first begins."""
    compiled = compile(lambda x, o: x[row_of(o[0] + torch.arange(5), o)] * 1.0, backend="cpu", dynamic=True)
    x = torch.randn(3, 2)
    for offsets in ([0, 2, 2, 5], [3, 4, 6, 8]):
        expected = x.repeat_interleave(torch.tensor(offsets).diff(), 0)
        torch.testing.assert_close(compiled(x, torch.tensor(offsets)), expected)


@pytest.mark.parametrize(
    ("function", "offsets"),
    [
        (lambda x, o: torch.segment_reduce(x, "sum", offsets=o), [0, 4, 2, 5]),
        (lambda x, o: torch.segment_reduce(x, "sum", offsets=o), [0, 4, 9, 1 << 40]),
        (lambda x, o: torch.segment_reduce(x, "sum", offsets=o), [-(1 << 40), 0, 3, 5]),
        (softmax, [0, 1, 2, 4]),
        (softmax, [0, 4, 3, 5]),
        (softmax, [1, 2, 3, 6]),
        (softmax, [-5, 0, 0, 0]),
        (jagged_softmax, [0, 1, 2, 4]),
        (jagged_softmax, [1, 2, 3, 5]),
        (jagged_softmax, [0, 4, 3, 5]),
    ],
)
def test_offsets_that_fit_nothing_are_errors(function, offsets) -> None:
    """Memory outside is read or written, or a wrong result is returned."""
    compiled = compile(function, backend="cpu", dynamic=True)
    x = torch.randn(5, 3)
    compiled(x, torch.tensor([0, 1, 1, 5]))
    with pytest.raises(RuntimeError):
        compiled(x, torch.tensor(offsets))
    torch.testing.assert_close(compiled(x, torch.tensor([0, 1, 1, 5])), compiled(x, torch.tensor([0, 1, 1, 5])))


def test_checks_are_part_of_one_call() -> None:
    """A graph with a check of offsets is not one call in C, or returns what kernels made of wrong ones."""
    compiled = compile(softmax, backend="cpu", dynamic=True)
    x, offsets = torch.randn(5, 3), torch.tensor([0, 1, 1, 5])
    expected = compiled(x, offsets)
    (host,) = compiled.variants[0].running.hosts
    program, names = make_native(described(host)), [each.name for each in host.program.inputs]

    def call(offsets: Tensor) -> object:
        return program(*[{"x": x, "offsets": offsets}[name] for name in names])

    torch.testing.assert_close(call(offsets), [expected])
    for forged in ([0, 1, 1, 4], [0, 4, 3, 5], [0, 1, 1, 6]):
        assert call(torch.tensor(forged)) is NotImplemented


def test_under_torch_compile() -> None:
    """Dynamo's graph of the same functions has operators of torch left."""
    torch._dynamo.reset()
    for function in (softmax, jagged_softmax, sums_by_index):
        compiled = torch.compile(function, backend="symshape", dynamic=True)
        for offsets in OFFSETS[:3]:
            x, rows = inputs(offsets, 3)
            torch.testing.assert_close(compiled(x, rows), function(x, rows), rtol=1e-4, atol=1e-5)


def test_rows_within_other_rows() -> None:
    """An element's row in one division, looked up in a loop over the rows of another."""

    def function(x, offsets, others):
        scale = torch.segment_reduce(x, "max", offsets=others)[row_of(x, others)]
        return torch.segment_reduce(x * scale, "sum", offsets=offsets)

    compiled = compile(function, backend="cpu", dynamic=True)
    x = torch.randn(9, 3)
    for offsets, others in (([0, 2, 2, 9], [0, 9]), ([0, 4, 9], [0, 3, 3, 5, 9]), ([3, 5], [0, 0, 9])):
        given = x, torch.tensor(offsets), torch.tensor(others)
        torch.testing.assert_close(compiled(*given), function(*given))


def test_offsets_that_are_changed() -> None:
    """Kernels read offsets as they are at the end of the program."""

    def function(x, offsets):
        total = torch.segment_reduce(x, "sum", offsets=offsets)
        offsets.copy_(torch.clamp(offsets, max=2))
        return total, torch.segment_reduce(x, "sum", offsets=offsets)

    compiled = compile(function, backend="cpu", dynamic=True)
    x = torch.randn(6, 3)
    for offsets in ([0, 3, 6], [1, 2, 4]):
        found = [(each(x, given), given) for each in (compiled, function) for given in (torch.tensor(offsets),)]
        torch.testing.assert_close(*found)


@pytest.mark.parametrize("threads", [1, 4])
def test_long_rows_and_many(threads: int) -> None:
    """A part of the rows is reduced twice or never where threads divide them, or digits of long sums are lost."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        compiled = compile(softmax, backend="cpu", dynamic=True)
        one_among_many = [0, 30000, *range(30001, 40001)], [*range(10001), 50000]
        for offsets in ([0, 5, 40000, 40001, 70000], [*range(0, 60001, 3)], *one_among_many):
            x, rows = inputs(offsets, 2)
            expected = torch.cat(by_pieces(lambda piece: piece.double().softmax(0), x, rows)).float()
            torch.testing.assert_close(compiled(x, rows), expected, rtol=1e-4, atol=1e-9)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("spelling", ["ours", "dynamo"])
def test_rows_whose_number_of_elements_only_the_run_tells(spelling: str) -> None:
    """Where `repeat_interleave` is not told how long its result is, rows are taken for others, or a table is made."""

    def function(x, offsets):
        count = offsets.diff()
        e = (x - torch.segment_reduce(x, "max", offsets=offsets).repeat_interleave(count, 0)).exp()
        return e / torch.segment_reduce(e, "sum", offsets=offsets).repeat_interleave(count, 0)

    torch._dynamo.reset()
    if spelling == "ours":
        compiled = compile(function, backend="cpu", dynamic=True)
    else:
        compiled = torch.compile(function, backend="symshape", dynamic=True)
    for offsets in OFFSETS:
        x, rows = inputs(offsets, 3)
        expected = torch.cat(by_pieces(lambda piece: piece.softmax(0), x, rows))
        torch.testing.assert_close(compiled(x, rows), expected, rtol=1e-4, atol=1e-5)
    for forged in ([0, 1, 2], [0, 300, 299, 300], [1, 300, 300, 301]):
        with pytest.raises(RuntimeError):
            compiled(x, torch.tensor(forged))
    if spelling == "ours":
        kernels, calls = steps_of(compiled)
        assert len(kernels) == 1
        assert not any("repeat" in str(call.target) or "index" in str(call.target) for call in calls)


def test_lengths_that_only_the_run_tells() -> None:
    """Repeated rows are those of other lengths; negative lengths are an error."""

    def function(x, lengths):
        return x.repeat_interleave(lengths, 0) * 2

    compiled = compile(function, backend="cpu", dynamic=True)
    for lengths in ([2, 1, 3], [0, 4, 1], [1, 0, 0]):
        x, count = torch.randn(3, 2), torch.tensor(lengths)
        torch.testing.assert_close(compiled(x, count), function(x, count))
    with pytest.raises(RuntimeError):
        compiled(x, torch.tensor([3, -1, 2]))


def test_repeated_rows_that_are_reduced_along_another_axis() -> None:
    """The row of an element is loaded from memory, since the loops do not go row by row."""

    def function(x, lengths):
        return x.repeat_interleave(lengths, 0).softmax(-1)

    compiled = compile(function, backend="cpu", dynamic=True)
    for lengths in ([2, 1, 3], [0, 4, 1], [1, 0, 0]):
        x, count = torch.randn(3, 5), torch.tensor(lengths)
        torch.testing.assert_close(compiled(x, count), function(x, count))
    assert len(compiled.variants) == 1


def test_a_part_of_the_rows() -> None:
    """Some elements' rows are looked up as if they were those of all."""

    def function(x, offsets):
        row = row_of(x, offsets)
        total = torch.segment_reduce(x, "sum", offsets=offsets)
        return total[row[1:]], total[row[: len(x) // 2]] * 2, total[row.flip(0)], row * 2, (total + 1)[row][1:]

    compiled = compile(function, backend="cpu", dynamic=True)
    for offsets in OFFSETS[:5]:
        x, rows = inputs(offsets, 3)
        torch.testing.assert_close(compiled(x, rows), function(x, rows))


def test_strided_and_narrow_offsets() -> None:
    """Offsets are read as if they were next to each other, or as wide as others."""
    compiled = compile(softmax, backend="cpu", dynamic=True)
    for offsets in OFFSETS[:4]:
        x, rows = inputs(offsets, 3)
        for given in (torch.stack([rows, -rows], 1)[:, 0], rows.int(), torch.cat([rows, rows])[len(rows) :]):
            torch.testing.assert_close(compiled(x, given), softmax(x, rows))
