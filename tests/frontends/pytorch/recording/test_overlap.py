"""Changes in place that overlap what they read: refused where eager torch refuses them, at every size."""

import operator

import pytest
import torch

from backends import cpu
from frontends.pytorch import compile, trace
from frontends.pytorch.variant import running

PROGRAMS = {
    "a row is added to all": lambda x: x.add_(x[0]),
    "a row is added to another": lambda x: x[1].add_(x[0]),
    "the whole": lambda x: x.mul_(x),
    "the whole as another view": lambda x: x.mul_(x.view(-1).view(x.shape)),
    "its transpose": lambda x: x.add_(x.t()),
    "rows by the rows before": lambda x: x[1:].add_(x[:-1]),
    "elements by those before": lambda x: x.view(-1)[1:].sub_(x.view(-1)[:-1]),
    "first rows from the last": lambda x: x[:2].copy_(x[-2:]),
    "one column by another": lambda x: x[:, 0].add_(x[:, 1]),
    "a result of the program": lambda x: (lambda y: y.add_(y[0]))(x * 2),
    "a copy": lambda x: x.add_(x[0].clone()),
}


@pytest.mark.parametrize(
    "program", [lambda x: x - True, lambda x: 1 - (x > 0), lambda x: (x > 0) - 2.5, lambda x: x.sub_(True)]
)
@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_booleans_are_not_subtracted(program, backend: str) -> None:
    """A subtraction of booleans is an error as in eager: torch's meta functions take a boolean for a number."""
    with pytest.raises(RuntimeError, match="bool tensor"):
        compile(program, backend=backend, dynamic=True)(torch.ones(3))


