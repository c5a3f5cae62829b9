"""A traced program as tensor expressions, checked against eager."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import torch

from backends.decisions.questions import Decisions
from backends.loops.program import Program
from frontends.pytorch import Variant, trace
from frontends.pytorch.graphs.form import Form
from frontends.pytorch.graphs.functional import functional
from frontends.pytorch.lowering.writer import Writer
from tests.backends.evaluation import evaluate
from tests.frontends.pytorch.against_eager import admits, agrees_at

Inputs = Sequence[torch.Tensor]
Function = Callable[..., object]


def written(form: Form, variant: Variant) -> tuple[Program, list[str]]:
    """A program, and the operators in it that are called."""
    program = Program(Decisions(variant.env))
    writer = Writer(program, form)
    writer.run()
    return program, [str(operation.target).removeprefix("aten.") for operation in writer.calls]


def agrees(function: Function, *samples: Inputs, calls: Sequence[str] = ()) -> Variant:
    """The values, strides, changed arguments and shared memory are those of eager; only these operators are called."""
    variant = trace(function, copy.deepcopy(list(samples[0])))
    program, called = written(functional(variant), variant)
    assert sorted(set(called)) == sorted(calls)
    for inputs in samples:
        assert admits(variant, inputs)
        agrees_at(variant, function, inputs, lambda *given: evaluate(program, given))
    return variant
