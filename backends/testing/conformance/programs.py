"""Programs as expressions beside the function of torch that is their oracle: one for each thing that kernels do.

>>> from backends.testing.conformance.programs import PROGRAMS
>>> program = PROGRAMS["softmax"].program()
>>> [str(size) for size in program.inputs[0].sizes], len(program.outputs)
(['b', 's'], 1)
>>> [tuple(tensor.shape) for tensor in PROGRAMS["softmax"].inputs(b=2, s=3)]
[(2, 3)]
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import torch

from backends.decisions.questions import Decisions
from backends.loops.affine import packed
from backends.loops.nodes import Memory, Tensor
from backends.loops.program import Program
from backends.loops.tensors import Expressions
from shapes import ShapeEnv, SymInt

Build: TypeAlias = Callable[[Expressions, Sequence[Memory]], Sequence[Tensor]]
Oracle: TypeAlias = Callable[[Sequence[torch.Tensor]], Sequence[torch.Tensor]]


@dataclass(frozen=True)
class Lowered:
    """A program before its sizes are known.

    Attributes:
        given: for each input its dtype and dimensions, by name or number; `.t` has its last two axes exchanged in
            memory, so that it is strided along the last.
        build: the outputs as expressions of the inputs.
        oracle: the same in torch.
    """

    given: tuple[str, ...]
    build: Build
    oracle: Oracle

    def program(self) -> Program:
        """The program over symbolic sizes, nothing assumed of them."""
        env = ShapeEnv(origin=lambda: None)
        names = sorted({word for _, words, _ in self._parsed() for word in words if not word.isdigit()})
        made_of = zip(names, env.sizes(" ".join(names)))
        symbols = {name: size.expr for name, size in made_of if isinstance(size, SymInt)}
        program = Program(Decisions(env))
        made: list[Memory] = []
        for number, (dtype, words, is_transposed) in enumerate(self._parsed()):
            sizes = tuple([symbols[word] if word in symbols else program.build.lift(int(word)) for word in words])
            axes = list(range(len(sizes)))
            order = [*axes[:-2], axes[-1], axes[-2]] if is_transposed else axes
            made.append(program.input(f"x{number}", dtype, sizes, packed(sizes, order)))
        for value in self.build(program.build, made):
            program.outputs.append(program.stored(value, packed(value.sizes)))
        return program

    def inputs(self, draw: int = 0, **sizes: int) -> list[torch.Tensor]:
        """Tensors of these sizes, the same for the same draw: of both signs, and small where they are integers."""
        generator = torch.Generator().manual_seed(zlib.crc32(repr((self.given, draw, sizes)).encode()))
        made = []
        for dtype, words, is_transposed in self._parsed():
            shape = [sizes[word] if word in sizes else int(word) for word in words]
            stored = [*shape[:-2], shape[-1], shape[-2]] if is_transposed else shape
            kind: torch.dtype = getattr(torch, dtype)
            if kind.is_floating_point:
                tensor = torch.randn(stored, generator=generator).to(kind)
            else:
                low, high = (0, 2) if kind is torch.bool else (-9, 9)
                tensor = torch.randint(low, high, stored, generator=generator).to(kind)
            made.append(tensor.transpose(-1, -2) if is_transposed else tensor)
        return made

    def _parsed(self) -> list[tuple[str, list[str], bool]]:
        parts = [each.partition(": ") for each in self.given]
        return [(dtype, words.removesuffix(" .t").split(), words.endswith(" .t")) for dtype, _, words in parts]


# ---------------------------------------------------------------------- what the programs have in common


def _softmax(b: Expressions, x: Tensor) -> Tensor:
    shifted = b.apply("sub", x, b.expand(b.reduce("maximum", x, (1,), keepdim=True), x.sizes))
    exponential = b.apply("exp", shifted)
    return b.apply("div", exponential, b.expand(b.reduce("sum", exponential, (1,), keepdim=True), x.sizes))


def _gathered(b: Expressions, xs: Sequence[Memory]) -> Sequence[Tensor]:
    """Rows by index; what is out of bounds is 0."""
    x, index = xs
    inside = b.apply("bitand", *[b.apply(*each) for each in (("ge", index, _whole(b, 0)), ("lt", index, _rows(b, x)))])
    sizes = (*index.sizes, x.sizes[1])
    wide = [b.expand(b.unsqueeze(each, 1), sizes) for each in (index, inside)]
    return [b.gather(x, sizes, (wide[0], b.axis(1)), wide[1])]


def _gathered_by_torch(xs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    x, index = xs
    inside = (index >= 0) & (index < len(x))
    padded = torch.cat([x, x.new_zeros(1, x.shape[1])])
    return [padded[torch.where(inside, index, len(x))]]


def _whole(b: Expressions, number: int) -> Tensor:
    return b.number(number, "int64")


def _rows(b: Expressions, x: Tensor) -> Tensor:
    return b.number(x.sizes[0], "int64")


def _causal(b: Expressions, xs: Sequence[Memory]) -> Sequence[Tensor]:
    (x,) = xs
    seen = b.apply("ge", b.iota(x.sizes, 0), b.iota(x.sizes, 1))
    return [b.apply("select", seen, x, b.number(-1.0, "float32"))]


def _concatenated(b: Expressions, xs: Sequence[Memory]) -> Sequence[Tensor]:
    x, y = xs
    sizes = (x.sizes[0], x.sizes[1] + y.sizes[1])
    return [b.apply("neg", b.concat([x, b.apply("exp", y)], 1, (x.sizes[1],), sizes))]


def _chained(b: Expressions, xs: Sequence[Memory]) -> Sequence[Tensor]:
    """Column sums that every row then needs: more than one kernel, and memory in between."""
    (x,) = xs
    centred = b.apply("sub", x, b.expand(b.reduce("sum", x, (0,), keepdim=True), x.sizes))
    return [_softmax(b, centred), b.reduce("sum", b.apply("abs", centred), (1,))]


def _chained_by_torch(xs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    centred = xs[0] - xs[0].sum(0)
    return [centred.softmax(1), centred.abs().sum(1)]


PROGRAMS: Final[Mapping[str, Lowered]] = {
    "pointwise, broadcast": Lowered(
        ("float32: b s", "float32: s"),
        lambda b, xs: [b.apply("exp", b.apply("add", xs[0], b.expand(xs[1], xs[0].sizes)))],
        lambda xs: [(xs[0] + xs[1]).exp()],
    ),
    "a strided input": Lowered(
        ("float32: b s", "float32: b s .t"),
        lambda b, xs: [b.apply("mul", xs[0], xs[1])],
        lambda xs: [xs[0] * xs[1]],
    ),
    "transposed": Lowered(
        ("float32: b s",), lambda b, xs: [b.apply("neg", b.permute(xs[0], (1, 0)))], lambda xs: [-xs[0].t()]
    ),
    "softmax": Lowered(("float32: b s",), lambda b, xs: [_softmax(b, xs[0])], lambda xs: [xs[0].softmax(1)]),
    "softmax of doubles": Lowered(("float64: b s",), lambda b, xs: [_softmax(b, xs[0])], lambda xs: [xs[0].softmax(1)]),
    "sums over rows, columns and all": Lowered(
        ("float32: b s",),
        lambda b, xs: [b.reduce("sum", xs[0], axes) for axes in ((0,), (1,), (0, 1))],
        lambda xs: [xs[0].sum(0), xs[0].sum(1), xs[0].sum()],
    ),
    "a reduction of a middle axis": Lowered(
        ("float32: b s 3",), lambda b, xs: [b.reduce("sum", xs[0], (1,))], lambda xs: [xs[0].sum(1)]
    ),
    "any and all": Lowered(
        ("bool: b s",),
        lambda b, xs: [b.reduce("any", xs[0], (1,)), b.reduce("all", xs[0], (0,))],
        lambda xs: [xs[0].any(1), xs[0].all(0)],
    ),
    "integers": Lowered(
        ("int64: b s", "int32: b s"),
        lambda b, xs: [
            b.apply("floordiv", xs[0], _whole(b, 4)),
            b.apply("add", xs[0], b.cast(xs[1], "int64")),
            b.apply("maximum", xs[1], b.number(0, "int32")),
        ],
        lambda xs: [xs[0] // 4, xs[0] + xs[1], xs[1].clamp(min=0)],
    ),
    "halves are computed as float32 and rounded once": Lowered(
        ("bfloat16: b s", "float16: b s"),
        lambda b, xs: [
            b.cast(b.apply("mul", b.cast(xs[0], "float32"), b.cast(xs[1], "float32")), "bfloat16"),
            b.apply("add", xs[1], xs[1]),
        ],
        lambda xs: [(xs[0].float() * xs[1].float()).bfloat16(), xs[1] + xs[1]],
    ),
    "a comparison of indices": Lowered(
        ("float32: b s",),
        _causal,
        lambda xs: [torch.where(torch.ones_like(xs[0]).tril() > 0, xs[0], torch.tensor(-1.0))],
    ),
    "a gather with a bounds check": Lowered(("float32: b s", "int64: n"), _gathered, _gathered_by_torch),
    "a concatenation": Lowered(
        ("float32: b s", "float32: b n"), _concatenated, lambda xs: [-torch.cat([xs[0], xs[1].exp()], 1)]
    ),
    "several kernels": Lowered(("float32: b s",), _chained, _chained_by_torch),
}

SIZES: Final = (
    {"b": 2, "s": 3, "n": 4},
    {"b": 1, "s": 1, "n": 1},
    {"b": 3, "s": 0, "n": 2},
    {"b": 0, "s": 5, "n": 0},
    {"b": 1, "s": 70, "n": 3},
    {"b": 67, "s": 1, "n": 5},
    {"b": 33, "s": 130, "n": 9},
    {"b": 5, "s": 2049, "n": 17},
)
"""The sizes with which a program is called in turn: none, one, fewer and more than the lanes of a vector or a block."""
