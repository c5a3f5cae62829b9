"""Functions as Python has them: closures, functions that are made and returned, arguments of every kind."""

# ruff: noqa: B023, PIE804 - how it is spelled is what is tested

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import torch

from tests.frontends.pytorch.real_programs.running import Call, Compiling, Made, of_one, program

Tensor = torch.Tensor
closures, made, arguments = map(of_one, ("closures", "functions that are made", "arguments"))


@closures
def a_closure_over_a_size(x: Tensor) -> Tensor:
    rows = x.shape[0]

    def scaled(y: Tensor) -> Tensor:
        return y * rows

    return scaled(x) + scaled(x.t()).sum()


@closures
def a_closure_that_counts_within_the_call(x: Tensor) -> Tensor:
    count = 0

    def step(y: Tensor) -> Tensor:
        nonlocal count
        count += 1
        return y + count

    return step(step(x)) * count


@closures
def a_closure_that_is_changed_after_it_was_made(x: Tensor) -> Tensor:
    factor = 2.0

    def scaled(y: Tensor) -> Tensor:
        return y * factor

    first = scaled(x)
    factor = 3.0
    return first + scaled(x)


@closures
def functions_made_in_a_loop(x: Tensor) -> Tensor:
    late = [lambda y: y + step for step in range(3)]
    early = [lambda y, step=step: y + step for step in range(3)]
    return sum([f(x) for f in late]) - sum([f(x) for f in early])


@closures
def a_function_that_calls_itself(x: Tensor) -> Tensor:
    def folded(y: Tensor, depth: int) -> Tensor:
        return y if depth == 0 else folded(torch.tanh(y) + depth, depth - 1)

    return folded(x, 4)


@closures
def two_functions_that_call_each_other(x: Tensor) -> Tensor:
    def even(y: Tensor, n: int) -> Tensor:
        return y if n == 0 else odd(y * 2, n - 1)

    def odd(y: Tensor, n: int) -> Tensor:
        return y if n == 0 else even(y - 1, n - 1)

    return even(x, 5)


@program("closures")
def a_closure_with_state_of_its_own(compiling: Compiling) -> Made:
    total = torch.zeros(4)

    def step(x: Tensor) -> Tensor:
        nonlocal total
        total = total + x.sum(0)
        return total * 2

    compiled = compiling(step)
    return lambda size: compiled(torch.randn(size, 4)), lambda: total


@program("closures")
def two_functions_that_share_a_variable(compiling: Compiling) -> Made:
    seen = 0

    def first(x: Tensor) -> Tensor:
        nonlocal seen
        seen += x.shape[0]
        return x + seen

    def second(x: Tensor) -> Tensor:
        return x * seen

    one, other = compiling(first), compiling(second)
    return lambda size: other(one(torch.randn(size, 4))), lambda: seen


@program("functions that are made")
def a_function_that_is_returned(compiling: Compiling) -> Call:
    def make(x: Tensor) -> Callable[[Tensor], Tensor]:
        weight = x.mean(0)

        def apply(y: Tensor) -> Tensor:
            return y * weight

        return apply

    compiled = compiling(make)
    return lambda size: compiled(torch.ones(size, 4))(torch.randn(size, 4))


@program("functions that are made")
def a_lambda_that_is_returned(compiling: Compiling) -> Call:
    compiled = compiling(lambda x: (x + 1, lambda: 3))

    def call(size: int) -> object:
        y, three = compiled(torch.randn(size, 4))
        return y, three()

    return call


@program("functions that are made")
def a_partial_that_is_returned(compiling: Compiling) -> Call:
    compiled = compiling(lambda x: functools.partial(torch.add, x.relu()))
    return lambda size: compiled(torch.randn(size, 4))(1.0)


@program("functions that are made")
def a_method_that_is_returned(compiling: Compiling) -> Call:
    compiled = compiling(lambda x: x.relu().sum)
    return lambda size: compiled(torch.randn(size, 4))(0)


