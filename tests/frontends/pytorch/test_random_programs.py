"""Random programs of tensor operators: traced at some sizes, compared with eager torch at these and at others."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pytest
import torch
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from frontends.pytorch import Variant, trace
from frontends.pytorch.errors import Unsupported
from shapes.errors import UndecidedGuard
from tests.effort import examples
from tests.frontends.pytorch.against_eager import admits, run, same
from tests.frontends.pytorch.moves import MOVES

LARGEST = 3000
REFUSALS = (RuntimeError, IndexError, ValueError, NotImplementedError)

Step = tuple[int, int, int, int]


@dataclass(frozen=True)
class Program:
    """Steps by their number, with the places of the tensors that they take; arguments are named by letters of sizes."""

    shapes: tuple[str, ...]
    steps: tuple[Step, ...]

    def inputs(self, sizes: Mapping[str, int]) -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(1)
        return [
            torch.randn([sizes[letter] for letter in shape], generator=generator, dtype=torch.float64)
            for shape in self.shapes
        ]

    def __call__(self, *inputs: torch.Tensor) -> list[object]:
        values = list(inputs)
        for step in self.steps:
            values.append(taken(step, values))
        return values[len(inputs) :][-3:]

    def gradients(self, *inputs: torch.Tensor) -> list[object]:
        """The outputs and the gradients of a sum of them."""
        leaves = [each.detach().requires_grad_() for each in inputs]
        outputs = self(*[leaf * 1 for leaf in leaves])
        learned = [output for output in outputs if isinstance(output, torch.Tensor) and output.requires_grad]
        if not learned:
            return outputs
        total = sum([(output * output).sum() for output in learned])
        found = torch.autograd.grad(total, leaves, allow_unused=True)
        return [*[output.detach() for output in outputs], *found]


def taken(step: Step, values: Sequence[torch.Tensor]) -> torch.Tensor:
    number, first, second, k = step
    return MOVES[number](values[first % len(values)], values[second % len(values)], k)


@st.composite
def programs(draw: st.DrawFn) -> tuple[Program, dict[str, int], list[dict[str, int]]]:
    """A program that eager runs at the first sizes, and others to try."""
    shapes = draw(st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=2))
    sizes = {letter: draw(st.integers(1, 5)) for letter in "abc"}
    wanted = draw(
        st.lists(
            st.tuples(st.integers(0, len(MOVES) - 1), st.integers(0, 5), st.integers(0, 5), st.integers(0, 2)),
            min_size=1,
            max_size=7,
        )
    )
    start = Program(tuple(shapes), ())
    values = start.inputs(sizes)
    steps: list[Step] = []
    for number, first, second, k in wanted:
        # the newest are named first, so that programs are deep
        step = (number, len(values) - 1 - first % len(values), len(values) - 1 - second % len(values), k)
        before = copy.deepcopy(values)
        try:
            made = taken(step, values)
        except REFUSALS:
            values = before
            continue
        if made.numel() > LARGEST:
            values = before
            continue
        values.append(made)
        steps.append(step)
    assume(steps)
    others = [{letter: draw(st.integers(1, 9)) for letter in "abc"} for _ in range(3)]
    return Program(start.shapes, tuple(steps)), sizes, others


def check(program: Program, function: object, sizes: Mapping[str, int], others: Sequence[Mapping[str, int]]) -> None:
    inputs = program.inputs(sizes)
    try:
        expected_here = function(*copy.deepcopy(inputs))
    except REFUSALS:
        return
    del expected_here
    try:
        variant = trace(function, copy.deepcopy(inputs))
    except (UndecidedGuard, Unsupported):
        return
    for case in (sizes, *others):
        theirs, ours = program.inputs(case), program.inputs(case)
        if not admits(variant, ours):
            assert case is not sizes, [str(guard) for guard in variant.guards]
            continue
        try:
            expected = function(*theirs)
        except REFUSALS as refusal:
            # a reshape that copies in the graph may be a view in eager, of which `view` refuses a view; and a write
            # through a mask that is a choice does not mind a value that lies in what is written
            if not any(words in str(refusal) for words in ("view size is not compatible", "a single memory location")):
                with pytest.raises(REFUSALS):
                    run(variant, ours)
            continue
        try:
            got = run(variant, ours)
        except RuntimeError as error:
            # a check of the run: a size that only the run tells is where eager would broadcast it
            assert any(str(error).startswith(each.text) for each in variant.runtime_asserts), error
            continue
        same((got, ours), (expected, theirs))


def against_graph(
    program: Program,
    variant: Variant,
    run: Callable[[list[torch.Tensor]], Sequence[object]],
    cases: Sequence[Mapping[str, int]],
) -> None:
    """Compare another form of a program with its graph, what is returned and what becomes of the arguments."""
    for case in cases:
        theirs, ours = program.inputs(case), program.inputs(case)
        if not admits(variant, theirs):
            continue
        try:
            with torch.no_grad():
                expected = variant.graph(*theirs)
        except REFUSALS:
            continue
        with torch.no_grad():
            got = run(ours)
        for mine, wanted in zip([*got, *ours], [*expected, *theirs], strict=True):
            if isinstance(wanted, torch.Tensor):
                torch.testing.assert_close(mine, wanted, equal_nan=True)
            else:
                assert mine == wanted


@settings(max_examples=examples(150), suppress_health_check=list(HealthCheck), deadline=None)
@given(programs())
def test_values(drawn: tuple[Program, dict[str, int], list[dict[str, int]]]) -> None:
    """Fails when a traced program computes something else than eager, at any size that its guards admit."""
    program, sizes, others = drawn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(program, program, sizes, others)


@settings(max_examples=examples(80), suppress_health_check=list(HealthCheck), deadline=None)
@given(programs())
# what is returned shares memory with what it was made from at 2 x 2 alone
@example((Program(("bb",), ((33, 0, 0, 0), (26, 1, 1, 0))), {"b": 3}, [{"b": 1}, {"b": 2}, {"b": 4}]))
def test_gradients(drawn: tuple[Program, dict[str, int], list[dict[str, int]]]) -> None:
    """Fails when the gradients of a traced program are others than eager's."""
    program, sizes, others = drawn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(program, program.gradients, sizes, others)
