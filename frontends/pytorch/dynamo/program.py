"""A compiled program: Dynamo reads its Python, our variants run its graphs, and calls take the shortest valid route.

    >>> import torch
    >>> from frontends.pytorch.dynamo.program import Program
    >>> program = Program(lambda x: x * 2 if x.shape[0] > 4 else x, dynamic=True)
    >>> for size in (3, 5, 7):
    ...     out = program.called((torch.randn(size),), {})
    >>> len(program.graphs)
    2

A call first tries the entries that Dynamo has compiled (`direct_calls`): Dynamo's guards are checked, and its
transformed code is called. Otherwise it goes through `torch.compile`, which finds the entry itself or compiles another
one. Each of Dynamo's graphs is a `CompiledGraph` with variants of ours.
"""

from __future__ import annotations

import functools
import operator
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final, Unpack

import torch
from torch._dynamo import output_graph

from frontends.pytorch.dynamo.backend import capture
from frontends.pytorch.dynamo.capturing import Captured, after_failed_capture
from frontends.pytorch.dynamo.differences import has_graph
from frontends.pytorch.dynamo.direct_calls import MISSED, RESUMED, DirectCalls, direct_calls
from frontends.pytorch.dynamo.graph_breaks import NO_OPERATORS, NoOperators, noted
from frontends.pytorch.errors import GraphBreak, refusal
from frontends.pytorch.shape_env import UndecidedBranch
from frontends.pytorch.shape_env.marking import StatedSizes
from frontends.pytorch.shape_env.ranks import Ranks
from frontends.pytorch.source_location import name_of, own_name
from frontends.pytorch.variants.arguments import intercepted
from frontends.pytorch.variants.compiled_graph import coverage
from frontends.pytorch.variants.policy import Options, Policy, check_options

if TYPE_CHECKING:
    from frontends.pytorch.variants.report import Times
    from shapes.guards.coverage import Ranges
    from solver.decide.verdict import Verdict

Enter = Callable[[tuple[object, ...], dict[str, object]], object]
NO_STRIDES: Final = "a tensor without strides, as a nested one of the strided layout"
JAGGED: Final = "make it with layout=torch.jagged"


