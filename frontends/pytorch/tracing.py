"""`trace`: run a function once on symbolic sizes, and record a graph with the guards under which it is valid.

>>> import torch
>>> from frontends.pytorch import trace
>>> def f(x, y):
...     return torch.cat([x, y]).relu().sum(-1)
>>> variant = trace(f, (torch.randn(3, 8), torch.randn(5, 8)))
>>> [str(guard) for guard in variant.guards]
['x_size1 == y_size1']
>>> x, y = torch.randn(1, 4), torch.randn(7, 4)
>>> bool((variant.graph(x, y)[0] == f(x, y)).all())
True
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from typing import Any, Final, Protocol

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch.utils._pytree import tree_flatten, tree_unflatten

from frontends.pytorch.decompositions import COMPOSITES, standing_in
from frontends.pytorch.differentiation import GRADIENTS
from frontends.pytorch.errors import ConstraintViolation, GraphBreak, OpensObjects, TraceError, eager_only, located
from frontends.pytorch.graphs.joint import differentiate
from frontends.pytorch.graphs.outputs import Outputs, related
from frontends.pytorch.python.autograd_calls import autograd_watched, saving_plainly
from frontends.pytorch.python.casting import casting_anew
from frontends.pytorch.python.effects import Effects, line_of
from frontends.pytorch.python.fields import classes_in, in_place, opens
from frontends.pytorch.python.importing import FirstImport, import_first
from frontends.pytorch.python.interception import Symbolic
from frontends.pytorch.python.memoized import Memoized
from frontends.pytorch.python.messages import Messages
from frontends.pytorch.python.ran import noted
from frontends.pytorch.python.settings import settings_watched
from frontends.pytorch.python.side_effects import Said, SideEffect
from frontends.pytorch.recording import pools, references
from frontends.pytorch.recording.aliasing import settle
from frontends.pytorch.recording.arguments import known_arguments, with_offset
from frontends.pytorch.recording.before_autograd import BeforeAutograd
from frontends.pytorch.recording.callers import brought_back, check_given, refuse_gradients, versions_of
from frontends.pytorch.recording.escapes import (
    forget_in_caches,
    let_go_of_closures,
    refuse_kept,
    refuse_kept_numbers,
    refuse_set,
)
from frontends.pytorch.recording.given_back import GivenBack, containers_given
from frontends.pytorch.recording.inputs import Dynamic, Dynamism
from frontends.pytorch.recording.marked import RESOLVE, refuse_negatives, settle_marked
from frontends.pytorch.recording.object_reconstruction import MadeInside, objects_opened
from frontends.pytorch.recording.operations import generators_of
from frontends.pytorch.recording.overlap import settle_overlaps
from frontends.pytorch.recording.reach import READS_OFFSET
from frontends.pytorch.recording.recorder import Recorder, renamed_inputs
from frontends.pytorch.recording.resampling import RESAMPLED
from frontends.pytorch.source_location import returned_at
from frontends.pytorch.symbolic.node import Nodes, value_of
from frontends.pytorch.symbolic.policy import general_path
from frontends.pytorch.variant import Variant
from shapes.accepted import is_truth, shown
from shapes.env import ShapeEnv
from shapes.origin import StackWalk
from shapes.symbolic.numbers import SymInt

TORCH: Final = os.path.dirname(torch.__file__) + os.sep


class Place(Protocol):
    """Where a program reads captured state."""

    def held(self) -> object: ...

    def write(self, value: object) -> None: ...


OPERATORS: Final = {**COMPOSITES, **GRADIENTS, **RESAMPLED}


@contextmanager
def instead_of_torch() -> Iterator[None]:
    """Replace parts of torch's Python and C++ while a trace runs."""
    with ExitStack() as stack:
        stack.enter_context(standing_in(OPERATORS))
        for module, name, function in (*references.PLACES, *pools.PLACES):
            if (theirs := getattr(module, name)) is not function:
                stack.callback(setattr, module, name, theirs)
                setattr(module, name, function)
        stack.enter_context(casting_anew())
        stack.enter_context(saving_plainly())
        # autograd has a thread for each accelerator, in which no trace is active
        stack.enter_context(torch.autograd.set_multithreading_enabled(False))
        yield


