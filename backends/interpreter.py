"""The reference interpreter: kernels evaluated by torch's operators over the whole grid of their axes.

    >>> import torch
    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.program import Program
    >>> from backends.loops.schedule import schedule
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s", lo=2)]
    >>> program = Program(Decisions(env))
    >>> x = program.input("x", "float32", (b, s), (s, program.build.one))
    >>> total = program.build.reduce("sum", x, (1,))
    >>> program.outputs.append(program.stored(total, (program.build.one,)))
    >>> (launch,) = interpreted(schedule(program))
    >>> made = torch.empty(2)
    >>> launch(made, torch.ones(2, 3), 2, 3)
    >>> made
    tensor([3., 3.])

Generated code is compared with it, and it runs in place of a kernel that a compiler refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import torch

from backends.backend import Backend, Combine, LargeMemory, Launch, Operator, Pool, Sizes
from backends.decisions.questions import Decisions
from backends.loops.affine import Affine
from backends.loops.kernels import Apply, Buffer, Constant, IndexValue, Kernel, Load, Reduced, Scalar, SizeValue, walk
from backends.loops.operations import identity
from solver.terms.expr import Expr

OPERATORS: Final = {
    "neg": torch.neg,
    "abs": torch.abs,
    "sign": torch.sgn,
    "rsqrt": torch.rsqrt,
    "bitnot": torch.bitwise_not,
    "round_float16": lambda x: x.half().to(x.dtype),
    "round_bfloat16": lambda x: x.bfloat16().to(x.dtype),
    "div": torch.true_divide,
    "floordiv": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "truncdiv": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "bitand": torch.bitwise_and,
    "bitor": torch.bitwise_or,
    "bitxor": torch.bitwise_xor,
    "shl": torch.bitwise_left_shift,
    "shr": torch.bitwise_right_shift,
    "select": torch.where,
}
REDUCE: Final = {
    "sum": lambda x: x.sum(-1, dtype=x.dtype),
    "product": lambda x: x.prod(-1, dtype=x.dtype),
    "minimum": lambda x: x.amin(-1),
    "maximum": lambda x: x.amax(-1),
    "any": lambda x: x.any(-1),
    "all": lambda x: x.all(-1),
}


# of any number of operands, as torch's functions have them
@cache
def operator(name: str) -> Callable[..., torch.Tensor]:  # type: ignore[explicit-any]
    found: Callable[..., torch.Tensor] = OPERATORS.get(name) or getattr(torch, name)  # type: ignore[explicit-any]
    return found


def launch(kernel: Kernel) -> Launch:
    """A call like that of a compiled kernel: tensors of its buffers, then its scalars."""
    buffers, scalars = kernel.buffers, kernel.scalars

    def run(*arguments: torch.Tensor | int) -> None:
        tensors = dict(zip(buffers, arguments[: len(buffers)]))
        sizes = {size: int(number) for size, number in zip(scalars, arguments[len(buffers) :])}
        Grid(kernel, tensors, sizes).run()

    return run


class Grid:
    """One run: every value is a tensor over all iterations, inner axes last."""

    def __init__(self, kernel: Kernel, tensors: Mapping[Buffer, torch.Tensor], sizes: Mapping[Expr, int]) -> None:
        self.kernel = kernel
        self.device = next(iter(tensors.values())).device
        self.storage = {buffer: flat(tensor) for buffer, tensor in tensors.items()}
        self.sizes = sizes
        self.extents = [self.size(extent) for extent in kernel.extents]
        rank = len(self.extents)
        self.axes = []
        for axis, extent in enumerate(self.extents):
            shape = [1] * rank
            shape[axis] = extent
            self.axes.append(torch.arange(extent, device=self.device).view(shape))
        self.values: dict[Scalar, torch.Tensor] = {}

    def size(self, size: Expr) -> int:
        return size.constant if size.is_constant else self.sizes[size]

    def offset(self, index: Affine) -> torch.Tensor:
        """An index, along the axes that it has."""
        whole = torch.tensor(self.size(index.constant), device=self.device)
        for axis, coefficient in index.terms:
            whole = whole + self.axes[axis] * self.size(coefficient)
        return whole

    def run(self) -> None:
        kernel = self.kernel
        once = [*self.extents[: kernel.outer], *[1] * kernel.inner]
        columns = [*[1] * kernel.outer, *self.extents[kernel.outer :]]
        stores = []
        for store in kernel.stores:
            shape = columns if store.accumulates else once if kernel.is_once(store) else self.extents
            if 0 not in shape:
                stores.append(
                    (store, shape, self.accumulated(store.value) if store.accumulates else self.value(store.value))
                )
        inside = self.inside()
        for store, shape, value in stores:
            where = self.offset(store.offset).expand(shape).reshape(-1)
            elements = value.expand(shape).reshape(-1)
            if inside is not None and shape is self.extents:
                kept = inside.expand(shape).reshape(-1)
                where, elements = where[kept], elements[kept]
            memory = self.storage[store.buffer]
            memory[where] = elements.to(memory.dtype)

    def inside(self) -> torch.Tensor | None:
        """The iterations that there are, where an axis is ragged."""
        ragged = self.kernel.ragged
        if ragged is None:
            return None
        place = self.axes[ragged.axis]
        return (place >= self.value(ragged.first)) & (place < self.value(ragged.last))

    def accumulated(self, value: Scalar) -> torch.Tensor:
        """The sum over the outer axes."""
        outer = range(self.kernel.outer)
        if 0 in self.extents:
            return torch.zeros([1] * len(self.extents), dtype=getattr(torch, value.dtype), device=self.device)
        whole = self.value(value).expand(self.extents)
        return whole.sum([*outer], keepdim=True, dtype=whole.dtype)

    def value(self, root: Scalar) -> torch.Tensor:
        for value in walk([root]):
            if value not in self.values:
                self.values[value] = self.computed(value)
        return self.values[root]

    def computed(self, value: Scalar) -> torch.Tensor:
        match value:
            case Load(buffer=buffer, offset=index, indirect=indirect, condition=condition, dtype=dtype):
                where = self.offset(index)
                for part, stride in indirect:
                    where = where + self.values[part] * self.size(stride)
                if condition is not None:
                    where, inside = torch.broadcast_tensors(where, self.values[condition])
                    found = torch.zeros(where.shape, dtype=getattr(torch, dtype), device=self.device)
                    found[inside] = self.storage[buffer][where[inside]].to(found.dtype)
                    return found
                return self.storage[buffer][where.reshape(-1)].view(where.shape).to(getattr(torch, dtype))
            case Constant(value=number, dtype=dtype):
                return torch.tensor(number, dtype=getattr(torch, dtype), device=self.device)
            case SizeValue(size=size, dtype=dtype):
                return torch.tensor(self.size(size), dtype=getattr(torch, dtype), device=self.device)
            case IndexValue(index=index):
                return self.offset(index)
            case Reduced(reduction=reduction):
                return self.reduced(reduction.operation, self.value(reduction.body), reduction.dtype)
            case Apply(operation="cast", operands=(operand,), dtype=dtype):
                return self.values[operand].to(getattr(torch, dtype))
            case Apply(operation=operation, operands=operands):
                return operator(operation)(*[self.values[operand] for operand in operands])

    def reduced(self, operation: str, body: torch.Tensor, dtype: str) -> torch.Tensor:
        outer = self.kernel.outer
        whole = body.expand(self.extents)
        inside = self.inside()
        if inside is not None:
            none = torch.full((), identity(operation, dtype), dtype=whole.dtype, device=self.device)
            whole = torch.where(inside, whole, none)
        kept = self.extents[:outer]
        if 0 in self.extents[outer:] and operation in ("minimum", "maximum"):
            return torch.full([*kept, *[1] * self.kernel.inner], float("nan"), device=self.device)
        single = REDUCE[operation](whole.reshape([*kept, -1]) if whole.numel() else whole.reshape([*kept, 0]))
        return single.view([*kept, *[1] * self.kernel.inner])


def flat(tensor: torch.Tensor) -> torch.Tensor:
    """All memory of a tensor from its first element on, whose changes it sees."""
    left = tensor.untyped_storage().nbytes() // tensor.element_size() - tensor.storage_offset()
    return tensor.detach().as_strided((left,), (1,), tensor.storage_offset())


def interpreted(kernels: Sequence[Kernel]) -> list[Launch]:
    return [launch(kernel) for kernel in kernels]


@dataclass(frozen=True)
class Interpreted(Backend):
    """The interpreter as a backend on the CPU, with any of the options of backends."""

    allocate: Callable[[Sizes, Sizes, torch.dtype], torch.Tensor] = torch._C._dynamo.guards._empty_strided_cpu
    device: str = "cpu"
    interchanges: bool = False
    threads: Callable[[], int] | None = None
    combine: Combine | None = None
    large: LargeMemory | None = None
    pooled: Pool | None = None
    operator: Callable[[object], Operator | None] | None = None

    def kernels(self, scheduled: Sequence[Kernel], decisions: Decisions, /) -> Sequence[Launch]:
        return interpreted(scheduled)


REFERENCE: Final = Interpreted()
