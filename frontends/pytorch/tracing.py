"""`trace`: run a function once on symbolic sizes, and record a graph with the guards under which it is valid.

>>> import torch
>>> from frontends.pytorch import trace
>>> def f(x, y):
...     return torch.cat([x, y]).relu().sum(-1)
>>> variant = trace(f, (torch.randn(3, 8), torch.randn(5, 8)))
>>> [str(guard) for guard in variant.guards]
['x.shape[1] == y.shape[1]']
>>> x, y = torch.randn(1, 4), torch.randn(7, 4)
>>> bool((variant.graph(x, y)[0] == f(x, y)).all())
True
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch.utils._pytree import tree_flatten

from frontends.pytorch.errors import ConstraintViolation, TraceError, located
from frontends.pytorch.graphs.joint import differentiate
from frontends.pytorch.graphs.outputs import Outputs, related
from frontends.pytorch.recording.aliasing import READS_OFFSET, find_overlaps, refuse_negatives, settle
from frontends.pytorch.recording.callers import brought_back, check_given, refuse_gradients, versions_of
from frontends.pytorch.recording.inputs import Dynamic, Dynamism, known_arguments, unflatten, with_offset
from frontends.pytorch.recording.randomness import saving_plainly
from frontends.pytorch.recording.recorder import Recorder
from frontends.pytorch.recording.torch_functions import TorchFunctions
from frontends.pytorch.recording.torch_internals import replaced
from frontends.pytorch.source_location import checks_of_truth, origin
from frontends.pytorch.symbolic.formulas import general_path
from frontends.pytorch.symbolic.node import Nodes, value_of
from frontends.pytorch.variant import Variant
from shapes.accepted import is_truth, shown
from shapes.env import ShapeEnv
from shapes.errors import UndecidedGuard
from shapes.origin import tested_truth
from shapes.symbolic.numbers import SymInt

EXPECT: Final = "expect_true("
"""The beginning of the engine's advice for an undecided guard."""


def trace(
    fn: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object] | None = None,
    *,
    dynamic: bool | Dynamic | Dynamism = True,
    gradients: bool = False,
    shared: bool = False,
) -> Variant:
    """Trace a function for arguments like these, with any sizes, without executing operators.

    For pure functions of tensors and numbers; `compile` reads Python through Dynamo. A trace watches torch only: what
    the function does besides, such as printing, happens once, while it is traced, and captured values are constants.
    It must neither catch the trace's errors nor change what autograd knows of tensors that it did not make.
    A size is a `torch.SymInt` to it, and no `int`; its text is an expression. Python's own `max`, `int` or `math.sqrt`
    make it a number, under a guard; `torch.sym_max`, `torch.sym_int` and `torch.sym_sqrt` keep it symbolic.

    `dynamic=False` makes every size a constant. With `gradients`, the backward of the outputs is recorded as well (see
    `frontends.pytorch.graphs.joint`). With `shared`, a tensor that is passed twice is one input, and the graph is valid
    for such calls only.
    """
    if not callable(fn):
        raise ConstraintViolation(f"fn={shown(fn)}: expected a function or a module")
    if not isinstance(args, list | tuple):
        raise ConstraintViolation(f"args={shown(args)}: expected a tuple of the arguments, as in trace(f, (x,))")
    if not (kwargs is None or isinstance(kwargs, Mapping)):
        raise ConstraintViolation(f"kwargs={shown(kwargs)}: expected the arguments by name, or None")
    if isinstance(dynamic, Dynamism):
        dynamism = dynamic
    elif not (is_truth(dynamic) or callable(dynamic)):
        expected = "expected True, False or a function of name, axis and size"
        raise ConstraintViolation(f"dynamic={shown(dynamic)}: {expected}")
    else:
        dynamism = Dynamism(dynamic if callable(dynamic) else lambda name, axis, size: dynamic and axis >= 0)
    # torch imports it at the first call of a mode, in which nothing must be imported
    importlib.import_module("torch._dynamo")
    env = ShapeEnv(origin=origin, policy=general_path)
    recorder = Recorder(env, Nodes(env))
    try:
        return _traced(recorder, fn, args, kwargs or {}, dynamism, gradients, shared)
    except UndecidedGuard as error:
        if error.fix.startswith(EXPECT):
            condition = error.fix.removeprefix(EXPECT).partition("), or ask")[0]
            tested = tested_truth(error.question, error.origin)
            checks = checks_of_truth(tested) if tested else f"torch._check({condition}) if it always holds"
            error.fix = f"{checks}; else torch.where, or torch.cond of both sides"
        raise
    except TraceError as error:
        located(error)
        raise
    finally:
        recorder.kinds.let_go_of_tensors()


