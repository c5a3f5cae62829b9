"""Options of pytest: what a check of a rule covered, and those of the conformance suite (`shapes.testing.conformance`).

    pytest -v                  a passed test says what `check_rule` covered in it
    pytest --rules-report      a line for each rule, and the conditions of which one side was met only
"""

from __future__ import annotations

import sys
from collections.abc import Generator

import pytest

REPORTED = "checked rule"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--rules-report`, `--shape-env`, `--shape-rules` and `--shape-examples`."""
    group = parser.getgroup("shapes", "conformance of symbolic shapes")
    group.addoption("--rules-report", action="store_true", help="print what each check of a shape rule covered")
    group.addoption("--shape-env", metavar="MODULE:FACTORY", help="makes the environment that the suite is about")
    group.addoption("--shape-rules", metavar="MODULE:OBJECT", help="the rules by name that the suite is about")
    group.addoption("--shape-examples", metavar="N", type=int, help="generated examples for each test")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Keep the reports of the checks in a test; a kit that no test loads is not loaded for this."""
    seen = _reports()
    before = 0 if seen is None else len(seen)
    try:
        return (yield)
    finally:
        for text, details in (_reports() or [])[before:]:
            item.user_properties.append((REPORTED, text + ("\n" + details if details else "")))


def _reports() -> list[tuple[str, str]] | None:
    coverage = sys.modules.get("shapes.testing.coverage")
    return None if coverage is None else coverage.reports


def pytest_report_teststatus(report: pytest.TestReport, config: pytest.Config) -> tuple[str, str, str] | None:
    """With `-v`, a passed test says what was covered."""
    if report.when != "call" or not report.passed or hasattr(report, "wasxfail"):
        return None
    covered = [str(text).partition("\n")[0] for name, text in report.user_properties if name == REPORTED]
    return ("passed", ".", f"PASSED [{'; '.join(covered)}]") if covered else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """With `--rules-report`, every rule that was checked."""
    if not terminalreporter.config.getoption("rules_report"):
        return
    terminalreporter.section("checked rules")
    for report in terminalreporter.stats.get("passed", []):
        for name, text in getattr(report, "user_properties", []):
            if name == REPORTED and report.when == "call":
                terminalreporter.write_line(str(text))
