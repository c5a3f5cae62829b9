"""Dtypes that no kernel takes: a trace raises what the operator raises. Others have no guards."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

from frontends.pytorch import trace

NUMBERS, TRUTHS = torch.arange(1, 7).view(2, 3), torch.ones(2, 3, dtype=torch.bool)
REFUSED = {
    "mish": (functional.mish, NUMBERS),
    "softplus": (functional.softplus, NUMBERS),
    "round": (torch.round, TRUTHS),
    "subtraction": (lambda x: x - x, TRUTHS),
    "logaddexp": (lambda x: torch.logaddexp(x, x), NUMBERS),
    "in place, of a float": (lambda x: x.clone().logit_(), NUMBERS),
    "in place, of a complex number": (lambda x: x.clone().addcdiv_(x, x * 1j), NUMBERS.float()),
}


@pytest.mark.parametrize("name", REFUSED)
def test_dtypes_without_a_kernel(name: str) -> None:
    """A program that is an error in eager torch is traced."""
    function, x = REFUSED[name]
    with pytest.raises((RuntimeError, NotImplementedError)) as expected:
        function(x)
    with pytest.raises(type(expected.value)) as found:
        trace(function, (x,))
    assert str(found.value) == str(expected.value)


def test_integers_that_become_floats() -> None:
    """An operator that has a kernel for a dtype is refused, or has another dtype."""
    for function in (torch.sqrt, torch.sigmoid, torch.true_divide, torch.atan2):
        args = (NUMBERS, TRUTHS)[: 1 if function in (torch.sqrt, torch.sigmoid) else 2]
        assert trace(function, args).outputs[0].metadata.dtype is function(*args).dtype


def test_expanded_masks_have_no_guards() -> None:
    """A mask that is expanded and becomes floats costs guards on its sizes: a model is captured again for size 1."""
    mask = torch.ones(3, 7) > 0
    programs: list[Callable[[torch.Tensor], torch.Tensor]] = [
        lambda m: m[:, None, None, :].expand(m.shape[0], 1, m.shape[1], m.shape[1]) * 1.5,
        lambda m: 1.0 - m[None, None].expand(4, 1, m.shape[0], m.shape[1]).long() * 2.0,
        lambda m: torch.where(m[None].expand(4, m.shape[0], m.shape[1]), torch.zeros(()), torch.tensor(-1.0)),
    ]
    for program in programs:
        assert trace(program, (mask,)).guards == ()
