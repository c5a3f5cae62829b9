"""Tensor expressions with arithmetic operators, in which a frontend writes its lowerings.

    >>> from shapes import ShapeEnv
    >>> from backends.decisions.questions import Decisions
    >>> from backends.loops.kernels import Buffer
    >>> from backends.loops.tensors import Expressions
    >>> env = ShapeEnv(origin=lambda: None)
    >>> b, s = [size.expr for size in env.sizes("b s")]
    >>> build = Expressions(Decisions(env))
    >>> x = Value(build, build.memory(Buffer("x", "float32", (b, s), (s, build.one))), (b, s))
    >>> centered = x - x.sum([1]) / s
    >>> centered.sum([1], keepdim=True)
    float32[b, 1]

An operand may be a number or a size; a smaller tensor is broadcast to the one before the operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from backends.decisions.questions import Choice, at_least
from backends.loops.nodes import GatherIndices, Memory, Number, Sizes, Tensor, View
from backends.loops.operations import HALVES, INTEGERS, ITEMSIZE, computed_as, is_float
from backends.loops.tensors import Expressions
from solver.terms.expr import Expr


def _operation(name: str) -> Callable[[Value, Operand], Value]:
    """The method of an operation with two operands."""
    return lambda self, other: self.apply(name, other)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Value:
    """A tensor expression with sizes. A constant expression is a constant tensor."""

    build: Expressions
    tensor: Tensor
    sizes: Sizes

    @property
    def dtype(self) -> str:
        return self.tensor.dtype

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @property
    def is_float(self) -> bool:
        return is_float(self.dtype)

    @property
    def memory(self) -> Memory | None:
        return self.tensor if isinstance(self.tensor, Memory) else None

    def __repr__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.sizes))}]"

    def of(self, tensor: Tensor, sizes: Sizes | None = None) -> Value:
        """Another expression with the given sizes, or with this one's."""
        sizes = self.sizes if sizes is None else sizes
        if not isinstance(tensor, Number):
            if tensor.rank != len(sizes):
                tensor = self.build.expand(tensor, sizes)
            elif any(a is not b for a, b in zip(tensor.sizes, sizes)):
                tensor = self.build.view(tensor, sizes, self.build.axes(len(sizes)))
        return Value(self.build, tensor, sizes)

    def number(self, value: Constant, dtype: str | None = None) -> Value:
        """A constant with the sizes of this one, and its dtype unless another is given."""
        dtype = self.dtype if dtype is None else dtype
        if isinstance(value, Expr) and dtype == "bool":
            return self.number(value, "int64").apply("ne", 0)
        known = value if isinstance(value, Expr) else _converted(value, dtype)
        return Value(self.build, self.build.number(known, dtype), self.sizes)

    def represents(self, number: Operand) -> bool:
        """Return True if a number is in the range of an integer dtype; others have every number in theirs."""
        if self.dtype not in INTEGERS:
            return True
        if isinstance(number, Value):
            return number.dtype == self.dtype
        bits = 8 * ITEMSIZE[self.dtype]
        least, most = (0, (1 << bits) - 1) if self.dtype == "uint8" else (-(1 << bits - 1), (1 << bits - 1) - 1)
        if not isinstance(number, Expr):
            return least <= number <= most
        if bits == 64:
            # as a symbolic number has
            return True
        choice, decisions = Choice("a kernel", "the operator"), self.build.decisions
        return all(decisions.holds("sign", at_least(each, 0), choice) for each in (number - least, -number + most))

    # ------------------------------------------------------------------ dtypes

    def cast(self, dtype: str) -> Value:
        """Convert to another dtype; nonzero becomes true."""
        if dtype == self.dtype:
            return self
        if dtype == "bool" and not (isinstance(self.tensor, Number) and not isinstance(self.tensor.value, Expr)):
            return self.apply("ne", 0)
        return self.of(self.build.cast(self.tensor, dtype))

    def rounded(self, dtype: str) -> Value:
        """Round to another dtype's values; halves are computed with as float32."""
        made = self.cast(dtype)
        is_exact = dtype not in HALVES or self.dtype in (dtype, "bool", "uint8", "int8")
        return made if is_exact else made.apply(f"round_{dtype}")

    def as_stored(self) -> Value:
        """Round to a value that memory of this dtype holds, as a half is computed with as float32."""
        return self.apply(f"round_{self.dtype}") if self.dtype in HALVES and not self.memory else self

    def computed(self) -> Value:
        """Convert to the dtype of computation."""
        return self.cast(computed_as(self.dtype))

    # ------------------------------------------------------------------ elementwise

    def apply(self, operation: str, *others: Operand) -> Value:
        """An operation with this as its first operand."""
        operands = [self, *[self.lifted(other) for other in others]]
        return self.of(self.build.apply(operation, *[each.tensor for each in operands]))

    def lifted(self, other: Operand) -> Value:
        """Convert an operand to a value."""
        return other.expanded(self.sizes) if isinstance(other, Value) else self.number(other)

    def expanded(self, sizes: Sizes) -> Value:
        """Broadcast to these sizes."""
        if isinstance(self.tensor, Number):
            return Value(self.build, self.tensor, sizes)
        return Value(self.build, self.build.expand(self.tensor, sizes), sizes)

    __add__ = _operation("add")
    __sub__ = _operation("sub")
    __mul__ = _operation("mul")
    __truediv__ = _operation("div")
    __lt__ = _operation("lt")
    __le__ = _operation("le")
    __gt__ = _operation("gt")
    __ge__ = _operation("ge")
    __and__ = _operation("bitand")
    __or__ = _operation("bitor")
    equals = _operation("eq")
    differs = _operation("ne")

    def __radd__(self, other: Constant) -> Value:
        return self.number(other) + self

    def __neg__(self) -> Value:
        return self.apply("neg")

    def __invert__(self) -> Value:
        return self.apply("bitnot")

    def select(self, yes: Operand, no: Operand) -> Value:
        """Select elementwise; at least one operand is a value."""
        dtype = yes.dtype if isinstance(yes, Value) else no.dtype if isinstance(no, Value) else "float32"
        sides = [
            each.expanded(self.sizes) if isinstance(each, Value) else self.number(each, dtype) for each in (yes, no)
        ]
        return self.of(self.build.apply("select", self.tensor, *[each.tensor for each in sides]))

    # ------------------------------------------------------------------ reductions

    def reduce(self, operation: str, axes: Sequence[int], *, keepdim: bool = False) -> Value:
        """Reduce these axes."""
        kept = tuple([size for axis, size in enumerate(self.sizes) if axis not in axes])
        left = tuple([self.build.one if axis in axes else size for axis, size in enumerate(self.sizes)])
        sizes = left if keepdim else kept
        if not axes:
            return self
        tensor = self.tensor
        if isinstance(tensor, Number):
            tensor = View(self.sizes, tensor.dtype, tensor, ())
        return self.of(self.build.reduce(operation, tensor, axes, keepdim=keepdim), sizes)

    def sum(self, axes: Sequence[int], *, keepdim: bool = False) -> Value:
        return self.reduce("sum", axes, keepdim=keepdim)

    def mean(self, axes: Sequence[int], *, keepdim: bool = False) -> Value:
        return self.sum(axes, keepdim=keepdim) / self.count(axes)

    def count(self, axes: Sequence[int]) -> Expr:
        """The number of elements in these axes."""
        product = self.build.one
        for axis in axes:
            product = product * self.sizes[axis]
        return product

    # ------------------------------------------------------------------ views

    def unsqueezed(self, axes: Sequence[int]) -> Value:
        """Insert axes of extent 1 at these positions of the result."""
        value = self
        for axis in sorted(axes):
            sizes = (*value.sizes[:axis], self.build.one, *value.sizes[axis:])
            made = value.tensor
            if not isinstance(made, Number):
                made = self.build.unsqueeze(made, axis)
            value = Value(self.build, made, sizes)
        return value

    def squeezed(self, axes: Sequence[int]) -> Value:
        """Remove these axes of extent 1."""
        sizes = tuple([size for axis, size in enumerate(self.sizes) if axis not in axes])
        return Value(self.build, self.build.squeeze(self.tensor, axes), sizes)

    def gather(self, places: GatherIndices, sizes: Sizes, inside: Value | None = None) -> Value:
        """Gather at indices, one for each axis; 0 where `inside` is false."""
        where = None if inside is None else inside.tensor
        return Value(self.build, self.build.gather(self.tensor, sizes, places, where), sizes)

    def along(self, axis: int, rank: int) -> Value:
        """Reshape a vector to one axis of a tensor of this rank."""
        return self.unsqueezed([place for place in range(rank) if place != axis])


Constant: TypeAlias = Expr | int | float | bool
Operand: TypeAlias = Value | Constant


def _converted(value: int | float | bool, dtype: str) -> int | float | bool:
    if dtype == "bool":
        return bool(value)
    return float(value) if is_float(dtype) else int(value)