@contextmanager
def casting_anew() -> Iterator[None]:
    """Disable autocast's cache of cast parameters inside of the block: later eager calls would receive a traced tensor
    from it, and a graph a stale one."""
    before = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled(before)


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Record the operators of this thread."""
    with (
        recorder,
        enable_python_dispatcher(),
        replaced(),
        casting_anew(),
        saving_plainly(),
        # autograd has a thread for each accelerator, in which no trace is active
        torch.autograd.set_multithreading_enabled(False),
        TorchFunctions(recorder),
    ):
        yield


def _traced(
    recorder: Recorder,
    fn: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    dynamism: Dynamism,
    gradients: bool,
    shared: bool,
) -> Variant:
    """The variant; no tensor of the trace is referenced any more when it returns."""
    env, recorder.gradients = recorder.env, gradients
    known = known_arguments(recorder, fn, args, kwargs, dynamism, shared=shared)
    leaves, first, inputs, symbolic = known.leaves, known.first, known.inputs, known.symbolic
    dynamism.settle(env, inputs)
    given = [symbolic[place] for place in first.values()]
    versions = versions_of(given)
    with brought_back(recorder.versions) as written:
        positional, named = unflatten(symbolic, known.structure)
        with recording(recorder):
            values, output_structure = tree_flatten(fn(*positional, **named))
            now = [after - before for before, after in zip(versions, versions_of(given))]
            changed = recorder.recording.changed()
            is_changed = [count > 0 or each.result in changed for count, each in zip(now, inputs)]
            written += [(place, count) for place, count in enumerate(now) if is_changed[place]]
            check_given(zip(given, [each.requires_grad for each in inputs]), recorder.versions)
            relations: Outputs | None
            relations, shared_bases = related(values, given, recorder.detached, recorder.recording.operations)
            outputs = [output_of(recorder, value) for value in values]
            bases = [output_of(recorder, base) for base in shared_bases]
            followed = [*relations.with_gradient(values), *shared_bases]
            joint = None
            if gradients:
                joint = differentiate(recorder, given, followed)
            elif not torch.is_grad_enabled():
                refuse_gradients(followed)
            else:
                # autograd records the graph itself, operator by operator
                relations, bases = None, []
            settle(recorder, [*outputs, *bases], ends=shared)
            find_overlaps(recorder.recording)
            refuse_negatives(recorder, leaves, written=bool(written))
    with_gradient = [isinstance(value, torch.Tensor) and value.requires_grad for value in values]
    operations = recorder.recording.operations
    if recorder.kinds.offset_read or any(operation.target in READS_OFFSET for operation in operations):
        inputs = [with_offset(env, each) for each in inputs]
    return Variant(
        env=env,
        kinds=recorder.kinds,
        recording=recorder.recording,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        structure=output_structure,
        with_gradient=tuple(with_gradient),
        joint=joint,
        integers=tuple(known.numbers),
        places=tuple(known.places),
        relations=relations,
        bases=tuple(bases),
        written=tuple(written),
        marks_matter=recorder.marks_asked or bool(written),
    )


def output_of(recorder: Recorder, value: object) -> object:
    """The graph's output for a value that the function returned."""
    if isinstance(value, torch.Tensor):
        return recorder.result_of(value)
    if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        number = value_of(value)
        is_partial = isinstance(number, SymInt) and number.domain is not number.operations.true
        if is_partial and recorder.env.hint(number) is not None:
            # where Python raises an error, another call does as well; unbacked numbers raise when they are used
            recorder.env.require(number.operations.boolean(number.domain, number.operations.true))
        return recorder.nodes.node(number)
    return value
