"""Programs by families of features, compiled and by eager torch: nothing that a caller can see differs."""

import warnings

import pytest

from tests.frontends.pytorch.differential.comparing import agrees
from tests.frontends.pytorch.differential.programs import PROGRAMS

KNOWN = {
    "tensors-structseq text": "the text of a result names the graph",
    "texts-str scalar": "the same",
    "raised and caught-map is returned": "Dynamo's type of `enumerate`",
    "mutation-chunks are changed": "Dynamo's rows of a tensor are no views of one operator",
    "tensors-iterate and add": "the same",
    "generators-iter len bool": "Dynamo's truth of an object takes a negative length",
}
"""Those of docs/differences.md."""


def marks(name: str) -> list[pytest.MarkDecorator]:
    """The marks of a program: a known failure, and a thorough run only."""
    known = [pytest.mark.xfail(strict=True, reason=KNOWN[name])] if name in KNOWN else []
    return [*known, pytest.mark.thorough] if PROGRAMS[name].thorough else known


NAMES = [pytest.param(name, marks=marks(name)) for name in PROGRAMS]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "cpu"])
@pytest.mark.parametrize("name", NAMES)
def test_program(name: str, backend: str) -> None:
    """A compiled program does what it does in Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agrees(PROGRAMS[name], backend)
