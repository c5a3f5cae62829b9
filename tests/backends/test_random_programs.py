"""Random programs of tensor operators by kernels, at the sizes where they were traced and at others, as by eager."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import pytest
import torch
from hypothesis import HealthCheck, given, settings

from backends import cpu
from frontends.pytorch import trace
from frontends.pytorch.errors import Unsupported
from shapes.errors import UndecidedGuard
from tests.effort import examples
from tests.frontends.pytorch.against_eager import admits, same
from tests.frontends.pytorch.test_random_programs import REFUSALS, Program, programs

QUIET = settings(suppress_health_check=list(HealthCheck), deadline=None, derandomize=True, database=None)


def check(program: Program, function: object, sizes: Mapping[str, int], others: Sequence[Mapping[str, int]]) -> None:
    try:
        function(*program.inputs(sizes))
        variant = trace(function, program.inputs(sizes))
    except (*REFUSALS, UndecidedGuard, Unsupported):
        return
    call = variant.run_by(cpu)
    assert "failed with status" not in variant.running.note
    for case in (sizes, *others):
        ours, theirs = program.inputs(case), program.inputs(case)
        if not admits(variant, ours):
            continue
        try:
            expected = function(*theirs)
        except REFUSALS:
            continue
        try:
            with torch.no_grad():
                got = variant.assembled(call(ours))
        except RuntimeError as error:
            assert any(str(error).startswith(each.text) for each in variant.runtime_asserts), error
            continue
        same((got, ours), (expected, theirs))


@pytest.mark.hypothesis
@pytest.mark.parametrize("of", ["values", "gradients"])
def test_kernels_compute_what_eager_does(of: str) -> None:
    """Fails when kernels of a program, or of its gradients, give other numbers, or their code does not compile."""

    @settings(QUIET, max_examples=examples(25))
    @given(programs())
    def run(drawn: tuple[Program, dict[str, int], list[dict[str, int]]]) -> None:
        program, sizes, others = drawn
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check(program, program.gradients if of == "gradients" else program, sizes, others)

    run()
