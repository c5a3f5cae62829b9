"""Every operation of loop bodies, for each dtype that it is for, on values at its edges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from backends.interpreter import REDUCE, operator
from backends.loops.operations import DTYPES, OPERATIONS, REDUCTIONS
from tests.backends.programs import Case, random

COUNT = 150
FINITE = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-40, 88.0, -104.0, 3e38)
FLOATS = (*FINITE, float("inf"), float("-inf"), float("nan"))
DIVIDING = ("floordiv", "truncdiv", "remainder", "fmod")


@dataclass(frozen=True)
class Operating(Case):
    """One operation on values at the edges of its dtype."""

    def tensors(self, **sizes: int) -> list[torch.Tensor]:
        return [edges(dtype, turn, self.operation) for turn, (dtype, _) in enumerate(self.spelled)]

    @property
    def operation(self) -> str:
        return self.name.split()[0]

    @property
    def has_exact_zeros(self) -> bool:
        """Return True if torch defines the sign of a zero."""
        return self.operation not in ("fmin", "fmax", "minimum", "maximum")


def edges(dtype: str, turn: int, operation: str) -> torch.Tensor:
    """Values among which each meets each, given how many operands come before."""
    kind = getattr(torch, dtype)
    if kind.is_floating_point:
        some = torch.tensor([*FLOATS, *torch.randn(4).tolist()], dtype=kind)
        if operation in DIVIDING:  # quotients that overflow are nan in torch's fmod of many numbers, and not of few
            some = some[some.isinf() | some.isnan() | (some == 0) | (some.abs() > 1e-3) & (some.abs() < 1e3)]
    elif dtype == "bool":
        some = torch.tensor([False, True])
    else:
        info = torch.iinfo(kind)
        some = torch.tensor([info.min, info.max, info.max // 2, *range(info.min and -5, 12)], dtype=kind)
        if turn and operation in DIVIDING:
            some = some[(some != 0) & (some != -1)]  # torch stops at the one, and wraps at the other or does not
        if turn and operation in ("shl", "shr"):
            some = some.clamp(0, info.bits - 1)
    repeated = some.repeat_interleave(len(some)) if turn else some.repeat(len(some) + 1)
    wanted = repeated.repeat(COUNT)[: 20 * 20]
    return wanted


def operations() -> Iterator[Case]:
    """A case for each operation and dtype."""
    for name, operation in OPERATIONS.items():
        if name in ("select", "cast"):
            continue
        for dtype in ("float32", "float64", "int64", "int32", "int8", "uint8", "bool"):
            kind = "float" if dtype.startswith("float") else "bool" if dtype == "bool" else "integer"
            is_taken = not (dtype == "uint8" and name == "neg") and not (dtype == "float64" and "round_" in name)
            if kind in operation.kinds and is_taken:
                yield Operating(
                    f"{name} {dtype}",
                    (f"{dtype}:s",) * operation.arity,
                    lambda b, *operands, name=name: [b.apply(name, *operands)],
                    lambda *operands, name=name: [operator(name)(*operands)],
                )
    for source in DTYPES:
        for dtype in DTYPES:
            if source != dtype and not (source.startswith(("float", "bfloat")) and "int" in dtype):
                yield Case(
                    f"cast {source} {dtype}",
                    (f"{source}:s",),
                    lambda b, x, dtype=dtype: [b.cast(x, dtype)],
                    lambda x, dtype=dtype: [x.to(getattr(torch, dtype))],
                )
    for dtype in ("float32", "float64", "int64", "int32", "bool"):
        yield Case(
            f"select {dtype}",
            ("bool:s", f"{dtype}:s", f"{dtype}:s"),
            lambda b, *operands: [b.apply("select", *operands)],
            lambda *operands: [torch.where(*operands)],
        )


@dataclass(frozen=True)
class Reducing(Case):
    """A reduction of rows, one of them with nan in it."""

    def tensors(self, **sizes: int) -> list[torch.Tensor]:
        ((dtype, _),) = self.spelled
        x = random(dtype, [sizes["b"], sizes["s"]])
        if x.is_floating_point() and len(x) > 1:
            x[1, -1:] = float("nan")
        return [x]


def reductions() -> Iterator[Case]:
    """A case for each reduction and dtype; one that has no value for nothing is not asked for it."""
    for name in REDUCTIONS:
        for dtype in ("bool",) if name in ("any", "all") else ("float32", "float64", "int64", "int32"):
            yield Reducing(
                f"{name} of {dtype}",
                (f"{dtype}:b s",),
                lambda b, x, name=name: [b.reduce(name, x, (1,))],
                lambda x, name=name: [REDUCE[name](x)],
            )
