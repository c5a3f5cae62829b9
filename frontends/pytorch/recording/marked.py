"""Lazy conjugation and negation: torch sets a bit on a view, a trace computes the values.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> z = torch.randn(2, 3, dtype=torch.complex64)
    >>> len(trace(lambda z: (z @ z.mH).real * 1, (z,)).outputs)
    1
    >>> trace(lambda z: z.conj().mul_(2), (z,))
    Traceback (most recent call last):
    frontends.pytorch.errors.Unsupported: a conjugate or a negative, which is a view, is changed in place, or what ...

C++ operators dispatch differently on a tensor with such a bit. A computed copy is correct unless the program writes to
it or its base, reads the bit, or returns it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import torch

from frontends.pytorch.errors import unsupported
from frontends.pytorch.recording.operations import Copy
from frontends.pytorch.recording.special import special
from frontends.pytorch.recording.torch_functions import TorchFunctions, handles
from frontends.pytorch.symbolic.tensor import Arguments, Function, Keywords, Traced

if TYPE_CHECKING:
    from frontends.pytorch.recording.recorder import Recorder

aten: Final = torch.ops.aten
RESOLVE: Final = "write `.resolve_conj()` or `.resolve_neg()` behind it"


@special(aten._conj.default)
def conjugate(recorder: Recorder, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords) -> object:
    """Compute the conjugate."""
    if isinstance(args[0], complex):
        # a number of the program, as a derivative reads it
        return torch.tensor(args[0].conjugate(), dtype=torch.complex128)
    return _computed(recorder, aten._conj_physical.default, args)


@special(aten._neg_view.default)
def negative(recorder: Recorder, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords) -> object:
    """Compute the negative."""
    return _computed(recorder, aten.neg.default, args)


def _computed(recorder: Recorder, target: torch._ops.OpOverload, args: Arguments) -> object:
    made = recorder.operator(target, args, {})
    if not recorder.backward:
        source, origin = recorder.result_of(args[0]), recorder.env.origin()
        recorder.recording.copies.append(Copy(source, made.result, origin, is_marked=True))
    return made


@handles(torch.Tensor.is_conj, torch.is_conj, torch.Tensor.is_neg, torch.is_neg, torch.view_as_real)
def asked(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """Answer whether a bit is set: never on an argument, in other calls neither, nor on an operator's result. A view of
    a conjugate as real numbers is an error that eager torch raises."""
    mode.trace.marks_asked = True
    if args and _is_marked(mode.trace, args[0]):
        unsupported("the program reads the conjugate or negative bit of a result", RESOLVE)
    return NotImplemented


@handles(torch.Tensor.resolve_conj, torch.resolve_conj, torch.Tensor.resolve_neg, torch.resolve_neg)
def resolved(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """A copy of a lazy conjugate or negative, else the tensor itself."""
    mode.trace.marks_asked = True
    return args[0].clone() if args and _is_marked(mode.trace, args[0]) else NotImplemented


def _is_marked(recorder: Recorder, tensor: object) -> bool:
    """Return True if a tensor is a conjugate or a negative, or a view of one."""
    marked = {copy.made for copy in recorder.recording.copies if copy.is_marked}
    if not marked or not isinstance(tensor, Traced):
        return False
    return recorder.recording.base(tensor.result) in marked


def refuse_negatives(recorder: Recorder, given: Iterable[object], *, written: bool) -> None:
    """Refuse arguments with the negative bit if the program reads such bits or writes to its arguments.

    Otherwise they are read as their values, so the graph is valid for plain arguments as well.

    Raises:
        Unsupported: there is one.
    """
    if (written or recorder.marks_asked) and any(isinstance(each, torch.Tensor) and each.is_neg() for each in given):
        what = "an argument that is only marked as negative is changed in place, or asked whether it is"
        unsupported(what, "pass its `.resolve_neg()`", None)
