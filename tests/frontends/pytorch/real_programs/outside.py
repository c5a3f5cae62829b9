"""State outside of torch: NumPy, random numbers of Python and NumPy, printed, logged and warned text."""

# ruff: noqa: SIM905 - how it is spelled is what is tested

from __future__ import annotations

import logging
import math
import random
import sys
import warnings
from typing import Any

import numpy as np
import torch

from tests.frontends.pytorch.real_programs.running import Call, Compiling, Made, of_one, program

Tensor = torch.Tensor
arrays, random_numbers, texts = map(of_one, ("NumPy", "random numbers", "what is printed"))


@arrays
def numpy_functions(x: Tensor) -> Tensor:
    y = np.sin(x.numpy()) + np.ones(4, dtype=np.float32)
    return torch.from_numpy(y) * 2


@arrays
def an_array_of_constants(x: Tensor) -> Tensor:
    weight = np.array([1.0, 2.0, 3.0, 4.0], dtype=np.float32)
    return x * torch.from_numpy(weight) + float(weight.sum()) + np.float64(2.5)


@arrays
def numbers_of_numpy(x: Tensor) -> object:
    n = np.int64(3)
    return x * n, x + np.pi, x.reshape(-1, np.prod((2, 2))), int(np.sqrt(16))


@arrays
def memory_that_is_shared_with_numpy(x: Tensor) -> object:
    y = x.clone()
    array = y.numpy()
    array[0] = 7.0
    return y * 2, array.mean()


@program("NumPy")
def arrays_that_are_given(compiling: Compiling) -> Call:
    compiled = compiling(lambda a, b: (a @ b.T, a.sum(axis=0), a.shape[0]))
    return lambda size: compiled(np.ones((size, 4), dtype=np.float32), np.full((2, 4), 2.0, dtype=np.float32))


@program("NumPy")
def an_array_among_globals(compiling: Compiling) -> Call:
    table = np.arange(4, dtype=np.float32)
    compiled = compiling(lambda x: x * torch.as_tensor(table) + table[1])

    def call(size: int) -> object:
        table[1] = size
        return compiled(torch.randn(size, 4))

    return call


@random_numbers
def numbers_of_python(x: Tensor) -> Tensor:
    return x * random.random() + random.randint(1, 6)


@random_numbers
def a_choice(x: Tensor) -> object:
    items = [1.0, 2.0, 3.0]
    random.shuffle(items)
    return x * random.choice(items), random.uniform(0, 1), items


@random_numbers
def a_generator_of_python(x: Tensor) -> Tensor:
    return x * random.Random(3).random()


@random_numbers
def numbers_of_numpy_drawn(x: Tensor) -> Tensor:
    return x * float(np.random.rand()) + torch.from_numpy(np.random.randn(4).astype(np.float32))


@random_numbers
def a_branch_on_chance(x: Tensor) -> Tensor:
    return x * 2 if random.random() < 0.5 else x + torch.rand_like(x)


@random_numbers
def numbers_of_torch(x: Tensor) -> object:
    mask = torch.bernoulli(torch.full_like(x, 0.5))
    return x * mask, torch.randn(3), torch.randperm(x.shape[0]), torch.nn.functional.dropout(x, 0.3), torch.rand(())


@random_numbers
def a_seed_within(x: Tensor) -> object:
    torch.manual_seed(3)
    return x * torch.rand(4), torch.initial_seed()


@random_numbers
def a_generator_of_torch(x: Tensor) -> Tensor:
    generator = torch.Generator().manual_seed(7)
    return x * torch.rand(4, generator=generator) + torch.randn(4, generator=generator)


@random_numbers
def a_state_that_is_put_back(x: Tensor) -> object:
    state = torch.get_rng_state()
    a = torch.rand(3)
    torch.set_rng_state(state)
    return a, torch.rand(3), x


@texts
def prints_text(x: Tensor) -> Tensor:
    print("before")
    y = x * 2
    print("after", 3, sep=": ", end="!\n")
    return y


@texts
def prints_a_tensor(x: Tensor) -> Tensor:
    y = x.sum()
    print(y)
    return x * y


@texts
def prints_between_operators(x: Tensor) -> Tensor:
    for i in range(3):
        x = x.relu() + i
        print(f"step {i}: {tuple(x.shape)} {x.dtype}")
    return x


@texts
def prints_what_data_says(x: Tensor) -> Tensor:
    print(f"{x.sum().item():.3f}", round(float(x.max()), 2))
    return x * 2


@texts
def writes_to_standard_output(x: Tensor) -> Tensor:
    sys.stdout.write(f"{x.shape[0]} rows\n")
    return x + 1


@texts
def formats_sizes(x: Tensor) -> object:
    rows, columns = x.shape
    return f"{rows}x{columns}", "%d-%s" % (rows, columns), "{:>4}".format(rows), str(x.shape), x * len(f"{rows}")  # noqa: UP031, UP032


@texts
def a_warning(x: Tensor) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("so", stacklevel=2)
    return x * 2


@texts
def logs_a_line(x: Tensor) -> Tensor:
    logging.getLogger("tests.real_programs").debug("%s rows", x.shape[0])
    return x * math.sqrt(x.shape[0])


@texts
def text_that_decides(x: Tensor) -> Any:
    for name in "relu,exp".split(","):
        x = getattr(x, name.strip().lower())()
    return x if "-".join(["a", "b"]).startswith("a") else x * 2


@program("what is printed")
def prints_at_the_first_call_only(compiling: Compiling) -> Made:
    told: list[str] = []

    def f(x: Tensor) -> Tensor:
        if not told:
            told.append("once")
            print("told once")
        return x * 2

    compiled = compiling(f)
    return lambda size: compiled(torch.randn(size, 4)), lambda: told
