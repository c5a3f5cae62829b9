"""Sizes as the integers that they are: arithmetic, comparison, containers, conversion."""

import bisect
import copy
import decimal
import fractions
import math
import operator
import statistics
import typing

import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("sizes")


class Couple(typing.NamedTuple):
    first: torch.Tensor
    second: torch.Tensor

    def both(self):
        return self.first + self.second

    @staticmethod
    def seven():
        return 7

    @classmethod
    def named(cls):
        return cls.__name__


FAMILY.table(
    {
        "hasattr fields": lambda x: (
            x + (hasattr(Couple(x, x), "_fields") and isinstance(Couple(x, x), tuple)) + hasattr(x.shape, "_fields")
        ),
        "abs of size": lambda x: x + abs(2 - x.shape[0]),
        "power size": lambda x: x + 2 ** x.shape[0] + x.shape[1] ** 2 + pow(x.shape[0], 2, 5),
        "math functions of a size": lambda x: (
            x + math.sqrt(x.shape[0]) + math.log(x.shape[1]) + math.pow(x.shape[0], 2) + math.floor(x.shape[0] / 2)
        ),
        "shape as key": lambda x: {x.shape: x, tuple(x.shape): 2},
        "sorted sizes": lambda x: sorted([x.shape[1], 3, x.shape[0]]),
        "numel method of Size": lambda x: (x.shape.numel(), x.size().count(3), x.shape.index(x.shape[0])),
        "str * size": lambda x: "a" * x.shape[0],
        "math prod": lambda x: x + math.prod(x.shape),
        "index of size": lambda x: operator.index(x.shape[0]),
        "type name of things": lambda x: (
            type(x).__name__,
            type(x.shape).__name__,
            type(x.shape[0]).__name__,
            type([]).__name__,
        ),
        "chained compare": lambda x: x if 1 < x.shape[0] < 4 < x.shape[1] + 1 else -x,
        "max truth": lambda x: max(x.shape[0] > 2, False),
        "abs float": lambda x: abs(x.shape[0] - 3.5),
        "max key": lambda x: max([x.shape[0], 4], key=lambda v: -v),
        "truth arith": lambda x: (x.shape[0] > 2) + 1,
        "truth index": lambda x: ["no", "yes"][x.shape[0] > 3],
        "size hash": lambda x: hash(x.shape) == hash(tuple(x.shape)),
        "size star": lambda x: x.new_zeros(*x.shape, 2).shape,
        "size reversed": lambda x: list(reversed(x.shape)),
        "size pop": lambda x: (lambda items: (items.pop(), items))(list(x.shape)),
        "size real imag": lambda x: (x.shape[0].real, x.shape[0].imag, x.shape[0].numerator, x.shape[0].denominator),
        "size float hex": lambda x: (x.shape[0] / 2).hex(),
        "size power size": lambda x: x.shape[0] ** x.shape[1],
        "size comb": lambda x: math.comb(x.shape[0], 2),
        "size distribution": lambda x: math.dist((x.shape[0], 0), (0, 1)),
        "size frexp": lambda x: math.frexp(x.shape[0]),
        "size nextafter": lambda x: math.nextafter(x.shape[0], 0),
        "view same": lambda x: x.view(x.shape) is x,
        "tril_indices": lambda x: torch.tril_indices(x.shape[0], x.shape[1]),
    },
    "n m",
)

