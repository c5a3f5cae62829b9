"""Rows of different lengths beside the same elements as a dense tensor: kernels over offsets, padded and jagged eager.

    python -m benchmarks.ragged [--rows 256] [--mean 100] [--columns 64] [--programs sum] [--threads 1] [--write]

Values are as many elements as `rows x mean x columns`, in rows of 1 to about twice the mean. "dense" is the same
function of the dense tensor, compiled as well, and the last column is what rows of different lengths cost. "eager" is
the program operator by operator, "padded" the dense function in eager on what rows are padded to, the conversions
included, "jagged" that of a nested tensor, where it has the operator. Medians of interleaved runs.

Both are called as closures, whose guards take as long: a function of no globals is called in C.

Attention takes as long as there are pairs of elements in a row, and rows of different lengths have more pairs than as
many of the mean length: a note under the table says how many times.
"""

from __future__ import annotations

import argparse
import statistics
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor
from torch.nn import functional as F

from backends.cpu.attention.ragged_attention import ragged_attention
from benchmarks import report
from benchmarks.clocks import clock_for
from frontends.pytorch import compile

Run: TypeAlias = Callable[[], object]
aten = torch.ops.aten
WIDTH = 32
"""Features of a head of attention."""
FORGETFUL = 3
"""Runs before the first that counts."""


@dataclass(frozen=True)
class Program:
    """A function of values and offsets, and the same of a dense tensor of rows.

    Attributes:
        ragged: takes values, offsets, and the length of the longest row.
        is_rows: whether the padded result is one of rows, and not of their elements.
        jagged: the same of a nested tensor, if it has the operators.
    """

    name: str
    ragged: Callable[[Tensor, Tensor, int], Tensor]
    dense: Callable[[Tensor], Tensor]
    jagged: Callable[[Tensor], Tensor] | None = None
    is_rows: bool = False


def row_of(x: Tensor, offsets: Tensor) -> Tensor:
    return torch.repeat_interleave(offsets.diff(), output_size=x.shape[0])


def softmax(x: Tensor, offsets: Tensor, longest: int) -> Tensor:
    row = row_of(x, offsets)
    e = torch.exp(x - torch.segment_reduce(x, "max", offsets=offsets)[row])
    return e / torch.segment_reduce(e, "sum", offsets=offsets)[row]


def instance_norm(x: Tensor, offsets: Tensor, longest: int) -> Tensor:
    row, count = row_of(x, offsets), offsets.diff()[:, None]
    centred = x - (torch.segment_reduce(x, "sum", offsets=offsets) / count)[row]
    variance = torch.segment_reduce(centred * centred, "sum", offsets=offsets) / count
    return centred * torch.rsqrt(variance + 1e-5)[row]


def dense_instance_norm(x: Tensor) -> Tensor:
    centred = x - x.mean(1, keepdim=True)
    return centred * torch.rsqrt((centred * centred).mean(1, keepdim=True) + 1e-5)


def padded(x: Tensor, offsets: Tensor, longest: int, padding: float) -> Tensor:
    return aten._jagged_to_padded_dense_forward(x, [offsets], [longest], padding)


def unpadded(x: Tensor, offsets: Tensor, total: int) -> Tensor:
    return aten._padded_dense_to_jagged_forward(x, [offsets], total)


def nested_softmax(x: Tensor, offsets: Tensor, longest: int) -> Tensor:
    """The operators that a softmax of a nested tensor becomes."""
    return unpadded(padded(x, offsets, longest, float("-inf")).softmax(1), offsets, x.shape[0])


def nested_layer_norm(x: Tensor, offsets: Tensor, longest: int) -> Tensor:
    """The operators that a layer norm over the ragged axis of a nested tensor becomes."""
    whole, ones = padded(x, offsets, longest, 0.0), torch.ones((x.shape[0], 1))
    mask = padded(ones, offsets, longest, 0.0).expand(whole.shape)
    count = offsets.diff()[:, None, None] * whole.shape[2]
    centred = (whole - whole.sum((1, 2), keepdim=True) / count) * mask
    deviation = torch.sqrt(torch.square(centred).sum((1, 2), keepdim=True) / count + 1e-5)
    return unpadded(centred / deviation, offsets, x.shape[0])


def attention(x: Tensor, offsets: Tensor, longest: int) -> Tensor:
    """Each element sees those of its row: the operator that the attention of a jagged tensor becomes."""
    given = x.unflatten(1, (-1, WIDTH))
    made, _ = ragged_attention(given, given, given, offsets, offsets, None)
    return made.flatten(1)


def dense_attention(x: Tensor) -> Tensor:
    given = x.unflatten(2, (-1, WIDTH)).transpose(1, 2)
    return F.scaled_dot_product_attention(given, given, given).transpose(1, 2).flatten(2)


def last_norm(x: Tensor) -> Tensor:
    return F.layer_norm(x, (x.shape[-1],))


