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
import re
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from types import CellType, CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final, NoReturn

import torch
from torch._dynamo import config, output_graph
from torch._dynamo.convert_frame import register_bytecode_hook
from torch._dynamo.exc import SkipFrame

from backends import named
from frontends.pytorch.dynamo.backend import Graph, known_difference
from frontends.pytorch.dynamo.capturing import (
    SETTINGS,
    after_failed_capture,
    asked_again,
    in_our_words,
    report_on,
    varying,
)
from frontends.pytorch.dynamo.differences import difference_before, has_graph
from frontends.pytorch.dynamo.direct_calls import MISSED, RESUMED, DirectCalls, direct_calls
from frontends.pytorch.dynamo.graph_breaks import NO_OPERATORS, Break, NoOperators, breaks_after, noted
from frontends.pytorch.errors import GraphBreak, refusal
from frontends.pytorch.shape_env import UndecidedBranch, installed
from frontends.pytorch.shape_env.marking import StatedSizes
from frontends.pytorch.shape_env.ranks import Ranks
from frontends.pytorch.source_location import own_name
from frontends.pytorch.variant import Variant
from frontends.pytorch.variants.arguments import intercepted
from frontends.pytorch.variants.compiled_graph import Fallback, coverage, note
from frontends.pytorch.variants.policy import Options, Policy, Setting, check_options
from shapes.reports.process import PROCESS

if TYPE_CHECKING:
    from frontends.pytorch.variants.report import Times
    from shapes.guards.coverage import Ranges
    from shapes.reports.report import Report
    from solver.decide.verdict import Verdict

Enter = Callable[[tuple[object, ...], dict[str, object]], object]
INTEGER: Final = re.compile(r"^(?P<source>[GL]\[[^,:\s]*) == -?\d+ fails$")
"""A failed guard on an integer."""
NO_STRIDES: Final = "a tensor without strides, as a nested one of the strided layout"
JAGGED: Final = "make it with layout=torch.jagged"


