"""Random programs of tensors by kernels: their values and gradients are eager torch's at every size."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from backends import cpu
from frontends.pytorch import Variant
from tests.frontends.pytorch.test_random_programs import Run, check_all


def kernels(variant: Variant) -> Iterator[Run]:
    call = variant.run_by(cpu)
    assert "failed with status" not in variant.running.note
    yield lambda *inputs: call(list(inputs))


@pytest.mark.parametrize("first", [0, *[pytest.param(each, marks=pytest.mark.thorough) for each in range(45, 405, 45)]])
def test_kernels_compute_what_eager_does(first: int) -> None:
    """Fails when kernels of a program, or of its gradients, give other numbers, or their code does not compile."""
    check_all(range(first, first + 45), kernels)
