"""Size-dependent aliasing: guards where eager returns a view at some sizes and a copy at others.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> def program(x):
    ...     y = x.t().reshape(-1)       # a copy, but a view of x if one of its axes has extent 1
    ...     y.add_(1)
    ...     return x * 2
    >>> [str(guard) for guard in trace(program, (torch.randn(3, 4),)).guards]
    ['x.shape[1] != 1', 'x.shape[0] != 1']
    >>> trace(lambda x: x.t().reshape(-1) + 1, (torch.randn(3, 4),)).guards
    ()

`reshape` and `contiguous` copy tensors that are not contiguous, which may depend on an axis having extent 1. A trace
takes the copy, which is correct for all sizes unless one is written and the other read afterwards, or the caller has
both. Where data decides the size, the graph ends a call in which it is a view, before the call has had any effect, and
the call runs operator by operator.

Mutations whose operands overlap have no functional form, and run operator by operator as well:

    >>> trace(lambda x: x.add_(x[0].clone()), (torch.randn(3, 4),)).recording.overlapping
    []
    >>> trace(lambda x: x[:, 1:].add_(x[:, :-1]), (torch.randn(3, 4),)).recording.overlapping
    ['aten.add_.Tensor may read elements that it writes']

The elements of `as_strided` must be in the storage for all sizes. Only those of traced tensors are known to exist:

    >>> variant = trace(lambda x: x.as_strided((10,), (3,)) + 1, (torch.ones(30),))
    >>> [str(guard) for guard in variant.guards]
    ['x.shape[0] >= 28']

Conjugates and negatives are lazy: torch sets a bit on a view, on which C++ operators dispatch differently; a trace
computes the values. That is correct unless the program writes to the copy or its base, reads the bit, or returns it.

    >>> trace(lambda z: z.conj().mul_(2), (torch.randn(2, 3, dtype=torch.complex64),))
    Traceback (most recent call last):
    frontends.pytorch.errors.Unsupported: a conjugate or a negative, which is a view, is changed in place, or what ...
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import torch

from backends.results import Aliased
from frontends.pytorch.errors import Unsupported, unsupported
from frontends.pytorch.recording.operations import (
    Copy,
    Operation,
    Recording,
    is_custom,
    is_exchange,
    is_random,
    is_view,
    results_of,
    written_and_read,
)
from frontends.pytorch.recording.special import special
from frontends.pytorch.recording.torch_functions import TorchFunctions, handles
from frontends.pytorch.symbolic.node import value_of
from frontends.pytorch.symbolic.tensor import Arguments, Function, Keywords, Result, Traced
from shapes.environment.layout import is_empty, max_storage_index
from shapes.symbolic.choices import Int

if TYPE_CHECKING:
    from frontends.pytorch.recording.recorder import Recorder
    from frontends.pytorch.symbolic.metadata import Metadata
    from shapes.env import ShapeEnv
    from shapes.symbolic.numbers import SymBool

aten: Final = torch.ops.aten

CHANGED: Final = "a conjugate or a negative, which is a view, is changed in place, or what it is a view of"
RETURNED: Final = "a conjugate or a negative is returned, which is a view that is marked as one"
RESOLVE: Final = "write `.resolve_conj()` or `.resolve_neg()` behind it"
OF_SLICES: Final = "torch::autograd::CopySlices"
"""The autograd function of a write to a view; it copies, whatever the sizes."""


@special(aten.clone.default)
def clone(recorder: Recorder, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords) -> object:
    """A contiguous copy, as `reshape` and `contiguous` make it."""
    (source,) = args
    if kwargs.get("memory_format") is not torch.contiguous_format or not isinstance(source, Traced):
        return NotImplemented
    formula = torch._C._current_autograd_node()
    if formula is not None and formula.name() == OF_SLICES:
        return NotImplemented
    env = recorder.env
    sizes = [size.node.value for size in source.metadata.sizes if isinstance(size, torch.SymInt)]
    few = tuple([size for size in sizes if (env.bounds(size)[0] or 0) < 2])
    before = source.result
    apart = steps_apart(env, source.metadata)
    made = recorder.operator(func, args, kwargs)
    if few or apart:
        recorder.recording.copies.append(Copy(before, made.result, env.origin(), few, apart))
    return made


def steps_apart(env: ShapeEnv, metadata: Metadata) -> tuple[SymBool, ...]:
    """Conditions that adjacent axes cannot be merged, where they cannot for the hints and may for other sizes: a view
    would merge them."""
    sizes, strides = metadata.shape, metadata.shape.strides or ()
    found = []
    for stride, size, inner in zip(strides, sizes[1:], strides[1:]):
        apart = stride != size * inner
        if not isinstance(apart, bool) and env.hint(apart) is True:
            found.append(apart)
    return tuple(found)


def may_run_again(recorder: Recorder) -> bool:
    """Return True if a call that ends and then runs operator by operator is as one that does so at once."""
    operations = recorder.recording.operations
    known = {*recorder.given, *recorder.recording.constants}
    is_once = any(is_custom(each.target) or is_exchange(each.target) or is_random(each) for each in operations)
    return not is_once and known.isdisjoint(recorder.recording.changed())


def settle(recorder: Recorder, outputs: Sequence[object], *, ends: bool) -> None:
    """Guard the sizes of copies that are distinguishable from views; with `ends`, those that data decides are checked
    by the graph, which ends a call by `Aliased`.

    Raises:
        Unsupported: such a copy is a view for the hints, or a conjugate or negative, which are returned with a mark.
    """
    copies = recorder.recording.copies
    if not copies:
        return
    root = recorder.recording.base
    read: dict[Result, float] = {}
    writes: list[tuple[int, Result]] = []
    places: dict[Result, int] = {}

    for place, operation in enumerate(recorder.recording.operations):
        target, made = operation.target, operation.output
        read.update([(root(each), place) for each in results_of(operation.arguments)])
        for result in results_of(made):
            places.setdefault(result, place)
        if target._schema.is_mutable:
            writes += [(place, root(each)) for each in written_and_read(operation)[0]]
    returned = set(map(root, results_of(outputs)))
    read.update(dict.fromkeys(returned, math.inf))
    read.update(dict.fromkeys([*recorder.given, *recorder.recording.constants], math.inf))
    ends = ends and may_run_again(recorder)
    for copy in copies:
        source, made = root(copy.source), root(copy.made)
        since = places.get(copy.made, -1)
        is_changed = any(
            (written is made and read.get(source, -1) > place) or (written is source and read.get(made, -1) > place)
            for place, written in writes
            if place > since
        )
        # the caller observes aliasing, and may write to one
        are_returned = read.get(source) == read.get(made) == math.inf
        if copy.is_marked:
            if is_changed or made in returned:
                unsupported(CHANGED if is_changed else RETURNED, RESOLVE, copy.origin)
        elif is_changed or (are_returned and all(recorder.env.hint(size) != 1 for size in copy.sizes)):
            # with both returned, guarded if it is a copy for the hints
            _guard(recorder, copy, ends)


def _guard(recorder: Recorder, copy: Copy, ends: bool) -> None:
    env = recorder.env
    with env.at(copy.origin):
        for size in copy.sizes:
            if ends and env.hint(size) is None:
                env.require(size != 1, "a result is a view", error=Aliased)
            elif env.guard(size == 1):
                raise Unsupported(
                    "what `reshape` or `contiguous` gives is changed in place, or what it was made from, and with"
                    f" {size} == 1 it may be a view or a copy: write `.clone()` behind it, or do not change it in place"
                )
        for apart in copy.apart:
            env.guard(apart)


# ---------------------------------------------------------------------- overlap


ELEMENTWISE: Final = frozenset((aten.copy_.default, aten.masked_fill_.Scalar, aten.masked_fill_.Tensor))
"""Elementwise operators besides those with torch's pointwise tag."""
READING_FIRST: Final = frozenset((aten.fill_.Tensor,))
"""Operators that read everything before they write."""


