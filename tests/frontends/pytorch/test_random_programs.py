"""Random programs, traced: each form of the graph does what eager torch does, at the traced sizes and at others."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import pytest
import torch

from frontends.pytorch import Variant, trace
from frontends.pytorch.errors import Unsupported
from frontends.pytorch.graphs.functional import functional
from shapes.errors import UndecidedGuard
from tests.backends.evaluation import evaluate
from tests.frontends.pytorch.against_eager import admits, agrees_at, tensors
from tests.frontends.pytorch.differential.generated import generated, is_stateful, written
from tests.frontends.pytorch.lowering.lowered import written as lowered

SIZES: Final = [{"n": n, "m": m} for n, m in ((3, 4), (5, 2), (2, 7), (4, 4), (1, 6), (3, 1), (1, 1))]
"""The first is traced."""
REFUSALS: Final = (RuntimeError, IndexError, ValueError)
Run = Callable[..., Any]


def with_gradients(program: Callable[..., object]) -> Callable[..., object]:
    """The program, with the gradients of a sum of its results."""

    def both(*inputs: torch.Tensor) -> object:
        leaves = [each.detach().requires_grad_() for each in inputs]
        results = program(*[leaf * 1 for leaf in leaves])
        learned = [each for each in tensors(results) if each.requires_grad]
        total = sum([(each * each).sum() for each in learned])
        return results, torch.autograd.grad(total, leaves, allow_unused=True) if learned else ()

    return both


def forms(variant: Variant) -> Iterator[Run]:
    """The graph, the graph without changes in place, and its expressions."""
    yield variant.graph
    try:
        form = functional(variant)
        program, _ = lowered(form, variant)
    except Unsupported:
        # it runs operator by operator
        return
    yield form.graph
    yield lambda *inputs: evaluate(program, inputs)


def check(seed: int, of: Callable[[Variant], Iterator[Run]] = forms) -> bool:
    """Compare a program with eager torch; False if it cannot be traced."""
    case = generated(seed)
    program, _ = case.make()
    program = with_gradients(program) if case.learned else program
    arguments = lambda sizes: [each.double() for each in case.arguments(sizes, seed)]  # noqa: E731
    try:
        program(*arguments(SIZES[0]))
        variant = trace(program, arguments(SIZES[0]))
    except (*REFUSALS, UndecidedGuard, Unsupported):
        return False
    runs = list(of(variant))
    for sizes in SIZES:
        inputs = arguments(sizes)
        if not admits(variant, inputs):
            assert sizes is not SIZES[0]
            continue
        try:
            program(*copy.deepcopy(inputs))
        except REFUSALS as refusal:
            # what copies in the graph may be a view in eager, of which `view` refuses a view
            if "view size is not compatible" not in str(refusal):
                with pytest.raises(REFUSALS):
                    variant.graph(*copy.deepcopy(inputs))
            continue
        for run in runs:
            try:
                agrees_at(variant, program, inputs, run)
            except RuntimeError as error:
                # a check of the run: a size that only the run tells is where eager would broadcast it
                assert any(str(error).startswith(each.text) for each in variant.runtime_asserts), error
    return True


def check_all(seeds: Sequence[int], of: Callable[[Variant], Iterator[Run]] = forms) -> None:
    """Compare the programs of these numbers that have no state, of which most can be traced."""
    pure = [seed for seed in seeds if not is_stateful(seed)]
    traced = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in pure:
            try:
                traced += check(seed, of)
            except AssertionError as error:
                raise AssertionError(f"{error}\n{written(seed)}") from None
    assert traced > len(pure) / 2


@pytest.mark.parametrize("first", [0, *[pytest.param(each, marks=pytest.mark.thorough) for each in range(45, 405, 45)]])
def test_forms(first: int) -> None:
    """Fails when a graph, its gradients or a form of it gives other values, strides, changes or shared memory."""
    check_all(range(first, first + 45))
