"""Break the packages on purpose, one place at a time; the tests must notice.

    python -m tests.mutate                       # the mutations named here, against the tests of the engine
    python -m tests.mutate --quick [--count 20]  # and so many mechanical ones in each package, against `make quick`
    python -m tests.mutate --quick --only solver/ tests/solver  # those of one package, against its own tests

With `--quick`, what survives is put to all tests of the folder that mirrors the one that it is in: what these notice
and quick tests do not is lost, what neither notices is taken for equivalent. A mutation replaces the code of functions
in a fork of a process that has collected the tests, and runs those that reach these functions, the nearest first.
"""

from __future__ import annotations

import argparse
import ast
import gc
import os
import pickle
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

import pytest
from _pytest.runner import runtestprotocol

from tests.mechanical_mutations import mutants

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("solver", "shapes", "backends", "frontends")
ENGINE = ("tests/solver", "tests/properties")
SECONDS = 60
"""The processor time for the tests of one mutation; a test that takes twice as much more hangs, and notices."""
MEMORY = 16 << 30
"""The memory limit of a mutation."""
Place = tuple[str, str, int]
"""A function: its file, its qualified name, its first line."""


@dataclass(frozen=True)
class Mutation:
    """A file's syntax tree otherwise."""

    name: str
    file: str
    tree: Callable[[], ast.Module]



class Named(NamedTuple):
    """`old` becomes `new` in `file`."""

    name: str
    file: str
    old: str
    new: str

    def tree(self) -> ast.Module:
        return ast.parse((ROOT / self.file).read_text().replace(self.old, self.new, 1))


NAMED = (
    Named(
        "bounds: off by one",
        "solver/knowledge/comparisons.py",
        "if low is not None and low >= 0:",
        "if low is not None and low >= -1:",
    ),
    Named(
        "bounds: sides swapped",
        "solver/knowledge/base.py",
        "bound = r.lo if c > 0 else r.hi",
        "bound = r.lo",
    ),
    Named(
        "shift: a negative coefficient passes",
        "solver/knowledge/shift.py",
        "all(c > 0 for _, c in e.terms)",
        "any(c > 0 for _, c in e.terms)",
    ),
    Named(
        "differences: an edge that is no lower bound",
        "solver/knowledge/differences.py",
        "if sign < 0 and p.kind",
        "if sign < -1 and p.kind",
    ),
    Named(
        "elimination: a bound that makes the inequality false in a sample",
        "solver/knowledge/elimination.py",
        "if self.spare[row] < values[row]:",
        "if False:",
    ),
    Named("linear: the goal is not negated", "solver/rungs/linear.py", "negated = goal.negation", "negated = goal"),
    Named(
        "isolate: the divisor's last residue is lost",
        "solver/knowledge/isolation.py",
        "d * (rest + 1) - 1 - n",
        "d * (rest + 1) - n",
    ),
    Named(
        "factor: a factor that may be zero",
        "solver/knowledge/factor_cancellation.py",
        "if low is not None and low >= 1:\n            proof: ProofStep",
        "if low is not None and low >= 0:\n            proof: ProofStep",
    ),
    Named(
        "refine: one case is forgotten",
        "solver/rungs/refine.py",
        "else (condition, condition.negation)",
        "else (condition, condition)",
    ),
    Named(
        "refine: a violated fact is not looked at",
        "solver/rungs/refine.py",
        "if p not in rows.seen and not model.prop(p):",
        "if False:",
    ),
    Named(
        "box: one assignment is left out",
        "solver/rungs/box.py",
        "return range(r.lo, r.hi + 1)",
        "return range(r.lo, r.hi)",
    ),
    Named(
        "residues: one value is not excluded",
        "solver/rungs/residues.py",
        "for value in range(end, 0):",
        "for value in range(end + 1, 0):",
    ),
    Named(
        "extremes: one side of a max is enough",
        "solver/knowledge/extremes.py",
        "if c < 0 else self.above",
        "if c < -1 else self.above",
    ),
    Named(
        "lemmas: a square may be negative",
        "solver/proofs/step.py",
        "Prop.nonnegative(e * e - e)",
        "Prop.nonnegative(e * e - 2 * e)",
    ),
    Named("normal form: negation of >= forgets the one", "solver/terms/prop.py", "-e.constant - 1)", "-e.constant)"),
    Named(
        "normal form: constant rounded up",
        "solver/terms/prop.py",
        'for m, c in e.terms]), e.constant // k)\n        return Prop.make(interner, "ge", e)',
        'for m, c in e.terms]), -(-e.constant // k))\n        return Prop.make(interner, "ge", e)',
    ),
    Named(
        "division: ceil for floor",
        "solver/terms/division.py",
        "remainder = terms.collect({m: -c for m, c in rest.items()}, d - 1 - constant)",
        "remainder = terms.collect({m: -c for m, c in rest.items()}, d - constant)",
    ),
    Named("division: nested divisors added", "solver/terms/division.py", "divisor * d)", "divisor + d)"),
    Named(
        "relu: the flip loses the argument",
        "solver/terms/choice.py",
        "terms.scale(terms.add(relu(terms, -e), e), k)",
        "terms.scale(relu(terms, -e), k)",
    ),
    Named(
        "intervals: an even power keeps its sign",
        "solver/terms/intervals.py",
        "return 0, None if lo is None or hi is None else max(-lo, hi) ** exponent",
        "return lo, None if lo is None or hi is None else max(-lo, hi) ** exponent",
    ),
    Named(
        "intervals: quotient by what may be zero",
        "solver/terms/intervals.py",
        "if dl is None or dl < 1:",
        "if dl is None or dl < 0:",
    ),
    Named(
        "propagation: rounds the wrong way",
        "solver/proofs/step.py",
        "conclusion = Prop.nonnegative(total)",
        "conclusion = Prop.nonnegative(total + 1)",
    ),
    Named(
        "equalities: solved with the wrong sign",
        "solver/knowledge/equalities.py",
        "image = atom.expr - e if c > 0 else atom.expr + e",
        "image = atom.expr + e if c > 0 else atom.expr - e",
    ),
    Named(
        "excluded value: moved too far",
        "solver/proofs/step.py",
        "Prop.nonnegative(inequality.conclusion.expr - 1)",
        "Prop.nonnegative(inequality.conclusion.expr - 2)",
    ),
    Named(
        "samples: dead rows speak",
        "solver/knowledge/samples.py",
        "samples.alive = samples.evaluable(tuple([row for row in self.alive if truth[row]]), fact.prop, fact.domain)",
        "samples.alive = self.alive",
    ),
    Named(
        "search: facts are not checked",
        "solver/samples/repair.py",
        "touching = self.samples.touching.get(atom.serial)\n            if touching is not None and touching.count",
        "touching = None\n            if touching is not None and touching.count",
    ),
    Named("checker: hypotheses may stay open", "solver/proofs/checker.py", "if left is not domain:", "if False:"),
)

