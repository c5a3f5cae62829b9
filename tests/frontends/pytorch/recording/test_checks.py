"""Checks that a program states become run-time checks at the earliest place, or guards, or facts."""

import pytest
import torch

from frontends.pytorch import compile, trace
from frontends.pytorch.errors import Unsupported
from shapes.errors import ShapeError


def checked(x):
    n = x.sum().item()
    torch._check(n >= 2, lambda: "too few")
    torch._check(n < 100)
    y = torch.zeros(n)
    return y.exp(), x * 2


def test_check_is_asserted_early():
    """A check of the program stays in the graph, before all that relies on it."""
    variant = trace(checked, (torch.tensor([3, 4]),))
    nodes = [str(node.target) for node in variant.graph.graph.nodes]
    item = next(place for place, name in enumerate(nodes) if "_local_scalar_dense" in name)
    zeros = next(place for place, name in enumerate(nodes) if "zeros" in name)
    asserted = [place for place, name in enumerate(nodes) if "_assert_scalar" in name]
    assert item < min(asserted)
    assert max(asserted) < zeros
    assert variant.graph(torch.tensor([1, 4]))[0].shape == (5,)
    with pytest.raises(RuntimeError, match=r"u0 >= 2: too few.*test_checks\.py:\d+"):
        variant.graph(torch.tensor([1, 0]))
    with pytest.raises(RuntimeError):
        variant.graph(torch.tensor([100, 1]))


def test_check_on_sizes_of_arguments_is_a_guard():
    """A check on sizes of arguments is a guard of the graph."""

    def program(x):
        torch._check(x.shape[0] > 2, lambda: "at least three")
        return x * 2

    variant = trace(program, (torch.randn(6, 2),))
    assert [str(guard) for guard in variant.guards] == ["x.shape[0] >= 3"]


def test_check_is_size():
    """`torch._check_is_size` is known where sizes are used."""

    def program(x):
        n = x.max().item()
        torch._check_is_size(n)
        return torch.ones(n + 1).sum()

    variant = trace(program, (torch.tensor([3, 5]),))
    assert variant.graph(torch.tensor([2, 7]))[0] == 8


def test_assert_on_a_size():
    """An assertion of the program on sizes is a guard."""

    def program(x):
        assert x.shape[0] == x.shape[1], "square"
        return x @ x

    variant = trace(program, (torch.randn(3, 3),))
    assert [str(guard) for guard in variant.guards] == ["x.shape[0] == x.shape[1]"]


def test_contradicted_check():
    """A check that cannot hold is an error of the trace."""

    def program(x):
        torch._check(x.shape[0] < 0, lambda: "never")
        return x

    with pytest.raises((ShapeError, RuntimeError)):
        trace(program, (torch.randn(3),))


def test_the_class_of_an_error():
    """A check of data raises the same class of error and text as in eager torch."""

    def picked(x, place):
        number = place.item()
        torch._check_value(number != 1, lambda: "not this one")
        return x[number]

    graph = trace(picked, (torch.ones(3), torch.tensor(0))).graph
    assert graph(torch.ones(3), torch.tensor(0))[0] == 1
    with pytest.raises(ValueError, match="u0 != 1: not this one"):
        graph(torch.ones(3), torch.tensor(1))
    with pytest.raises(IndexError, match="the index is behind the end of the axis"):
        graph(torch.ones(3), torch.tensor(4))


def test_an_error_of_the_programs_own():
    """A check that raises the program's own class of error is not captured."""

    class Own(Exception):
        pass

    def program(x):
        torch._check_with(Own, x.sum().item() > 0, lambda: "own")
        return x

    with pytest.raises(Unsupported, match="which the program defines"):
        trace(program, (torch.ones(3),))


@pytest.mark.parametrize("backend", ["eager", "cpu"])
def test_a_check_of_what_is_no_number(backend):
    """A check of an integer that an infinity has not raises what Python raises, and takes it for no number."""

    def program(x):
        size = torch.sym_int(x.sum().item() * 2)
        torch._check(size >= 0)
        return x.new_ones(size)

    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = compile(program, backend=backend, fullgraph=True)
        assert compiled(torch.ones(4)).shape == (8,)
        with pytest.raises(OverflowError):
            compiled(torch.full((4,), torch.inf))
