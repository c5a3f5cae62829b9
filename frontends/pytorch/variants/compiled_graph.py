"""A captured graph with its variants: dispatch of a call, and tracing where no variant accepts it.

    >>> import torch
    >>> from frontends.pytorch.variants.compiled_graph import CompiledGraph
    >>> graph = CompiledGraph(lambda x: (x * 2,), ["x"], lambda x: (x * 2,), backend="cpu")
    >>> graph(torch.ones(3)), graph(torch.ones(5)), len(graph.variants)
    ([tensor([2., 2., 2.])], [tensor([2., 2., 2., 2., 2.])], 1)

The inputs of a graph are tensors and numbers in a flat sequence, and its guards are about nothing else. A graph that
cannot be traced runs as it was captured, operator by operator, with a warning that says why. The cause of another
variant is the guard of the closest one that the call fails:

    >>> graph = CompiledGraph(lambda x: (x * 2 if x.shape[0] == 4 else x,), ["x"], None, backend="eager")
    >>> for size in (4, 5):
    ...     out = graph(torch.randn(size))
    >>> print(graph.variants[1].cause)
    guard `x.shape[0] == 4` fails at x.shape[0]=5 (...)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

import torch

from backends import named
from backends.results import Aliased
from frontends.pytorch.errors import ConstraintViolation, TraceError, reason_of
from frontends.pytorch.graphs.form import in_graph
from frontends.pytorch.recording.inputs import Dynamism
from frontends.pytorch.tracing import trace
from frontends.pytorch.variant import Run, Variant, unless
from frontends.pytorch.variants.arguments import GraphArguments, intercepted, is_repeated
from frontends.pytorch.variants.policy import Policy
from shapes.errors import UndecidedGuard
from shapes.guards.arguments import Source
from shapes.guards.dispatch import Dispatch, combined

if TYPE_CHECKING:
    from frontends.pytorch.variants.native import Native
    from shapes.guards.coverage import Ranges
    from solver.decide.verdict import Verdict

Call = Callable[[Sequence[Any]], Sequence[object]]
FIRST: Final = "first call"
"""The cause of a capture that is no recompilation."""
log: Final = logging.getLogger("symshape")


class CompiledGraph:
    """A captured graph with its variants.

    Attributes:
        function: the graph as a function that is traced.
        names: of its inputs.
        operators: the graph as it was captured.
        variants: in the order in which they were traced.
        is_guarded: True if its variants test all of Dynamo's guards on sizes as well.
        reason: why it runs as it was captured, or empty.
        entry: the entry in C of variants that consist of kernels; None where there is none.
    """

    def __init__(
        self,
        function: Callable[..., object],
        names: Sequence[str],
        operators: Callable[..., Any],
        *,
        backend: str,
        policy: Policy | None = None,
        dynamism: Callable[[], Dynamism] = lambda: Dynamism(lambda name, axis, size: True),
        added: Callable[[Variant], None] = lambda variant: None,
        is_guarded: bool = False,
    ) -> None:
        self.function = function
        self.names = tuple(names)
        self.operators = operators
        self.backend = named(backend)
        self.policy = policy if policy is not None else Policy()
        self.is_guarded = is_guarded
        self.variants: list[Variant] = []
        self.reason = ""
        self.native: Native | None = None
        self.entry: Callable[[tuple[object, ...], dict[str, object]], object] | None = None
        self.lookup: Callable[[Sequence[object]], Call | None] = lambda args: None
        self._dynamism = dynamism
        self._added = added
        self._varying: set[str] = set()
        """Sizes whose guard for faster kernels has failed: they get no such guard again."""
        self._static_floats = False
        self._kinds: dict[tuple[object, ...], tuple[GraphArguments, Dispatch[Call]]] = {}
        self._lock = RLock()
        if backend == "cpu":
            from backends.cpu.launcher.entry import EVERYTHING
            from frontends.pytorch.variants.native import Native

            # Dynamo's guards test which inputs require gradients
            self.native = Native(("modes", "marks") if is_guarded else EVERYTHING)

    @property
    def dispatches(self) -> list[tuple[GraphArguments, Dispatch[Call]]]:
        """The look-ups, by the kinds of the inputs."""
        return list(self._kinds.values())

    def __call__(self, *args: Any) -> Any:
        entry = self.entry
        if entry is not None:
            result = entry(args, {})
            if result is not NotImplemented:
                return result
        call = self.lookup(args)
        if call is not None:
            return call(args)
        return self._missed(args)(args)

    def cause(self, given: Mapping[str, object]) -> str:
        """The guard that inputs of these names fail; empty if it is not known, or none does."""
        if not all(name in given for name in self.names):
            return failed_guard(self.variants, given)
        args = [given[name] for name in self.names]
        try:
            arguments, dispatch = self._kinds[GraphArguments(self.names, args).key]
        except (TraceError, LookupError):
            return ""
        return "" if dispatch.lookup(args) is not None else dispatch.cause(arguments.values(args))[0]

    def _missed(self, args: Sequence[object]) -> Call:
        """The callable for a call that no variant accepts; traces the graph where it can."""
        if self.reason or intercepted() or is_repeated(args):
            return self._as_captured
        with self._lock:
            call = self.lookup(args)
            if call is not None:
                return call
            try:
                return self._traced(args)
            except (TraceError, UndecidedGuard) as error:
                self._leave(str(error))
                return self._as_captured
            except Exception as error:
                return self._perhaps_raised(error)

    def _as_captured(self, args: Sequence[object]) -> Any:
        return self.operators(*args)

    def _perhaps_raised(self, error: Exception) -> Call:
        """Run a call after a failed trace.

        If the program raises too, that is the result; otherwise the graph is not traced again.
        """

        def call(args: Sequence[object]) -> Any:
            found = self._as_captured(args)
            self._leave(reason_of(error))
            return found

        return call

    def _leave(self, reason: str) -> None:
        """Run the graph as it was captured from now on."""
        self.reason = reason
        self.entry = None
        log.warning("runs operator by operator, as Dynamo captured it: %s", reason)

    def _traced(self, args: Sequence[object]) -> Call:
        if len(self.variants) >= self.policy.variants:
            self._leave(f"{self.policy.variants} variants, the most that the policy allows")
            return self._as_captured
        arguments = GraphArguments(self.names, args)
        if arguments.key not in self._kinds:
            self._kinds[arguments.key] = arguments, Dispatch(arguments.names, prologue=arguments.prologue())
        arguments, dispatch = self._kinds[arguments.key]
        values = arguments.values(args)
        cause, guard = dispatch.cause(values)
        running = [each.running for each in self.variants if each.running is not None]
        if guard is not None and any(guard in each.bought for each in running):
            # it was added for faster kernels
            self._varying.update([atom.name for atom in guard.symbols])
        variant = self._variant(args)
        if self.variants:
            variant.cause = cause
        run = variant.run_by(self.backend, self.policy.withheld, self.policy.guards, self._varying)
        given = dict(zip(arguments.names, values))
        call = calling(variant, run, arguments)
        if any(check.error is Aliased for check in variant.runtime_asserts):
            # data may decide that a result is a view
            call = unless(Aliased, call, lambda: self._as_captured)
        check = arguments.check(variant)
        dispatch.add(check, call, tests=arguments.tests(given, marks_matter=variant.marks_matter))
        self.variants.append(variant)
        self._added(variant)
        found = None
        if self.native is not None:
            self.native.add(arguments, variant, given, call, check)
            self.entry, found = self.native.entry, self.native.found
        dispatches = [dispatch for _, dispatch in self._kinds.values()]
        lookup = combined(dispatches, found, is_rare=self.entry is not None)
        self.lookup = lookup
        return call

    def _variant(self, args: Sequence[object]) -> Variant:
        """Trace with symbolic floats; with constant ones if something needs their values."""
        gradients = torch.is_grad_enabled()
        if not self._static_floats:
            try:
                return trace(self.function, args, dynamic=self._dynamism(), gradients=gradients, shared=True)
            except (TraceError, UndecidedGuard):
                if not any(type(each) is float for each in args):
                    raise
            self._static_floats = True
        dynamism = self._dynamism()
        dynamism.is_varying = lambda name, value: False  # type: ignore[method-assign]
        return trace(self.function, args, dynamic=dynamism, gradients=gradients, shared=True)


def calling(variant: Variant, run: Run, arguments: GraphArguments) -> Call:
    """A function from a graph's inputs to its outputs."""
    places = variant.places
    is_whole = list(places) == list(range(len(arguments.leaves)))
    constants = [(place, value) for place, value in enumerate(variant.outputs) if not in_graph(value)]

    def call(args: Sequence[Any]) -> Sequence[object]:
        values = run(args if is_whole else [args[place] for place in places])
        if constants:
            values = list(values)
            for place, value in constants:
                values[place] = value
        return values

    return call


