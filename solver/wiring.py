"""Dependency injection: lower layers get from here the functions of higher layers that they call.

- Terms: the printer, and the programs over floats that opaque functions stand for.
- Floats: the constructor of program steps, which comparisons invert.
- Facts: the search for samples, and the minimization of unsat cores.
- Verdicts: the export to Coq.
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
    """A verdict for Coq, whose exporter is loaded on demand."""
    from solver.coq import exported

    return exported(verdict)


print_by(print_any)
read_programs_by(function_of_text)
apply_programs_by(applied)
make_floats_by(as_float)
sample_by(sampled)
minimize_by(minimized)
export_by("coq", exported)