NOT_RUN = {"testing", "library.py", "__main__.py", "cli.py"}
"""The tests that test others, run on a device, or in another process."""


def mechanical(count: int, seed: int) -> Iterator[Mutation]:
    """A sample of the mutants of each package."""
    for package in PACKAGES:
        files = [file for file in sorted((ROOT / package).rglob("*.py")) if not NOT_RUN & set(file.parts)]
        every = [mutant for file in files for mutant in mutants(file)]
        for mutant in random.Random(seed).sample(every, count):
            name = f"{file_name(mutant.file)} {mutant}"
            yield Mutation(name, file_name(mutant.file), partial(getattr, mutant, "tree"))


def file_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


# ---------------------------------------------------------------------- putting them in place


def codes(module: ast.Module, file: str) -> dict[Place, CodeType]:
    """Every function's code in a module."""
    found: dict[Place, CodeType] = {}
    pending = [compile(module, file, "exec")]
    while pending:
        code = pending.pop()
        inner = [const for const in code.co_consts if isinstance(const, CodeType)]
        found |= {place_of(each): each for each in inner}
        pending += inner
    return found


def changed(file: Path, tree: ast.Module) -> dict[Place, CodeType]:
    """The code of each function that is another in this syntax tree of a file."""
    before, after = codes(ast.parse(file.read_text()), str(file)), codes(tree, str(file))
    return {place: code for place, code in after.items() if place in before and code != before[place]}


def functions_below(folder: Path) -> dict[Place, list[FunctionType]]:
    """The functions of this process whose code is in a folder."""
    found: dict[Place, list[FunctionType]] = {}
    for each in gc.get_objects():
        if type(each) is FunctionType and each.__code__.co_filename.startswith(str(folder)):
            found.setdefault(place_of(each.__code__), []).append(each)
    # the collector does not list what is frozen
    assert found, "no function is found: they may be frozen (gc.freeze)"
    return found


Functions = Mapping[Place, list[FunctionType]]


def in_place(functions: Functions, new: Mapping[Place, CodeType]) -> dict[FunctionType, CodeType]:
    """The new code of each function, where its place has one that fits."""
    return {
        function: code
        for place, code in new.items()
        for function in functions.get(place, ())
        if len(function.__code__.co_freevars) == len(code.co_freevars)
    }


def place_of(code: CodeType) -> Place:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def in_a_fork(action: Callable[[], Any]) -> Any:
    """The result of an action, or None if its process ends before."""
    with tempfile.NamedTemporaryFile() as file:
        child = os.fork()
        if not child:
            try:
                Path(file.name).write_bytes(pickle.dumps(action()))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        content = file.read()
    return pickle.loads(content) if content else None


