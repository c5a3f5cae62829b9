"""How the programs run by `compile`: in whole graphs, with breaks or eagerly, and why.

    python -m tests.frontends.pytorch.differential.counting [--backend cpu] [--only TEXT ...] [--kind refused ...]

prints a line for each program that is no whole graph, and counts them by cause. A program is whole if every call
runs in graphs, or raises eager's error, without a break and without a fallback.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import warnings
from collections import Counter
from multiprocessing.connection import Connection
from typing import Final

import torch

from frontends.pytorch.dynamo.program import Program
from tests.frontends.pytorch.differential import comparing
from tests.frontends.pytorch.differential.programs import PROGRAMS

SECONDS: Final = 120
"""The time that one program may take."""
WHOLE: Final = "whole"
LEFT: Final = "left to Python"


def run(name: str, backend: str) -> tuple[str, str]:
    """How a program runs, and its causes."""
    torch.compiler.reset()
    programs: list[Program] = []
    made = comparing.compile

    def compiling(*args: object, **options: object) -> object:
        compiled = made(*args, **options)  # type: ignore[call-overload]
        programs.append(compiled._program)
        return compiled

    comparing.compile = compiling  # type: ignore[assignment]
    try:
        comparing.agrees(PROGRAMS[name], backend)
    except AssertionError as error:
        return "unlike eager", str(error).partition("\n")[0]
    finally:
        comparing.compile = made
    return kind(programs[0])


def kind(program: Program) -> tuple[str, str]:
    """How a program ran, and why it is no whole graph."""
    recorded = [graph.reason for graph in program.graphs if graph.reason]
    if recorded:
        return "not recorded", recorded[0]
    for each in program.fallbacks:
        if each.question:
            return "recompile limit", each.reason
        if program.graphs or "Dynamo leaves" not in each.reason:
            return "refused", each.reason
        return LEFT, each.reason
    if program.breaks:
        return "breaks", program.breaks[0].cause
    return (WHOLE, "") if program.graphs else (LEFT, "")


def worker(backend: str, connection: Connection) -> None:
    """Run programs as they are asked for."""
    warnings.simplefilter("ignore")
    logging.getLogger("symshape").setLevel(logging.ERROR)
    while True:
        name = connection.recv()
        try:
            connection.send(run(name, backend))
        except Exception as error:
            connection.send(("raised", f"{type(error).__name__}: {error}".partition("\n")[0]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="eager")
    parser.add_argument("--only", nargs="*", default=[""])
    given = parser.parse_args()
    found: dict[str, tuple[str, str]] = {}
    context = multiprocessing.get_context("spawn")
    process = None
    for name in PROGRAMS:
        if not any(each in name for each in given.only):
            continue
        if process is None:
            connection, other = context.Pipe()
            process = context.Process(target=worker, args=(given.backend, other), daemon=True)
            process.start()
        connection.send(name)
        if connection.poll(SECONDS):
            try:
                found[name] = connection.recv()
            except EOFError:
                found[name] = "crashed", ""
        else:
            found[name] = "too slow", f"{SECONDS} s"
        if found[name][0] in ("crashed", "too slow"):
            process.kill()
            process = None
        if found[name][0] != WHOLE:
            print(f"{name} | {' | '.join(found[name])}", flush=True)
    for cause, count in Counter([kind for kind, _ in found.values()]).most_common():
        print(f"{count:5} {cause}")


if __name__ == "__main__":
    main()