FAMILY.table(
    {
        "tensor of list of sizes": lambda x: torch.tensor([x.size(0), x.size(1) + 1]),
        "len": lambda x: x + len(x),
        "dunder len": lambda x: x + x.__len__(),
        "str join sizes": lambda x: ",".join(map(str, x.shape)),
        "new size": lambda x: x.new(x.size()).zero_(),
        "shape indexed by size": lambda x: x + x.shape[x.shape[0] - x.shape[0]],
        "invert size": lambda x: x + ~x.shape[0],
        "shift size": lambda x: x + (x.shape[0] << 2) + (x.shape[1] >> 1),
        "and or xor size": lambda x: x + (x.shape[0] & 3 | x.shape[1] ^ 5),
        "truediv size": lambda x: x + 10 / x.shape[0] + x.shape[1] / 3,
        "divmod size": lambda x: (divmod(x.shape[0], 2), divmod(17, x.shape[1])),
        "round size": lambda x: (
            round(x.shape[0] / 2),
            round(x.shape[0] / 3, 2),
            math.ceil(x.shape[0] / 2),
            math.trunc(x.shape[1] / 2),
        ),
        "size is_integer": lambda x: (x.shape[0] / 2).is_integer(),
        "size bit_length": lambda x: x.shape[0].bit_length(),
        "size as key": lambda x: {x.shape[0]: x},
        "list index size": lambda x: [1, 2, 3, 4, 5, 6].index(x.shape[0]),
        "size in list": lambda x: x.shape[0] in [1, 3],
        "size in set": lambda x: x.shape[0] in {1, 3},
        "max of sizes": lambda x: x + max(x.shape) - min(x.shape[0], 4),
        "hash of size": lambda x: hash(x.shape[0]),
        "isinstance size integer": lambda x: (
            isinstance(x.shape[0], int),
            type(x.shape[0]) is int,
            isinstance(x.shape, torch.Size),
            type(x.shape) is torch.Size,
            isinstance(x.shape, tuple),
        ),
        "Size slicing": lambda x: (
            x.shape[:1],
            x.shape[1:] + (3,),
            torch.Size([2]) + x.shape,
            x.shape[::-1],
            type(x.shape[:1]),
        ),
        "Size made": lambda x: torch.Size([x.shape[0], 2]),
        "size times": lambda x: x.shape * 2,
        "bytes size": lambda x: bytes(x.shape[0]),
        "chr size": lambda x: chr(x.shape[0] + 60),
        "slice size": lambda x: "abcdefgh"[: x.shape[0]],
        "statistics": lambda x: x + statistics.mean(x.shape),
        "fraction": lambda x: x * float(fractions.Fraction(x.shape[0], 3)),
        "decimal": lambda x: x * float(decimal.Decimal(x.shape[0])),
        "struct": lambda x: __import__("struct").pack("i", x.shape[0]),
        "copy of size": lambda x: copy.copy(x.shape[0]) + copy.deepcopy(x.shape[1]),
        "bisect": lambda x: bisect.bisect([1, 2, 3, 4], x.shape[0]),
        "split by data": lambda x: x.split([1, x.shape[0] - 1]),
        "broadcast shapes": lambda x: torch.broadcast_shapes(x.shape, (1,)),
        "slice objects": lambda x: (x[slice(1, None)], slice(1, x.shape[0]), slice(0, 3).indices(2)),
        "size in results": lambda x: (x.shape, [x.size()], {"a": x.shape[:1]}),
        "sizes and slice": lambda x: (slice(0, x.shape[0]), x.shape),
        "max mixed": lambda x: (max(x.shape[0], 3.5), min(x.shape[0], 2.5), max(3.5, x.shape[0], 1)),
        "max size float": lambda x: max(x.shape[0] / 2, x.shape[1]),
        "max equal": lambda x: (max(3.0, x.shape[0]), max(x.shape[0], 3.0), min(x.shape[0], 3.0), min(3.0, x.shape[0])),
        "sum mixed": lambda x: sum([x.shape[0], 0.5]),
        "round to integer": lambda x: round(x.shape[0] * 0.5),
        "clamped": lambda x: x[: min(x.shape[0], 3)] * max(1, x.shape[0] - 2),
        "sorted mixed": lambda x: sorted([2.5, x.shape[0], 1]),
        "max default": lambda x: max([], default=x.shape[0]),
        "max iter": lambda x: max(iter(x.shape)),
        "max dictionary": lambda x: max({x.shape[0]: 1, 2: 3}),
        "truth and": lambda x: (x.shape[0] > 3) & (x.shape[1] > 3),
        "truth xor": lambda x: (x.shape[0] > 3) ^ True,
        "truth type": lambda x: type(x.shape[0] > 3),
        "truth times str": lambda x: "a" * (x.shape[0] > 3),
        "size equal none": lambda x: (
            x.shape[0] == None,  # noqa: E711
            x.shape[0] != "a",
            x.shape == [3, 4],
            x.shape == (3, 4),
            x.shape != (3, 4),
        ),
        "size less than tuple": lambda x: x.shape < (4, 0),
        "size set": lambda x: len({x.shape, x.shape}),
        "size dictionary": lambda x: {tuple(x.shape): 1}[tuple(x.shape)],
        "size concat": lambda x: [*x.shape, 3],
        "size map": lambda x: list(map(lambda s: s * 2, x.shape)),
        "size zip": lambda x: list(zip(x.shape, x.stride())),
        "size enumerate": lambda x: dict(enumerate(x.shape)),
        "size sum": lambda x: sum(x.shape),
        "size unpack": lambda x: (lambda a, b: a * b)(*x.shape),
        "size slice assign": lambda x: (lambda items: (items.__setitem__(slice(0, 1), [9]), items)[1])(list(x.shape)),
        "size count": lambda x: list(x.shape).count(4),
        "size index": lambda x: list(x.shape).index(x.shape[1]),
        "size remove": lambda x: (lambda items: (items.remove(x.shape[0]), items)[1])(list(x.shape)),
        "size conjugate": lambda x: x.shape[0].conjugate(),
        "size to bytes": lambda x: x.shape[0].to_bytes(2, "big"),
        "size ratio": lambda x: (x.shape[0] / 2).as_integer_ratio(),
        "size fromfloat": lambda x: float.fromhex("0x1p1") * x.shape[0],
        "size divide zero": lambda x: x.shape[0] / (x.shape[0] - x.shape[0]),
        "size negative power": lambda x: x.shape[0] ** (-1),
        "size lshift negative": lambda x: 1 << x.shape[0] - 3,
        "size sqrt negative": lambda x: math.sqrt(3 - x.shape[0]),
        "size factorial": lambda x: math.factorial(x.shape[0]),
        "size lcm": lambda x: math.lcm(x.shape[0], 4),
        "size log 0": lambda x: math.log(x.shape[0] - 3),
        "size log2": lambda x: int(math.log2(x.shape[0])),
        "size fsum": lambda x: math.fsum(x.shape),
        "size isinf": lambda x: math.isinf(x.shape[0]),
        "size modf": lambda x: math.modf(x.shape[0] / 2),
        "size ldexp": lambda x: math.ldexp(1.5, x.shape[0]),
        "size degrees": lambda x: math.degrees(x.shape[0]),
        "size remainder": lambda x: math.remainder(x.shape[0], 2),
        "size perm": lambda x: math.perm(x.shape[0]),
        "size isqrt": lambda x: math.isqrt(x.shape[0]),
        "size sumprod": lambda x: sum((a * b for a, b in zip(x.shape, x.shape))),
        "reshape same": lambda x: x.reshape(x.shape) is x,
        "expand returned": lambda x: x.expand(2, *x.shape),
        "broadcast_to": lambda x: x.broadcast_to(2, *x.shape),
        "addmm": lambda x: torch.addmm(x, torch.ones(x.shape[0], 2), torch.ones(2, x.shape[1])),
        "rmatmul": lambda x: x.__rmatmul__(torch.ones(1, x.shape[0])),
    },
    "n m",
    thorough=True,
)
