"""The baselines that are installed, one waiting process each, of which one runs at a time.

    with Pool(["z3", "torch"]) as pool:
        pool.run("z3", lines, seconds=10)   # what `worker.replay` returns, or None when it had to be ended
"""

import json
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType

from benchmarks.baselines import BASELINES
from benchmarks.baselines.worker import Line

START = 300.0  # seconds that a library may take to load, the first time from a cold disk
GRACE = 5.0  # seconds past its limit in which a baseline may finish the question it is at


class Pool:
    """`missing` says why a baseline that was wanted is not `here`."""

    def __init__(self, wanted: Iterable[str]) -> None:
        sys.set_int_max_str_digits(0)  # answers may hold numbers of any length
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self.missing: dict[str, str] = {}
        for name in wanted:
            try:
                self.processes[name] = self.start(name)
            except ImportError as error:
                self.missing[name] = str(error)

    @property
    def here(self) -> list[str]:
        return [name for name in BASELINES if name in self.processes]

    def start(self, name: str) -> subprocess.Popen[str]:
        errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - a pipe that nobody reads would stop a chatty library
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.baselines.worker", name],
            cwd=Path(__file__).parent.parent.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        assert process.stdout
        if process.stdout.readline() != "ready\n":
            process.wait()
            errors.seek(0)
            raise ImportError((errors.read().strip().splitlines() or ["it ended without a word"])[-1])
        return process

    def run(self, name: str, lines: Sequence[Line], seconds: float) -> Line | None:
        """One session; a baseline that overruns is ended and started afresh for the next one."""
        process = self.processes[name]
        assert process.stdin and process.stdout
        kept = [{key: line.get(key) for key in ("op", "name", "hint", "lo", "hi", "prop")} for line in lines]
        process.stdin.write(json.dumps({"lines": kept, "seconds": seconds}) + "\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], seconds + GRACE)
        if ready and (text := process.stdout.readline()):
            result: Line = json.loads(text)
            return result
        self.end(process)
        self.processes[name] = self.start(name)
        return None

    def end(self, process: subprocess.Popen[str]) -> None:
        process.kill()
        process.communicate()

    def __enter__(self) -> "Pool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self.processes.values():
            self.end(process)