PROGRAMS = (
    Program("sum", lambda x, o, n: torch.segment_reduce(x, "sum", offsets=o), lambda x: x.sum(1), None, True),
    Program("sum, nested", lambda x, o, n: padded(x, o, n, 0.0).sum(1), lambda x: x.sum(1), lambda x: x.sum(1), True),
    Program(
        "sum by index",
        lambda x, o, n: x.new_zeros(o.shape[0] - 1, x.shape[1]).index_add(0, row_of(x, o), x),
        lambda x: x.sum(1),
        None,
        True,
    ),
    Program("maximum", lambda x, o, n: torch.segment_reduce(x, "max", offsets=o), lambda x: x.amax(1), None, True),
    Program("softmax", softmax, lambda x: x.softmax(1)),
    Program("softmax, nested", nested_softmax, lambda x: x.softmax(1), lambda x: x.softmax(1)),
    Program("layer norm", lambda x, o, n: last_norm(x), last_norm, last_norm),
    Program("instance norm", instance_norm, dense_instance_norm),
    Program("layer norm over rows, nested", nested_layer_norm, lambda x: F.layer_norm(x, x.shape[1:]), None),
    Program(
        "a value for each row",
        lambda x, o, n: x * torch.segment_reduce(x, "max", offsets=o)[row_of(x, o)],
        lambda x: x * x.amax(1, keepdim=True),
    ),
    Program("attention", attention, dense_attention),
    Program("padded and back", lambda x, o, n: unpadded(padded(x, o, n, 0.0) * 2, o, x.shape[0]), lambda x: x * 2),
)


def lengths_of(rows: int, mean: int) -> list[int]:
    """Lengths from 1 to about twice the mean, as many elements as rows of the mean length have."""
    drawn: list[int] = torch.randint(1, 2 * mean, (rows,), generator=torch.Generator().manual_seed(rows)).tolist()
    place = 0
    while (left := rows * mean - sum(drawn)) != 0:
        step = 1 if left > 0 else -1
        if 1 <= drawn[place % rows] + step < 2 * mean:
            drawn[place % rows] += step
        place += 1
    return drawn


def medians(runs: Sequence[Run], rounds: int, threads: int) -> list[float]:
    """The median time of each in microseconds, one after the other in each round."""
    clock = clock_for(threads)
    times: list[list[float]] = [[] for _ in runs]
    for number in range(rounds + FORGETFUL):
        for run, taken in zip(runs, times):
            start = clock()
            run()
            if number >= FORGETFUL:
                taken.append(clock() - start)
    return [1e6 * statistics.median(taken) for taken in times]


def measured(program: Program, values: Tensor, offsets: Tensor, options: argparse.Namespace) -> list[report.Cell]:
    """A row of the table."""
    rows, mean, columns = options.rows, options.mean, values.shape[1]
    longest, total = int(offsets.diff().max()), values.shape[0]
    whole = values.view(rows, mean, columns)
    ragged = compile(lambda x, o: program.ragged(x, o, longest), backend="cpu", dynamic=True)
    # a closure as well, whose guards take as long
    dense = compile(lambda x: program.dense(x), backend="cpu", dynamic=True)
    expected = program.ragged(values, offsets, longest)
    torch.testing.assert_close(ragged(values, offsets), expected, rtol=1e-3, atol=1e-4)

    def by_padding() -> Tensor:
        made = program.dense(padded(values, offsets, longest, float("-inf") if "softmax" in program.name else 0.0))
        return made if program.is_rows else unpadded(made, offsets, total)

    runs: list[Run] = [
        lambda: dense(whole),
        lambda: ragged(values, offsets),
        lambda: program.ragged(values, offsets, longest),
        by_padding,
    ]
    if program.jagged is not None:
        nested, function = torch.nested.nested_tensor_from_jagged(values, offsets, max_seqlen=longest), program.jagged
        runs.append(lambda: function(nested))
    found = medians(runs, options.rounds, options.threads)
    jagged = found[4] if len(found) > 4 else float("nan")
    assert len(ragged.variants) == 1
    return [program.name, *found[:4], jagged, found[2] / found[1], found[1] / found[0]]


def measure(options: argparse.Namespace) -> str:
    torch.set_num_threads(options.threads)
    warnings.filterwarnings("ignore")
    lengths = lengths_of(options.rows, options.mean)
    offsets = torch.tensor([0, *lengths]).cumsum(0)
    wanted = options.programs.split(",") if options.programs else None
    rows = []
    with torch.no_grad():
        for program in PROGRAMS:
            if wanted is None or program.name.partition(",")[0] in wanted:
                values = torch.randn(int(offsets[-1]), options.columns)
                rows.append(measured(program, values, offsets, options))
    header = ["program", "dense, µs", "ragged", "eager", "padded", "jagged", "eager / ragged", "ragged / dense"]
    fill = sum(lengths) / (len(lengths) * max(lengths))
    what = f"{options.rows} rows of {options.mean} x {options.columns} float32 on average, {fill:.0%} of what is padded"
    pairs = sum(length**2 for length in lengths) * len(lengths) / sum(lengths) ** 2
    note = f"Attention has {pairs:.2f} times the pairs of elements that the dense one has."
    return f"{what}.\n\n{report.table(header, rows)}\n\n{note}"


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--mean", type=int, default=100)
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--programs", default="", help="some of them, with commas between")
    report.publish("ragged", "Rows of different lengths", measure, parser)


if __name__ == "__main__":
    main()
