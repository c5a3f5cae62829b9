"""The ways in which programs run by `compile`: in whole graphs, with breaks or eagerly, and why.

    python -m tests.frontends.pytorch.differential.counting [--backend cpu] [--only TEXT ...]

prints a line for each program that is no whole graph, and counts them by cause. A program is whole if every call
runs in graphs, or raises eager's error, without a break and without a fallback. Two kinds are counted apart, and as
whole: programs of which every call raises, and those in which there is nothing to compile: they have no operator on
tensors, and `fullgraph=True` accepts each of their calls. Dynamo alone takes the latter, too; here they run as Python.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import warnings
from collections import Counter
from collections.abc import Callable
from multiprocessing.pool import Pool
from typing import Final

import torch

from frontends.pytorch import compile
from frontends.pytorch.dynamo.graph_breaks import NO_OPERATORS
from frontends.pytorch.dynamo.program import Program
from tests.frontends.pytorch.differential import comparing
from tests.frontends.pytorch.differential.programs import PROGRAMS

SECONDS: Final = 120
"""The time that one program may take."""
WHOLE: Final = "whole"
NOTHING: Final = "nothing to compile"
RAISES: Final = "each call raises eager's error"
LEFT: Final = "left to Python"
COUNTED: Final = (WHOLE, NOTHING, RAISES)


def run(name: str, backend: str) -> tuple[str, str]:
    """The way in which a program runs, and its causes."""
    program, unlike = compared(name, backend)
    if unlike:
        return "unlike eager", unlike
    found = kind(program)
    if found == (LEFT, NO_OPERATORS):
        program, unlike = compared(name, backend, fullgraph=True)
        return found if unlike or any(each.operators for each in program.graphs) else (NOTHING, "")
    return found


def compared(name: str, backend: str, **options: bool) -> tuple[Program, str]:
    """A program after its calls, and the first difference from eager."""
    torch.compiler.reset()
    programs: list[Program] = []

    def compiling(function: Callable[..., object]) -> Callable[..., object]:
        compiled = compile(function, backend=backend, dynamic=True, **options)
        programs.append(compiled._program)
        return compiled

    try:
        comparing.agrees(PROGRAMS[name], compiling)
    except AssertionError as error:
        return programs[0], str(error).partition("\n")[0]
    return programs[0], ""


def kind(program: Program) -> tuple[str, str]:
    """The way in which a program ran, and why it is no whole graph."""
    recorded = [graph.reason for graph in program.graphs if graph.reason]
    if recorded:
        return "not recorded", recorded[0]
    for each in program.fallbacks:
        if each.question:
            return "recompile limit", each.reason
        return (LEFT if not program.graphs and each.reason == NO_OPERATORS else "refused"), each.reason
    if program.breaks:
        return "breaks", program.breaks[0].cause
    # nothing is noted of a program of which no call has returned
    return (WHOLE if program.graphs else RAISES), ""


def worker() -> Pool:
    """A process that runs programs."""
    return multiprocessing.get_context("spawn").Pool(1, quiet)


def quiet() -> None:
    warnings.simplefilter("ignore")
    logging.getLogger("symshape").setLevel(logging.ERROR)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="eager")
    parser.add_argument("--only", nargs="*", default=[""])
    given = parser.parse_args()
    found: dict[str, tuple[str, str]] = {}
    process = worker()
    for name in PROGRAMS:
        if not any(each in name for each in given.only):
            continue
        try:
            found[name] = process.apply_async(run, (name, given.backend)).get(SECONDS)
        except multiprocessing.TimeoutError:
            found[name] = "crashed or too slow", ""
            process.terminate()
            process = worker()
        except Exception as error:
            found[name] = "raised", f"{type(error).__name__}: {error}".partition("\n")[0]
        if found[name][0] not in COUNTED:
            print(f"{name} | {' | '.join(found[name])}", flush=True)
    counts = Counter([kind for kind, _ in found.values()])
    for cause, count in counts.most_common():
        print(f"{count:5} {cause}")
    print(f"{sum(counts[each] for each in COUNTED):5} whole, with those that raise or have nothing to compile")


if __name__ == "__main__":
    main()
