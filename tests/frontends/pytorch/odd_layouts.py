"""Operators on tensors with unusual strides: traced once, compared with eager at several sizes.

    >>> import torch
    >>> from tests.frontends.pytorch.odd_layouts import ARRANGEMENTS
    >>> for name, arranged in ARRANGEMENTS.items():
    ...     print(f"{name}: {arranged(torch.zeros(2, 3, 4, 5)).stride()}")
    reversed: (1, 2, 6, 24)
    swapped: (60, 20, 1, 4)
    rotated: (1, 40, 10, 2)
    channels last: (60, 1, 15, 3)
    channels last with gaps: (960, 2, 120, 12)
    stepped: (960, 160, 20, 2)
    gapped: (120, 40, 5, 1)
    repeated: (0, 20, 5, 1)
    repeated inside: (12, 4, 1, 0)

These are compared: the strides of each result wherever an axis has two elements or more, as the graph gives them and as
the trace foresaw them, which is what kernels and the program's own questions go by; and values, sizes and dtypes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import ModuleType
from typing import Final, Protocol

import torch
from torch.utils._pytree import tree_flatten

from backends import eager
from benchmarks.operators.judging import UNINITIALIZED, Run, _at, _read, by_operators, compared
from benchmarks.operators.programs import SEED, NotDifferentiable, copied, programs, resampled
from benchmarks.operators.resizing import Sizes, scaled
from frontends.pytorch import Variant, trace
from frontends.pytorch.symbolic.tensor import Result
from solver.terms.expr import Atom

Arrangement = Callable[[torch.Tensor], torch.Tensor]
MOST: Final = 40
"""Samples of one operator that are looked through."""
OTHERS: Final = 3
"""Other sizes that a graph is run with."""


def ordered(order: Callable[[int], Sequence[int]], gap: int = 1, repeated: int | None = None) -> Arrangement:
    """An arrangement with the axes in an order from the outermost inwards, gaps between elements, an axis repeated."""

    def arranged(tensor: torch.Tensor) -> torch.Tensor:
        rank = tensor.dim()
        strides, step = [0] * rank, 1
        for axis in [*order(rank)][::-1]:
            if repeated is None or axis != repeated % rank:
                strides[axis] = step * gap
                step *= max(tensor.shape[axis], 1) * gap
        return laid(tensor, strides)

    return arranged


def gapped(tensor: torch.Tensor) -> torch.Tensor:
    """Every other row of the outermost axes, the innermost one packed."""
    strides = list(torch.empty(tensor.shape, device="meta").stride())
    return laid(tensor, [2 * stride if axis < tensor.dim() - 2 else stride for axis, stride in enumerate(strides)])


def laid(tensor: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """A tensor's values in memory with these strides; where an axis is repeated, the first ones."""
    values = tensor.detach().resolve_conj().resolve_neg()
    length = 1 + sum([stride * max(size - 1, 0) for stride, size in zip(strides, values.shape)])
    made = torch.zeros(length, dtype=values.dtype).as_strided(values.shape, strides)
    into = made
    for axis, stride in enumerate(strides):
        if stride == 0 and values.shape[axis] > 1:
            into, values = into.narrow(axis, 0, 1), values.narrow(axis, 0, 1)
    into.copy_(values)
    return made.requires_grad_(tensor.requires_grad)


def channels_last(rank: int) -> Sequence[int]:
    """The order of axes with the second one innermost, where there are as many as images have."""
    return (0, *range(2, rank), 1) if rank in (4, 5) else range(rank)


ARRANGEMENTS: Final[dict[str, Arrangement]] = {
    "reversed": ordered(lambda rank: range(rank - 1, -1, -1)),
    "swapped": ordered(lambda rank: (*range(rank - 2), *range(rank - 1, max(rank - 3, -1), -1))),
    "rotated": ordered(lambda rank: (*range(1, rank), 0)),
    "channels last": ordered(channels_last),
    "channels last with gaps": ordered(channels_last, gap=2),
    "stepped": ordered(range, gap=2),
    "gapped": gapped,
    "repeated": ordered(range, repeated=0),
    "repeated inside": ordered(range, repeated=-1),
}
"""The layouts of the tensor arguments; see the example above."""


class OfTensors(Protocol):
    """A program with tensors to call it with."""

    tensors: Sequence[torch.Tensor]

    def __call__(self, *tensors: torch.Tensor) -> object: ...


class Arranged:
    """A program on tensors that are arranged otherwise: all of them, or only those at `places`."""

    def __init__(self, program: OfTensors, arrangement: Arrangement, places: Sequence[int] | None = None) -> None:
        self._program = program
        self.tensors = [
            arrangement(tensor) if tensor.dim() and (places is None or place in places) else tensor
            for place, tensor in enumerate(program.tensors)
        ]
        self.is_odd = any(one.stride() != other.stride() for one, other in zip(self.tensors, program.tensors))

    def __call__(self, *tensors: torch.Tensor) -> object:
        return self._program(*tensors)


def arranged_samples(name: str, count: int, *, backward: bool = False) -> Iterator[tuple[str, Arranged]]:
    """Samples of an operator in every arrangement, first all of its tensors and then the first one, without those that
    are there already: at least `count` samples, and one for each combination of ranks."""
    ranks: set[tuple[int, ...]] = set()
    seen: set[object] = set()
    for number, program in enumerate(programs(name, MOST, backward=backward)):
        combination = tuple([tensor.dim() for tensor in program.tensors])
        is_dense = all(tensor.layout is torch.strided for tensor in program.tensors)
        if not is_dense or (number >= count and combination in ranks):
            continue
        ranks.add(combination)
        for word, arrangement in ARRANGEMENTS.items():
            for places in (None, (0,)) if len(program.tensors) > 1 else (None,):
                arranged = Arranged(program, arrangement, places)
                key = number, *[(tensor.shape, tensor.stride()) for tensor in arranged.tensors]
                if arranged.is_odd and key not in seen:
                    seen.add(key)
                    yield f"{name} {number}, {word}{' (the first)' if places else ''}", arranged


