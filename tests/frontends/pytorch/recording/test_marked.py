"""Conjugates and negatives are views that are only marked: asked, written through, returned and given."""

from __future__ import annotations

import pytest
import torch

from frontends.pytorch import compile, trace
from frontends.pytorch.errors import Unsupported

PARAMETER = torch.nn.Parameter(torch.complex(torch.arange(4.0), torch.ones(4)))
CONJUGATE = PARAMETER.detach().conj()


def written(change):
    """The argument behind a change, and what it gives then."""

    def run(x):
        change(x)
        return x * 1

    return run


def made_then_read(x):
    made = x * 2
    view = made.conj()
    made.mul_(2j)
    return view * 1


def made_then_written(x):
    made = x * 2
    made.conj().mul_(2j)
    return made * 1


def read_after_write(x):
    view = x.conj()
    x.mul_(2j)
    return view * 1


PROGRAMS = {
    "asked of the argument": lambda x: x * (2 if x.is_conj() else 3 if x.is_neg() else 5),
    "the answers": lambda x: (x.is_conj(), x.is_neg(), x * 1),
    "asked of a conjugate": lambda x: x.conj() * (2 if x.conj().is_conj() else 3),
    "asked of an adjoint": lambda x: x.mH * (2 if x.mH.is_conj() else 3),
    "asked of an imaginary part": lambda x: x.conj().imag * (2 if x.conj().imag.is_neg() else 3),
    "asked of a transform": lambda x: (lambda y: y * (2 if y.is_conj() else 3))(torch.fft.ihfft(x.real)),
    "asked of a global": lambda x: x * (2 if CONJUGATE.is_conj() else 3),
    "returned": lambda x: x.conj(),
    "returned, of what was made": lambda x: (x * 2).conj(),
    "returned twice, of what was made": lambda x: (lambda y: (y, y, x * 1))((x * 2).conj()),
    "returned beside what it is a view of": lambda x: (lambda y: (y, y.conj()))(x * 2),
    "returned in part, of what was made": lambda x: (x * 2).conj()[0],
    "returned, an imaginary part of what was made": lambda x: torch.imag((x * 2).conj()),
    "returned, an inverse transform of what is real": lambda x: torch.fft.ifft(x.real * 2),
    "returned, detached, of what was made": lambda x: (x * 2).conj().detach(),
    "returned with more": lambda x: (x.conj(), x.conj() * 1),
    "returned twice conjugated": lambda x: x.conj().conj(),
    "returned transposed": lambda x: x.conj().t(),
    "returned in part": lambda x: x.conj()[0],
    "returned, an adjoint": lambda x: x.mH,
    "returned, an imaginary part": lambda x: torch.imag(x.conj()),
    "returned, detached": lambda x: x.conj().detach(),
    "returned, made contiguous": lambda x: x.conj().contiguous(),
    "returned, a transform": lambda x: torch.fft.ihfft(x.real),
    "returned, an inverse transform": lambda x: torch.fft.ifft(x),
    "returned, of a parameter": lambda x: (x * 1, PARAMETER.conj()),
    "returned, a negative": lambda x: torch._neg_view(x),
    "resolved": lambda x: x.conj().resolve_conj(),
    "resolved as it is": lambda x: (x.resolve_conj(), x.resolve_neg()),
    "as real": lambda x: torch.view_as_real(x.conj().resolve_conj()),
    "as real, unresolved": lambda x: torch.view_as_real(x.conj()),
    "a real part": lambda x: x.real,
    "used only": lambda x: (x @ x.mH, x.conj().imag * 1, torch.where(x.real > 0, x.conj(), x), x * PARAMETER.conj()),
    "returned, views of it": lambda x: (x, x.t(), x[0], x.detach(), x * 1),
    "copied": lambda x: (x.conj().clone(), torch.empty_like(x.conj()).is_conj()),
}
CHANGES = {
    "written": written(lambda x: x.conj().mul_(2j)),
    "written in part": written(lambda x: x.conj()[0].add_(1j)),
    "written, its imaginary part": written(lambda x: x.conj().imag.add_(1)),
    "written, its real part": written(lambda x: x.conj().real.add_(1)),
    "copied over what it is of": written(lambda x: x.copy_(x.conj())),
    "what it is of is written": read_after_write,
    "what it is of is written, made here": made_then_read,
    "written, made here": made_then_written,
    "the argument": written(lambda x: x.add_(1)),
    "the argument in part": written(lambda x: x[0].add_(1)),
    "the argument, assigned": written(lambda x: x.__setitem__(0, 1.0)),
}


def plain() -> torch.Tensor:
    return torch.complex(torch.arange(12.0).view(3, 4), torch.arange(12.0).view(3, 4).cos())


KINDS = {
    "plain": plain,
    "conjugate": lambda: plain().conj(),
    "real": lambda: torch.arange(12.0).view(3, 4),
    "negative": lambda: torch._neg_view(torch.arange(12.0).view(3, 4)),
    "with gradient": lambda: plain().requires_grad_(),
}
ORDERS = [("plain", "conjugate", "plain"), ("conjugate", "plain"), ("real", "negative", "real"), ("negative", "real")]


def ran(program, x: torch.Tensor) -> object:
    """The result with its marks, or the error; and the argument behind it."""
    try:
        result = program(x)
    except RuntimeError as error:
        result = str(error)
    leaves = result if isinstance(result, tuple) else (result,)
    return [described(each, x) if isinstance(each, torch.Tensor) else each for each in (*leaves, x)]


def described(x: torch.Tensor, given: torch.Tensor) -> list[object]:
    values = torch.view_as_real(x.detach().resolve_conj().to(torch.complex64))
    marks = [x.is_conj(), x.is_neg(), x.requires_grad, x is given, x._base is not None and x._base is given]
    return [x.dtype, x.stride(), marks, values.mul(1000).round().tolist()]


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("name", [*PROGRAMS, *CHANGES])
def test_marks(name: str, backend: str) -> None:
    """A mark is that of eager torch, and a change passes through it."""
    program = (PROGRAMS | CHANGES)[name]
    for order in [*ORDERS, *([("with gradient",)] if name in PROGRAMS else [])]:
        compiled = compile(program, backend=backend)
        for kind in (*order, order[0]):
            assert ran(compiled, KINDS[kind]()) == ran(program, KINDS[kind]()), order


@pytest.mark.parametrize("name", ["used only", "copied", "resolved", "the argument", "as real"])
def test_captured(name: str) -> None:
    """A program that only computes with conjugates is a graph."""
    assert trace((PROGRAMS | CHANGES)[name], (plain(),)).recording.operations


def test_a_returned_conjugate_is_refused() -> None:
    """Fails when a trace returns a tensor without the mark that eager torch's has."""
    for program in (lambda x: (x * 2).conj(), lambda x: (x * 2).mH.t(), lambda x: torch.fft.ihfft(x.real)):
        with pytest.raises(Unsupported, match="is returned"):
            trace(program, (plain(),))


def test_numbers_of_the_program_have_conjugates() -> None:
    """Fails when the derivative of a product with a complex number is left to eager torch."""
    x = torch.ones(2, requires_grad=True)
    compiled = compile(lambda x: (x * (1 + 2j)).real.sum())
    compiled(x).backward()
    assert x.grad is not None and x.grad.tolist() == [1.0, 1.0]
    assert [each.reason for each in compiled.graphs] == [""]
