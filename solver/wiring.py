"""Dependency injection: where the functions of higher layers are that lower ones call (see `solver.hooks`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from solver.decide.verdict import Verdict, coq_exporter
from solver.floats.order import float_maker
from solver.floats.programs import Node
from solver.floats.value import Float
from solver.knowledge.facts import Minimizer, minimizer
from solver.terms.expr import Expr
from solver.terms.functions import program_reader
from solver.terms.interner import program_applier
from solver.terms.operations import Operation
from solver.terms.printing import printer


@printer.loaded_by
def _printer() -> Callable[[object], str]:
    from solver.syntax.printer import print_any

    return print_any


@program_reader.loaded_by
def _program_reader() -> Callable[[str], Operation]:
    from solver.floats.programs import function_of_text

    return function_of_text


@program_applier.loaded_by
def _program_applier() -> Callable[[str, Sequence[Expr]], Expr | None]:
    from solver.floats.substitution import applied

    return applied


@float_maker.loaded_by
def _float_maker() -> Callable[[Node, Sequence[Expr]], Float]:
    from solver.floats.substitution import as_float

    return as_float


@minimizer.loaded_by
def _minimizer() -> Minimizer:
    from solver.decide.minimal_core import minimized

    return minimized


@coq_exporter.loaded_by
def _coq_exporter() -> Callable[[Verdict], str]:
    from solver.coq import exported

    return exported
