"""The tracer of a compiled function: chooses symbols for numbers, and observes captured state and side effects.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> scale = {"by": 2.0}
    >>> f = compile(lambda x: x * scale["by"])
    >>> f(torch.ones(1)), scale.update(by=3.0), f(torch.ones(1)), f.recompilations[1].cause
    (tensor([2.]), None, tensor([3.]), 'scale.by is 3.0, was 2.0')

Guards compare the function's captured state (`captured_state`). Numbers in it that change become arguments of later
variants (`changed_numbers`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, NoReturn, TypeGuard

import torch

from backends.backend import AnyBackend
from frontends.pytorch.calls.argument_unpacking import constant_state
from frontends.pytorch.calls.captured_state import CapturedState
from frontends.pytorch.calls.dynamism import History, KnownSizes, Mixed, Policy
from frontends.pytorch.calls.example_call import ExampleCall
from frontends.pytorch.calls.forms import Bound, Form
from frontends.pytorch.calls.found_places import Unguarded
from frontends.pytorch.calls.marks import marks_of
from frontends.pytorch.calls.reads import Place, can_be_given, holds_tensors, shown
from frontends.pytorch.calls.serialization import Reads
from frontends.pytorch.calls.signatures import Signature, flattened, kind_of
from frontends.pytorch.errors import EagerOnly, GraphBreak, OpensObjects, Settles, TraceError, Uninitialized, refusal
from frontends.pytorch.python.code_replacement import own_code
from frontends.pytorch.python.effects import line_of
from frontends.pytorch.python.fields import classes_in
from frontends.pytorch.python.memoized import after, replayed
from frontends.pytorch.python.mentions import mentions_of
from frontends.pytorch.python.ran import Ran, watching
from frontends.pytorch.python.side_effects import Said, SideEffect
from frontends.pytorch.python.state import reflects
from frontends.pytorch.recording.escapes import KeptTensor
from frontends.pytorch.recording.inputs import Dynamic
from frontends.pytorch.recording.outside import Outside
from frontends.pytorch.tracing import trace
from frontends.pytorch.variant import Variant
from shapes.errors import UndecidedGuard
from shapes.guards.codegen import Check


@dataclass(eq=False)
class Tracer:
    """Traces a function for calls.

    Attributes:
        is_graph: whether the function reads only its arguments.
        tracing: makes a variant of a call: `trace`, or a deserializer.
        varying: sizes whose guard for faster kernels has failed: they get no such guard again.
        unguarded: the unguarded state of the last trace; None before the first one.
        traced_at: the numbers of the captured states in which variants were traced.
    """

    fn: Callable[..., object]
    backend: AnyBackend
    policy: Policy
    history: History
    is_graph: bool
    tracing: Callable[..., Variant] = trace
    varying: set[str] = field(default_factory=set)
    unguarded: Sequence[Unguarded] | None = None
    traced_at: set[int] = field(default_factory=set)
    _captured: CapturedState | None = None

    @property
    def captured(self) -> CapturedState:
        """The captured state; explored at the first call, since the function may be incomplete before."""
        if self._captured is None:
            self._captured = CapturedState([self.fn])
        return self._captured

    @property
    def read(self) -> Mapping[str, Place]:
        """By name, the varying numbers of captured state."""
        return {} if self._captured is None else self._captured.varying

    def signature(self, bound: Bound, form: Form) -> Signature:
        """The signature of a call with its captured state."""
        leaves, structure = flattened(*bound)
        state: Callable[[], object] = self.captured.state
        if self.is_graph:
            state = constant_state
        elif is_alone(self.fn) and not classes_in(structure) and not any(kind_of(leaf) == "object" for leaf in leaves):
            state = functools.partial(own_code, self.fn)
        return Signature.of(self.fn, *bound, state, form)

    def mixed(
        self, tensors: Mapping[str, torch.Tensor], dynamic: bool | Dynamic | None, relations: KnownSizes | None
    ) -> Mixed:
        """Choose which sizes of these arguments, by name, are symbols."""
        return Mixed(
            dynamic,
            self.history,
            relations=relations,
            marks={name: marks_of(tensor) for name, tensor in tensors.items()},
            ranks={name: tensor.dim() for name, tensor in tensors.items()},
            read=self.read,
        )

    def observed(self, signature: Signature, leaves: Sequence[Any], dynamic: object) -> list[str]:
        """Observe the sizes; returns a description of differences."""
        notes = []
        for leaf, value in zip(signature.leaves, leaves):
            if leaf.kind in ("tensor", "integer"):
                found = self.history.observe(leaf.shown, value)
                if dynamic is None if leaf.kind == "tensor" else dynamic is not False:
                    notes += found
            elif leaf.kind == "float":
                self.history.observe_float(leaf.shown, value)
        return notes

    def traced(
        self, signature: Signature, bound: Bound, leaves: Sequence[object], mixed: Mixed
    ) -> tuple[Variant, Check]:
        """The function traced, and found from now on by its check."""
        made = functools.partial(self._made, signature, bound, leaves, mixed)
        try:
            return self._tried(made, mixed)
        except (OpensObjects, EagerOnly, Settles, Uninitialized, KeptTensor):
            raise
        except (TraceError, UndecidedGuard):
            if not mixed.outside.is_asked:
                raise
            # the program needs elements of captured tensors
            mixed.outside = Outside(are_known=True)
            return self._tried(made, mixed)

    def _tried(self, made: Callable[[], tuple[Variant, Check]], mixed: Mixed) -> tuple[Variant, Check]:
        """Trace with symbolic numbers; again with constants if something needs their values."""
        try:
            return made()
        except Exception as error:
            if not mixed.tentative or isinstance(error, OpensObjects):
                raise
            # they are constants from now on
            self.history.fixed.update(mixed.tentative)
            return made()

    def _made(
        self, signature: Signature, bound: Bound, leaves: Sequence[object], mixed: Mixed
    ) -> tuple[Variant, Check]:
        """One trace, its variant and the check that selects it."""
        (args, kwargs), gradients, ran = bound, torch.is_grad_enabled(), Ran()
        try:
            with watching(ran):
                variant = self.tracing(
                    self.fn,
                    args,
                    dict(sorted(kwargs.items())),
                    dynamic=mixed,
                    gradients=gradients,
                    shared=True,
                    effects=not self.is_graph,
                    read=self.read,
                )
        except OpensObjects:
            # their values are arguments from now on
            raise
        except BaseException:
            self.unguarded = self.explore(signature, ran, leaves)
            raise
        unguarded = self.unguarded = self.explore(signature, ran, leaves)
        if unguarded:
            refuse_unguarded(unguarded[0], ran.functions())
        for effect in variant.effects:
            is_known = effect.node is not None or isinstance(effect.steps, Said)
            if not is_known and id(effect.holder) not in self.captured.containers:
                refuse_unwatched(effect)
        if variant.effects or variant.needs_distinct:
            variant.program, variant.watched = self.fn, self.captured.containers
            self.captured.stored.update([place for effect in variant.effects for place in effect.places])
        policy = self.policy
        run = variant.run_by(self.backend, policy.withheld, policy.guards, self.varying)
        replay = replayed(variant.memoized)
        if replay is not None:
            run = after(replay, run)
        if signature.captured_state == self.captured.state:
            self.traced_at.add(self.captured.state())
        if not self.is_graph:
            variant.example_call = ExampleCall.of(args, kwargs, ran.functions(), reads=bool(self.read))
            variant.reads = Reads.of(ran, signature.captured_state)
        return variant, signature.add(variant, signature.values(leaves), run)

    def explore(self, signature: Signature, ran: Ran, leaves: Sequence[object]) -> Sequence[Unguarded]:
        """Extend the captured state by the functions that ran, and guard calls of this signature by it."""
        if self.is_graph:
            return ()
        functions = ran.functions()
        if signature.captured_state != self.captured.state:
            if all(each is self.fn for each in functions) and not ran.memoized and not ran.silent:
                return ()
            signature.depend_on(self.captured.state)
        objects = [leaf for leaf in leaves if kind_of(leaf) == "object"]
        return self.captured.explore(functions, [*objects, *classes_in(signature.structure)], ran)

    def changed_numbers(self, dynamic: object) -> list[str] | None:
        """Move changing numbers from the captured state to the arguments; returns the changes. None if there are none;
        otherwise all earlier states and signatures are invalid."""
        if self._captured is None:
            return None
        around = self._captured
        others = [name for name, place in around.varying.items() if not can_be_given(place.held())]
        if others:
            around.take_back(others)
        changing = around.changing(self.traced_at) if self.traced_at else {}
        if dynamic is False:
            changing = {name: found for name, found in changing.items() if holds_tensors(found[0].held())}
        if changing:
            around.leave_out({name: place for name, (place, _) in changing.items()})
        if not others and not changing:
            return None
        notes = []
        for name, (place, before) in changing.items():
            for value in (before, place.held()):
                if isinstance(value, float):
                    self.history.observe_float(name, value)
                elif type(value) is int or isinstance(value, torch.Tensor):
                    self.history.observe(name, value)
            notes.append(f"{name} is {shown(place.read())}, was {shown(before)}")
        self.traced_at.clear()
        return notes


def is_alone(fn: Callable[..., object]) -> TypeGuard[FunctionType]:
    """Whether a function mentions no captured state."""
    if not isinstance(fn, FunctionType) or fn.__closure__:
        return False
    mentioned = mentions_of(own_code(fn))
    return not mentioned.globals and not mentioned.imports and not reflects(fn)


def refuse_unguarded(found: Unguarded, functions: Sequence[FunctionType]) -> NoReturn:
    """Refuse a program that reads unguarded state.

    Raises:
        GraphBreak: always.
    """
    what = f"the function reads {found}: the graph would not notice a change of it"
    fix = "read it outside of the compiled function and pass what is needed; fullgraph=False reads it on every call"
    raise GraphBreak(refusal(what, fix, line_of(functions, found.name)))


def refuse_unwatched(effect: SideEffect) -> NoReturn:
    """Refuse a call that mutates unguarded state.

    Raises:
        GraphBreak: always.
    """
    what = f"the function changes {effect.text}, which outlives the call: nothing tells of other changes of it"
    fix = "return the value, or do it outside; fullgraph=False runs this Python on every call"
    raise GraphBreak(refusal(what, fix, effect.line))
