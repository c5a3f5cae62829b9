"""Options of pytest: what a check of a rule covered, and those of the conformance suite (`shapes.testing.conformance`).

    pytest -v                  a passed test says what `check_rule` covered in it
    pytest --rules-report      a line for each rule, and the conditions of which one side was met only
    pytest --operators mylib   each test also checks the operators `mylib::...` that it calls (`shapes.testing.suites`)
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

import pytest

REPORTED = "checked rule"
OPERATED = "checked operator"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--rules-report`, `--operators`, `--operators-by`, `--shape-env`, `--shape-rules` and `--shape-examples`."""
    group = parser.getgroup("shapes", "conformance of symbolic shapes")
    group.addoption("--rules-report", action="store_true", help="print what each check of a shape rule covered")
    group.addoption(
        "--operators", metavar="NAMESPACE", action="append", default=[],
        help="check the operators of a namespace where tests call them: schema, shape rule, autograd, tracing",
    )  # fmt: skip
    group.addoption(
        "--operators-by", metavar="MODULE:FUNCTION", help="observes the operators; by default those of torch.library"
    )
    group.addoption("--shape-env", metavar="MODULE:FACTORY", help="makes the environment that the suite is about")
    group.addoption("--shape-rules", metavar="MODULE:OBJECT", help="the rules by name that the suite is about")
    group.addoption("--shape-examples", metavar="N", type=int, help="generated examples for each test")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Keep the reports of the checks in a test; a kit that no test loads is not loaded for this."""
    seen = _reports()
    before = 0 if seen is None else len(seen)
    try:
        if not item.config.getoption("operators"):
            return (yield)
        with _observed(item):
            return (yield)
    finally:
        for text, details in (_reports() or [])[before:]:
            item.user_properties.append((REPORTED, text + ("\n" + details if details else "")))


@contextmanager
def _observed(item: pytest.Item) -> Generator[None]:
    """Check the operators that a test calls, once it has passed."""
    from shapes.testing.suites import PYTORCH, failures, observer

    observing = observer(item.config.getoption("operators_by") or PYTORCH)
    with observing(item.config.getoption("operators")) as operations:
        yield
    for name in dict.fromkeys([operation.name for operation in operations]):
        item.user_properties.append((OPERATED, name))
    failed = failures(operations)
    if failed:
        pytest.fail("\n".join(failed), pytrace=False)


def _reports() -> list[tuple[str, str]] | None:
    coverage = sys.modules.get("shapes.testing.coverage")
    return None if coverage is None else coverage.reports


def pytest_report_teststatus(report: pytest.TestReport, config: pytest.Config) -> tuple[str, str, str] | None:
    """With `-v`, a passed test says what was covered."""
    if report.when != "call" or not report.passed or hasattr(report, "wasxfail"):
        return None
    covered = [str(text).partition("\n")[0] for name, text in report.user_properties if name == REPORTED]
    return ("passed", ".", f"PASSED [{'; '.join(covered)}]") if covered else None


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A run that was to check operators and met none has not passed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if session.config.getoption("operators") and not exitstatus and reporter and not _named(reporter, OPERATED):
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """With `--rules-report`, every rule that was checked; with `--operators`, how often tests called each."""
    options = terminalreporter.config.option
    if options.rules_report:
        terminalreporter.section("checked rules")
        for text in _named(terminalreporter, REPORTED):
            terminalreporter.write_line(text)
    if options.operators:
        terminalreporter.section("checked operators")
        for name, count in Counter(_named(terminalreporter, OPERATED)).items():
            terminalreporter.write_line(f"{name}: in {count} test{'s' * (count > 1)}")
        if not _named(terminalreporter, OPERATED):
            terminalreporter.write_line(f"no test called an operator of {', '.join(options.operators)}")


def _named(terminalreporter: pytest.TerminalReporter, wanted: str) -> list[str]:
    """The reports that tests kept under a name; of rules, those that passed."""
    kinds = ("passed",) if wanted == REPORTED else ("passed", "failed")
    reports = [report for kind in kinds for report in terminalreporter.stats.get(kind, [])]
    properties = [each for report in reports if report.when == "call" for each in report.user_properties]
    return [str(text) for name, text in properties if name == wanted]
