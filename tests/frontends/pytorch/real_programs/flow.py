"""Control flow: errors that are raised and caught, contexts, branches and loops on data and on sizes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from tests.frontends.pytorch.real_programs.running import Call, Compiling, Made, of_one, program

Tensor = torch.Tensor
errors, contexts, data, loops = map(of_one, ("errors", "contexts", "branches on data", "loops"))


class Wrong(Exception):
    """An error of the program's own."""

    def __init__(self, text: str, code: int = 0) -> None:
        super().__init__(text)
        self.code = code


@errors
def what_finally_does(x: Tensor) -> object:
    order = []
    try:
        order.append("try")
        y = x * 2
    finally:
        order.append("finally")
    return y, order


@errors
def a_return_in_a_try(x: Tensor) -> object:
    order = []

    def inner() -> Tensor:
        try:
            return x * 2
        finally:
            order.append("left")

    return inner(), order


@errors
def caught_by_a_base_class(x: Tensor) -> Tensor:
    try:
        raise Wrong("so", 3)
    except Exception as error:
        return x * error.code + len(error.args)  # type: ignore[attr-defined]


@errors
def caught_and_raised_again(x: Tensor) -> object:
    try:
        try:
            {}["missing"]
        except KeyError as error:
            raise Wrong("again") from error
    except Wrong as error:
        return x + 1, str(error), type(error.__cause__).__name__


@errors
def else_and_finally(x: Tensor) -> object:
    steps = []
    for i in range(3):
        try:
            if i == 1:
                raise ValueError(i)
        except ValueError:
            steps.append("except")
            continue
        else:
            steps.append("else")
            x = x * 2
        finally:
            steps.append("finally")
    return x, steps


@errors
def a_missing_attribute(x: Tensor) -> Tensor:
    try:
        return x.no_such_thing
    except AttributeError:
        return x * 3


@errors
def an_iterator_that_ends(x: Tensor) -> Tensor:
    steps = iter([x])
    total = x
    while True:
        try:
            total = total + next(steps)
        except StopIteration:
            return total


@program("errors")
def an_error_of_a_size(compiling: Compiling) -> Call:
    def f(x: Tensor) -> Tensor:
        if x.shape[0] > 4:
            raise Wrong(f"{x.shape[0]} rows", 5)
        return x * 2

    compiled = compiling(f)

    def call(size: int) -> object:
        try:
            return compiled(torch.randn(size, 4))
        except Wrong as error:
            return error.code, str(error)

    return call


@program("errors")
def an_error_of_torch(compiling: Compiling) -> Call:
    compiled = compiling(lambda x, y: x @ y)

    def call(size: int) -> object:
        try:
            return compiled(torch.randn(size, 4), torch.randn(4 if size < 5 else 3, 2))
        except RuntimeError as error:
            return type(error).__name__

    return call


@program("errors")
def an_assertion(compiling: Compiling) -> Call:
    def f(x: Tensor) -> Tensor:
        assert x.shape[0] != 5, "not five"
        return x * 2

    compiled = compiling(f)

    def call(size: int) -> object:
        try:
            return compiled(torch.randn(size, 4))
        except AssertionError as error:
            return str(error)

    return call


@program("errors")
def what_was_changed_before_an_error(compiling: Compiling) -> Made:
    kept: list[int] = []

    def f(x: Tensor) -> Tensor:
        kept.append(x.shape[0])
        x.add_(1)
        if x.shape[0] == 5:
            raise Wrong("five")
        kept.append(-1)
        return x

    compiled = compiling(f)

    def call(size: int) -> object:
        x = torch.zeros(size, 4)
        try:
            return compiled(x), x
        except Wrong:
            return x

    return call, lambda: kept


@program("errors")
def an_error_of_data(compiling: Compiling) -> Call:
    def f(x: Tensor) -> Tensor:
        if x.sum() > 0:
            raise Wrong("positive")
        return x * 2

    compiled = compiling(f)

    def call(size: int) -> object:
        try:
            return compiled(torch.ones(size, 4) * (1 if size == 5 else -1))
        except Wrong as error:
            return str(error)

    return call


@contexts
def a_context_of_its_own(x: Tensor) -> object:
    order = []

    class Scope:
        def __enter__(self) -> Scope:
            order.append("in")
            return self

        def __exit__(self, kind: object, *rest: object) -> bool:
            order.append("out" if kind is None else "error")
            return True

    with Scope():
        x = x * 2
    with Scope():
        raise ValueError
    return x, order


