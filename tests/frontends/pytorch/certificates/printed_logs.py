"""Logs that torch prints for programs of the tree, read by `certify`: which share of the guards is understood.

    python -m tests.frontends.pytorch.certificates.printed_logs [--programs 200] [--artifacts guards,recompiles,dynamic]

prints what was not understood, by kind; with `--write` it writes the logs that `tests/shapes/certification` reads,
which has no torch (`--programs 30 --write tests/shapes/certification/printed_logs.jsonl.gz`). Torch's own
compiler runs each program of `differential/programs`; nothing is judged.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import logging
import random
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from shapes.certification.certificates import Conditions
from shapes.certification.torch_logs import read_log
from tests.frontends.pytorch.differential.cases import SIZES
from tests.frontends.pytorch.differential.programs import PROGRAMS

ROOT = Path(__file__).parents[4]


@contextmanager
def printed(artifacts: str) -> Iterator[io.StringIO]:
    """The log of torch inside, as it prints it."""
    stream = io.StringIO()
    options: dict[str, object] = {name: True for name in artifacts.split(",") if name != "dynamic"}
    if "dynamic" in artifacts:
        options["dynamic"] = logging.INFO
    torch._logging.set_logs(**options)
    handlers = [handler for name in torch._logging._internal.log_registry.get_log_qnames() for handler in _of(name)]
    before = [handler.setStream(stream) for handler in handlers]
    try:
        yield stream
    finally:
        for handler, old in zip(handlers, before, strict=True):
            if old is not None:
                handler.setStream(old)
        torch._logging.set_logs()


def _of(name: str) -> list[logging.StreamHandler[io.StringIO]]:
    return [each for each in logging.getLogger(name).handlers if isinstance(each, logging.StreamHandler)]


def log_of(name: str, artifacts: str) -> str:
    """The log of one program under plain torch.compile."""
    torch.compiler.reset()
    case = PROGRAMS[name]
    function, _ = case.make()
    with printed(artifacts) as stream:
        run = torch.compile(function, backend="eager", dynamic=None)
        for seed, sizes in enumerate(SIZES):
            try:
                run(*case.arguments(sizes, seed))
            except Exception:
                break
    return stream.getvalue()


def counted(variants: list[Conditions]) -> tuple[int, Counter[str]]:
    """The guards that are understood, and the messages about others."""
    understood, faults = 0, Counter[str]()
    for each in variants:
        understood += len(each.state)
        for condition in each.conditions:
            if condition.fault:
                faults[condition.fault.partition(":")[0]] += 1
            else:
                understood += 1
    return understood, faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--artifacts", default="guards,recompiles,dynamic")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = sorted(PROGRAMS)
    random.Random(0).shuffle(names)
    understood, faults, logs = 0, Counter[str](), 0
    written: list[str] = []
    for name in names:
        text = log_of(name, options.artifacts)
        if "GUARD" not in text:
            continue
        logs += 1
        written.append(json.dumps({"program": name, "log": text.replace(f"{ROOT}/", "")}))
        here, there = counted(read_log(text.splitlines()))
        understood += here
        faults += there
        if logs == options.programs:
            break
    if options.write is not None:
        options.write.write_bytes(gzip.compress("\n".join(written).encode(), mtime=0))
    print(f"{logs} logs, {understood} guards understood, {faults.total()} not: {dict(faults)}")


if __name__ == "__main__":
    main()
