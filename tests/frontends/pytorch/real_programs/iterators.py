"""Python's own flow: iterators, generators, comprehensions; decorators; globals that are read and written."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import torch

from tests.frontends.pytorch.real_programs.running import Call, Compiling, Made, of_one, program

Tensor = torch.Tensor
iterators, comprehensions, decorators = map(of_one, ("iterators", "comprehensions", "decorators"))
FACTORS = {"weight": 2.0, "bias": 0.5}
SHIFT = 1.5


@iterators
def zip_and_enumerate(x: Tensor) -> Tensor:
    total = x
    for i, (row, factor) in enumerate(zip(x.unbind(1), (1, 2, 3, 4))):
        total = total + row.unsqueeze(1) * factor * i
    return total


@iterators
def a_chain(x: Tensor) -> Tensor:
    parts = itertools.chain([x], (x * i for i in range(2)), itertools.repeat(x, 2))
    return torch.cat(list(parts))


@iterators
def sums_on_the_way(x: Tensor) -> list[Tensor]:
    return list(itertools.accumulate(x.unbind(1), operator.add))


@iterators
def products_and_combinations(x: Tensor) -> Tensor:
    total = x.new_zeros(x.shape[0])
    for i, j in itertools.product(range(2), range(2)):
        total = total + x[:, i] * x[:, j]
    for i, j in itertools.combinations(range(4), 2):
        total = total - x[:, i] * x[:, j]
    return total


@iterators
def a_slice_of_an_iterator(x: Tensor) -> Tensor:
    return sum(itertools.islice((x * i for i in itertools.count(1)), 3))


@iterators
def pairs_of_neighbours(x: Tensor) -> list[Tensor]:
    return [b - a for a, b in itertools.pairwise(x.unbind(1))]


@iterators
def reversed_and_sorted_names(x: Tensor) -> Tensor:
    names = {"b": 2.0, "a": 1.0, "c": 3.0}
    total = x
    for name in sorted(names, reverse=True):
        total = total * names[name]
    for each in reversed([1.0, 2.0]):
        total = total - each
    return total


@iterators
def map_and_filter(x: Tensor) -> Tensor:
    parts = list(map(torch.relu, [x, -x]))
    kept = list(filter(lambda n: n % 2, range(5)))
    return parts[0] + parts[1] * sum(kept)


@iterators
def next_of_an_iterator_made_within(x: Tensor) -> Tensor:
    steps = iter([x, x + 1, x + 2])
    next(steps)
    return next(steps) * 2 + next(steps) + next(steps, x)


@iterators
def groups_of_equals(x: Tensor) -> Tensor:
    total = x
    for key, group in itertools.groupby([1, 1, 2, 3, 3]):
        total = total + key * len(list(group))
    return total


@iterators
def a_generator_within(x: Tensor) -> Tensor:
    def rows() -> Iterator[Tensor]:
        for i in range(3):
            yield x * i
            if i == 1:
                return

    return torch.stack(list(rows())).sum(0)


@iterators
def a_generator_that_is_sent_to(x: Tensor) -> Tensor:
    def running() -> Any:
        total = x
        while True:
            added = yield total
            total = total + added

    steps = running()
    next(steps)
    steps.send(x * 2)
    return steps.send(1.0)


@iterators
def a_generator_of_a_generator(x: Tensor) -> list[Tensor]:
    def inner(n: int) -> Any:
        for i in range(n):
            yield x + i
        return n

    def outer() -> Iterator[Tensor]:
        count = yield from inner(2)
        yield x * count

    return list(outer())


@program("iterators")
def a_generator_that_is_returned(compiling: Compiling) -> Call:
    def f(x: Tensor) -> Iterator[Tensor]:
        y = x.relu()
        return (y * i for i in range(3))

    compiled = compiling(f)
    return lambda size: list(compiled(torch.randn(size, 4)))


@program("iterators")
def a_compiled_generator(compiling: Compiling) -> Call:
    def f(x: Tensor) -> Iterator[Tensor]:
        for i in range(3):
            yield x.relu() * i

    compiled = compiling(f)
    return lambda size: list(compiled(torch.randn(size, 4)))


@program("iterators")
def an_iterator_that_is_returned(compiling: Compiling) -> Call:
    compiled = compiling(lambda x: zip([x, x + 1], iter([1, 2])))
    return lambda size: list(compiled(torch.randn(size, 4)))


@program("iterators")
def an_iterator_that_is_given(compiling: Compiling) -> Call:
    compiled = compiling(lambda x, steps: x * next(steps) + next(steps))

    def call(size: int) -> object:
        steps = iter([2.0, 3.0, 4.0])
        return compiled(torch.randn(size, 4), steps), list(steps)

    return call


@comprehensions
def a_comprehension_of_a_list(x: Tensor) -> Tensor:
    return torch.stack([row * i for i, row in enumerate(x.unbind(1)) if i != 2], 1)


@comprehensions
def a_comprehension_of_a_dictionary(x: Tensor) -> dict[str, Tensor]:
    return {f"row{i}": x[:, i] * i for i in range(x.shape[1])}


@comprehensions
def a_comprehension_of_a_set(x: Tensor) -> Tensor:
    kinds = {n % 3 for n in range(7)}
    return x * len(kinds) + sum(kinds)


@comprehensions
def nested_comprehensions(x: Tensor) -> Tensor:
    return torch.stack([torch.stack([x[:, i] * x[:, j] for j in range(2)]) for i in range(3)])


@comprehensions
def a_comprehension_over_sizes(x: Tensor) -> list[int]:
    return [size * 2 for size in x.shape] + [size for shape in (x.shape, x.t().shape) for size in shape]


@comprehensions
def a_comprehension_with_a_walrus(x: Tensor) -> Tensor:
    return sum([y for i in range(4) if (y := x * i).shape[0] > 0])


@decorators
def a_decorator_of_its_own(x: Tensor) -> Tensor:
    def twice(f: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        @functools.wraps(f)
        def run(y: Tensor) -> Tensor:
            return f(f(y))

        return run

    @twice
    def step(y: Tensor) -> Tensor:
        return y.relu() + 1

    return step(x)


@decorators
def a_function_that_remembers(x: Tensor) -> Tensor:
    @functools.lru_cache
    def powers(n: int) -> int:
        return 2**n

    return x * powers(3) + powers(3)


@decorators
def a_function_without_gradients(x: Tensor) -> Tensor:
    @torch.no_grad()
    def frozen(y: Tensor) -> Tensor:
        return y * 2

    y = x.clone().requires_grad_()
    return frozen(y) + y


@decorators
def a_function_by_type(x: Tensor) -> Tensor:
    @functools.singledispatch
    def shown(value: object) -> float:
        return 0.0

    @shown.register
    def _(value: str) -> float:
        return 1.0

    @shown.register
    def _(value: float) -> float:
        return value * 2

    return x + shown("a") + shown(2.0) + shown(None)


@decorators
def globals_are_read(x: Tensor) -> Tensor:
    return x * FACTORS["weight"] + FACTORS["bias"] + SHIFT


@program("globals")
def a_global_that_is_written(compiling: Compiling) -> Made:
    scope: dict[str, Any] = {"torch": torch, "COUNT": 0, "LAST": None}
    exec("def f(x):\n    global COUNT, LAST\n    COUNT += 1\n    LAST = x.mean()\n    return x * COUNT + LAST\n", scope)
    compiled = compiling(scope["f"])
    return lambda size: compiled(torch.randn(size, 4)), lambda: (scope["COUNT"], scope["LAST"])


@program("globals")
def a_global_that_others_change(compiling: Compiling) -> Call:
    scope: dict[str, Any] = {"SCALE": 1.0, "ITEMS": [1.0]}
    exec("def f(x):\n    return x * SCALE + sum(ITEMS)\n", scope)
    compiled = compiling(scope["f"])

    def call(size: int) -> object:
        scope["SCALE"] = float(size % 3)
        scope["ITEMS"].append(float(size))
        return compiled(torch.randn(size, 4))

    return call