def coverage(graphs: Sequence[CompiledGraph], ranges: Ranges | None) -> Verdict:
    """Decide if some variant accepts all sizes in the ranges, for inputs of the kinds of the last traced call.

    Raises:
        ConstraintViolation: there is no variant.
    """
    found = [(arguments, dispatch) for graph in graphs for arguments, dispatch in graph.dispatches if dispatch.entries]
    if not found:
        raise ConstraintViolation("coverage() of a function that was never called: its arguments are unknown")
    last, latest = found[-1]
    alike: Dispatch[Any] = Dispatch(last.names, prologue=last.prologue())
    for arguments, dispatch in found:
        if (arguments.key, arguments.names) == (last.key, last.names):
            for entry in dispatch.entries:
                tests: dict[Source, Hashable] = dict(entry.tests.items())
                alike.add(entry.check, entry.value, tests=tests)
    return alike.coverage(ranges, tests=dict(latest.entries[-1].tests.items()))


# ---------------------------------------------------------------------- causes


def failed_guard(variants: Sequence[Variant], given: Mapping[str, object]) -> str:
    """The first guard of the latest variant that these inputs fail; empty if none is known."""
    for variant in reversed(variants):
        values = {
            symbol: value.shape[path[1]]
            for each in variant.inputs
            if isinstance(value := given.get(each.name), torch.Tensor) and value.dim() == each.rank
            for symbol, path in each.symbols
            if path[0] == ".shape" and isinstance(path[1], int)
        }
        for guard in variant.guards:
            atoms = guard.prop.symbols
            if all(atom.name in values for atom in atoms):
                known = {atom: values[str(atom.name)] for atom in atoms}
                if not guard.prop.evaluate(known):
                    shown = guard.with_places(", ".join([f"{atom.name}={value}" for atom, value in known.items()]))
                    where = "" if guard.origin is None else f" ({guard.origin})"
                    return f"guard `{guard}` fails at {shown}{where}"
    return ""


@dataclass(frozen=True, slots=True)
class Fallback:
    """An eager fallback: the question whose recompile limit is exhausted, or empty, and the reason."""

    question: str
    reason: str
