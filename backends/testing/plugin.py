"""The option of pytest for the conformance suite; see `backends.testing.conformance`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--shape-backend`."""
    group = parser.getgroup("backends", "conformance of backends")
    group.addoption("--shape-backend", metavar="NAME", help="the backend that the suite is about, or module:object")
