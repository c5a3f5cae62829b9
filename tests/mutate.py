"""Break each rung, and the rules around them, on purpose; the suite must notice.

    python -m tests.mutate [--only WORD]

Each mutation replaces one text in one source file of a copy of the project and runs the tests that guard it. One that
survives is a hole in the suite.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEMORY = 4 << 30
COPIED = (
    "solver",
    "shapes",
    "tests",
    "benchmarks",
    "docs",
    "notebooks",
    "conftest.py",
    "setup.cfg",
    "pyproject.toml",
    "README.md",
    "Makefile",
)


@dataclass(frozen=True)
class Mutation:
    """`old` becomes `new` in `file`; the tests named must fail."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ("tests/properties/test_soundness.py", "tests/solver")


MUTATIONS = (
    Mutation(
        "bounds: off by one",
        "solver/bounds/comparisons.py",
        "if low is not None and low >= 0:",
        "if low is not None and low >= -1:",
    ),
    Mutation(
        "bounds: sides swapped",
        "solver/bounds/knowledge.py",
        "bound = r.lo if c > 0 else r.hi",
        "bound = r.lo",
    ),
    Mutation(
        "shift: a negative coefficient passes",
        "solver/bounds/shift.py",
        "all(c > 0 for _, c in e.terms)",
        "any(c > 0 for _, c in e.terms)",
    ),
    Mutation("linear: the goal is not negated", "solver/rungs/linear.py", "negated = goal.negation", "negated = goal"),
    Mutation(
        "isolate: the divisor's last residue is lost",
        "solver/bounds/isolation.py",
        "d * (rest + 1) - 1 - n",
        "d * (rest + 1) - n",
    ),
    Mutation(
        "factor: a factor that may be zero",
        "solver/knowledge/factor_cancellation.py",
        "if low is not None and low >= 1:\n            proof: ProofStep",
        "if low is not None and low >= 0:\n            proof: ProofStep",
    ),
    Mutation(
        "refine: one case is forgotten",
        "solver/rungs/refine.py",
        "else (condition, condition.negation)",
        "else (condition, condition)",
    ),
    Mutation(
        "refine: a violated fact is not looked at",
        "solver/rungs/refine.py",
        "if p not in rows.seen and not model.prop(p):",
        "if False:",
    ),
    Mutation(
        "box: one assignment is left out",
        "solver/rungs/box.py",
        "return range(r.lo, r.hi + 1)",
        "return range(r.lo, r.hi)",
    ),
    Mutation(
        "residues: one value is not excluded",
        "solver/rungs/residues.py",
        "for value in range(end, 0):",
        "for value in range(end + 1, 0):",
    ),
    Mutation(
        "extremes: one side of a max is enough",
        "solver/bounds/extremes.py",
        "if c < 0 else self.above",
        "if c < -1 else self.above",
    ),
    Mutation(
        "lemmas: a square may be negative",
        "solver/proofs/step.py",
        "Prop.nonnegative(e * e - e)",
        "Prop.nonnegative(e * e - 2 * e)",
    ),
    Mutation("normal form: negation of >= forgets the one", "solver/terms/prop.py", "-e.constant - 1)", "-e.constant)"),
    Mutation(
        "normal form: constant rounded up",
        "solver/terms/prop.py",
        'for m, c in e.terms]), e.constant // k)\n        return Prop.make(interner, "ge", e)',
        'for m, c in e.terms]), -(-e.constant // k))\n        return Prop.make(interner, "ge", e)',
    ),
    Mutation(
        "division: ceil for floor",
        "solver/terms/division.py",
        "remainder = terms.collect({m: -c for m, c in rest.items()}, d - 1 - constant)",
        "remainder = terms.collect({m: -c for m, c in rest.items()}, d - constant)",
    ),
    Mutation("division: nested divisors added", "solver/terms/division.py", "divisor * d)", "divisor + d)"),
    Mutation(
        "relu: the flip loses the argument",
        "solver/terms/choice.py",
        "terms.scale(terms.add(relu(terms, -e), e), k)",
        "terms.scale(relu(terms, -e), k)",
    ),
    Mutation(
        "intervals: an even power keeps its sign",
        "solver/terms/intervals.py",
        "return 0, None if lo is None or hi is None else max(-lo, hi) ** exponent",
        "return lo, None if lo is None or hi is None else max(-lo, hi) ** exponent",
    ),
    Mutation(
        "intervals: quotient by what may be zero",
        "solver/terms/intervals.py",
        "if dl is None or dl < 1:",
        "if dl is None or dl < 0:",
    ),
    Mutation(
        "propagation: rounds the wrong way",
        "solver/proofs/step.py",
        "conclusion = Prop.nonnegative(total)",
        "conclusion = Prop.nonnegative(total + 1)",
    ),
    Mutation(
        "equalities: solved with the wrong sign",
        "solver/knowledge/equalities.py",
        "image = atom.expr - e if c > 0 else atom.expr + e",
        "image = atom.expr + e if c > 0 else atom.expr - e",
    ),
    Mutation(
        "excluded value: moved too far",
        "solver/proofs/step.py",
        "Prop.nonnegative(inequality.conclusion.expr - 1)",
        "Prop.nonnegative(inequality.conclusion.expr - 2)",
    ),
    Mutation(
        "samples: dead rows speak",
        "solver/knowledge/samples.py",
        "samples.alive = samples.evaluable(tuple([row for row in self.alive if truth[row]]), fact.prop, fact.domain)",
        "pool.alive = self.alive",
    ),
    Mutation(
        "search: facts are not checked",
        "solver/samples/repair.py",
        "touching = self.samples.touching.get(atom.serial)\n            if touching is not None and touching.count",
        "touching = None\n            if touching is not None and touching.count",
    ),
    Mutation("checker: hypotheses may stay open", "solver/proofs/checker.py", "if left is not domain:", "if False:"),
)


def copy_to(folder: Path) -> None:
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".hypothesis"))
        elif source.exists():
            shutil.copy(source, folder / name)


def survives(mutation: Mutation, folder: Path) -> bool:
    """Whether the suite does not notice."""
    path = folder / mutation.file
    original = path.read_text()
    if original.count(mutation.old) < 1:
        raise SystemExit(
            f"{mutation.name}: the text to break is not in {mutation.file} any more; update tests/mutate.py"
        )
    path.write_text(original.replace(mutation.old, mutation.new, 1))
    try:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "--timeout=300",
            *mutation.tests,
        ]
        environment = {**os.environ, "SYMSHAPE_PURE": "1"}
        run = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, check=False, preexec_fn=_within_memory
        )
        return run.returncode == 0
    finally:
        path.write_text(original)


def _within_memory() -> None:
    """A mutant may well take all there is."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="mutations whose name has this word")
    options = parser.parse_args()
    chosen = [mutation for mutation in MUTATIONS if options.only in mutation.name]
    survivors = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_to(folder)
        for mutation in chosen:
            alive = survives(mutation, folder)
            print(f"{'SURVIVED' if alive else 'noticed '}  {mutation.name}", flush=True)
            if alive:
                survivors.append(mutation.name)
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutations noticed")
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
