"""The packages that a question enters on its way from `ask` to the verdict.

    python -m tests.walk 'b*s % 64 == 0' --sizes 'b s' --assume 's % 16 == 0'

They are listed in the order of their first calls, and then the call stacks along which one is entered again. What a
rung asks of the prover is a question of its own. Expressions do not count there: every package is made of them, and
their interval arithmetic calls back for the bounds of symbols. Compiled modules raise no events, so the sources run.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

from shapes import ShapeEnv

ROOT: Final = Path(__file__).parents[1]
VALUES: Final = "solver/terms"
"""Expressions, which questions are made of."""
EXAMPLES: Final = (
    ("b*s % 64 == 0", ()),
    ("b*s % 64 == 0", ("b % 4 == 0",)),
    ("b*s >= 16", ("b >= 1", "s >= 1")),
    ("a*b*s >= b*s", ("a >= 1",)),
    ("b*s <= 1000", ("a*b <= 1000", "s <= a")),
    ("a*b*s != 7*a + 1", ("3*a == 7*b + 5*s", "a*b >= 1000", "b % 6 == 5")),
)
"""Questions that are answered by the samples, substitution, bounds, a rung, and the linear solver; the last one also on
its slice, whose facts are assumed anew."""


@dataclass
class Walk:
    """The packages that a question enters, and the call stacks along which one is entered again."""

    verdict: str = ""
    packages: list[str] = field(default_factory=list)
    reentered: set[tuple[str, ...]] = field(default_factory=set)


FORWARDED: Final = ROOT / "solver" / "wiring.py"
"""Its functions import those that hooks stand for, and call them: they are no station of their own."""


def package_of(code: CodeType) -> str | None:
    """The package of a function, if it is one of ours."""
    path = Path(code.co_filename)
    if not path.is_relative_to(ROOT) or path.parent == ROOT / "tests" or path == FORWARDED:
        return None
    return str(path.parent.relative_to(ROOT))


def walked(ask: Callable[[], object]) -> Walk:
    """The events while a question is asked, by the interpreter's profiling events."""
    walk = Walk()
    stack: list[str | None] = []
    known: dict[CodeType, str | None] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "return" and stack:
            stack.pop()
        if event != "call":
            return
        package = known[code] if code in known else known.setdefault(code, package_of(code))
        if package is not None:
            if package not in walk.packages:
                walk.packages.append(package)
            # what a rung asks of the prover is a question of its own
            begin = max([i for i, each in enumerate(stack) if each == "question"], default=-1) + 1
            path = [each for each, _ in groupby(filter(None, stack[begin:])) if each not in (VALUES, "question")]
            if package != VALUES and package in path[:-1] and package != path[-1]:
                walk.reentered.add((*path[path.index(package) :], package))
        asked = package == "solver/decide" and code.co_qualname.startswith("LadderProver.prove")
        stack.append("question" if asked else package)

    sys.setprofile(note)
    try:
        verdict = ask()
    finally:
        sys.setprofile(None)
    walk.verdict = described(verdict)
    return walk


def prepared(question: str, assumed: Sequence[str], sizes: str) -> Callable[[], object]:
    """A function that asks a question of an environment of its own."""
    env = ShapeEnv()
    names = dict(zip(sizes.split(), env.sizes(sizes), strict=True))
    for each in assumed:
        env.assume(each)
    asked = eval(question, names)  # a comparison of sizes, as a program makes it
    return lambda: env.ask(asked)


def walk_of(question: str, assumed: Sequence[str], sizes: str) -> Walk:
    prepared(question, assumed, sizes)()  # loads what is loaded on demand
    return walked(prepared(question, assumed, sizes))


def calls_of(question: str, assumed: Sequence[str], sizes: str) -> tuple[str, list[tuple[str, str]]]:
    """The verdict on a question that nobody asked before, and the calls of ours: file, and qualified name."""
    prepared(question, assumed, sizes)()  # loads what is loaded on demand
    ask = prepared(question, assumed, sizes)
    codes: list[CodeType] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            codes.append(frame.f_code)

    sys.setprofile(note)
    try:
        verdict = ask()
    finally:
        sys.setprofile(None)
    ours = [(Path(code.co_filename), code.co_qualname) for code in codes if package_of(code) is not None]
    calls = [(str(path.relative_to(ROOT)), name) for path, name in ours if path != Path(__file__)]
    return described(verdict), calls


def described(verdict: object) -> str:
    """The kind of a verdict and the rung that found it."""
    return f"{type(verdict).__name__} ({verdict.rung})" if hasattr(verdict, "rung") else repr(verdict)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.walk")
    parser.add_argument("question")
    parser.add_argument("--sizes", default="a b s")
    parser.add_argument("--assume", action="append", default=[])
    options = parser.parse_args(arguments)
    walk = walk_of(options.question, options.assume, options.sizes)
    print(walk.verdict, *walk.packages, sep="\n")
    for path in sorted(walk.reentered):
        print("reentered:", " -> ".join(path))


if __name__ == "__main__":
    if os.environ.get("SYMSHAPE_PURE"):
        main()
    else:
        command = [sys.executable, "-m", "tests.walk", *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, "SYMSHAPE_PURE": "1"})
