"""Symbolic inputs of a traced function: which sizes are symbols, and a variant's other preconditions on its inputs.

A static size is a symbol with one value, so that the check tests it like any other. A size of 0 has a variant of its
own unless stated otherwise, since nearly every operator branches on it; any other is a symbol >= 1. A contiguous input
has contiguous strides, and its strides of axes of extent 1 are ignored; otherwise strides are symbols, or products of
sizes where they match. The storage offset is a constant, checked if the program reads it.

    >>> import torch
    >>> from frontends.pytorch.recording.inputs import Choice
    >>> from frontends.pytorch.tracing import trace
    >>> first = lambda name, axis, size: Choice("dynamic", hi=64) if axis == 0 else Choice("static")
    >>> variant = trace(lambda x: x * 2, (torch.randn(3, 8),), dynamic=first)
    >>> for name, path in variant.inputs[0].symbols:
    ...     print(name, path, *variant.env.bounds(name))
    x_size0 ('.shape', 0) 1 64
    x_size1 ('.shape', 1) 8 8
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from keyword import iskeyword
from typing import TYPE_CHECKING, Final, Literal

import torch

from frontends.pytorch.recording.callers import check_supported
from frontends.pytorch.recording.recorder import Recorder
from frontends.pytorch.symbolic.node import TorchValue, value_of
from frontends.pytorch.symbolic.tensor import Result, Traced, argument_of
from shapes.environment.symbols import RESERVED
from shapes.symbolic.numbers import SymFloat, SymInt
from solver.floats.ordinals import pattern
from solver.floats.values import from_pattern

if TYPE_CHECKING:
    from shapes.env import ShapeEnv
    from shapes.guards.arguments import Path

LARGEST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Choice:
    """The treatment of one number of the arguments: a constant, a symbol, or an unbacked symbol.

    Attributes:
        lo: the lower bound; by default 1 for a size.
        hi: the upper bound.
        strict: specializing it is an error.
        word: the symbol's name, if it was given one.
    """

    kind: Literal["static", "dynamic", "unbacked"]
    lo: int | None = None
    hi: int | None = None
    strict: bool = False
    word: str | None = None


Dynamic = Callable[[str, int, int], "bool | Choice"]
"""Decides how a size is treated from the input's name, the axis, and the size. An integer has the axis -1."""

STATIC: Final = Choice("static")
DYNAMIC: Final = Choice("dynamic")


class Dynamism:
    """Decides if each number among the arguments of one trace is a constant or a symbol."""

    def __init__(self, decide: Dynamic) -> None:
        self._decide = decide

    def choose(self, name: str, axis: int, size: int) -> Choice:
        """Decide how this size is treated, or this integer, whose axis is -1."""
        choice = self._decide(name, axis, size)
        return choice if isinstance(choice, Choice) else DYNAMIC if choice else STATIC

    def is_varying(self, name: str, value: float) -> bool:
        """Return True if a float is a symbol; else it is a constant of the graph."""
        return False

    def settle(self, env: ShapeEnv, inputs: Sequence[Input]) -> None:
        """Assume the relations between them."""


@dataclass(frozen=True, slots=True)
class Input:
    """One tensor argument at the time of the trace."""

    name: str
    result: Result
    dtype: torch.dtype
    device: torch.device
    requires_grad: bool
    contiguous: bool
    symbols: tuple[tuple[str, Path], ...]
    """The symbols of its sizes and strides: name and path in the tensor."""
    rank: int
    offset: int


@dataclass(frozen=True, slots=True)
class Number:
    """An integer or float argument: a float's symbol is its 64 bits."""

    name: str
    symbol: str
    choice: Choice
    is_float: bool = False

    @property
    def is_read(self) -> bool:
        """True if the number is an input of the graph."""
        return self.choice.kind != "static"