@dataclass(slots=True)
class Found:
    """The counts and differences of a search.

    Attributes:
        runs: the number of checks of a graph against eager.
        differences: the differences from eager.
    """

    runs: int = 0
    differences: list[str] = field(default_factory=list)


def search(name: str, found: Found, *, count: int = 1, backward: bool = False, backend: ModuleType = eager) -> None:
    """Hold an operator against eager in every arrangement."""
    for word, program in arranged_samples(name, count, backward=backward):
        try:
            for sizes in beginnings(program):
                tensors = tensors_of(program, sizes)
                for differs in differences(program, tensors, found, values=name not in UNINITIALIZED, backend=backend):
                    found.differences.append(f"{word}: {differs}")
        except NotDifferentiable:
            return


def beginnings(program: OfTensors) -> Iterator[Sizes]:
    """Sizes that the program is traced with: those of the sample, with ones among them, and without elements."""
    sizes: Sizes = tuple([tuple(tensor.shape) for tensor in program.tensors])
    yield sizes
    distinct = sorted({size for each in sizes for size in each if size > 1})
    if len(distinct) > 1:
        for change in ({distinct[0]: 1}, {distinct[-1]: 0}):
            yield tuple([tuple([change.get(size, size) for size in each]) for each in sizes])


def tensors_of(program: OfTensors, sizes: Sizes) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(SEED)
    return [resampled(tensor, each, 1, generator) for tensor, each in zip(program.tensors, sizes)]


def differences(
    program: OfTensors,
    tensors: list[torch.Tensor],
    found: Found,
    *,
    values: bool = True,
    backend: ModuleType = eager,
    others: int = OTHERS,
) -> Iterator[str]:
    """Yield differences from eager, on these tensors and at as many other sizes that the guards admit."""
    if by_operators(program, tensors).error is not None:
        return
    try:
        variant = trace(program, copied(tensors))
    except Exception:
        return  # `benchmarks.operators` counts those
    run = variant.run_by(backend)
    sources = {word: (described.name, *path) for described in variant.inputs for word, path in described.symbols}
    accepted = variant.env.compile_guards(sources, arguments=[described.name for described in variant.inputs])
    sizes: Sizes = tuple([tuple(tensor.shape) for tensor in tensors])
    for tried in [tensors, *[tensors_of(program, other) for other in islice(scaled(sizes), others)]]:
        # where every axis has one element, a layout is nothing that a size could tell
        if all(size == 1 for tensor in tried for size in tensor.shape) or not accepted(*tried):
            continue
        wanted = by_operators(program, tried)
        if wanted.error is None:
            found.runs += 1
            shown = ", ".join([f"{list(tensor.shape)} by {list(tensor.stride())}" for tensor in tried])
            for differs in told(variant, tried, wanted, by_graph(variant, run, tried), values=values):
                yield f"{differs}, of {shown}"


def by_graph(variant: Variant, run: Callable[..., Sequence[object]], tensors: Sequence[torch.Tensor]) -> Run:
    given = copied(tensors)
    torch.default_generator.manual_seed(SEED)
    try:
        with torch.no_grad():
            values, structure = tree_flatten(variant.assembled(run(given)))
    except Exception as error:
        return Run([], None, given, error)
    return Run(values, structure, given)


def told(variant: Variant, tensors: Sequence[torch.Tensor], wanted: Run, got: Run, *, values: bool) -> Iterator[str]:
    """Describe the differences."""
    if got.error is not None or got.structure != wanted.structure:
        yield "another structure" if got.error is None else f"raised {got.error!r}"
        return
    numbers: dict[Atom, int] = {}
    for described, tensor in zip(variant.inputs, tensors):
        for word, path in described.symbols:
            numbers[next(iter(variant.env.names[word].symbols))] = _read(tensor, path)
    for place, (right, ours, output) in enumerate(zip(wanted.values, got.values, variant.outputs)):
        differs = compared(right, ours, values=values)
        if differs:
            yield f"output {place}: {differs}"
        elif isinstance(right, torch.Tensor) and right.layout is torch.strided and right.numel():
            if steps(right, right.stride()) != steps(right, ours.stride()):
                yield f"output {place}: strides {ours.stride()}, not {right.stride()} of {list(right.shape)}"
            if isinstance(output, Result) and output.metadata is not None:
                foreseen = [_at(each, numbers, actual) for each, actual in zip(output.metadata.strides, right.stride())]
                if steps(right, foreseen) != steps(right, right.stride()):
                    yield f"output {place}: foreseen as {foreseen}, not {right.stride()} of {list(right.shape)}"
    for place, (right, ours) in enumerate(zip(wanted.after, got.after)):
        differs = compared(right, ours, values=values)
        if differs or right.stride() != ours.stride():
            yield f"input {place} afterwards: {differs or 'other strides'}"


def steps(tensor: torch.Tensor, strides: Sequence[int]) -> list[int]:
    """The strides that mean something."""
    return [stride for size, stride in zip(tensor.shape, strides) if size > 1]
