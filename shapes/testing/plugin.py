"""Options of pytest for the conformance suite; see `shapes.testing.conformance`."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--shape-env`, `--shape-rules` and `--shape-examples`."""
    group = parser.getgroup("shapes", "conformance of symbolic shapes")
    group.addoption("--shape-env", metavar="MODULE:FACTORY", help="makes the environment that the suite is about")
    group.addoption("--shape-rules", metavar="MODULE:OBJECT", help="the rules by name that the suite is about")
    group.addoption("--shape-examples", metavar="N", type=int, help="generated examples for each test")
