"""Where other people's shape rules differ from the real kernels.

    python -m benchmarks.findings run [--survey torch,onnx] [--only conv2d,cat] [--seconds 120]
    python -m benchmarks.findings show [NAME]           # the findings of an operator, or all, each run again
    python -m benchmarks.findings publish               # seen.jsonl and docs/findings.md, from the lines of the run

`run` resumes an earlier one: an operator with a line in `.findings/` is skipped. Each survey runs in a separate
process, so an operator that crashes it is a finding too.
"""

import argparse
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict

from benchmarks.findings.page import publish, seen
from benchmarks.findings.record import KINDS, ROOT, WORK, Examined, Finding, last_under_way, read
from benchmarks.findings.worker import SURVEYS, survey


class Worker:
    """A process that examines operators, started anew after one that it does not survive."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.process: subprocess.Popen[str] | None = None
        self.last = 0
        """The number of the process that was asked last."""

    def ask(self, request: dict[str, object], seconds: float) -> str:
        """The answer of the process.

        Raises:
            ChildProcessError: it died.
            TimeoutError: it took too long; it is ended.
        """
        if self.process is None:
            command = [sys.executable, "-m", "benchmarks.findings.worker", self.name]
            self.process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ}
            )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.last = self.process.pid
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        line = self.process.stdout.readline() if ready else None
        if line:
            return line
        if line is None:
            self.process.kill()
        code, self.process = self.process.wait(), None
        if line is None:
            raise TimeoutError(f"no answer in {seconds:.0f} s")
        raise ChildProcessError(f"ended by signal {-code}" if code < 0 else f"exit status {code}")

    def end(self) -> None:
        if self.process is not None:
            assert self.process.stdin is not None
            self.process.stdin.close()
            self.process.wait()
            last_under_way(self.last)


def run(options: argparse.Namespace) -> None:
    WORK.mkdir(parents=True, exist_ok=True)
    for name in options.survey.split(","):
        path = WORK / f"{name}.jsonl"
        done = {one.operator for one in read(path)}
        try:
            wanted = options.only.split(",") if options.only else survey(name).operators()
        except ModuleNotFoundError as missing:
            print(f"{name}: {missing.name} is not here", file=sys.stderr)
            continue
        worker = Worker(name)
        with path.open("a", buffering=1) as lines:
            for operator in wanted:
                if operator in done:
                    continue
                begin = time.monotonic()
                print(examined(worker, operator, options.seconds), file=lines)
                print(f"{name} {operator} {time.monotonic() - begin:.1f} s", flush=True)
        worker.end()


def examined(worker: Worker, operator: str, seconds: float) -> str:
    """The line of an operator."""
    try:
        return worker.ask({"operator": operator}, seconds).strip()
    except ChildProcessError as died:
        where, call = last_under_way(worker.last)
        return Examined(operator, findings=[Finding("crash", call, str(died), "", where)]).line()
    except TimeoutError as late:
        return Examined(operator, failed=str(late)).line()


def recorded(operator: str | None = None) -> Iterator[tuple[str, str, Finding]]:
    """The published findings, of one operator or of all: survey, operator, finding."""
    for name, each in seen()[1].items():
        for one in each:
            if operator in (None, one.operator):
                yield from ((name, one.operator, finding) for finding in one.findings)


def again(worker: Worker, operator: str, finding: Finding, seconds: float) -> Finding | None:
    """The call of a finding once more; None where nothing is to be seen any more."""
    try:
        answer = json.loads(worker.ask({"operator": operator, "finding": asdict(finding)}, seconds))
    except ChildProcessError as died:
        return Finding("crash", finding.call, str(died), "", finding.where)
    return None if answer is None else Finding(**answer)


def show(options: argparse.Namespace) -> None:
    """Run findings again and tell what is seen now; exit status 1 where one is not seen any more."""
    found = list(recorded(options.name or None))
    if not found:
        sys.exit(f"no finding of {options.name}")
    workers = {name: Worker(name) for name, _, _ in found}
    gone = 0
    for name, operator, finding in found:
        now = again(workers[name], operator, finding, options.seconds)
        gone += now is None
        print(f"{name} {operator}{f' ({finding.where})' if finding.where else ''}: {KINDS[finding.kind]}")
        print(f"  call:   {finding.call}")
        print("  not seen any more" if now is None else f"  kernel: {now.kernel}\n  rule:   {now.rule}")
    for worker in workers.values():
        worker.end()
    print(f"{len(found) - gone} of {len(found)} seen again")
    sys.exit(gone > 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.add_argument("--survey", default=",".join(SURVEYS))
    running.add_argument("--only", default="")
    running.add_argument("--seconds", type=float, default=120, help="an operator that takes longer is left out")
    running.set_defaults(command=run)
    showing = commands.add_parser("show")
    showing.add_argument("name", nargs="?", default="", help="all of them without")
    showing.add_argument("--seconds", type=float, default=120)
    showing.set_defaults(command=show)
    publishing = commands.add_parser("publish")
    publishing.set_defaults(command=lambda options: publish())
    options = parser.parse_args()
    options.command(options)


if __name__ == "__main__":
    main()
