"""Control flow of Python: by sizes, by data, by numbers, exceptions, generators, recursion."""

import functools
import itertools

import torch

from tests.frontends.pytorch.differential.cases import Family

FAMILY = Family("control")
program = FAMILY.program
stateful = FAMILY.stateful


@program("n m")
def branch_on_data(x):
    if x.sum() > 0:
        return x.exp()
    return x - 1


@program("n m")
def loop_until_data(x):
    count = 0
    while x.abs().max() > 0.1:
        x = x * 0.3
        count += 1
    return x, count


@program("n m")
def own_generator(x):
    def pieces():
        yield x[0]
        yield from (x[1] * 2, x[0] - x[1])

    return list(pieces())


@program("n m")
def matched(x):
    match x.shape:
        case (3, columns):
            return x * columns
        case (_, 2):
            return x + 100
        case _:
            return -x


@program("n m")
def walrus_and_conditions(x):
    return (size := x.shape[0]) * x if (columns := x.shape[1]) > 3 else x - size * columns


@program("n m")
def sorted_by_size(x):
    pieces = sorted([x, x.t(), x[:1]], key=lambda piece: (piece.shape[0], piece.shape[1]))
    return pieces[0].sum(), [len(piece) for piece in pieces]


@program("n m")
def number_from_data(x):
    count = int((x > 0).sum())
    return x * count, count


@program("n m")
def slice_by_data(x):
    count = (x[0] > 0).sum().item()
    return x[:, :count].sum()


@stateful("n m")
def caught_then_counted():
    failures = []

    def step(x):
        try:
            if x.shape[0] > 4:
                raise ArithmeticError(x.shape[0])
            return x + 1
        except ArithmeticError as error:
            failures.append(error.args[0])
            return x - 1

    return step, failures


@program("n m")
def nested_functions_with_defaults(x):
    def scaled(value, by=2, *more, plus=x.shape[0]):
        return value * by + plus + len(more)

    return scaled(x), scaled(x, 3, 4, plus=1)


@program("n m")
def divmod_of_sizes(x):
    whole, rest = divmod(x.shape[0] * x.shape[1], 3)
    return x * whole + rest, f"{whole} {rest}"


@program("n m")
def stop_iteration(x):
    rows = iter(x)
    total = next(rows)
    while (row := next(rows, None)) is not None:
        total = total + row
    return total


FAMILY.table(
    {
        "branch on a size": lambda x: x * 2 if x.shape[0] > 3 else x + 1,
        "loop over rows": lambda x: [row.sum() for row in x],
        "generator expression": lambda x: sum(x[:, column] * column for column in range(2)),
        "accumulated": lambda x: list(itertools.accumulate(x.unbind(0), lambda total, row: total * 0.9 + row)),
        "reduced with functools": lambda x: functools.reduce(torch.maximum, x.unbind(1)),
        "chained comparison": lambda x: x if 2 < x.shape[0] <= x.shape[1] else -x,
        "branch on a sum of sizes": lambda x: x.new_ones(3) if sum(x.shape) == 7 else x.new_zeros(2),
        "truth of a tensor": lambda x: x * 2 if (x > -100).all() and not torch.isnan(x).any() else x,
        "comprehension with conditions": lambda x: {name: part for name, part in zip("abc", x) if name != "b"},
    },
    "n m",
)
