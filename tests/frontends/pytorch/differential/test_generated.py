"""Random programs of Python, compiled and by eager torch: nothing that a caller can see differs."""

import warnings

import pytest

from frontends.pytorch import compile
from tests.frontends.pytorch.differential.comparing import agrees
from tests.frontends.pytorch.differential.generated import generated, written


def check(seed: int, backend: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            agrees(generated(seed), lambda function: compile(function, backend=backend, dynamic=True))
        except AssertionError as error:
            raise AssertionError(f"{error}\n{written(seed)}") from None


@pytest.mark.parametrize("seed", range(60))
def test_some(seed: int) -> None:
    """A compiled program does what it does in Python."""
    check(seed, "cpu" if seed % 6 == 0 else "eager")


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(60, 460, 50))
def test_many(first: int) -> None:
    """A compiled program does what it does in Python."""
    for seed in range(first, first + 50):
        check(seed, "cpu" if seed % 6 == 0 else "eager")