@contexts
def a_context_made_of_a_generator(x: Tensor) -> object:
    order = []

    @contextlib.contextmanager
    def scope(name: str) -> Iterator[int]:
        order.append(name)
        try:
            yield len(order)
        finally:
            order.append("end of " + name)

    with scope("a") as one, scope("b") as other:
        x = x * one + other
    return x, order


@contexts
def contexts_of_the_library(x: Tensor) -> Tensor:
    with contextlib.suppress(KeyError), contextlib.nullcontext(2.0) as factor:
        x = x * factor
        {}["missing"]
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        return x * 3


@contexts
def gradients_off_and_on(x: Tensor) -> object:
    y = x.detach().requires_grad_()
    with torch.no_grad():
        a = y * 2
        with torch.enable_grad():
            b = y * 3
    with torch.set_grad_enabled(False):
        c = y * 4
    return a, b, c, torch.is_grad_enabled()


@contexts
def autocast_in_part(x: Tensor) -> object:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x.t()
        with torch.autocast("cpu", enabled=False):
            z = x @ x.t()
    return y, z, x @ x.t()


@program("contexts")
def called_without_gradients_at_times(compiling: Compiling) -> Call:
    weight = torch.ones(4, requires_grad=True)
    compiled = compiling(lambda x: x * weight)

    def call(size: int) -> object:
        x = torch.randn(size, 4)
        with torch.no_grad():
            frozen = compiled(x)
        with torch.inference_mode():
            inferred = compiled(x)
        return compiled(x), frozen, inferred

    return call


@program("contexts")
def called_under_autocast_at_times(compiling: Compiling) -> Call:
    compiled = compiling(lambda x, y: x @ y)

    def call(size: int) -> object:
        x, y = torch.randn(size, 4), torch.randn(4, size)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=size > 3):
            return compiled(x, y)

    return call


@data
def a_branch_on_a_sum(x: Tensor) -> Tensor:
    y = x * 2
    if y.sum() > 0:
        return y + 1
    return y - 1


@data
def both_sides_of_a_branch(x: Tensor) -> Tensor:
    if x.mean() > 0:
        y = x.relu()
    else:
        y = x.exp()
    return y.sum(0)


@data
def a_number_out_of_data(x: Tensor) -> Tensor:
    n = int(x.abs().sum().item()) % 3
    return x * n + n


@data
def a_size_out_of_data(x: Tensor) -> Tensor:
    n = int((x > 0).sum())
    return torch.zeros(n, 2).sum() + x.sum() + n


@data
def what_is_selected(x: Tensor) -> object:
    chosen = x[x > 0]
    return chosen * 2, (x > 0).nonzero().shape[1], torch.unique(x.round())


@data
def and_or_not_of_tensors(x: Tensor) -> Tensor:
    if x.sum() > 0 and not x.mean() > 100 or x.max() > 50:
        return x * 2
    return x * 3


@data
def a_tensor_as_an_index(x: Tensor) -> object:
    items = ["a", "b", "c"]
    index = torch.tensor(1)
    return items[index], x[index % x.shape[0]], list(range(5))[index]


@data
def any_and_all_of_data(x: Tensor) -> Tensor:
    if torch.any(x > 100) or (x == x).all():
        x = x + 1
    return x * 2 if torch.equal(x, x) else x


@data
def a_list_of_data(x: Tensor) -> object:
    numbers = x[0].tolist()
    return [n * 2 for n in numbers], x * len(numbers), max(numbers)


@data
def a_boolean_of_a_tensor(x: Tensor) -> object:
    flag = bool(x.sum() > 0)
    return x * 2 if flag else x * 3, flag, float(x.max()), int(x.argmax())


@loops
def a_loop_until_it_is_small(x: Tensor) -> object:
    steps = 0
    while x.abs().max() > 0.1:
        x = x / 2
        steps += 1
    return x, steps


@loops
def a_loop_over_a_size(x: Tensor) -> Tensor:
    total = torch.zeros(4)
    for i in range(x.shape[0]):
        if i % 2:
            continue
        total = total + x[i] * i
        if i > 4:
            break
    else:
        total = total * 2
    return total


@loops
def a_loop_over_rows(x: Tensor) -> Tensor:
    total = torch.zeros(4)
    for row in x:
        total = total * 0.5 + row
    return total


@loops
def a_while_over_a_number(x: Tensor) -> Tensor:
    n = x.shape[0]
    while n > 1:
        x = x + n
        n //= 2
    return x


@loops
def a_fold_of_halves(x: Tensor) -> Tensor:
    while x.shape[0] > 1:
        half = x.shape[0] // 2
        x = torch.cat([x[:half] + x[half : 2 * half], x[2 * half :]])
    return x