class Program(Captured):
    """A function or module with the graphs that Dynamo has captured of it.

    Attributes:
        options: the options of the compilation.
        entry: runs in C what consists of kernels alone, or returns NotImplemented; None if nothing does.
        enter: runs what Dynamo has compiled, or returns MISSED.
        front: the class by whose `__call__` programs are called, which its instances have as `_program`.
    """

    def __init__(self, fn: Callable[..., object], **options: Unpack[Options]) -> None:
        check_options(fn, **options)
        self.options = options
        dynamic, policy = options.get("dynamic"), options.get("policy") or Policy()
        # the merge over the process group, where sizes decide what is dynamic
        ranks = Ranks(name_of(fn), policy.ranks_timeout) if dynamic is None and policy.ranks_timeout != 0 else None
        backend, fullgraph = options.get("backend", "eager"), options.get("fullgraph", False)
        super().__init__(fn, dynamic, backend, fullgraph, policy, StatedSizes(dynamic, ranks))
        self.relations = self.stated.relations
        self._uncaptured: list[str] = []
        self._errors = 0
        self._direct = direct_calls(fn)
        self.code = self._direct.function.__code__
        self._kept: list[object] = []
        self.keep = self._kept.append
        self._rests: dict[FunctionType, Callable[..., object]] = {}
        self._whole: Enter | None = None
        self._has_inner = False
        self.entry: Enter | None = None
        self.front: type | None = None
        self.enter: Enter = self._direct.call

    def called(self, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """The result of a call, by the routes that are taken outside of `timed`."""
        result = NotImplemented if self._whole is None else self._whole(args, kwargs)
        if result is NotImplemented:
            result = self._direct.call(args, kwargs)
        return self.missed(args, kwargs) if result is MISSED else result

    def missed(self, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """The result of a call that no entry of Dynamo is known to accept."""
        given = self._direct.locals_of(args, kwargs)
        self.stated.check(given or {})
        if self._direct.has_raised:
            # those of Dynamo would raise again
            self._direct.has_raised = False
            if self.fullgraph:
                raise GraphBreak(refusal(NO_STRIDES, JAGGED, None))
            self.note(NO_STRIDES)
            return self.fn(*args, **kwargs)
        parameters = self.fn.parameters() if isinstance(self.fn, torch.nn.Module) else ()
        is_left = intercepted() or any(map(torch.nn.parameter.is_lazy, parameters))
        if is_left or self.exhausted(self._direct.guards, self._direct.function.__code__, given):
            # operators are redefined, sizes of parameters are not known yet, or the recompile limit is exhausted
            return self.fn(*args, **kwargs)
        reasons = list[str]()
        try:
            with noted(reasons):
                result = self._around(*args, **kwargs)
            reasons = reasons or self._uncaptured
            return result
        except NoOperators:
            reasons = [NO_OPERATORS]
        except Exception as error:
            # the error is the caller's
            self._uncaptured, reasons = reasons or self._uncaptured, []
            self._errors += 1
            if not self.graphs and not self._direct.entries and self._errors < self.policy.variants:
                # torch leaves later calls to Python, but in another of its regions
                self.__dict__.pop("_context", None)
                self.__dict__.pop("_by_dynamo", None)
            if isinstance(error.__context__, UndecidedBranch):
                raise error.__context__ from None
            raise
        finally:
            if reasons and not (self.graphs or self._direct.entries or self.fallbacks):
                self.note(reasons[0])
        # outside of the handler, whose error the program would see as the active one
        return self.fn(*args, **kwargs)

    def _around(self, *args: object, **kwargs: object) -> object:
        """The result of a call with Dynamo's evaluation of the frames inside."""
        if intercepted():
            return self.fn(*args, **kwargs)
        count = len(self.graphs)
        try:
            return self._by_dynamo(*args, **kwargs)
        except Exception as error:
            after_failed_capture(error)
            raise
        finally:
            self._learn(count)

    def _learn(self, count: int) -> None:
        """Note the entries that a call has added."""
        direct = self._direct
        if len(self.graphs) == count and direct.is_current:
            return
        direct.refresh(self._region, self._called)
        direct.around = self._around if self._has_inner else None
        if self.backend == "cpu" and not direct.first:
            from backends.cpu.launcher.entry import call_first
            from frontends.pytorch.dynamo.native_calls import whole_calls

            self._whole = whole_calls(direct.entries, self.graphs, direct.function)
            if self._whole is not None and self.front is not None:
                call_first(self.front, "_program", "entry")
            if not isinstance(self.enter, functools.partial):
                self.entry = self._whole

    def _called(self, name: str, value: object) -> Callable[..., object] | None:
        """The function with which Dynamo's code calls a graph, or the rest of a function after a graph break."""
        if isinstance(value, FunctionType) and name.startswith(RESUMED):
            return self._resumed(value)
        return next((graph.call for graph in self.graphs if graph.name == name), None)

    def _resumed(self, function: FunctionType) -> Callable[..., object]:
        """The rest of a function after a graph break, called as the function itself is.

        Dynamo keeps the rest as long as the function's code, which may outlive the program.
        """
        known = self._rests.get(function)
        if known is not None:
            return known
        holder = weakref.ref(self)
        calls: DirectCalls | None = None

        def of_rest(calls: DirectCalls, *args: object, **kwargs: object) -> object:
            result = calls.call(args, kwargs)
            if result is not MISSED:
                return result
            program = holder()
            return calls.function(*args, **kwargs) if program is None else program._rest(calls, args, kwargs)

        def over_cells(closure: tuple[CellType, ...]) -> Callable[..., object]:
            """The rest over the cells of its free variables, of which Dynamo makes it anew at each call."""
            nonlocal calls
            if calls is None:
                calls = DirectCalls(function(closure))
                program = holder()
                if program is not None:
                    calls.refresh(program._region, program._called)
            elif any(map(operator.is_not, closure, calls.function.__closure__ or ())):
                calls = calls.over(closure)
            return functools.partial(of_rest, calls)

        if function.__module__ == output_graph.__name__:
            call: Callable[..., object] = over_cells
        else:
            calls = DirectCalls(function)
            call = functools.partial(of_rest, calls)
        self._rests[function] = call
        if calls is not None:
            calls.refresh(self._region, self._called)
        return call

    def _rest(self, calls: DirectCalls, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """The result of a rest that no entry is known to accept."""
        if self.exhausted(calls.guards, calls.function.__code__, calls.locals_of(args, kwargs)):
            return calls.function(*args, **kwargs)
        try:
            with noted([]):
                return self._context(calls.function)(*args, **kwargs)
        finally:
            calls.refresh(self._region, self._called)

    @functools.cached_property
    def _context(self) -> Any:
        """The context that compiles functions by torch, with this program as the backend, whose functions Dynamo keeps
        for the lifetime of the process."""
        program: Any = weakref.proxy(self)
        context = torch._dynamo.optimize(
            functools.partial(capture, program),
            nopython=self.fullgraph,
            dynamic=self.dynamic if isinstance(self.dynamic, bool) else None,
            recompile_limit=self.policy.variants,
            isolate_recompiles=True,
        )
        # Dynamo captures in calls, also functions that this one calls after a graph break
        context.callback = Captured.settings(program)(context.callback)
        return context

    @functools.cached_property
    def _by_dynamo(self) -> Callable[..., Any]:
        """The program compiled by torch."""
        return self._context(self._direct.compiles)

    @property
    def _region(self) -> int:
        """Torch's number of this program's entries."""
        return int(getattr(self._by_dynamo, "_isolate_recompiles_id", -1))

    def transformed(self, code: CodeType, transformed: CodeType) -> None:
        """Note a frame that Dynamo has transformed; refuse one that differs from eager."""
        is_own = code is self._direct.function.__code__
        # a function that this one calls: its code is compiled code only where Dynamo evaluates frames
        self._has_inner |= not is_own and own_name(code.co_name) == code.co_name and has_graph(transformed)
        if self.fullgraph and is_own and not has_graph(transformed):
            # Dynamo's code would do what Python does, but for its differences
            raise NoOperators(NO_OPERATORS, NO_OPERATORS)
        super().transformed(code, transformed)

    # ------------------------------------------------------------------ reports

    def explain(self, *, kernels: bool = False) -> str:
        """Describe each variant: why it was traced, its graph, guards with their lines, specializations; and the
        fallbacks. With `kernels`, its kernels too: loops, decisions with their facts, memory."""
        return self.report().text(kernels=kernels)

    @contextmanager
    def timed(self) -> Iterator[Times]:
        """Measure the calls inside of the `with` block; `report()` shows the last such measurement."""
        from frontends.pytorch.variants.report import Times

        self.times = times = Times()
        self.entry, self.enter = None, functools.partial(times.call, self.called)
        with ExitStack() as stack:
            for graph in self.graphs:
                if graph.compiled is not None:
                    stack.enter_context(times.graph(graph.compiled, int(graph.ended is not None)))
            try:
                yield times
            finally:
                self.entry, self.enter = self._whole, self._direct.call

    def coverage(self, ranges: Ranges | None = None) -> Verdict:
        """Decide if some variant accepts all sizes in the ranges (by input, as in "x.shape[0]"; 0 and up where none is
        given): Always, or sizes that no variant accepts (`false_at`)."""
        return coverage([graph.compiled for graph in self.graphs if graph.compiled is not None], ranges)