def symbolic_input(recorder: Recorder, name: str, tensor: torch.Tensor, dynamism: Dynamism) -> tuple[Traced, Input]:
    """A traced tensor for a tensor argument."""
    check_supported(name, tensor)
    env, nodes = recorder.env, recorder.nodes
    sizes: list[object] = []
    symbols: list[tuple[str, Path]] = []
    for axis, size in enumerate(tensor.shape):
        choice = dynamism.choose(name, axis, size)
        if size == 0 and (choice.lo is None or choice.lo > 0):
            choice = replace(choice, kind="static")
        word = free_name(env, choice.word or f"{name}_size{axis}")
        symbols.append((word, (".shape", axis)))
        sizes.append(nodes.wrap(declared(env, word, choice, size, f"{name}.shape[{axis}]", 1)))
    offset = tensor.storage_offset()
    if tensor.is_contiguous():
        strides = recorder.kinds.packed(sizes, tensor.dtype, tensor.device).strides
    else:
        strides = strides_of(recorder, name, tensor, sizes, symbols)
    metadata = recorder.kinds.of(sizes, strides, offset, tensor.dtype, tensor.device)
    result = recorder.recording.result(metadata)
    recorder.given.add(result)
    made = argument_of(metadata, result)
    if tensor.requires_grad:
        made.requires_grad_(True)
    return made, Input(
        name,
        result,
        tensor.dtype,
        tensor.device,
        tensor.requires_grad,
        tensor.is_contiguous(),
        tuple(symbols),
        tensor.dim(),
        offset,
    )


def symbolic_number(recorder: Recorder, name: str, value: int, dynamism: Dynamism) -> tuple[TorchValue, Number]:
    """A symbolic number for an integer argument."""
    choice = dynamism.choose(name, -1, value)
    word = free_name(recorder.env, name)
    return recorder.nodes.wrap(declared(recorder.env, word, choice, value, name, None)), Number(name, word, choice)


def symbolic_float(recorder: Recorder, name: str, value: float, dynamism: Dynamism) -> tuple[TorchValue, Number]:
    """A symbolic number for a float argument: a double whose 64 bits are the symbol, since 0.0 == -0.0."""
    env = recorder.env
    word = free_name(env, name)
    if not dynamism.is_varying(name, value):
        declared(env, word, STATIC, pattern(value), name, 0)
        return value, Number(name, word, STATIC, is_float=True)
    bits = env.symbol(word, lo=0, hi=2**64 - 1, hint=pattern(value), source=name)
    made = SymFloat(env, from_pattern(bits.expr), bits.domain)
    return recorder.nodes.wrap(made), Number(name, word, DYNAMIC, is_float=True)


def declared(env: ShapeEnv, word: str, choice: Choice, value: int, source: str, least: int | None) -> SymInt | int:
    """Declare the symbol of an argument's number, or return the constant if it has only one value."""
    if choice.kind == "static":
        env.symbol(word, lo=value, hi=value, hint=value, source=source)
        return value
    lo = least if choice.lo is None else choice.lo
    hi = LARGEST if choice.hi is None and least is not None else choice.hi
    if choice.kind == "dynamic":
        return env.symbol(word, lo=lo, hi=hi, hint=value, source=source, strict=choice.strict)
    # bounds without guards are checked by the program itself
    symbol = env.unbacked(word, lo=0, hi=LARGEST, source=source)
    if choice.lo:
        env.expect_true(symbol >= choice.lo, f"{source} is stated to be at least {choice.lo}")
    if choice.hi is not None:
        env.expect_true(symbol <= choice.hi, f"{source} is stated to be at most {choice.hi}")
    return symbol


def strides_of(
    recorder: Recorder,
    name: str,
    tensor: torch.Tensor,
    sizes: Sequence[TorchValue],
    symbols: list[tuple[str, Path]],
) -> tuple[TorchValue, ...]:
    """The strides of a non-contiguous input, as products of sizes where they match."""
    env, nodes = recorder.env, recorder.nodes
    strides: list[TorchValue] = [None] * tensor.dim()
    order = sorted(range(tensor.dim()), key=lambda axis: (tensor.stride(axis), -axis))
    inner: list[int] = []
    for axis in order:
        stride = tensor.stride(axis)
        word = free_name(env, f"{name}_stride{axis}")
        source = f"{name}.stride({axis})"
        symbols.append((word, (".stride()", axis)))
        if stride in (0, 1):
            strides[axis] = declared(env, word, STATIC, stride, source, 0)
        else:
            symbol = env.symbol(word, lo=0, hi=LARGEST, hint=stride, source=source)
            strides[axis] = nodes.wrap(symbol)
            for other in inner:
                product = strides[other] * sizes[other]
                if tensor.stride(other) * tensor.shape[other] == stride:
                    env.require(symbol == value_of(product))
                    strides[axis] = product
                    break
        inner.append(axis)
    return tuple(strides)


def free_name(env: ShapeEnv, name: str) -> str:
    """An unused symbol name, from the argument's name if it is valid."""
    name = re.sub(r"\W+", "_", name)
    if not name.isidentifier() or iskeyword(name) or name in RESERVED:
        name = f"arg_{name}"
    found, number = name, 1
    while found in env.names:
        found, number = f"{name}_{number}", number + 1
    return found
