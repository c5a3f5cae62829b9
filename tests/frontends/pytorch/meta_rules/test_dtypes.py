"""Dtypes that no kernel takes: a trace raises what the operator raises."""

from __future__ import annotations

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
