"""Unsupported programs: an error with the user's line, and a call with graph breaks that is right."""

from __future__ import annotations

import pytest
import torch
from torch._higher_order_ops.map import map as map_over
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.utils._pytree import tree_leaves

from frontends.pytorch import compile, trace
from frontends.pytorch.errors import Unsupported
from shapes.errors import ShapeError

SPARSE = torch.eye(5).to_sparse()


def looped(x):
    y = x.relu() + 1
    _, z = while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), (torch.tensor(0), y))
    return z.exp() - y


def scanned(x):
    y = x * 2
    last, every = scan(lambda carry, each: (carry + each, carry * each), torch.zeros(()), y, dim=0)
    return last + every.sum()


def mapped(x):
    return map_over(lambda each, one: each + one, x * 2, torch.ones(())) - 1


def sparse_weight(x):
    return torch.sparse.mm(SPARSE, x.view(5, 1)) + 1


def made_sparse(x):
    return torch.diag(x).to_sparse_csr().to_dense() * 2


def sparse_from_parts(x):
    return torch.sparse_coo_tensor(torch.tensor([[0, 1]]), x[:2], (3,)).to_dense()


def nested(x):
    return torch.nested.nested_tensor([x, x * 2]).to_padded_tensor(0.0)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (looped, "while_loop: torch's operators that take functions"),
        (scanned, "scan: torch's operators"),
        (mapped, "map: torch's operators"),
        (sparse_weight, "constant: a tensor of layout torch.sparse_coo"),
        (made_sparse, "a sparse tensor: only dense ones are traced"),
        (sparse_from_parts, "a sparse tensor: only dense ones are traced"),
        (nested, "a nested tensor: only dense ones are traced"),
    ],
)
def test_refused_with_the_line_and_run_with_breaks(program, said: str) -> None:
    """Fails when an error does not say where, or a compiled function does not do what the function does."""
    x = torch.arange(5.0)
    with pytest.raises(Unsupported, match=said) as raised:
        trace(program, (x,))
    assert "test_unsupported.py:" in str(raised.value) and "fix:" in str(raised.value)
    compiled = compile(program, dynamic=True)
    for _ in range(2):
        torch.testing.assert_close(tree_leaves(compiled(x)), tree_leaves(program(x)))


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_a_nested_argument(layout: torch.layout) -> None:
    """Fails when an argument that is no dense tensor is an error of C++."""
    values = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=layout)
    with pytest.raises(Unsupported, match=r"x: a nested tensor\n.*\n.*or its values and offsets"):
        trace(lambda x: x * 2, (values,))


COUNTS = {"calls": 0}


def only_outside(x):
    """Torch's own check of the parts needs their values."""
    COUNTS["calls"] += 1
    rows, columns = torch.tensor([0, 1, 2]), torch.tensor([0, 1])
    return torch.sparse_csr_tensor(rows, columns, x[:2], (2, 2), check_invariants=True).to_dense()


def test_a_trace_that_fails_is_no_error_where_the_program_is_none() -> None:
    """Fails when an error of the trace reaches a program that eager runs, or what it changed happens twice."""
    COUNTS["calls"] = 0
    compiled = compile(only_outside, dynamic=True)
    x = torch.arange(5.0)
    for count in (1, 2, 3):
        assert torch.equal(compiled(x), torch.diag(x[:2]))
        assert COUNTS["calls"] == count


def test_an_error_of_ours_is_not_hidden() -> None:
    """Fails when a wrong mark or statement is fall back to eager."""
    with pytest.raises(ShapeError):
        compile(lambda x: x.sum(), dynamic={"x": ("n", "2*n")})(torch.ones(2, 5))