class Mutating:
    """A plugin that puts mutations to the tests that were collected, instead of running these."""

    def __init__(self, mutations: Sequence[Mutation], *, traced: bool) -> None:
        # read before the packages are imported, so that whoever edits a file meanwhile changes neither
        self.mutations = {mutation: changed(ROOT / mutation.file, mutation.tree()) for mutation in mutations}
        self.is_traced = traced
        self.survivors: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = session.items
        functions = functions_below(ROOT)
        writer = session.config.get_terminal_writer()
        every = list(range(len(self.items)))
        reached, seconds = in_a_fork(self.traced) if self.is_traced else (None, [0.0 for _ in every])
        writer.line(f"{len(every)} tests, {sum(seconds):.0f} seconds of the processor when traced")
        for mutation, new in self.mutations.items():
            folder = mirror(mutation)
            at = every if reached is None else list({index for place in new for index in reached.get(place, ())})
            at.sort(key=lambda index: (not self.items[index].nodeid.startswith(folder), seconds[index]))
            begin = sum(os.times()[2:4])
            first = in_a_fork(partial(self.first_to_fail, at, in_place(functions, new))) if at else ""
            if first == "":
                self.survivors.append(mutation.name)
            took = f"{len(at)} tests, {sum(os.times()[2:4]) - begin:.0f} s"
            writer.line(f"{'SURVIVED' if first == '' else 'noticed '}  {mutation.name}   [{took}] {first}")
            writer.flush()
        return True

    def passes(self, index: int) -> bool:
        after = self.items[min(index + 1, len(self.items) - 1)]
        return not any(report.failed for report in runtestprotocol(self.items[index], log=False, nextitem=after))

    def traced(self) -> tuple[dict[Place, list[int]], list[float]]:
        """The passing tests that run each function, and the time that each takes."""
        reached: dict[Place, list[int]] = {}
        seconds = []
        seen: dict[int, CodeType] = {}

        def note(frame: FrameType, event: str, argument: object) -> None:
            seen[id(frame.f_code)] = frame.f_code

        for index in range(len(self.items)):
            seen.clear()
            begin = time.process_time()
            sys.settrace(note)
            passes = self.passes(index)
            sys.settrace(None)
            seconds.append(time.process_time() - begin)
            for place in {place_of(code) for code in seen.values()} if passes else ():
                if place[0].startswith(str(ROOT)):
                    reached.setdefault(place, []).append(index)
        return reached, seconds

    def first_to_fail(self, at: Sequence[int], new: Mapping[FunctionType, CodeType]) -> str:
        """The first of some tests that notices what takes the place of functions."""
        resource.setrlimit(resource.RLIMIT_CPU, (3 * SECONDS, 3 * SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        for function, code in new.items():
            function.__code__ = code
        begin = time.process_time()
        for index in at:
            if not self.passes(index):
                return self.items[index].nodeid
            if time.process_time() - begin > SECONDS:
                break
        return ""


def survivors(mutations: Sequence[Mutation], tests: Sequence[str], *, traced: bool = True) -> list[str]:
    """The names of those that tests do not notice."""
    plugin = Mutating(mutations, traced=traced)
    pytest.main(["-q", "-n0", "-p", "no:cacheprovider", "--timeout=600", *tests], plugins=[plugin])
    return plugin.survivors


def mirror(mutation: Mutation) -> str:
    """The folder of tests that mirrors the one of a mutation."""
    folder = Path("tests", mutation.file).parent
    return str(next(each for each in (folder, *folder.parents) if (ROOT / each).is_dir()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", help="those to put them to; else all, without --quick the engine's")
    parser.add_argument("--only", default="", help="mutations of files whose path has this word")
    parser.add_argument("--quick", action="store_true", help="against quick tests, and what survives against others")
    parser.add_argument("--count", type=int, default=20, help="mechanical mutations of each package")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    options = parser.parse_args()
    profile = "quick" if options.quick else "test"
    if os.environ.get("HYPOTHESIS_PROFILE") != profile:  # compiled modules have no code to replace
        variables = {"HYPOTHESIS_PROFILE": profile, "SYMSHAPE_PURE": "1", "PYTHONHASHSEED": "0"}
        os.execve(sys.executable, sys.orig_argv, os.environ | variables)
    mutations = [Mutation(each.name, each.file, each.tree) for each in NAMED]
    mutations += mechanical(options.count, options.seed) if options.quick else ()
    mutations = [mutation for mutation in mutations if options.only in mutation.file]
    tests = ["--quick", *options.tests] if options.quick else options.tests or [*ENGINE]
    alive = in_a_fork(partial(survivors, mutations, tests))
    noticed = len(mutations) - len(alive)
    print(f"{noticed} of {len(mutations)} mutations noticed")
    if options.quick:
        os.environ["HYPOTHESIS_PROFILE"] = "test"
        left = sorted([mutation for mutation in mutations if mutation.name in alive], key=mirror)
        equivalent: list[str] = []
        for folder, group in groupby(left, mirror):
            equivalent += in_a_fork(partial(survivors, list(group), [folder], traced=False))
        lost = [mutation.name for mutation in left if mutation.name not in equivalent]
        every = noticed + len(lost)
        print(f"quick tests notice {noticed / every:.0%} of the {every} that the suite notices; not:", *lost, sep="\n")
        sys.exit(noticed < 0.8 * every)
    sys.exit(bool(alive))


if __name__ == "__main__":
    main()
