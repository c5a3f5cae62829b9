"""Logs as torch prints them, which `tests/frontends/pytorch/certificates/printed_logs.py` writes."""

import gzip
import json
from pathlib import Path

import pytest

from shapes.certification.certificates import Conditions
from shapes.certification.certifying import certify
from shapes.certification.torch_logs import is_log, read_log

PACKED = Path(__file__).with_name("printed_logs.jsonl.gz").read_bytes()
LOGS = [json.loads(line) for line in gzip.decompress(PACKED).decode().splitlines()]


def guards(variants: list[Conditions]) -> tuple[int, int]:
    """The guards that were understood, and the others."""
    faulty = sum(bool(each.fault) for variant in variants for each in variant.conditions)
    judged = sum(len(variant.conditions) for variant in variants)
    return judged - faulty + sum(len(variant.state) for variant in variants), faulty


def test_nearly_all_guards_are_understood() -> None:
    """At most 2 % of what torch prints is left to the reader."""
    counted = [guards(read_log(each["log"].splitlines())) for each in LOGS]
    understood, faulty = map(sum, zip(*counted, strict=True))
    assert len(LOGS) == 30 and understood > 1000
    assert understood >= 0.98 * (understood + faulty)


@pytest.mark.parametrize("each", LOGS[:12], ids=lambda each: each["program"])
def test_a_log_that_breaks_off_is_not_proven(each: dict[str, str]) -> None:
    """A log is proven by the end of its lists of guards alone."""
    lines = each["log"].splitlines()
    assert is_log(lines)
    last = max(number for number, line in enumerate(lines) if "+- " in line)
    assert certify(read_log(lines[: last + 1]), {}, solvers=False).status != "proven"
