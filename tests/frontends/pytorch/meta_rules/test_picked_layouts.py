"""Layouts of advanced indexing, and of operators on operands with different layouts.

A wrong answer raises no error: `stride()` and `as_strided` depend on it, `reshape` views where eager torch copies.
"""

import pytest
import torch

from frontends.pytorch import compile


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_class_out_of_range(backend: str) -> None:
    """`one_hot` of an index out of range is an error, not a row of zeros."""
    compiled = compile(lambda x: torch.nn.functional.one_hot(x, 5), backend=backend, dynamic=True, fullgraph=True)
    assert compiled(torch.tensor([1, 4])).tolist() == [[0, 1, 0, 0, 0], [0, 0, 0, 0, 1]]
    with pytest.raises(RuntimeError, match="Class values must be smaller than num_classes"):
        compiled(torch.tensor([1, 5, 2]))
