"""Dependency injection: the functions of higher layers that lower ones call (see `solver.hooks`).

    >>> from solver.terms.interner import Interner
    >>> from solver.terms.printing import printer
    >>> printer.call(Interner().symbol("s") + 1)
    's + 1'

All hooks are filled here, when the package is imported. Their modules are imported at the first call, so that a process
which exports no theorem never reads what writes them.
"""

from __future__ import annotations

from collections.abc import Sequence

from solver.decide.answer import Answer, coq_exporter, html_renderer
from solver.decide.verdict import Always, Depends, GaveUp, Never
from solver.floats.order import float_maker
from solver.floats.programs import Node
from solver.floats.value import Float
from solver.knowledge import facts
from solver.knowledge.facts import Facts, minimizer
from solver.proofs.fact import Fact
from solver.proofs.step import ProofStep
from solver.terms.expr import Expr
from solver.terms.functions import program_reader
from solver.terms.interner import program_applier
from solver.terms.operations import Operation
from solver.terms.printing import printer
from solver.terms.prop import Prop


def _printed(node: object) -> str:
    from solver.syntax.printer import print_any

    return print_any(node)


def _program(text: str) -> Operation:
    from solver.floats.programs import function_of_text

    return function_of_text(text)


def _program_of(text: str, arguments: Sequence[Expr]) -> Expr | None:
    from solver.floats.substitution import applied

    return applied(text, arguments)


def _float_of(node: Node, arguments: Sequence[Expr]) -> Float:
    from solver.floats.substitution import as_float

    return as_float(node, arguments)


def _minimized(
    proof: ProofStep, goal: Prop, prop: Prop, domain: Prop, known: Facts, solvers: bool
) -> tuple[ProofStep, list[Fact], bool]:
    from solver.decide.minimal_core import minimized

    return minimized(proof, goal, prop, domain, known, solvers)


def _theorem(answer: Answer) -> str:
    from solver.coq import exported

    assert isinstance(answer, Always | Never | Depends | GaveUp)
    return exported(answer)


def _html(answer: Answer) -> str:
    from solver.decide.pages import html_of_verdict

    assert isinstance(answer, Always | Never | Depends | GaveUp)
    return html_of_verdict(answer)


def _written_once(self: object, name: str, value: object) -> None:
    """Set an attribute that has no value yet."""
    if hasattr(self, name):
        raise AttributeError(f"attribute {name!r} of {type(self).__name__!r} objects is not writable")
    object.__setattr__(self, name, value)


if Facts.__setattr__ is object.__setattr__ and facts.__file__.endswith(".py"):
    # compiled classes refuse to assign to what is final
    setattr(Facts, "__setattr__", _written_once)  # noqa: B010  # a method of a class is no variable to mypy

printer.call = _printed
program_reader.call = _program
program_applier.call = _program_of
float_maker.call = _float_of
minimizer.call = _minimized
coq_exporter.call = _theorem
html_renderer.call = _html
