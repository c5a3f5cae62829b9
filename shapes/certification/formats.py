"""Certificates in the formats that continuous integration reads: SARIF 2.1.0 and JUnit.

>>> from shapes.certification.certificates import Condition, Conditions
>>> from shapes.certification.certifying import certify
>>> found = certify([Conditions([Condition("s <= 64")])], {"s": (1, 128)})
>>> print(junit(found, "guards.txt").splitlines()[1][:72])
<testsuite name="guards.txt" tests="1" failures="1" errors="0">
>>> json.loads(sarif(found, "guards.txt"))["runs"][0]["results"][0]["message"]["text"]
'the guard `s <= 64` fails at s=65'
"""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from typing import Final
from xml.etree import ElementTree

from shapes.certification.certificates import Certificate, Judged
from shapes.origin import Origin
from solver.syntax.short_text import sizes_text

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
RULES: Final = {
    "guard-can-fail": "A guard fails for sizes in the ranges that were given.",
    "guard-not-shown": "A guard was neither proven nor refuted.",
    "contradictory-sizes": "The ranges and facts that were given contradict each other.",
}


def sarif(found: Certificate, file: str) -> str:
    """A log of static analysis: a result for each guard in doubt, at its line of the program, else of the file."""
    results = [
        *[_result("guard-can-fail", "error", _failing(each, each.size), each, file) for each in found.findings],
        *[_result("guard-not-shown", "warning", _unshown(each, each.reason), each, file) for each in found.not_shown],
    ]
    if found.status == "contradictory":
        message = f"no sizes satisfy {', '.join(found.premises)}"
        results.append(_result("contradictory-sizes", "error", message, None, file))
    try:
        number = version("symshape")
    except PackageNotFoundError:
        number = "development"
    rules = [{"id": name, "shortDescription": {"text": text}} for name, text in RULES.items()]
    driver = {"name": "symshape", "semanticVersion": number, "rules": rules}
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}
    return json.dumps(log, indent=2)


def junit(found: Certificate, file: str) -> str:
    """A test suite with a case for each guard: one that can fail is a failure, one that was not shown an error."""
    suite = ElementTree.Element("testsuite", name=file)
    failures, errors = [*found.findings, *found.implied], list(found.not_shown)
    cases = len(found.holding) + len(failures) + len(errors)
    for each in found.holding:
        _case(suite, each, file)
    for finding in failures:
        _case(suite, finding, file, "failure", _failing(finding, finding.size))
    for unshown in errors:
        _case(suite, unshown, file, "error", _unshown(unshown, unshown.reason))
    if found.status == "contradictory":
        cases += 1
        message = f"no sizes satisfy {', '.join(found.premises)}"
        case = ElementTree.SubElement(suite, "testcase", classname=file, name="the ranges and facts")
        ElementTree.SubElement(case, "error", message=message)
    suite.set("tests", str(cases))
    suite.set("failures", str(len(failures)))
    suite.set("errors", str(len(errors) + (found.status == "contradictory")))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suite, encoding="unicode")


def _failing(each: Judged, size: dict[str, int]) -> str:
    return f"the guard `{each.guard}` fails at {sizes_text(size)}"


def _unshown(each: Judged, reason: str) -> str:
    return f"the guard `{each.guard}` was not shown: {reason}"


def _result(rule: str, level: str, message: str, each: Judged | None, file: str) -> dict[str, object]:
    place = {"uri": file}
    region: dict[str, object] = {}
    if each is not None and isinstance(each.origin, Origin):
        place = {"uri": each.origin.file}
        region = {"region": {"startLine": max(each.origin.line, 1)}}
    elif each is not None and each.condition.line is not None:
        region = {"region": {"startLine": each.condition.line}}
    location = {"physicalLocation": {"artifactLocation": place, **region}}
    return {"ruleId": rule, "level": level, "message": {"text": message}, "locations": [location]}


def _case(suite: ElementTree.Element, each: Judged, file: str, kind: str = "", message: str = "") -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=file, name=_printable(each.guard))
    if isinstance(each.origin, Origin):
        case.set("file", each.origin.file)
        case.set("line", str(each.origin.line))
    if kind:
        ElementTree.SubElement(case, kind, message=_printable(message)).text = each.condition.where


def _printable(text: str) -> str:
    """The text without the control characters that XML cannot have."""
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


__all__ = ["junit", "sarif"]
