"""`as_strided`, and tensors that are only marked as conjugate: memory that a graph must not take for what it is not."""

import pytest
import torch

from frontends.pytorch import compile

BACKENDS = ["eager", "cpu"]


def agrees(program, backend: str, *given: torch.Tensor) -> None:
    """Every call gives what eager torch gives, and leaves what it leaves, or raises as it does."""
    compiled = compile(program, backend=backend)
    for x in given:
        other = x.clone() if not x.is_conj() else x.resolve_conj().clone().conj()
        try:
            expected = program(other)
        except RuntimeError:
            with pytest.raises(RuntimeError):
                compiled(x)
        else:
            torch.testing.assert_close(compiled(x), expected)
            torch.testing.assert_close(x, other)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "program",
    [
        lambda x: x.as_strided((10,), (3,)) + 1,
        lambda x: torch.as_strided(x * 2, (2, 5), (1, 4), 3),
        lambda x: (x.as_strided((2, 2), (20, 1)).mul_(2), x)[1],
        lambda x: x.as_strided((x.shape[0] - 20, 3), (1, 2), 15) + 1,
        lambda x: x.clone().as_strided_((10,), (3,)) + 1,
    ],
)
def test_memory_that_is_not_there(program, backend: str) -> None:
    """A graph that was traced for a larger argument does not access memory behind a smaller one."""
    agrees(program, backend, torch.arange(40.0), torch.arange(30.0), torch.arange(5.0), torch.arange(28.0))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "program",
    [
        lambda x: (x.diagonal().as_strided((2,), (1,), 0).add_(1), x)[1],
        lambda x: (x[1:].as_strided((2, 2), (1, 2), 1).mul_(3), x * 2)[1],
        lambda x: (x.t().as_strided((3,), (2,)).zero_(), x + 1)[1],
        lambda x: (x * 2)[1:].as_strided((2, 2), (1, 2)) + x[1:].as_strided((2, 2), (1, 2)),
    ],
)
def test_of_a_view(program, backend: str) -> None:
    """`as_strided` of a view indexes its storage."""
    agrees(program, backend, *[torch.arange(4.0 * rows).reshape(rows, 4) for rows in (3, 5, 3)])


def test_of_an_argument_in_larger_memory() -> None:
    """Elements beside those of an argument are not taken for ones that are always there."""

    def program(x):
        return x.as_strided((6,), (2,), 0) * 2

    compiled = compile(program)
    whole = torch.arange(20.0)
    for x in (whole[3:9], whole[3:8], whole):
        torch.testing.assert_close(compiled(x), program(x))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "program",
    [lambda x: x.real * 2, lambda x: x + 1, lambda x: x @ x.mT, lambda x: x.imag.sum(), lambda x: x.clone().is_conj()],
)
def test_marked_as_conjugate(program, backend: str) -> None:
    """An argument with the conjugate bit is read with it."""
    compiled = compile(program, backend=backend)
    x = torch.complex(torch.arange(4.0), torch.arange(4.0) + 1).reshape(2, 2)
    for given in (x, x.conj(), x, x.mH, x.conj()[:1]):
        assert torch.equal(torch.as_tensor(compiled(given)), torch.as_tensor(program(given)))


def test_marked_constants() -> None:
    """A constant tensor of the program that is marked as conjugate or negative is read with its mark."""
    x = torch.complex(torch.arange(3.0), torch.arange(3.0) + 1)
    for held in (x.conj(), x.conj().imag):

        def program(y, held=held):
            return torch.view_as_real(y * held + held) if held.is_complex() else y * held

        for backend in BACKENDS:
            for size in (3, 1):
                y = torch.ones(size)
                torch.testing.assert_close(compile(program, backend=backend)(y), program(y))
