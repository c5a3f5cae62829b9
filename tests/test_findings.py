"""The page of findings says what is recorded; if it fails, run `python -m benchmarks.findings publish`."""

import logging
from collections.abc import Iterator
from importlib import metadata

import pytest

from benchmarks.findings.page import PAGE, page, seen
from benchmarks.findings.record import KINDS
from benchmarks.findings.worker import SURVEYS, survey


@pytest.fixture(autouse=True)
def not_quiet_for_long() -> Iterator[None]:
    """Surveys run in processes of their own, which they silence."""
    disabled = logging.root.manager.disable
    yield
    logging.disable(disabled)


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page()


def test_each_survey_is_there_and_each_kind_of_finding_known() -> None:
    summaries, found = seen()
    assert set(summaries) == set(SURVEYS)
    assert {finding.kind for each in found.values() for one in each for finding in one.findings} <= set(KINDS)


@pytest.mark.parametrize(("name", "library"), [("torch", "torch"), ("onnx", "onnxruntime"), ("jax", "jax")])
def test_a_finding_can_be_seen_again(name: str, library: str) -> None:
    """Each row of the page of findings is true of the installed version."""
    pytest.importorskip(library)
    again = survey(name).again
    summaries, found = seen()
    told = summaries[name].versions.split(", ")
    if told != [f"{each.split()[0]} {metadata.version(each.split()[0])}" for each in told]:
        pytest.skip("another version is installed")
    tried = [(one.operator, finding) for one in found[name] for finding in one.findings if finding.kind != "crash"]
    for operator, finding in tried[:3]:
        assert again(operator, finding) is not None, operator
