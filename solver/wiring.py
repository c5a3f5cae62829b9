"""Joins what must not import each other: what stands below is handed what it needs of what stands above.

- Expressions print, and their functions over floats are programs: terms know neither texts nor floats.
- A step of a program over floats is a value, whose comparisons undo such steps.
- New facts are held against samples, cores made minimal, by the prover: facts are a value that knows none.
- Verdicts are written for Coq by what reads verdicts.
"""

from __future__ import annotations

from solver.decide.consistency import sampled
from solver.decide.minimal_core import minimized
from solver.decide.verdict import Verdict, export_by
from solver.floats.order import make_floats_by
from solver.floats.programs import function_of_text
from solver.floats.substitution import applied, as_float
from solver.knowledge.facts import minimize_by, sample_by
from solver.syntax.printer import print_any
from solver.terms.functions import read_programs_by
from solver.terms.interner import apply_programs_by
from solver.terms.printing import print_by


def exported(verdict: Verdict) -> str:
    """A verdict for Coq. Few programs ask for one: what writes it is loaded then."""
    from solver.coq import exported

    return exported(verdict)


print_by(print_any)
read_programs_by(function_of_text)
apply_programs_by(applied)
make_floats_by(as_float)
sample_by(sampled)
minimize_by(minimized)
export_by("coq", exported)