@made
def a_composition(x: Tensor) -> Tensor:
    def composed(*functions: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        return functools.reduce(lambda f, g: lambda y: g(f(y)), functions)

    return composed(torch.relu, torch.exp, lambda y: y / y.sum())(x)


@made
def a_partial_of_torch(x: Tensor) -> Tensor:
    clipped = functools.partial(torch.clamp, min=-0.5, max=0.5)
    return clipped(x) + functools.partial(torch.sum, dim=0)(x)


@made
def an_operator_by_name(x: Tensor) -> Tensor:
    table = {"+": operator.add, "*": operator.mul, "-": operator.sub}
    for name in "+*-":
        x = table[name](x, 2)
    return x


@made
def a_getter(x: Tensor) -> Tensor:
    return operator.itemgetter(0)(x) + operator.attrgetter("T")(x).sum(1) + operator.methodcaller("sum", 0)(x)


@made
def a_generic_function_of_two_types(x: Tensor) -> Tensor:
    def doubled(value: Any) -> Any:
        return [doubled(each) for each in value] if isinstance(value, list) else value * 2

    a, (b, c) = doubled([x, [x.shape[0], 1.5]])
    return a + b + c


@arguments
def arguments_by_keyword_only(x: Tensor) -> Tensor:
    def f(y: Tensor, *, scale: float = 2.0, shift: float) -> Tensor:
        return y * scale + shift

    return f(x, shift=1.0) + f(x, shift=0.5, scale=3.0)


@arguments
def arguments_with_stars(x: Tensor) -> Tensor:
    def f(first: Tensor, *rest: Tensor, **named: Tensor) -> Tensor:
        return first + sum(rest) + sum(named.values())

    parts = [x, x + 1]
    return f(x, *parts, a=x, **{"b": x * 2, "c": x * 3})


@arguments
def a_star_in_the_middle(x: Tensor) -> Tensor:
    first, *middle, last = [x * i for i in range(5)]
    return first + torch.stack([*middle, last]).sum(0)


@arguments
def arguments_by_position_only(x: Tensor) -> Tensor:
    def f(y: Tensor, /, z: float = 1.0, *, y_: float = 0.0) -> Tensor:
        return y * z + y_

    return f(x) + f(x, 2.0) + f(x, z=3.0, y_=1.0)


@arguments
def a_default_that_is_shared(x: Tensor) -> Tensor:
    def f(y: Tensor, seen: list[int] = []) -> Tensor:  # noqa: B006 - it is what is tested
        seen.append(1)
        return y + len(seen)

    return f(x) + f(x)


@program("arguments")
def a_default_that_is_kept_between_calls(compiling: Compiling) -> Made:
    def f(x: Tensor, seen: list[int] = []) -> Tensor:  # noqa: B006 - it is what is tested
        seen.append(x.shape[0])
        return x + len(seen)

    compiled = compiling(f)
    return lambda size: compiled(torch.randn(size, 4)), lambda: f.__defaults__


@program("arguments")
def arguments_by_name_in_another_order(compiling: Compiling) -> Call:
    compiled = compiling(lambda x, y, *, scale=1.0: (x - y) * scale)

    def call(size: int) -> object:
        x, y = torch.randn(size, 4), torch.randn(size, 4)
        return compiled(x, y), compiled(y=y, x=x), compiled(x, y=y, scale=2.0)

    return call


@program("arguments")
def many_kinds_of_arguments(compiling: Compiling) -> Call:
    def f(x: Tensor, *rest: Any, flag: bool = False, **named: Any) -> object:
        return x * (2 if flag else 3), len(rest), sorted(named), rest[0] + named["a"]

    compiled = compiling(f)
    return lambda size: compiled(torch.randn(size, 4), size, flag=size > 3, a=1.5, b="text")


@program("arguments")
def an_argument_that_is_none_at_times(compiling: Compiling) -> Call:
    compiled = compiling(lambda x, mask=None: x if mask is None else x.masked_fill(mask, 0.0))

    def call(size: int) -> object:
        x = torch.randn(size, 4)
        return compiled(x), compiled(x, None), compiled(x, x > 0)

    return call


@program("arguments")
def nested_arguments(compiling: Compiling) -> Call:
    compiled = compiling(lambda batch: batch["x"][0] + batch["y"]["z"] * batch["x"][1])
    return lambda size: compiled({"x": [torch.randn(size, 4), 2.0], "y": {"z": torch.randn(size, 1)}})


@program("arguments")
def the_same_tensor_twice(compiling: Compiling) -> Call:
    def f(x: Tensor, y: Tensor) -> Tensor:
        x.add_(1)
        return x * y

    compiled = compiling(f)

    def call(size: int) -> object:
        x, y = torch.randn(size, 4), torch.randn(size, 4)
        return compiled(x, x), compiled(x, y), x, y

    return call


@program("arguments")
def numbers_of_each_kind(compiling: Compiling) -> Call:
    compiled = compiling(lambda x, n, f, b: (x * n + f if b else x - f, n + 1, f * 2, not b))
    return lambda size: compiled(torch.randn(size, 4), size, size / 2, size % 2 == 0)
