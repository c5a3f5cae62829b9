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

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch

from frontends.pytorch.errors import unsupported
from frontends.pytorch.recording.operations import follow, roots_of, written_and_read
from frontends.pytorch.recording.special import special
from frontends.pytorch.symbolic.function_mode import Arguments, Function, Keywords, TorchFunctions, handles
from frontends.pytorch.symbolic.tensor import Result, Traced

if TYPE_CHECKING:
    from frontends.pytorch.recording.recorder import Recorder

@dataclass(frozen=True, slots=True)
class Mark:
    """An output that must be a lazy conjugate or negative of a tensor that nobody else has: `computed` and `marked` are
    inverse, so the result has the graph's values and gradient.
    """

    computed: Callable[[torch.Tensor], torch.Tensor]
    marked: Callable[[torch.Tensor], torch.Tensor]


aten: Final = torch.ops.aten
CONJUGATE: Final = Mark(torch.conj_physical, torch.conj)
NEGATIVE: Final = Mark(torch.neg, torch._neg_view)
RESOLVE: Final = "write `.resolve_conj()` or `.resolve_neg()` behind it"
CHANGED: Final = "a conjugate or a negative, which is a view, is changed in place, or what it is a view of"
UNRESOLVED: Final = (
    "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view it as"
    " real, use self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original."
)


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
        recorder.recording.marked[made.result] = recorder.result_of(args[0])
    return made


@handles(torch.view_as_real)
def refuse_marked(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """Raise torch's error for a conjugate."""
    if args and _is_marked(mode.trace, args[0]):
        raise RuntimeError(UNRESOLVED)
    return NotImplemented


@handles(torch.Tensor.is_conj, torch.is_conj, torch.Tensor.is_neg, torch.is_neg)
def asked(mode: TorchFunctions, func: Function, args: Arguments, kwargs: Keywords) -> object:
    """Answer whether a bit is set: never on an argument, in other calls neither, nor on an operator's result."""
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
    marked = recorder.recording.marked
    if not marked or not isinstance(tensor, Traced):
        return False
    return roots_of(recorder.recording.operations).get(tensor.result, tensor.result) in marked


def refuse_negatives(recorder: Recorder, given: Iterable[object], *, written: bool) -> None:
    """Refuse arguments with the negative bit if the program reads such bits or writes to its arguments.

    Otherwise they are read as their values, so the graph is valid for plain arguments as well.

    Raises:
        Unsupported: there is one.
    """
    if (written or recorder.marks_asked) and any(isinstance(each, torch.Tensor) and each.is_neg() for each in given):
        what = "an argument that is only marked as negative is changed in place, or asked whether it is"
        unsupported(what, "pass its `.resolve_neg()`", None)


def settle_marked(recorder: Recorder, outputs: Sequence[object]) -> dict[int, Mark]:
    """Refuse programs in which a computed conjugate is distinguishable from a view.

    A conjugate of a tensor that nobody else has may be returned: the outputs at these indices get their bit again.

    Raises:
        Unsupported: another one is returned, or it or its base is mutated.
    """
    marked = recorder.recording.marked
    if not marked:
        return {}
    roots: dict[Result, Result] = {}
    shared: set[Result] = set()
    marks: dict[Result, Mark] = {}
    made_here: set[Result] = set()
    for operation in recorder.recording.operations:
        target, made = operation.target, operation.output
        follow(operation, roots)
        if isinstance(made, Result):
            made_here.add(made)
            if made in marked:
                marks[made] = CONJUGATE if target is aten._conj_physical.default else NEGATIVE
        if isinstance(target, torch._ops.OpOverload) and target._schema.is_mutable:
            written = [] if operation.backward else written_and_read(operation)[0]
            if any(roots.get(each, each) in shared for each in written):
                unsupported(CHANGED, RESOLVE, operation.origin)
        elif isinstance(made, Result) and made in marked:
            shared |= {made, roots.get(marked[made], marked[made])}
    again: dict[int, Mark] = {}
    of_outputs = Counter([roots.get(each, each) for each in {value for value in outputs if isinstance(value, Result)}])
    for place, value in enumerate(outputs):
        if isinstance(value, Result) and roots.get(value, value) in marked:
            source = roots.get(marked.get(value, value), marked.get(value, value))
            if value not in marks or source in marked or source not in made_here or of_outputs[source]:
                what = "a conjugate or a negative is returned, which is a view that is marked as one"
                unsupported(what, RESOLVE, None)
            again[place] = marks[value]
    return again
