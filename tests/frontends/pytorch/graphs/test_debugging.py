"""The graph run node by node names the first operator that is not what the trace says, and its line."""

import pytest
import torch

from frontends.pytorch import trace
from frontends.pytorch.graphs.debugging import WrongPrediction, debug


def program(x, w):
    y = torch.nn.functional.layer_norm(x @ w, (w.shape[1],))
    kept = y[y > 0]
    return torch.softmax(kept * kept.shape[0], 0), y.t().contiguous().view(-1), y.sum().item() * x


def test_right_graph():
    """If it fails, a right graph is called wrong: the trace's sizes or strides are not those of the run."""
    variant = trace(program, (torch.randn(3, 4), torch.randn(4, 5)))
    for rows, inner, columns in ((6, 2, 3), (1, 1, 1), (9, 4, 1)):
        steps = debug(variant, torch.randn(rows, inner), torch.randn(inner, columns))
        assert len(steps) >= 8
        assert all(step.origin is not None and step.origin.file == __file__ for step in steps)


@pytest.mark.parametrize("what", ["sizes", "strides", "dtype"])
def test_first_wrong_operator_is_named(what):
    """If it fails, a wrong rule of an operator shows far behind it, or with another's line."""
    variant = trace(program, (torch.randn(3, 4), torch.randn(4, 5)))
    operation = next(each for each in variant.recording.operations if "layer_norm" in str(each.target))
    said = operation.output[0].metadata
    wrong = type(said)(said.key, said.sizes, said.strides, said.offset, said.dtype, said.device)
    if what == "dtype":
        wrong.dtype = torch.float64
    else:
        setattr(wrong, what, (said.sizes[0] + 1, said.sizes[1]) if what == "sizes" else (said.strides[0] + 1, 1))
    operation.output[0].metadata = wrong
    with pytest.raises(WrongPrediction) as error:
        debug(variant, torch.randn(6, 2), torch.randn(2, 3))
    assert "native_layer_norm" in error.value.step.operator
    assert error.value.step.origin.source_line.startswith("y = torch.nn.functional.layer_norm")
    assert "test_debugging.py:11" in str(error.value)
    assert what.removesuffix("s") in str(error.value)