def find_overlaps(recording: Recording) -> None:
    """Record the mutations that may overlap their operands, or write an element twice: they have no functional form.

    Torch's kernels reject some overlaps, and do not check tensors with gaps: a kernel then reads elements that it has
    written, in an unspecified order. Functionalized kernels read everything before they write. So they are used only if
    nothing else of the written tensor's memory is read, or exactly the written elements one by one.
    """
    strided: set[Result] = set()
    for operation in recording.operations:
        target = operation.target
        if is_view(target):
            if target is aten.as_strided.default or operation.args[0] in strided:
                strided.update(results_of(operation.output))
        elif target._schema.is_mutable and target.namespace == "aten":
            if _overlaps(recording, operation, strided):
                recording.overlapping.append(f"{target} may read elements that it writes")


def _overlaps(recording: Recording, operation: Operation, strided: set[Result]) -> bool:
    target = operation.target
    written, read = written_and_read(operation)
    if len(written) != 1 or target in READING_FIRST:
        # not a kernel, or harmless
        return False
    (changed,) = written
    assert changed.metadata is not None
    is_expanded = any(isinstance(stride, int) and stride == 0 for stride in changed.metadata.strides)
    if (changed in strided or is_expanded) and not operation.backward:
        return True
    shared = [each for each in read if recording.base(each) is recording.base(changed)]
    elementwise = torch.Tag.pointwise in target.tags or target in ELEMENTWISE
    return any(each.metadata is not changed.metadata or not elementwise for each in shared)


# ---------------------------------------------------------------------- reach


READS_OFFSET: Final = frozenset(
    [getattr(aten, name).default for name in ("as_strided", "as_strided_", "as_strided_copy", "as_strided_scatter")]
)
"""Operators that depend on the storage offset."""


@special(aten.as_strided.default)
def as_strided(recorder: Recorder, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords) -> object:
    """A view, with guards that all of its elements are in known memory."""
    source, env = args[0], recorder.env
    if recorder.backward or not isinstance(source, Traced):
        return recorder.operator(func, args, kwargs)
    base = recorder.recording.base(source.result).metadata
    assert base is not None
    made = recorder.operator(func, args, kwargs)
    view = made.metadata
    if _is_empty(env, view):
        return made
    if _is_empty(env, base) or not env.guard(_last(view) <= _last(base)):
        what = "`as_strided` reaches elements outside of the tensor that it is given"
        unsupported(what, "take it of the tensor that owns the memory, within its elements")
    return made


def _is_empty(env: ShapeEnv, metadata: Metadata) -> bool:
    """Return True if it is empty, with a guard."""
    empty = is_empty(metadata.shape)
    return empty if isinstance(empty, bool) else env.guard(empty)


def _last(metadata: Metadata) -> Int:
    """The storage index of the last element."""
    return max_storage_index(metadata.shape, metadata.shape.strides or (), value_of(metadata.offset))


# ---------------------------------------------------------------------- conjugates and negatives


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
