"""The reports of a whole process: with `SYMSHAPE_REPORT=DIR` they are written when it ends.

>>> from shapes.reports.records import Entry
>>> from shapes.reports.report import Report
>>> process = ProcessReports("")
>>> process.keep(lambda: Report("attend", breaks=(Entry("break", "print"),)))
>>> process.reports()
[]

Without a folder nothing is kept. With one, what is compiled stays in memory until the process ends: a report needs it.
Each process writes its records (`NAME-PID.json`) and one page of all records in the folder (`index.html`);
`shapes report DIR -o site/` makes the page again, also elsewhere.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

from shapes.errors import ShapeError

if TYPE_CHECKING:
    from shapes.reports.report import Report

log: Final = logging.getLogger("symshape")


class ProcessReports:
    """The functions to report when the process ends.

    Attributes:
        folder: where; nothing is reported if it is empty.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._makers: list[Callable[[], Report]] = []
        self._held: list[object] = []
        self._process = 0

    def keep(self, make: Callable[[], Report]) -> None:
        """Report at the end what this function returns then, unless it has no entry and no variant."""
        if not self.folder:
            return
        if self._process != os.getpid():
            # a forked process reports what it has compiled itself
            self._makers, self._held, self._process = [], [], os.getpid()
            atexit.register(self.write)
        self._makers.append(make)

    def hold(self, value: object) -> None:
        """Keep something in use that a report needs."""
        if self.folder:
            self._held.append(value)

    def reports(self) -> list[Report]:
        """The reports as they are now."""
        found = []
        for make in self._makers:
            try:
                report = make()
            except Exception as error:
                # one function must not cost the others theirs
                log.warning("no report of %s: %s: %s", getattr(make, "__self__", make), type(error).__name__, error)
                continue
            if report.variants or any(True for _ in report.entries):
                found.append(report)
        return found

    def write(self) -> None:
        """Write the records of this process, and the page of all that are in the folder."""
        if self._process != os.getpid():
            return
        self._process = 0  # a forked process may have this in its list twice
        reports = self.reports()
        if not reports:
            return
        folder = Path(self.folder)
        program = PurePath(sys.argv[0] if sys.argv and sys.argv[0] else "python").stem
        try:
            from shapes.reports.files import write_records

            folder.mkdir(parents=True, exist_ok=True)
            write_records(reports, folder / f"{program}-{time.time_ns() // 1_000_000}-{os.getpid()}.json")
            write_site(folder, folder / "index.html")
        except (OSError, ShapeError) as error:
            log.warning("SYMSHAPE_REPORT=%s: %s", self.folder, error)


def write_site(folder: Path, target: Path) -> None:
    """Write one page of all records in a folder."""
    from shapes.reports.files import read_folder
    from shapes.reports.page import save_page

    reports = read_folder(folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    save_page(reports, target, title=folder.resolve().name)


PROCESS: Final = ProcessReports(os.environ.get("SYMSHAPE_REPORT", ""))
"""The reports of this process."""

__all__ = ["PROCESS", "ProcessReports", "write_site"]
