"""Symbols for a tensor input: sizes, strides and storage offset at once.

    >>> from shapes import ShapeEnv
    >>> env = ShapeEnv(origin=lambda: None)
    >>> x = env.input("x", sizes=(4, 128), dims="b s")
    >>> x.sizes, x.strides, x.storage_offset
    ((b, s), (max(s, 1), 1), x_offset)
    >>> for guard in env.guards():
    ...     print(guard)
    max(s, 1) == x_stride0
    x_stride1 == 1

Each number of the layout is a symbol, so that a compiled check can read it from the tensor. A stride that is a
product of sizes this time is taken to be that product, which is a guard; the caller computes with the product. (Torch
counts a size of 0 as 1 in strides.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import Final, Protocol

from shapes.accepted import shown, whole_number
from shapes.environment.events import SymbolKind
from shapes.environment.layout import CHANNELS_LAST, Layout, contiguous_strides
from shapes.environment.ledger import Checkpoint
from shapes.errors import ShapeError
from shapes.origin import Origin, OriginProvider
from shapes.symbolic.choices import Int, Truth
from shapes.symbolic.numbers import SymInt
from solver.terms.expr import Expr

ORDERS: Final = 24
"""The number of orders of the axes that are tried for a layout without gaps."""


class Declaring(Protocol):
    """The part of an environment that an input is allocated in."""

    names: dict[str, Expr]

    @property
    def origin(self) -> OriginProvider: ...

    def symbol(self, name: str, *, hint: int | None = None, source: str | None = None) -> SymInt: ...

    def sizes(self, spec: str, /) -> tuple[Int, ...]: ...

    def hint(self, size: Int, /) -> int | None: ...

    def add_source(self, size: str, source: str, /) -> None: ...

    def expect_true(self, question: Truth, /) -> None: ...

    def restore_symbol(
        self,
        name: str,
        kind: SymbolKind,
        lo: int | None,
        hi: int | None,
        hint: int | None,
        source: str | None,
        origin: Origin | None,
    ) -> SymInt: ...

    def checkpoint(self) -> Checkpoint: ...

    def rollback(self, mark: Checkpoint, /) -> None: ...


def allocate(
    env: Declaring,
    name: str,
    sizes: Sequence[int],
    strides: Sequence[int] | None,
    offset: int,
    dims: str | Sequence[str] | None,
    source: str | None,
) -> Layout:
    """The symbols of one input, with what was seen this time as hints."""
    given: object = sizes
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ShapeError(f"sizes={shown(sizes)}: expected one integer for each axis")
    sizes = [whole_number("sizes", size) for size in sizes]
    strides = None if strides is None else [whole_number("strides", stride) for stride in strides]
    rank = len(sizes)
    words = dims.replace(",", " ").split() if isinstance(dims, str) else list(dims or ())
    words = words or [f"{name}_size{axis}" for axis in range(rank)]
    if strides is None:
        strides = [int(stride) for stride in contiguous_strides(sizes)]
    if len(words) != rank or len(strides) != rank:
        layout = f"sizes={tuple(sizes)}, strides={tuple(strides)}, dims={dims!r}"
        raise ShapeError(f"{layout}: expected one of each for every axis")
    place = source or name
    mark = env.checkpoint()
    try:
        symbolic = [
            _size(env, word, hint, f"{place}.shape[{axis}]") for axis, (word, hint) in enumerate(zip(words, sizes))
        ]
        expressed = _expressed(sizes, strides, symbolic)
        for axis, (hint, stride) in enumerate(zip(strides, expressed)):
            symbol = _number(env, f"{name}_stride{axis}", hint, f"{place}.stride({axis})")
            if stride is None:
                expressed[axis] = symbol
            else:
                env.expect_true(symbol == stride)
        start = env.symbol(f"{name}_offset", hint=offset, source=f"{place}.storage_offset()")
        return Layout(tuple(symbolic), tuple([stride for stride in expressed if stride is not None]), start)
    except BaseException:
        env.rollback(mark)
        raise


def _size(env: Declaring, word: str, hint: int, source: str) -> Int:
    if word.isidentifier() and word not in env.names:
        return env.symbol(word, hint=hint, source=source)
    (size,) = env.sizes(word)
    if env.hint(size) != hint:
        raise ShapeError(f"sizes: {source} is {hint} this time, but {word} is {env.hint(size)}")
    if word.isidentifier():
        env.add_source(word, source)
    return size


def _number(env: Declaring, name: str, hint: int, source: str) -> SymInt:
    """A symbol that no policy has a say in: its value follows, or is free."""
    return env.restore_symbol(name, "backed", 0, None, hint, source, env.origin())


def _expressed(sizes: Sequence[int], strides: Sequence[int], symbolic: Sequence[Int]) -> list[Int | None]:
    """Each stride through the sizes: by the usual orders without gaps, by another, or axis by axis; None where it is
    free."""
    rank = len(sizes)
    orders = [tuple(range(rank - 1, -1, -1))]
    if rank in CHANNELS_LAST:
        orders.append(CHANNELS_LAST[rank])
    orders += [order for order, _ in zip(permutations(range(rank - 1, -1, -1)), range(ORDERS))]
    for order in orders:
        if _packed(sizes, order) == list(strides):
            return [*_packed(symbolic, order)]
    found: list[Int | None] = [None] * rank
    for axis in sorted(range(rank), key=lambda axis: (strides[axis], -axis)):
        if strides[axis] in (0, 1):
            found[axis] = strides[axis]
            continue
        for inner in range(rank - 1, -1, -1):
            known = found[inner]
            if known is not None and inner != axis and strides[axis] == strides[inner] * max(sizes[inner], 1) != 0:
                found[axis] = known * contiguous_strides((1, symbolic[inner]))[0]
                break
    return found


def _packed(sizes: Sequence[Int], order: Sequence[int]) -> list[Int]:
    """Strides without gaps, the order given from the innermost axis outwards."""
    strides: list[Int] = [1] * len(sizes)
    for axis, stride in zip(reversed(order), contiguous_strides([sizes[axis] for axis in reversed(order)])):
        strides[axis] = stride
    return strides
