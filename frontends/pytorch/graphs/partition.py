"""Rematerialization by minimum cut: the backward recomputes cheap values such that the least memory is saved.

    >>> import torch
    >>> from frontends.pytorch.graphs.functional import functional_joint
    >>> from frontends.pytorch.lowering import LOWERINGS
    >>> from frontends.pytorch.tracing import trace
    >>> def program(x, w):
    ...     return torch.nn.functional.gelu(torch.tanh(x @ w) * 2, approximate="tanh")
    >>> inputs = (torch.randn(3, 8, requires_grad=True), torch.randn(8, 4, requires_grad=True))
    >>> joint = functional_joint(trace(program, inputs, gradients=True), LOWERINGS)
    >>> [str(result.metadata) for result in joint.saved]       # the product, and what it was made from
    ['float32[x.shape[0], w.shape[1]]', 'float32[x.shape[0], x.shape[1]]', 'float32[w.shape[0], w.shape[1]]']

Elementwise operators and views are recomputed, since kernels fuse them with their consumers. The saved results are a
minimum cut between values that only the forward can compute and those that the backward reads, weighted by bytes for
the hints; outputs and parameters exist anyway and cost next to nothing. Among cuts with equal bytes the one with the
least work is taken. After "Dissecting tensor programs for activation recomputation" as in torch's own partitioner
(functorch, `min_cut_rematerialization_partition`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import reduce
from typing import TYPE_CHECKING, Final

import networkx
import torch

from backends.decisions.questions import Choice, Decisions, Question, at_most
from backends.loops.operations import OPERATIONS
from frontends.pytorch.recording.operations import Operation, has_effects, is_view, listed, results_of
from frontends.pytorch.symbolic.tensor import Result
from shapes.env import ShapeEnv
from shapes.symbolic.numbers import SymInt
from solver.terms.expr import Expr

if TYPE_CHECKING:
    from solver.terms.interner import Interner

aten: Final = torch.ops.aten
CHEAP: Final = frozenset([getattr(aten, name).default for name in (
    "_to_copy", "clone", "_unsafe_view", "expand", "full", "arange", "zeros", "ones", "full_like", "constant_pad_nd",
    "slice_backward", "upsample_nearest2d", "ones_like",
)])  # fmt: skip
"""Recomputed operators besides elementwise ones and views."""
FUNCTIONS: Final = {
    aten.gelu.default: 1,
    aten.mish.default: 3,
    aten.silu.default: 1,
} | {
    getattr(aten, name).default: 1
    for name, operation in OPERATIONS.items()
    if operation.is_costly and hasattr(aten, name) and "default" in getattr(aten, name).overloads()
}
"""The number of transcendental functions that an operator evaluates for each element."""
SIMPLE: Final = ((), ([1, 1],), (1,), ([1, 1], False), (1, False))
"""Windows without dilation or padding."""
FEW_PIECES: Final = 3
"""Concatenations of at most this many pieces are inlined; others are materialized."""
FORWARD, BACKWARD, IN, OUT = "forward", "backward", "in", "out"
THERE_ANYWAY: Final = 1
"""The weight of an output and of a parameter, whatever its size."""
WRITTEN_FOR_IT: Final = 2
"""The factor for saving a value that kernels would otherwise fuse with its consumers."""
BYTE: Final = 1 << 10
"""The weight of a saved byte, relative to bytes that are only moved."""
NEVER: Final = 1 << 60
"""The weight of a value that is mutated before the backward runs."""


def computed_again(
    decisions: Decisions,
    forward: Sequence[Operation],
    read: Sequence[Result],
    there: Collection[Result],
    changed: AbstractSet[Result],
    lowered: Container[object],
) -> list[Operation]:
    """The operators of the forward that the backward recomputes, in order.

    Args:
        read: the results that the backward reads.
        there: the forward's results.
        changed: the tensors that it writes at the end, which cannot be read later.
        lowered: the operators that kernels compute.
    """
    env = decisions.env
    in_memory = given_to_calls(forward, lowered)
    makers = {output: each for each in forward for output in each.outputs if isinstance(output, Result)}

    def factor(result: Result, maker: Operation | None) -> int:
        """The factor for a result: another one if kernels write it only for the backward."""
        is_moved = maker is not None and is_cheap(maker) and not is_view(maker.target) and result not in in_memory
        return WRITTEN_FOR_IT if is_moved else 1

    network = networkx.DiGraph()
    network.add_nodes_from((FORWARD, BACKWARD))
    seen: dict[Result, None] = dict.fromkeys(read)
    for result in (todo := list(seen)):
        maker = makers.get(result)
        if result in changed:
            cost = NEVER
        else:
            cost = (THERE_ANYWAY if _is_there(result, there) else weight(env, result)) * BYTE
            cost *= factor(result, maker)
            # rather what it is a view of: the backward needs no tensor for it
            cost += maker is not None and is_view(maker.target)
        network.add_edge((result, IN), (result, OUT), capacity=cost)
        if maker is None or not is_cheap(maker):
            network.add_edge(FORWARD, (result, IN))
            continue
        if functions := FUNCTIONS.get(maker.target):
            network.add_edge(FORWARD, (result, IN), capacity=functions * weight(env, result))
        for source in results_of(maker.arguments):
            network.add_edge((source, OUT), (result, IN))
            if source not in seen:
                seen[source] = None
                todo.append(source)
    for result in read:
        network.add_edge((result, OUT), BACKWARD)
    _, (reached, _) = networkx.minimum_cut(network, FORWARD, BACKWARD)
    kept = {result for result in seen if (result, IN) in reached and (result, OUT) not in reached}
    again: set[int] = set()
    needed = dict.fromkeys([result for result in read if result not in kept])
    for result in (todo := list(needed)):
        again.add(id(makers[result]))
        for source in results_of(makers[result].arguments):
            if source not in kept and source not in needed:
                needed[source] = None
                todo.append(source)
    operations = [operation for operation in forward if id(operation) in again]
    if not changed.isdisjoint(read):
        return operations
    leaves = {result for result in seen if result not in makers or not is_cheap(makers[result])}
    terms = decisions.interner

    def saved_bytes(results: Iterable[Result]) -> Expr:
        """The additional saved bytes; those that would not be written otherwise count twice."""
        weights = [(each, factor(each, makers.get(each))) for each in results if not _is_there(each, there)]
        return terms.sum([_size(terms, each) * times for each, times in weights])

    before, after = saved_bytes(read), saved_bytes(kept if again else leaves)
    if not again and (after is before or not changed.isdisjoint(leaves)):
        return []
    # where the cut keeps all that is read, the leaves might be fewer bytes for other sizes
    is_less = at_most(after, before) if again else Question(terms.lt(after, before), (after, "<", before))
    choice = Choice("computed again, not kept", "kept")
    return operations if decisions.sooner("recompute", is_less, choice, likely=bool(again)) else []


def _is_there(result: Result, there: Collection[Result]) -> bool:
    return result in there or result.constant is not None


def _size(terms: Interner, result: Result) -> Expr:
    metadata = result.metadata
    assert metadata is not None
    sizes = [terms.constant(size) if isinstance(size, int) else size.expr for size in metadata.shape]
    return reduce(Expr.__mul__, sizes, terms.constant(metadata.dtype.itemsize))


def given_to_calls(forward: Sequence[Operation], lowered: Container[object]) -> set[Result]:
    """The arguments of called operators, also through views: they are materialized in any case."""
    found: set[Result] = set()
    for operation in reversed(forward):
        if operation.target not in lowered or is_view(operation.target) and found.intersection(operation.outputs):
            found.update(results_of(operation.arguments))
    return found


def is_cheap(operation: Operation) -> bool:
    """Return True if an operation may be recomputed."""
    target = operation.target
    if has_effects(operation):
        return False
    if target is aten.cat.default:
        return len(operation.args[0]) <= FEW_PIECES
    if target is aten.max_pool2d_with_indices.default:
        return _is_side_by_side(*operation.args[1:])
    return torch.Tag.pointwise in target.tags or is_view(target) or target in CHEAP


def _is_side_by_side(window: object, step: object = (), padding: object = 0, *more: object) -> bool:
    """Return True if windows partition the input, so that kernels read each element once."""
    return (not step or step == window) and not any(listed(padding)) and more in SIMPLE


def weight(env: ShapeEnv, result: Result) -> int:
    """The bytes of a tensor for the hints."""
    metadata = result.metadata
    assert metadata is not None
    sizes = [env.hint(size, fallback=64) or 0 if isinstance(size, SymInt) else size for size in metadata.shape]
    return max(math.prod(sizes) * metadata.dtype.itemsize, 1)
