"""Torch's settings, hooks of modules, containers, and who a tensor is: as in eager torch, at every call."""

from __future__ import annotations

import pytest

from tests.frontends.pytorch.observed import compared
from tests.frontends.pytorch.state_programs import PROGRAMS

RETURNED = "a container that was given is returned as another one"
KNOWN = {
    **dict.fromkeys(("list_returned", "list_returned_within", "containers_copied"), RETURNED),
    "attribute_of_argument_set": RETURNED,
    **dict.fromkeys(("identity_number_returned", "hash_returned", "identity_of_closure"), "`id()` of an argument"),
    "dictionary_by_tensor_returned": "a tensor as a key of what is returned",
    "to_array": "numpy.asarray between breaks",
    **dict.fromkeys(("attribute_of_tensor_set", "attribute_of_argument_tensor_set"), "attributes of tensors"),
    "attributes_of_tensors": "attributes of tensors",
    "hook_registered_inside": "a hook that the call registers",
}


@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.xfail(strict=True, reason=KNOWN[name])) if name in KNOWN else name
        for name in PROGRAMS
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_as_eager(name: str, backend: str) -> None:
    """If it fails, a compiled function goes by what held at its first call, or does something at that call only."""
    assert compared(PROGRAMS[name], backend) == []
