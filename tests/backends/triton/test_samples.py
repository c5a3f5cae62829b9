"""Samples of torch's operators through Triton's interpreter beside eager: one in so many, by name, so that all families
are there. `python -m benchmarks.operators --backend triton` goes through all of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.operators.programs import database
from benchmarks.operators.record import seen
from benchmarks.operators.worker import Worker

pytestmark = pytest.mark.shared  # one process judges all of them
EVERY = 19
OTHERS = {"bfloat16": 61, "float16": 83, "float64": 97, "int64": 53, "int8": 61, "uint8": 50, "bool": 47}
"""Dtypes besides float32, and which operators are looked at in them."""
EVERY_BACKWARD = 53
PARTS = 3
"""Cases of a dtype: torch's database takes seconds to load, so the names are not asked of it to collect the tests."""


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """A process with the interpreter on."""
    made = Worker("triton")
    yield made
    made.end()


def wrong(worker: Worker, name: str, *, backward: bool = False, dtype: str = "float32") -> list[str]:
    """The differences from eager, and errors, on the first sample and at other sizes."""
    outcome = worker.judge(name, 1, backward=backward, dtype=dtype)
    known = seen("backward" if backward else "forward").get(name)
    return [*outcome.wrong, *outcome.stopped, *(outcome.failed if known is None or not known.failed else ())]


@pytest.mark.parametrize("name", sorted(seen("forward"))[::EVERY])
def test_operators_are_as_eager(name: str, worker: Worker) -> None:
    """Every operator agrees with eager through Triton's kernels."""
    assert wrong(worker, name) == []


@pytest.mark.parametrize("name", sorted(seen("backward"))[::EVERY_BACKWARD])
def test_gradients_are_as_eager(name: str, worker: Worker) -> None:
    """Gradients agree with eager through Triton's kernels."""
    assert wrong(worker, name, backward=True) == []


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("dtype", "every"), OTHERS.items())
def test_other_dtypes_are_as_eager(dtype: str, every: int, part: int, worker: Worker) -> None:
    """Operators agree with eager in other dtypes: in loads, computation and rounding."""
    names = sorted(database(dtype))[::every][part::PARTS]
    found = {name: wrong(worker, name, dtype=dtype) for name in names}
    assert found
    assert {name: differs for name, differs in found.items() if differs} == {}