def trace(
    fn: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object] | None = None,
    *,
    dynamic: bool | Dynamic | Dynamism = True,
    pre_autograd: bool = False,
    gradients: bool = False,
    shared: bool = False,
    effects: bool = False,
    read: Mapping[str, Place] = {},
) -> Variant:
    """Trace a function for arguments like these, with any sizes, without executing operators.

    `dynamic=False` makes every size a constant. With `gradients`, the backward of the outputs is recorded as well (see
    `frontends.pytorch.graphs.joint`); with `pre_autograd`, composite operators are not decomposed, and there is no
    backward. With `shared`, a tensor that is passed twice is one input, and the graph is valid for such calls only; an
    argument container that is returned is the caller's own object (`recording/given_back.py`). With `effects`, which
    requires `shared`, a variant may have side effects, which its caller performs. The `kwargs` named in `read` are
    captured state, which the function reads from these places.
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
    given = (fn, args, kwargs or {}, dynamism, pre_autograd, gradients, shared, effects and shared)
    while True:
        try:
            return _traced_alone(*given, dynamism=dynamism, read=read)
        except FirstImport as found:
            name = found.name
        except TraceError as error:
            located(error, fn)
            raise
        import_first(name)


def _traced_alone(*given: Any, dynamism: Dynamism, read: Mapping[str, Place]) -> Variant:
    """Run `_traced` such that nothing of the trace survives but its result."""
    with MadeInside() as inside:
        env = ShapeEnv(origin=StackWalk(skip=[TORCH]), policy=general_path)
        recorder = Recorder(env, Nodes(env), dynamism.outside)
        # context variables are set in a copy of the context
        context = copy_context()
        memoized = Memoized()
        try:
            variant = context.run(_traced, recorder, inside, memoized, read, *given)
        except BaseException:
            memoized.forget()
            forget_in_caches()
            let_go_of_closures(inside)
            raise
        finally:
            recorder.kinds.let_go_of_tensors()
        try:
            variant.memoized = memoized.uses()
            refuse_set(context)
            del context
            refuse_kept(recorder.tensors, inside)
            if read:
                refuse_kept_numbers()
        except BaseException:
            memoized.forget()
            raise
    ran = noted()
    if ran is not None:
        ran.memoized, ran.has_computed = variant.memoized, memoized.has_computed
        ran.elements = tuple(dynamism.outside.tensors)
    return variant


def _traced(
    recorder: Recorder,
    inside: MadeInside,
    memoized: Memoized,
    read: Mapping[str, Place],
    fn: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    dynamism: Dynamism,
    pre_autograd: bool,
    gradients: bool,
    shared: bool,
    has_effects: bool,
) -> Variant:
    """The variant; no tensor of the trace is referenced any more when it returns."""
    env = recorder.env
    known = known_arguments(recorder, fn, args, kwargs, dynamism, shared=shared)
    args, kwargs, leaves, structure, first = known.args, known.kwargs, known.leaves, known.structure, known.first
    inputs, numbers, symbolic = known.inputs, known.numbers, known.symbolic
    dynamism.settle(env, inputs)
    mode = BeforeAutograd(recorder) if pre_autograd else recorder
    given = [symbolic[place] for place in first.values()]
    versions = versions_of(given)
    with brought_back(recorder.versions) as written, in_place((args, kwargs)):
        positional, named = tree_unflatten(symbolic, structure)
        containers = containers_given(structure, (positional, named)) if shared else {}
        symbols_read = [(place, named.pop(name)) for name, place in read.items()]
        all_given = (positional, named, *[value for _, value in symbols_read])
        changed, starts = put_there(symbols_read), (fn, *leaves, *classes_in(structure))
        messages = Messages(lambda: recorder.recording.operations) if has_effects else None
        with changed, mode, enable_python_dispatcher(), instead_of_torch(), Symbolic(recorder, starts) as python:
            python.messages = messages
            with (
                Effects(
                    python.functions, starts, all_given, inside.before, memoized, has_effects=has_effects
                ) as effects,
                autograd_watched(lambda: recorder.backward),
                settings_watched(lambda name: line_of(python.functions, name)),
            ):
                returned = fn(*positional, **named)
                try:
                    numbers_of = {key: node.number for key, node in containers.items()}
                    found = effects.changes.side_effects(numbers_of, effects.known)
                    found += messages.effects() if messages is not None else []
                    side_effects, tree = returned_and_stored(effects, found, returned, inside, containers, leaves)
                    values, output_structure = tree_flatten(tree)
                    # the references to the results are counted at the end
                    del tree
                except RecursionError:
                    eager_only("a container is returned that holds itself", "return what is in it", returned_at(fn))
                effects.changes.returns(returned, values)
                recorder.recording.ends = renamed_inputs(zip(given, [each.result for each in inputs]))
                uncounted = recorder.data_read or bool(recorder.recording.ends)
                now = [after - before for before, after in zip(versions, versions_of(given))]
                written += [(place, count) for place, count in enumerate(now) if count or uncounted]
                check_given(zip(given, [each.requires_grad for each in inputs]))
                relations: Outputs | None
                relations, shared_bases = related(values, given, recorder.detached, recorder.recording.operations)
                outputs = [output_of(recorder, value) for value in values]
                bases = [output_of(recorder, base) for base in shared_bases]
                followed = [*relations.with_gradient(values), *shared_bases]
                joint = None
                if gradients and not pre_autograd:
                    joint = differentiate(recorder, given, followed)
                elif not torch.is_grad_enabled():
                    refuse_gradients(followed)
                else:
                    # autograd records the graph itself, operator by operator
                    relations, bases = None, []
            effects.generators.check(generators_of(recorder.recording.operations))
            settle(recorder, [*outputs, *bases])
            settle_overlaps(recorder)
            marks = settle_marked(recorder, [*outputs, *bases])
            if marks:
                if any(place >= len(outputs) for place in marks):
                    eager_only("a conjugate or a negative is returned of which others are views", RESOLVE, None)
                relations = (relations or Outputs((None,) * len(outputs), is_followed=True)).with_marks(marks)
            refuse_negatives(recorder, leaves, written=bool(written))
            if recorder.draws is not None:
                recorder.draws.check()
    recorder.draws = None
    recorder.versions.clear()
    with_gradient = [isinstance(value, torch.Tensor) and value.requires_grad for value in values]
    operations = recorder.recording.operations
    if recorder.kinds.offset_read or any(operation.target in READS_OFFSET for operation in operations):
        inputs = [with_offset(env, each) for each in inputs]
    return Variant(
        env=env,
        recording=recorder.recording,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        structure=output_structure,
        with_gradient=tuple(with_gradient),
        joint=joint,
        integers=tuple(numbers),
        places=tuple(known.places),
        relations=relations,
        bases=tuple(bases),
        written=tuple(written),
        marks_matter=recorder.marks_asked or bool(written),
        effects=tuple(side_effects),
        needs_distinct=effects.changes.log.needs_distinct,
    )


def returned_and_stored(
    effects: Effects,
    found: Sequence[tuple[SideEffect, list[object]]],
    returned: object,
    inside: MadeInside,
    containers: Mapping[int, GivenBack],
    leaves: Sequence[object],
) -> tuple[list[SideEffect], object]:
    """Select a call's side effects among those that were `found`; and its results as a pytree, together with the stored
    values, if there are any.

    Raises:
        OpensObjects: they mutate objects among the arguments that are no pytree nodes yet.
    """
    changes = effects.changes
    inside.known = effects.known
    if not found:
        return [], objects_opened(returned, inside, containers)
    changed = changes.said
    if opens([leaf for leaf in leaves if not isinstance(leaf, torch.Tensor)], changed):
        raise OpensObjects("objects among the arguments are changed")
    stored = [value for _, values in found for value in values]
    try:
        return [effect for effect, _ in found], objects_opened((returned, stored), inside, containers, changed)
    except GraphBreak:
        if any(isinstance(effect.steps, Said) for effect, _ in found):
            raise
        # a stored object cannot be reconstructed
        changes.refuse_effects()
        return [], objects_opened(returned, inside, containers)


@contextmanager
def put_there(numbers: Sequence[tuple[Place, object]]) -> Iterator[None]:
    """For the duration of a trace, replace the numbers that the program reads by symbols."""
    before = [(place, place.held()) for place, _ in numbers]
    try:
        for place, number in numbers:
            place.write(number)
        yield
    finally:
        for place, number in before:
            place.write(number)


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