class Program:
    """A function or module with the graphs that Dynamo has captured of it.

    Attributes:
        fn: the function or module.
        options: the options of the compilation.
        graphs: in the order in which they were captured.
        fallbacks: calls that run eagerly, and why.
        entry: runs in C what consists of kernels alone, or returns NotImplemented; None if nothing does.
        enter: runs what Dynamo has compiled, or returns MISSED.
    """

    def __init__(
        self,
        fn: Callable[..., object],
        *,
        dynamic: Setting = None,
        backend: str = "eager",
        fullgraph: bool = False,
        policy: Policy | None = None,
    ) -> None:
        named(backend)
        check_options(fn, dynamic=dynamic, fullgraph=fullgraph, policy=policy)
        self.fn = fn
        self.options: Options = {"dynamic": dynamic, "backend": backend, "fullgraph": fullgraph, "policy": policy}
        self.backend = backend
        self.fullgraph = fullgraph
        self.policy = policy if policy is not None else Policy()
        self.dynamic = dynamic
        self.stated = StatedSizes(dynamic, self._ranks())
        self.relations = self.stated.relations
        self.graphs: list[Graph] = []
        self.fallbacks: list[Fallback] = []
        self.times: Times | None = None
        self._cause = "first call"
        self._asked: Counter[str] = Counter()
        self._varied: set[str] = set()
        self._numbers: set[str] = set()
        self._uncaptured: list[str] = []
        self._direct = direct_calls(fn)
        self._rests: dict[FunctionType, Callable[..., object]] = {}
        self._whole: Enter | None = None
        self._has_inner = False
        self.entry: Enter | None = None
        self.enter: Enter = self._direct.call
        PROCESS.keep(self.report)

    def _ranks(self) -> Ranks | None:
        """The merge over the process group, where sizes decide what is dynamic."""
        timeout = self.policy.ranks_timeout
        name = getattr(self.fn, "__qualname__", type(self.fn).__qualname__)
        return None if timeout == 0 or self.dynamic is not None else Ranks(name, timeout)

    def called(self, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """The result of a call, by the routes that are taken outside of `timed`."""
        result = NotImplemented if self._whole is None else self._whole(args, kwargs)
        if result is NotImplemented:
            result = self._direct.call(args, kwargs)
        return self.missed(args, kwargs) if result is MISSED else result

    def missed(self, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """The result of a call that no entry of Dynamo is known to accept."""
        self.stated.check(self._direct.locals_of(args, kwargs))
        if self._direct.has_raised:
            # those of Dynamo would raise again
            self._direct.has_raised = False
            if self.fullgraph:
                raise GraphBreak(refusal(NO_STRIDES, JAGGED, None))
            self._note("", NO_STRIDES)
            return self.fn(*args, **kwargs)
        parameters = self.fn.parameters() if isinstance(self.fn, torch.nn.Module) else ()
        if intercepted() or any(map(torch.nn.parameter.is_lazy, parameters)) or self._question(args, kwargs):
            # operators are redefined, sizes of parameters are not known yet, or the recompile limit is exhausted
            return self.fn(*args, **kwargs)
        count, reasons = len(self.graphs), list[str]()
        try:
            with noted(reasons):
                result = self._by_dynamo(*args, **kwargs)
            reasons = reasons or self._uncaptured
            return result
        except NoOperators as error:
            after_failed_capture(error)
            reasons = [NO_OPERATORS]
        except Exception as error:
            after_failed_capture(error)
            # the error is the caller's
            self._uncaptured, reasons = reasons or self._uncaptured, []
            self._asked["its own error"] += 1
            is_first = not self.graphs and not self._direct.entries
            if is_first and self._asked["its own error"] < self.policy.variants:
                # torch leaves later calls to Python, but in another of its regions
                self.__dict__.pop("_context", None)
                self.__dict__.pop("_by_dynamo", None)
            if isinstance(error.__context__, UndecidedBranch):
                raise error.__context__ from None
            raise
        finally:
            self._learn(count)
            if reasons and not (self.graphs or self._direct.entries or self.fallbacks):
                self._note("", reasons[0])
        # outside of the handler, whose error the program would see as the active one
        return self.fn(*args, **kwargs)

    def _around(self, *args: object, **kwargs: object) -> object:
        """The result of a call that an entry accepts, with Dynamo's evaluation of the frames inside."""
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

    def _note(self, question: str, reason: str) -> None:
        """Note calls that run eagerly."""
        fn = self.fn.forward if isinstance(self.fn, torch.nn.Module) else self.fn
        name = fn.__name__ if isinstance(fn, FunctionType | MethodType) else type(fn).__name__
        note(self.fallbacks, Fallback(question, reason), name)

    @contextmanager
    def settings(self) -> Iterator[None]:
        """The settings under which Dynamo captures a frame in this thread."""
        with (
            installed(self.stated.policies),
            config.patch({
                **SETTINGS,
                # a frame that Dynamo fails on runs as Python
                "suppress_errors": not self.fullgraph,
                "fail_on_recompile_limit_hit": False,
                # torch counts the graphs of all programs with the same code: of all modules of a class
                "accumulated_recompile_limit": sys.maxsize,
            }),
            varying(self._numbers),
            register_bytecode_hook(self._transformed),
        ):
            yield

    def _learn(self, count: int) -> None:
        """Note the entries that a call has added."""
        direct = self._direct
        if len(self.graphs) == count and direct.is_current:
            return
        direct.refresh(self._region, self._called)
        direct.around = self._around if self._has_inner else None
        if self.backend == "cpu" and not direct.first:
            from frontends.pytorch.dynamo.native_calls import whole_calls

            self._whole = whole_calls(direct.entries, self.graphs, direct.function)
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
        try:
            with noted([]):
                return self._context(calls.function)(*args, **kwargs)
        finally:
            calls.refresh(self._region, self._called)

    def _question(self, args: Sequence[object], kwargs: Mapping[str, object]) -> bool:
        """Note why no entry accepts a call; return True if its recompile limit is exhausted."""
        found = self._direct.failed_guard(args, kwargs)
        if found is None:
            self._cause = "first call" if not self.graphs else "Dynamo has met other code"
            return False
        self._cause = found.text
        if found.is_size and self.dynamic is not True and found.key not in self._varied:
            # it becomes a symbol, unless the program specializes it
            self._varied.add(found.key)
            return False
        number = INTEGER.match(found.text)
        if number is not None and self.dynamic is not False and number["source"] not in self._numbers:
            # the same for an integer that Dynamo takes for constant, such as a global
            self._numbers.add(number["source"])
            return False
        found = in_our_words(found, self.graphs, self._direct.locals_of(args, kwargs))
        self._cause = found.text
        fallback = None if self.dynamic is False else asked_again(self._asked, found, self.policy)
        if fallback is not None:
            self._note(found.key, fallback.reason)
        return fallback is not None

    @functools.cached_property
    def _context(self) -> Any:
        """The context that compiles functions by torch, with this program as the backend, whose functions Dynamo keeps
        for the lifetime of the process."""
        holder = weakref.ref(self)

        def symshape(module: torch.fx.GraphModule, inputs: Sequence[object]) -> Callable[..., object]:
            program = holder()
            return module.forward if program is None else program.captured(module, inputs)

        context = torch._dynamo.optimize(
            symshape,
            nopython=self.fullgraph,
            dynamic=self.dynamic if isinstance(self.dynamic, bool) else None,
            recompile_limit=self.policy.variants,
            isolate_recompiles=True,
        )
        callback = context.callback

        @functools.wraps(callback)
        def captures(*args: Any, **kwargs: Any) -> Any:
            # Dynamo captures in calls, also functions that this one calls after a graph break
            program = holder()
            with nullcontext() if program is None else program.settings():
                return callback(*args, **kwargs)

        context.callback = captures
        return context

    @functools.cached_property
    def _by_dynamo(self) -> Callable[..., Any]:
        """The program compiled by torch."""
        return self._context(self._direct.compiles)

    @property
    def _region(self) -> int:
        """Torch's number of this program's entries."""
        return int(getattr(self._by_dynamo, "_isolate_recompiles_id", -1))

    def captured(self, module: torch.fx.GraphModule, inputs: Sequence[object]) -> Callable[..., object]:
        """The callable of a graph that Dynamo has captured."""
        different = known_difference(module, self.fullgraph, self._refuse)
        if different is not None:
            return different
        graph = Graph(module, inputs, backend=self.backend, policy=self.policy, cause=self._cause)
        self.graphs.append(graph)
        return graph.call

    def _transformed(self, code: CodeType, transformed: CodeType) -> None:
        """Note a frame that Dynamo has transformed; refuse one that differs from eager."""
        is_own = code is self._direct.function.__code__
        # a function that this one calls: its code is compiled code only where Dynamo evaluates frames
        self._has_inner |= not is_own and own_name(code.co_name) == code.co_name and has_graph(transformed)
        if self.fullgraph and is_own and not has_graph(transformed):
            # Dynamo's code would do what Python does, but for its differences
            raise NoOperators(NO_OPERATORS, NO_OPERATORS)
        reason = "" if self.fullgraph else difference_before(code, transformed)
        if reason:
            self._refuse(reason)

    def _refuse(self, reason: str) -> NoReturn:
        """Make Dynamo run the frame as Python."""
        self._note("", reason)
        raise SkipFrame(reason)

    # ------------------------------------------------------------------ reports

    @property
    def variants(self) -> list[Variant]:
        """The variants of all graphs."""
        return [variant for graph in self.graphs for variant in graph.variants]

    @property
    def breaks(self) -> list[Break]:
        """The distinct graph breaks."""
        return breaks_after(self.graphs)

    def explain(self, *, kernels: bool = False) -> str:
        """Describe each variant: why it was traced, its graph, guards with their lines, specializations; and the
        fallbacks. With `kernels`, its kernels too: loops, decisions with their facts, memory."""
        return self.report().text(kernels=kernels)

    def report(self) -> Report:
        """The report as data; `.save("report.html")` writes a page."""
        return report_on(self.fn, self.graphs, self.fallbacks, self.times)

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
