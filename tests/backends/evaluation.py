"""A program of steps evaluated by torch, index by index: the reference for schedules and kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Final

import torch
from torch.utils._pytree import tree_leaves

from backends.loops.affine import Affine
from backends.loops.kernels import Buffer
from backends.loops.nodes import (
    CollapseAxes,
    Concat,
    Gather,
    Iota,
    Memory,
    Number,
    Padded,
    Pointwise,
    Reduce,
    RowOf,
    Rows,
    Tensor,
    View,
)
from backends.loops.operations import computed_as
from backends.loops.program import Assign, Bind, Call, Check, Program
from solver.terms.expr import Atom, Expr
from solver.terms.prop import Prop

FUNCTIONS: Final[Mapping[str, Callable[..., torch.Tensor]]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "minimum": torch.minimum,
    "maximum": torch.maximum,
    "bitand": torch.bitwise_and,
    "bitor": torch.bitwise_or,
    "bitxor": torch.bitwise_xor,
    "bitnot": torch.bitwise_not,
    "round_float16": lambda x: x.half().float(),
    "round_bfloat16": lambda x: x.bfloat16().float(),
    "shl": torch.bitwise_left_shift,
    "shr": torch.bitwise_right_shift,
    "floordiv": torch.floor_divide,
    "truncdiv": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "select": torch.where,
}
REDUCTIONS: Final[Mapping[str, tuple[Callable[..., torch.Tensor], float]]] = {
    "sum": (torch.sum, 0),
    "product": (torch.prod, 1),
    "minimum": (torch.amin, math.inf),
    "maximum": (torch.amax, -math.inf),
    "any": (torch.any, 0),
    "all": (torch.all, 1),
}


def evaluate(program: Program, inputs: Sequence[torch.Tensor], numbers: Sequence[object] = ()) -> list[object]:
    """The results of a program for these tensors and numbers."""
    return Run(program).run(inputs, numbers)


class Run:
    """One run of a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.sizes: dict[Atom, int] = {}
        self.tensors: dict[Buffer, torch.Tensor] = {}
        self._seen: dict[Tensor, torch.Tensor] = {}

    def run(self, inputs: Sequence[torch.Tensor], numbers: Sequence[object]) -> list[object]:
        program = self.program
        self.sizes.update(zip(program.numbers, numbers))
        for buffer, tensor in [*zip(program.inputs, inputs), *program.constants]:
            self.given(buffer, tensor.detach())
        with torch.no_grad():
            for step in program.steps:
                self.step(step)
                self._seen.clear()
            return [self.plain(output) for output in program.outputs]

    def given(self, buffer: Buffer, tensor: torch.Tensor) -> None:
        """A tensor from outside, which says what the symbols are."""
        for expr, value in [*zip(buffer.sizes, tensor.shape), *zip(buffer.strides, tensor.stride())]:
            self.bind(expr, value)
        assert str(tensor.dtype) == f"torch.{buffer.dtype}"
        sizes, strides = [[*map(self.number, each)] for each in (buffer.sizes, buffer.strides)]
        assert list(tensor.shape) == sizes
        assert significant(tensor.shape, tensor.stride()) == significant(sizes, strides)
        self.tensors[buffer] = tensor

    def bind(self, expr: Expr, value: int) -> None:
        symbols = expr.symbols
        if len(symbols) == 1 and next(iter(symbols)).expr is expr:
            self.sizes.setdefault(next(iter(symbols)), value)

    def number(self, size: Expr) -> object:
        """A size; a number that a call gave may be of any type."""
        if len(size.symbols) == 1 and next(iter(size.symbols)).expr is size:
            (atom,) = size.symbols
            if atom in self.sizes:
                return self.sizes[atom]
        return size.evaluate(self.known(size))

    def known(self, of: Expr | Prop) -> dict[Atom, int]:
        for atom in of.symbols:
            if atom not in self.sizes and atom.definition is not None:
                self.sizes[atom] = self.number(atom.definition)
        return self.sizes

    # ------------------------------------------------------------------ steps

    def step(self, step: Assign | Call | Check | Bind) -> None:
        match step:
            case Assign():
                sizes = tuple(map(self.number, step.sizes))
                value = self.value(step.value).expand(sizes)
                target = self.tensor(step.buffer)
                flat, place = self.flat(target), self.place(step.offset, sizes)
                flat[place.expand(sizes).reshape(-1)] = value.to(target.dtype).reshape(-1)
            case Call():
                self.call(step)
            case Check():
                assert step.condition.evaluate(self.known(step.condition)), step.message
            case Bind():
                self.sizes[step.symbol] = self.tensors[step.buffer].shape[step.axis]

    def call(self, step: Call) -> None:
        args = [self.plain(each) for each in step.arguments]
        named = {name: self.plain(value) for name, value in step.named.items()}
        found = step.target(*args, **named)
        listed = found if step.is_list else [found]
        if step.has_layout:
            # a kernel may overwrite them
            held = {
                each.untyped_storage()._cdata for each in tree_leaves((args, named)) if isinstance(each, torch.Tensor)
            }
            assert not any(value.untyped_storage()._cdata in held for value in listed), step
        for made, value in zip(step.results, listed, strict=bool(step.results)):
            if isinstance(made, Buffer):
                for expr, size in zip(made.sizes, value.shape):
                    self.bind(expr, size)
                sizes, strides = [[*map(self.number, each)] for each in (made.sizes, made.strides)]
                assert list(value.shape) == sizes, (step, value.shape, sizes)
                assert str(value.dtype) == f"torch.{made.dtype}", step
                if step.aliases is None and significant(value.shape, value.stride()) != significant(sizes, strides):
                    assert not step.has_layout, (step, value.stride(), strides)
                    value = torch.empty_strided(sizes, strides, dtype=value.dtype).copy_(value)
                self.tensors[made] = value
            elif made is not None:
                self.sizes[made] = value

    def plain(self, value: object) -> object:
        """An argument as torch takes it."""
        match value:
            case Memory():
                target = self.tensor(value.buffer)
                sizes = tuple(map(self.number, value.sizes))
                steps = [value.offset.coefficient(axis) for axis in range(value.rank)]
                strides = [0 if step is None else self.number(step) for step in steps]
                start = target.storage_offset() + self.number(value.offset.constant)
                return target.as_strided(sizes, strides, start if math.prod(sizes) else target.storage_offset())
            case Expr():
                return self.number(value)
            case list() | tuple():
                return [self.plain(item) for item in value]
        return value

    def tensor(self, buffer: Buffer) -> torch.Tensor:
        found = self.tensors.get(buffer)
        if found is None:
            sizes, strides = [[*map(self.number, each)] for each in (buffer.sizes, buffer.strides)]
            found = self.tensors[buffer] = torch.empty_strided(sizes, strides, dtype=getattr(torch, buffer.dtype))
        return found

    def flat(self, tensor: torch.Tensor) -> torch.Tensor:
        """All elements of memory from the tensor's first one on."""
        count = tensor.untyped_storage().nbytes() // tensor.itemsize - tensor.storage_offset()
        return tensor.as_strided((max(count, 0),), (1,))

    def place(self, offset: Affine, sizes: Sequence[int]) -> torch.Tensor:
        """An affine index at all places."""
        total = torch.tensor(self.number(offset.constant)).reshape((1,) * len(sizes))
        for axis, coefficient in offset.terms:
            shape = [1] * len(sizes)
            shape[axis] = sizes[axis]
            total = total + torch.arange(sizes[axis]).reshape(shape) * self.number(coefficient)
        return total.expand(sizes)

    # ------------------------------------------------------------------ expressions

    def value(self, tensor: Tensor) -> torch.Tensor:
        found = self._seen.get(tensor)
        if found is None:
            found = self._seen[tensor] = self.computed(tensor)
            if not isinstance(tensor, Number):
                assert tuple(found.shape) == tuple(map(self.number, tensor.sizes)), tensor
            assert found.dtype is computed_dtype(tensor.dtype), (tensor, found.dtype)
        return found

    def computed(self, tensor: Tensor) -> torch.Tensor:
        sizes = tuple(map(self.number, tensor.sizes))
        dtype = computed_dtype(tensor.dtype)
        match tensor:
            case Memory():
                if not math.prod(sizes):
                    return torch.empty(sizes, dtype=dtype)
                if all(self.number(coefficient) >= 0 for _, coefficient in tensor.offset.terms):
                    return self.plain(tensor).to(dtype, copy=True)
                flat, place = self.flat(self.tensor(tensor.buffer)), self.place(tensor.offset, sizes)
                return flat[place.reshape(-1)].reshape(sizes).to(dtype)
            case Number():
                value = self.number(tensor.value) if isinstance(tensor.value, Expr) else tensor.value
                return torch.tensor(value, dtype=dtype)
            case Iota():
                return self.place(Affine.axis(tensor.axis, self.program.build.interner), sizes)
            case Pointwise():
                return self.pointwise(tensor, sizes, dtype)
            case View():
                source = self.value(tensor.source)
                if isinstance(tensor.source, Number):
                    return source.expand(sizes)
                if not math.prod(sizes):
                    return torch.empty(sizes, dtype=dtype)
                axes = [place.as_axis for place in tensor.indices]
                if None not in axes and len(set(axes)) == len(axes) and source.shape == tuple(sizes[a] for a in axes):
                    order = sorted(range(len(axes)), key=lambda place: axes[place])
                    shape = [sizes[axis] if axis in axes else 1 for axis in range(len(sizes))]
                    return source.permute(order).reshape(shape).expand(sizes)
                places = tuple([self.place(place, sizes) for place in tensor.indices])
                return source[places] if places else source.expand(sizes)
            case CollapseAxes():
                assert [axis for run in tensor.runs for axis in run] == list(range(tensor.source.rank))
                return self.value(tensor.source).reshape(sizes)
            case RowOf(rows=rows):
                found = torch.zeros(sizes, dtype=dtype)
                for row, (first, last) in enumerate(self.bounds(rows)):
                    found[first:last] = row
                return found
            case Padded(source=source, rows=rows, padding=padding):
                found = self.value(padding).expand(sizes).clone()
                for row, (first, last) in enumerate(self.bounds(rows)):
                    found[row, : last - first] = self.value(source)[first:last]
                return found
            case Reduce(rows=Rows() as rows, source=source, axes=axes):
                function, neutral = REDUCTIONS[tensor.operation]
                found = torch.full(sizes, neutral).to(dtype)
                for row, (first, last) in enumerate(self.bounds(rows)):
                    whole = self.value(source)[first:last]
                    for axis in sorted(axes, reverse=True) if whole.numel() else ():
                        whole = function(whole, axis)
                    found[row] = whole if last > first and self.value(source).numel() else found[row]
                return found
            case Reduce():
                return self.reduced(tensor, sizes, dtype)
            case Gather():
                source = self.value(tensor.source)
                places = [self.place(p, sizes) if isinstance(p, Affine) else self.value(p) for p in tensor.indices]
                if tensor.inside is None:
                    return source[tuple([each.expand(sizes) for each in places])]
                if not source.numel():
                    return torch.zeros(sizes, dtype=dtype)
                inside = self.value(tensor.inside)
                safe = [torch.where(inside, each.expand(sizes), 0) for each in places]
                return torch.where(inside, source[tuple(safe)], torch.zeros((), dtype=dtype))
            case Concat():
                pieces = []
                bounds = [0, *map(self.number, tensor.bounds), sizes[tensor.axis]]
                for piece, first, last in zip(tensor.pieces, bounds, bounds[1:]):
                    shape = [*sizes[: tensor.axis], last - first, *sizes[tensor.axis + 1 :]]
                    pieces.append(self.value(piece).expand(shape))
                return torch.cat(pieces, tensor.axis)
        raise TypeError(tensor)

    def bounds(self, rows: Rows) -> list[tuple[int, int]]:
        """The bounds of each row."""
        offsets, total = self.value(rows.offsets).tolist(), self.number(rows.total)
        clamped = [min(max(place - offsets[0] * rows.is_shifted, 0), total) for place in offsets]
        limit = total if rows.limit is None else self.number(rows.limit)
        return [(first, min(max(first, last), first + limit)) for first, last in pairwise(clamped)]

    def pointwise(self, tensor: Pointwise, sizes: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        operands = [self.value(each) for each in tensor.operands]
        for each, value in zip(tensor.operands, operands):
            assert isinstance(each, Number) or not each.rank or tuple(value.shape) == tuple(sizes), tensor
        if tensor.operation == "cast":
            made = operands[0].to(dtype)
        else:
            first = 1 if tensor.operation == "select" else 0
            assert len({each.dtype for each in operands[first:]}) == 1, (tensor.operation, operands)
            function = FUNCTIONS.get(tensor.operation) or getattr(torch, tensor.operation)
            made = function(*operands)
        return made.expand(sizes)

    def reduced(self, tensor: Reduce, sizes: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        source = self.value(tensor.source)
        function, neutral = REDUCTIONS[tensor.operation]
        if tensor.operation in ("any", "all"):
            assert source.dtype is torch.bool
        if not all(source.shape[axis] for axis in tensor.axes):
            return torch.full(sizes, neutral).to(dtype)
        for axis in sorted(tensor.axes, reverse=True):
            source = function(source, axis)
        return source.to(dtype)


def computed_dtype(dtype: str) -> torch.dtype:
    return getattr(torch, computed_as(dtype))


def significant(sizes: Sequence[int], strides: Sequence[int]) -> list[int]:
    """The strides that mean something."""
    count = math.prod(sizes)
    return [stride for size, stride in zip(sizes, strides) if size > 1 and count]


__all__ = ["evaluate"]
