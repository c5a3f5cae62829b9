"""A variant, one graph of a function with its preconditions, which runs operator by operator or as fused kernels.

    >>> import torch
    >>> from backends import Unreadable, eager
    >>> from frontends.pytorch.tracing import trace
    >>> variant = trace(lambda x, y: (x + y).relu(), (torch.randn(3), torch.randn(3)))
    >>> variant.run_by(eager)((torch.tensor([1.0, -2.0]), torch.tensor([1.0, 1.0])))
    [tensor([2., 0.])]

`frontends.pytorch.tracing.trace` makes variants; `frontends.pytorch.variants.compiled_graph` selects one by its guards.
A kernel backend compiles the functionalized forward and backward separately. A program without a functional form, and a
call in which a mutated argument overlaps another argument, runs operator by operator.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

import torch
from torch.utils._pytree import TreeSpec

from backends import Unreadable, eager
from backends.backend import AnyBackend, Backend, emits_kernels, name_of
from backends.decisions.costs import Costs, Expected, commit, guard_candidates
from backends.decisions.guard_candidates import GuardCandidate
from backends.decisions.questions import Decisions
from backends.loops.kernels import Kernel
from backends.loops.nodes import Memory
from backends.loops.program import Call
from backends.program.host import Host, hosted
from backends.program.layouts import strides_of
from frontends.pytorch.errors import Unsupported
from frontends.pytorch.graphs.captured import Captured
from frontends.pytorch.graphs.form import Form, in_graph
from frontends.pytorch.graphs.functional import functional, functional_joint
from frontends.pytorch.graphs.joint import JointRunner, runner
from frontends.pytorch.lowering import LOWERINGS, lower
from frontends.pytorch.lowering.results import place_of
from frontends.pytorch.lowering.writer import Laid
from frontends.pytorch.recording.inputs import unflatten
from frontends.pytorch.recording.operations import is_random
from frontends.pytorch.symbolic.tensor import Result
from shapes.guards.guards import Guard
from shapes.guards.toolchain import Unavailable
from shapes.reports.records import Entry
from solver.terms.prop import Prop

Run = Callable[[Sequence[object]], Sequence[object]]
log: Final = logging.getLogger("symshape")
_set_versions: Final = torch._C._autograd._unsafe_set_version_counter
_is_grad_enabled: Final = torch._C.is_grad_enabled
_set_grad_enabled: Final = torch._C._set_grad_enabled
_increment_versions: Final = torch._C._increment_version
_DisableAutocast: Final = torch._C._DisableAutocast


@dataclass(frozen=True, slots=True)
class Running:
    """A variant as a callable.

    Attributes:
        call: takes the tensors and then the numbers, and returns the flat outputs.
        hosts: the host programs, forward and then backward; none if operators run one by one.
        note: why it does not run as kernels, if it does not.
        guard_candidates: guards that would make kernels faster, if the policy wants them; `bought` are those that were
            added.
        is_plain: True if the call is its one host alone, which mutates nothing. `draws`: True if it draws random
            numbers.
    """

    call: Run
    hosts: tuple[Host, ...] = ()
    note: str = ""
    guard_candidates: tuple[GuardCandidate, ...] = ()
    bought: Mapping[Prop, GuardCandidate] = field(default_factory=dict)
    is_plain: bool = False
    draws: bool = False


@dataclass(eq=False, repr=False, kw_only=True)
class Variant(Captured):
    """One graph of a function, with its preconditions.

    Attributes:
        structure: the pytree structure of the function's results.
        places: the indices of inputs and numbers among the leaves of the arguments.
        marks_matter: True if it is valid only for arguments without the negative bit.
        cause: why it was traced.
        running: the compiled callable, once a backend has been chosen.
        made: when it was traced, in seconds of the epoch.
        specialized: the sizes that became constants before it was traced.
    """

    structure: TreeSpec
    places: tuple[int, ...]
    marks_matter: bool
    cause: str = "first call"
    running: Running | None = None
    made: float = field(default_factory=time.time)
    specialized: tuple[Entry, ...] = ()

    @property
    def guards(self) -> tuple[Guard, ...]:
        return self.env.guards()

    def run_by(
        self,
        backend: AnyBackend,
        withheld: Collection[str] = (),
        guards: Expected | None = None,
        varying: Collection[str] = (),
    ) -> Callable[[Sequence[object]], Sequence[object]]:
        """Compile the variant with a backend to a function from tensors and numbers to flat outputs.

        Kernels are made without asking the `withheld` kinds of questions; with `guards`, profitable guards are added
        (`running`).
        """
        self.running = running(self, backend, withheld, guards, varying)
        return self.running.call

    def assembled(self, values: Sequence[object]) -> object:
        """Assemble the function's results from the graph's outputs."""
        outputs = [value if in_graph(output) else output for value, output in zip(values, self.outputs)]
        return unflatten(outputs, self.structure)


def running(
    variant: Captured,
    backend: AnyBackend,
    withheld: Collection[str] = (),
    guards: Expected | None = None,
    varying: Collection[str] = (),
) -> Running:
    """Compile a variant with a backend, without asking the `withheld` kinds of questions.

    With `guards`, profitable guards are added to the variant; none constrains a size named in `varying`.
    """
    found, note = None, ""
    if emits_kernels(backend):
        try:
            found = _by_kernels(variant, backend, withheld, {})
            found = found if guards is None else _with_guards(variant, backend, withheld, guards, varying, found)
        except Unsupported as error:
            found, note = None, str(error).splitlines()[0]
            log.warning("runs operator by operator: %s", note)
    found = found or Running(_eagerly(variant), note=note)
    call = found.call if variant.relations is None else variant.relations.around(found.call)
    if torch._C._is_any_autocast_enabled():
        call = _without_autocast(call)
    return found if call is found.call else replace(found, call=call, is_plain=False)


def _eagerly(variant: Captured) -> Run:
    if variant.joint is not None:
        return runner(variant, lambda run: counted(variant, run))
    return _followed(variant, counted(variant, eager.runner(variant.graph)))


def counted(variant: Captured, run: Run) -> Run:
    """A run that increments the version counters of written tensors as often as eager torch does."""
    if not variant.written:
        return run
    targets = [tensor for tensor, _ in variant.written]
    counts = [count for _, count in variant.written]

    def call(tensors: Sequence[object]) -> Sequence[object]:
        written: list[Any] = [tensors[place] if type(place) is int else place for place in targets]
        try:
            before = [tensor._version for tensor in written]
        except RuntimeError:
            return _refused(run, tensors, written)
        values = run(tensors)
        # one by one, as two arguments that are views of one tensor share a version counter
        _set_versions(written, before)
        _increment_versions([each for each, count in zip(written, counts) for _ in range(count)])
        return values

    return call


def _refused(run: Run, tensors: Sequence[object], written: Sequence[torch.Tensor]) -> Sequence[object]:
    """A run that writes inference tensors, which torch rejects outside of inference mode, after writing them."""
    values = run(tensors)
    for tensor in written:
        if tensor.is_inference():
            tensor[None][:0].zero_()
    return values


def _followed(variant: Captured, run: Run) -> Run:
    # no output has a gradient: autograd must not record the operators of a gradient taken inside
    return run if variant.relations is None and any(variant.with_gradient) else _unfollowed(variant, run)


def _unfollowed(variant: Captured, run: Run) -> Run:
    learned = [each.requires_grad for each in variant.inputs]
    constants = [each.constant for each in variant.recording.constants]
    learned += [tensor.requires_grad for tensor in constants if tensor is not None]
    return without_gradients(run) if any(learned) else run


def without_gradients(run: Run) -> Run:
    """Like `torch.no_grad`, which takes 2 us to enter."""

    def call(tensors: Sequence[object]) -> Sequence[object]:
        if not _is_grad_enabled():
            return run(tensors)
        _set_grad_enabled(False)
        try:
            return run(tensors)
        finally:
            _set_grad_enabled(True)

    return call


def _without_autocast(run: Run) -> Run:
    """Disable autocast: a graph has its casts as operators, and must not be cast again."""

    def call(tensors: Sequence[object]) -> Sequence[object]:
        with _DisableAutocast():
            return run(tensors)

    return call


def _with_guards(
    variant: Captured,
    backend: Backend,
    withheld: Collection[str],
    expected: Expected,
    varying: Collection[str],
    found: Running,
) -> Running:
    """The variant compiled with profitable guards, which its kernels rely on."""
    steps = [step for host in found.hosts for step in host.steps]
    kernels, calls = [sum(isinstance(step, kind) for step in steps) for kind in (Kernel, Call)]
    costs = Costs.measured(backend.device)
    asked = [host.program.decisions for host in found.hosts]
    guards = guard_candidates(asked, expected, costs, seconds=costs.of_variant(kernels, calls), varying=varying)
    origins = {str(each.origin): each.origin for each in variant.recording.operations if each.origin is not None}
    bought = commit(variant.env, guards, origins)
    if bought:
        found = _by_kernels(variant, backend, withheld, bought)
    return replace(found, guard_candidates=tuple(guards), bought=bought)


def _by_kernels(
    variant: Captured, backend: Backend, withheld: Collection[str], bought: Mapping[Prop, GuardCandidate]
) -> Running:
    decisions = Decisions(variant.env, withheld=withheld, bought=bought)
    if variant.joint is None:
        form = functional(variant)
        hosts: tuple[Host, ...] = (_host(form, backend, decisions),)
        # outputs of kernels have no gradient, and operators cannot write tensors with one to planned memory
        run = _unfollowed(variant, counted(variant, hosts[0].function))
    else:
        joint = functional_joint(variant, LOWERINGS, decisions)
        form = joint.forward
        inner = {each for each in joint.saved if each not in joint.results}
        first = _host(form, backend, decisions, inner=inner, returned=len(joint.results))
        laid = {
            result: strides_of(memory)
            for result, memory in zip(form.outputs, first.program.outputs)
            if result in inner and isinstance(memory, Memory)
        }
        backwards: list[Host] = []

        def compiled(form: Form) -> Run | None:
            try:
                asked = Decisions(variant.env, withheld=withheld, bought=bought)
                backwards.append(_host(form, backend, asked, laid=laid, consuming=True))
            except Unsupported as error:
                if not backwards:
                    raise
                log.warning("outputs without a gradient count as zeros: %s", str(error).splitlines()[0])
                return None
            return backwards[-1].function

        run = JointRunner(variant, joint, counted(variant, first.function), compiled)
        hosts = first, backwards[0]
    otherwise = cache(lambda: _eagerly(variant))
    if form.changed:
        # a mutated argument may overlap another one
        return Running(lambda tensors: (otherwise() if form.overlaps(tensors) else run)(tensors), hosts)
    random = any(map(is_random, form.operations))
    # memory may not hold a tensor's values, as of `x.conj().imag`: then the original graph runs
    run = run if random else unless(Unreadable, run, otherwise)
    return Running(run, hosts, is_plain=variant.joint is None and not variant.written, draws=random)


def unless(error: type[Exception], run: Run, otherwise: Callable[[], Run]) -> Run:
    """A run; another one where it raises this error, before it has had a visible effect."""

    def call(tensors: Sequence[object]) -> Sequence[object]:
        try:
            return run(tensors)
        except error:
            pass
        return otherwise()(tensors)

    return call


def _host(
    form: Form,
    backend: Backend,
    decisions: Decisions,
    *,
    inner: Collection[Result] = (),
    laid: Laid | None = None,
    returned: int | None = None,
    consuming: bool = False,
) -> Host:
    device = place_of(form).device
    if device is not None and device.type != backend.device:
        raise Unsupported(f"tensors on {device.type}: {name_of(backend)} is for {backend.device}")
    program = lower(form, decisions.env, decisions, inner=inner, laid=laid)
    with as_current(device):
        host = hosted(program, backend, returned=returned, consuming=consuming)
    if isinstance(host, Unavailable):
        raise Unsupported(host.reason)
    host.function = placed(host.function, device)
    return host


def as_current(device: torch.device | None) -> AbstractContextManager[object]:
    """Make the program's device current, for allocation and compilation."""
    return nullcontext() if device is None or device.type == "cpu" else torch.accelerator.device_index(device.index)


def placed(
    run: Callable[[Sequence[object]], list[object]], device: torch.device | None
) -> Callable[[Sequence[object]], list[object]]:
    """The run with its device made current."""
    if device is None or device.type == "cpu":
        return run
    current, index = torch.accelerator.current_device_index, device.index

    def on_device(tensors: Sequence[object]) -> list[object]:
        if current() == index:
            return run(tensors)
        with as_current(device):
            return run(tensors)

    return on_device