ONE_BY_ONE = {
    "columns by those before": lambda x: x[:, 1:].add_(x[:, :-1]),
    "a block by the one before": lambda x: x[1:, 1:].mul_(x[:-1, :-1]),
    "columns copied from those before": lambda x: x[:, 1:].copy_(x[:, :-1]),
    "columns assigned from those before": lambda x: operator.setitem(x, (slice(None), slice(1, None)), x[:, :-1]),
    "all columns by the first": lambda x: x[:].add_(x[:, :1]),
    "a result in its argument": lambda x: torch.exp(x[:, :-1], out=x[:, 1:]),
    "ternary": lambda x: x[:, 1:].addcmul_(x[:, :-1], x[:, :-1]),
    "interpolated": lambda x: x[:, 1:].lerp_(x[:, :-1], 0.5),
    "clamped by those before": lambda x: x[:, 1:].clamp_(min=x[:, :-1]),
    "windows": lambda x: x.as_strided((x.shape[0] - 1, 2), (1, 1)).add_(1),
    "detached": lambda x: x.detach()[:, 1:].add_(x[:, :-1]),
    "through reshape": lambda x: x.reshape(-1)[1::2].add_(x.reshape(-1)[: x.numel() // 2]),
    "a square by its diagonal": lambda x: x[:2, :2].add_(x.diagonal()[:2]),
    "a square by its transpose": lambda x: x[:2, :2].add_(x[:2, :2].t()),
    "a result of the program": lambda x: (lambda y: y[:, 1:].add_(y[:, :-1]))(x * 2),
}
"""Torch computes something for these, element after element: only its own kernels do the same."""

REFUSED = {
    "in the argument": lambda x: torch.mul(x[:-1], 2, out=x[1:]),
    "sums so far": lambda x: torch.cumsum(x[:-1], 0, out=x[1:]),
    "put by index": lambda x: x.index_put_((torch.tensor([0]),), x[1:2]),
    "scattered": lambda x: x.scatter_(0, torch.zeros(1, 2, dtype=torch.long), x[1:]),
    "added by index": lambda x: x.index_add_(0, torch.tensor([0]), x[1:2]),
    "copied by index": lambda x: x.index_copy_(0, torch.tensor([0]), x[1:2]),
    "joined in place": lambda x: torch.cat([x[1:], x[:1]], out=x),
    "stacked in place": lambda x: torch.stack([x[0], x[1]], out=x[:2]),
    "put": lambda x: x.put_(torch.tensor([0]), x[0, 1:2]),
    "expanded": lambda x: x[:1].expand(3, x.shape[1]).add_(1),
    "expanded, copied to": lambda x: x[:1].expand(2, x.shape[1]).copy_(x[1:2]),
    "expanded, as result": lambda x: torch.exp(x[:2], out=x[:1].expand(2, x.shape[1])),
}

APART = {
    "columns": lambda x: x[:, 0].mul_(x[:, 1]),
    "the last column": lambda x: x[:, -1].mul_(x[:, 0]),
    "halves": lambda x: x[: x.shape[0] // 2].mul_(x[x.shape[0] // 2 : x.shape[0] // 2 * 2]),
    "halves of columns": lambda x: x[:, : x.shape[1] // 2].mul_(x[:, x.shape[1] // 2 : x.shape[1] // 2 * 2]),
    "every other": lambda x: x.view(-1)[: x.numel() // 2 * 2 : 2].mul_(x.view(-1)[1::2]),
    "columns by an earlier one": lambda x: x[:, 1:].mul_(x[:, :1]),
    "rows by the first": lambda x: x[1:].mul_(x[:1]),
    "assigned": lambda x: operator.setitem(x, (slice(None), -1), x[:, 0]),
    "diagonals": lambda x: x.diagonal()[:1].mul_(x.diagonal(1)[:1]),
}

CAPTURED = {
    "the same columns": lambda x: x[:, 1:].mul_(x[:, 1:]),
    "columns up to one by the rest": lambda x: x[:, :1].mul_(x[:, 1:].sum(1, keepdim=True)),
    "columns by copies": lambda x: x[:, 1:].mul_(x[:, :-1].clone()),
    "filled with an element": lambda x: x[:, 1:].fill_(x[0, 1]),
}

SIZES = ((3, 4), (4, 6), (5, 2), (2, 3), (6, 5))


def after(program):
    """The tensor that a program has changed, of two programs one after the other: nothing of before is lost."""

    def run(x):
        x.mul_(2)
        program(x)
        return x + 1

    return run


def ran(program, rows: int, columns: int):
    x = torch.arange(1.0, rows * columns + 1).view(rows, columns)
    try:
        return program(x), x, None
    except RuntimeError as error:
        return None, x, str(error)


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("name", [*PROGRAMS, *ONE_BY_ONE, *REFUSED, *APART, *CAPTURED])
def test_as_eager(name: str, backend: str) -> None:
    """A change in place that overlaps its operands gives eager's elements, or is refused as in eager."""
    program = after((PROGRAMS | ONE_BY_ONE | REFUSED | APART | CAPTURED)[name])
    compiled = compile(program, backend=backend, dynamic=True)
    for rows, columns in (*SIZES, *SIZES):
        result, left, error = ran(program, rows, columns)
        found, after_call, raised = ran(compiled, rows, columns)
        assert raised == error
        assert error is not None or torch.equal(found, result)
        assert torch.equal(after_call, left)
    if name in REFUSED:
        assert "single memory location" in ran(program, 3, 4)[2]


@pytest.mark.parametrize("name", CAPTURED)
def test_captured(name: str) -> None:
    """Reads of other memory, or of exactly the written elements, run as kernels."""
    variant = trace(after(CAPTURED[name]), (torch.ones(4, 6),))
    assert not variant.recording.overlapping
    assert not running(variant, cpu).note


@pytest.mark.parametrize("name", [*ONE_BY_ONE, *APART])
def test_one_by_one(name: str) -> None:
    """Writes to memory that is read, which torch computes element after element, are in a graph but not in kernels."""
    variant = trace(after((ONE_BY_ONE | APART)[name]), (torch.ones(4, 6),))
    assert running(variant, cpu).note
