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
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import torch

from backends.results import Aliased
from frontends.pytorch.errors import Unsupported, unsupported
from frontends.pytorch.recording.marked import RESOLVE
from frontends.pytorch.recording.operations import (
    Copy,
    follow,
    is_custom,
    is_exchange,
    is_random,
    results_of,
    written_and_read,
)
from frontends.pytorch.recording.special import special
from frontends.pytorch.symbolic.function_mode import Arguments, Keywords
from frontends.pytorch.symbolic.tensor import Result, Traced

if TYPE_CHECKING:
    from frontends.pytorch.recording.recorder import Recorder
    from frontends.pytorch.symbolic.metadata import Metadata
    from shapes.env import ShapeEnv
    from shapes.symbolic.numbers import SymBool

aten: Final = torch.ops.aten


CHANGED: Final = "a conjugate or a negative, which is a view, is changed in place, or what it is a view of"
RETURNED: Final = "a conjugate or a negative is returned, which is a view that is marked as one"
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
    roots: dict[Result, Result] = {}
    read: dict[Result, float] = {}
    writes: list[tuple[int, Result]] = []
    places: dict[Result, int] = {}

    def root(result: Result) -> Result:
        return roots.get(result, result)

    for place, operation in enumerate(recorder.recording.operations):
        target, made = operation.target, operation.output
        read.update([(root(each), place) for each in results_of(operation.arguments)])
        for result in results_of(made):
            places.setdefault(result, place)
        if target is aten._unsafe_view.default and isinstance(made, Result) and isinstance(operation.args[0], Result):
            roots[made] = root(operation.args[0])
        follow(operation, roots)
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
