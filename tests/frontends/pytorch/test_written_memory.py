"""Memory that is written, and that arguments and outputs share: what eager refuses, strides, and which tensors are the
same."""

from __future__ import annotations

import pytest
import torch

from frontends.pytorch import compile

randn = torch.randn


@pytest.mark.parametrize("change", [lambda x: x.add_(1), lambda x: x[0].mul_(2), lambda x: x[:, 0].add_(1)])
def test_arguments_that_repeat_elements(change) -> None:
    """Fails when an element with several indices is changed, which eager refuses, or less often than in eager."""

    def program(x):
        change(x)
        return x * 2

    compiled = compile(program, backend="cpu", dynamic=True)
    compiled(randn(3, 4))
    for make in (lambda: randn(3, 1).expand(3, 4), lambda: randn(5).unfold(0, 3, 1), lambda: randn(2, 6)[:, ::2]):
        torch.manual_seed(0)
        given = make()
        torch.manual_seed(0)
        mine = make()
        try:
            expected = program(given)
        except RuntimeError as error:
            with pytest.raises(RuntimeError, match=str(error)[:40]):
                compiled(mine)
        else:
            assert torch.equal(compiled(mine), expected) and torch.equal(mine, given)


CHANGES = ["eq_", "add_", "clamp_min_", "logical_or_", "copysign_", "mul_", "lt_", "bitwise_and_", "atan2_", "copy_"]
CHANGES += ["floor_divide_"]


@pytest.mark.parametrize("change", CHANGES)
def test_results_that_do_not_fit(change) -> None:
    """Fails when a change in place of a tensor that is too small for the result is no error, as it is in eager."""

    def program(x, y):
        total = x.amax(0)
        getattr(total, change)(y)
        return total

    dtype = torch.int64 if change.startswith("bitwise") else torch.float32
    for shape in ((3, 4), (2, 1, 1)):
        x, y = torch.ones(3, 1, dtype=dtype), torch.ones(shape, dtype=dtype)
        with pytest.raises(RuntimeError):
            program(x, y)
        for dynamic in (True, None):
            with pytest.raises(RuntimeError):
                compile(program, backend="cpu", dynamic=dynamic)(x, y)


VIEWS = {
    "an argument": lambda x: (x, x.view_as(x), x[:]),
    "a view only": lambda x: x.detach(),
    "what is made": lambda x: ((made := x + 1), made.squeeze(), made.mT.mT, made),
    "a view twice": lambda x: ((view := x.expand_as(x)), x, view, view),
    "a view before": lambda x: ((made := x * 2).narrow(0, 0, len(x)), made),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("learned", [False, True])
def test_views_are_tensors_of_their_own(name, learned) -> None:
    """Fails when a view of all of a tensor is that tensor: a change of its sizes or gradients changes both."""
    compiled = compile(VIEWS[name], backend="cpu")
    found = []
    for function in (VIEWS[name], compiled, compiled):
        x = torch.ones(2, 3, requires_grad=learned)
        outputs = function(x)
        tensors = [x, *(outputs if isinstance(outputs, tuple) else [outputs])]
        found.append(
            (
                [one is other for one in tensors for other in tensors],
                [one.data_ptr() == other.data_ptr() for one in tensors for other in tensors],
                [each.requires_grad for each in tensors],
            )
        )
    assert found[1] == found[0] and found[2] == found[0]


CALLED = {
    "a sum along an axis": lambda x, y: x.cumsum_(0),
    "a sum into another": lambda x, y: torch.cumsum(y, 0, out=x),
    "a product": lambda x, y: x.addmm_(y, y),
    "random numbers": lambda x, y: x.normal_() if x.is_floating_point() else x.random_(0, 9),
    "coins": lambda x, y: x.bernoulli_(0.5),
    "arguments in another order": lambda x, y: x.polygamma_(1) if x.is_floating_point() else x.neg_(),
    "another dtype": lambda x, y: torch.add(x, y.to(torch.uint8), out=x),
}


@pytest.mark.parametrize("name", CALLED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
@pytest.mark.parametrize("is_made", [False, True])
def test_operators_that_write_as_tensors_lie(name, dtype, is_made) -> None:
    """Fails when what an operator gives is read with the strides or the dtype of what it writes to, so that memory is
    read that is not its own, or random numbers come in another order than eager's."""

    def program(x, y):
        x = x * 1 if is_made else x
        CALLED[name](x, y)
        return x + 1

    compiled = compile(program, backend="cpu", dynamic=True)
    for lie in (lambda base: base[::2, ::2], lambda base: base[:4, :4].t(), lambda base: base[:4, :4].contiguous()):
        found = []
        for function in (program, compiled):
            x = lie((torch.arange(64) % 7 + 1).to(dtype).view(8, 8))
            torch.manual_seed(0)
            found.append((function(x, torch.ones(4, 4, dtype=dtype)), x))
        for mine, theirs in zip(*found):
            torch.testing.assert_close(mine, theirs)
