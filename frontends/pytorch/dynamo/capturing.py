"""Captures of a function by Dynamo, for either spelling: settings, with this engine as its ShapeEnv; limits; reports.

    >>> import torch
    >>> from frontends.pytorch import mark_dynamic
    >>> f = torch.compile(lambda x: x * 2 if x.shape[0] == 8 else x, backend="symshape")
    >>> x = torch.ones(8)
    >>> mark_dynamic(x, 0)
    >>> f(x)
    Traceback (most recent call last):
    frontends.pytorch.shape_env.errors.SpecializedMark: x.shape[0] is marked as dynamic, but would become the constant 8
      ...

A program of `compile` enters the settings itself. For `torch.compile` torch calls back when it begins and ends a
compilation of Dynamo's; calls of what is compiled cost nothing more. Which backend it is for stands in the frame of the
function that compiles. Torch forgets its callbacks when it is reset; they are then registered again.

Torch counts the threads in which Dynamo looks at frames, and looks at none while the count is 0. An error that leaves
its compiler is not counted as the end of one, so from then on every frame of the process takes torch's route, where
deep recursion overflows the stack. The count changes only when a thread begins or ends: after a failed capture one
begins and ends twice.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import TYPE_CHECKING, Any, Final, NoReturn
from weakref import ReferenceType, WeakKeyDictionary, finalize, ref

import torch
from torch._C._dynamo.eval_frame import get_eval_frame_callback, set_eval_frame
from torch._dynamo import callback_handler, config
from torch._dynamo.convert_frame import register_bytecode_hook
from torch._dynamo.eval_frame import skip_code
from torch._dynamo.exc import FailOnRecompileLimitHit, SkipFrame, TorchDynamoException, Unsupported
from torch._dynamo.types import ConvertFrameReturn, FrameAction, FrameExecStrategy
from torch._dynamo.utils import ExactWeakKeyDictionary
from torch.fx.experimental.symbolic_shapes import ConstraintViolationError, GuardOnDataDependentSymNode

from frontends.pytorch.dynamo.captured_frame import compiling_frame, under_way
from frontends.pytorch.dynamo.differences import difference_before
from frontends.pytorch.dynamo.direct_calls import DIRECT, NUMBER, FailedGuard, closest
from frontends.pytorch.dynamo.graph_breaks import Break, breaks_after
from frontends.pytorch.errors import ConstraintViolation
from frontends.pytorch.shape_env import installed
from frontends.pytorch.shape_env.errors import Refused
from frontends.pytorch.shape_env.marking import StatedSizes, ViolatedConstraint
from frontends.pytorch.source_location import is_users, own_name
from frontends.pytorch.variant import Variant
from frontends.pytorch.variants.compiled_graph import FIRST, Fallback, log
from frontends.pytorch.variants.policy import Policy, Setting
from shapes.errors import ShapeError
from shapes.reports.process import PROCESS

if TYPE_CHECKING:
    from frontends.pytorch.variants.report import Times
    from shapes.reports.report import Report

INTEGER: Final = re.compile(r"^(?P<source>[GL]\[[^,:\s]*) == -?\d+ fails$")
"""A failed guard on an integer."""
FROM_THE_COMPILER: Final = (
    TorchDynamoException,
    FailOnRecompileLimitHit,
    ConstraintViolationError,
    GuardOnDataDependentSymNode,
)
"""Errors that only the compiler raises, not a compiled program."""
DONE: Final = "symshape_frames_restored"
SETTINGS: Final[dict[str, object]] = {
    # Dynamo's assumptions: modules get no hooks, parameters are not shared, a tensor's metadata is constant while it
    # stays in its dictionary, functions' defaults are constant
    "skip_nnmodule_hook_guards": False,
    "skip_no_tensor_aliasing_guards_on_parameters": False,
    "skip_tensor_guards_with_matching_dict_tags": False,
    "use_recursive_dict_tags_for_guards": False,
    "assume_dunder_attributes_remain_unchanged": False,
    "skip_guards_on_constant_func_defaults": False,
    # an assertion raises another class of error
    "rewrite_assert_with_torch_assert": False,
    # calls of profilers beside every graph
    "record_runtime_overhead": False,
    # NumPy traced as torch returns arrays where NumPy returns scalars
    "trace_numpy": False,
    # numbers and sizes that data decide are symbols without hints
    "capture_scalar_outputs": True,
    "capture_dynamic_output_shape_ops": True,
    # gradients that the program computes
    "trace_autograd_ops": True,
    # an integer attribute that changes is a symbol
    "allow_unspec_int_on_nn_module": True,
    "allow_rnn": True,
    "fail_on_recompile_limit_hit": False,
    # torch counts the graphs of all programs with the same code: of all modules of a class
    "accumulated_recompile_limit": sys.maxsize,
}
"""The settings with which Dynamo captures. Torch reads limits before its callbacks, and `suppress_errors` after them:
these apply where a program enters them itself."""


@dataclass(eq=False)
class Captured:
    """A function as torch captures it, by either spelling.

    Attributes:
        fn, dynamic, backend, fullgraph, policy: the function or module, if torch gives it, and the options.
        stated: the statements about its sizes.
        code: its code object, or the one that was captured first.
        is_limited: False where torch's own limit of recompilation is an error.
        error: an invalid option, raised by the graphs.
        fallbacks: calls that run eagerly, and why.
        times: the last measurement of calls.
        cause: why it is captured, at this time.
        asked: the recompilations of each code object, by the question.
        varied: sizes, and integers (True), that became symbols when they first varied.
        keep: keeps a graph in use.
    """

    fn: Any = None
    dynamic: Setting = None
    backend: str = "eager"
    fullgraph: bool = False
    policy: Policy = field(default_factory=Policy)
    stated: StatedSizes = field(default_factory=lambda: StatedSizes(None))
    code: CodeType | None = None
    is_limited: bool = True
    error: ShapeError | None = None
    fallbacks: list[Fallback] = field(default_factory=list)
    times: Times | None = None
    cause: str = FIRST
    asked: WeakKeyDictionary[CodeType, Counter[str]] = field(default_factory=WeakKeyDictionary)
    varied: dict[str, bool] = field(default_factory=dict)
    keep: Callable[[object], None] = PROCESS.hold
    _graphs: list[ReferenceType[Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        PROCESS.keep(self.report)

    @property
    def graphs(self) -> list[Any]:
        """The graphs in use, in order of capture."""
        return [graph for each in self._graphs if (graph := each()) is not None]

    def add(self, graph: Any) -> None:
        """Note a graph, for as long as it is in use."""
        self._graphs.append(ref(graph))
        self.keep(graph)

    @contextmanager
    def settings(self) -> Iterator[None]:
        """The settings under which torch captures a frame in this thread."""
        symbols = [f"{re.escape(source)}$" for source, is_integer in self.varied.items() if is_integer]
        with (
            installed(self.stated.policies),
            # a frame of `compile` that Dynamo fails on runs as Python
            config.patch({**SETTINGS, "suppress_errors": self.fn is not None and not self.fullgraph}),
            torch.compiler.config.patch(dynamic_sources=",".join([torch.compiler.config.dynamic_sources, *symbols])),
            register_bytecode_hook(self.transformed),
        ):
            yield

    def transformed(self, code: CodeType, transformed: CodeType) -> None:
        """Refuse a frame that Dynamo has transformed, if it differs from eager and no graph tells."""
        reason = difference_before(code, transformed, fullgraph=self.fullgraph)
        if reason:
            self.refuse(reason, Unsupported(reason, "known_difference"))

    def refuse(self, reason: str, error: Exception | None = None) -> NoReturn:
        """Make Dynamo run the frame as Python, by this error if given."""
        self.note(reason)
        raise error or SkipFrame(reason)

    def note(self, reason: str, question: str = "") -> None:
        """Note calls of the function, or of the frame that torch compiles, that run eagerly; with a warning, unless a
        fallback for the question or reason is known."""
        code = under_way().get("code", self.code)
        if all((each.question or each.reason) != (question or reason) for each in self.fallbacks):
            self.fallbacks.append(Fallback(question, reason))
            how = "falls back to eager where no variant fits" if question else "runs as Python"
            log.warning("%s %s: %s", "" if code is None else own_name(code.co_name), how, reason)

    def exhausted(
        self, entries: Sequence[tuple[Any, CodeType]], code: CodeType, given: Mapping[str, object] | None
    ) -> str:
        """Count the question for which code is compiled again, whose entries of Dynamo reject these locals, if they are
        known. The reason to run it eagerly: the question was asked too often, or the policy allows no more entries."""
        if not entries:
            # compiled first, or torch was reset
            self.asked.pop(code, None)
        found = None if given is None else closest(entries, given)
        self.cause = "Dynamo has met other code" if entries and self.graphs else FIRST
        if found is None or given is None:
            return ""
        self.cause = found.text
        number = INTEGER.match(found.text)
        source = found.key if found.is_size else "" if number is None else number["source"]
        if source and source not in self.varied and self.dynamic is not found.is_size:
            # it becomes a symbol, unless the program specializes it
            self.varied[source] = not found.is_size
            return ""
        found = in_our_words(found, self.graphs, given)
        self.cause = found.text
        if self.dynamic is False or not self.is_limited:
            return ""
        asked, limit = self.asked.setdefault(code, Counter()), self.policy.limit(found.key)
        asked[found.key] += 1
        if asked[found.key] > limit:
            reason = f"{limit} recompilations for the same question: {found.text}"
        elif len(entries) >= self.policy.variants:
            reason = f"{self.policy.variants} variants, the most that the policy allows: {found.text}"
        else:
            return ""
        self.note(reason, found.key)
        return reason

    @property
    def variants(self) -> list[Variant]:
        """The variants of all graphs."""
        return [variant for graph in self.graphs for variant in graph.variants]

    @property
    def breaks(self) -> list[Break]:
        """The distinct graph breaks."""
        return breaks_after(self.graphs)

    def report(self, fn: Any = None) -> Report:
        """The report as data, of a function if given; `.save("report.html")` writes a page."""
        from frontends.pytorch.variants.report import report_of

        known: Any = next((each for each in (fn, self.fn, self.code) if each is not None), None)
        eager = [*self.fallbacks, *[Fallback("", each.reason) for each in self.graphs if each.reason]]
        return report_of(known, self.variants, eager, self.breaks, self.times)


class Captures:
    """The captures for the backend of torch.compile.

    Attributes:
        backend: the function that torch calls for each graph.
        captures: what its options, given by torch's wrapper around it, make of a function.
        active: the settings installed while a compilation is under way.
        known: by torch's wrapper, of which each compiled function has one.
    """

    def __init__(self, backend: object, captures: Callable[..., Captured]) -> None:
        self.backend = backend
        self.captures = captures
        self.active: AbstractContextManager[None] | None = None
        self.known = ExactWeakKeyDictionary()
        registered(callback_handler.register_start_callback, self.began)
        registered(callback_handler.register_end_callback, self.ended)

    def began(self, args: object) -> None:
        """Torch's callback at the start of a compilation.

        Raises:
            ViolatedConstraint: a size violates a relation.
            Unsupported: a recompile limit is exhausted. What is compiled stays in use; other calls run eagerly.
        """
        # a backward that a frame calls is compiled while Dynamo looks at frames, and holds torch's lock meanwhile
        captured, compilation = self.now() if get_eval_frame_callback() is None else None, under_way()
        if captured is None or self.active is not None:
            return
        check(captured.stated, compilation)
        entries = [(entry.guard_manager, entry.code) for entry in compilation["cache_entries"]]
        reason = captured.exhausted(entries, compilation["code"], compilation["locals"])
        if reason:
            error = Unsupported(reason, "recompile_limit")
            error.frame_exec_strategy = FrameExecStrategy(FrameAction.RUN_ONLY, FrameAction.RUN_ONLY)
            raise error
        settings = captured.settings()
        settings.__enter__()
        self.active = settings

    def ended(self, args: object) -> None:
        """Torch's callback at the end of a compilation."""
        active, self.active = self.active, None
        if active is not None:
            active.__exit__(None, None, None)
        error = sys.exc_info()[1]
        if isinstance(error, Refused):
            # it leaves the compiler
            after_failed_capture(error)

    def now(self) -> Captured | None:
        """The function that torch is compiling for this backend; None if there is none."""
        compilation = under_way()
        wrapper = self.wrapper(compilation.get("compiler_fn"))
        if wrapper is None:
            return None
        captured = self.captured(wrapper)
        captured.fullgraph, captured.is_limited = compilation["one_graph"], not compilation["one_graph"]
        captured.code = captured.code or compilation["code"]
        return captured

    def captured(self, wrapper: Any) -> Captured:
        """The record of the function that a wrapper compiles."""
        found: Captured | None = self.known.get(wrapper)
        if found is None:
            found = self.known[wrapper] = self.captures(**getattr(wrapper, "kwargs", {}))
            found.dynamic = getattr(wrapper, "dynamic", None)
        return found

    def wrapper(self, compiler: object) -> object | None:
        """Torch's wrapper around the backend, with the options; None if the compiler is another."""
        while (inner := getattr(compiler, "_torchdynamo_orig_backend", None)) is not None:
            compiler = inner
        is_ours = compiler is self.backend or getattr(compiler, "compiler_fn", None) is self.backend
        return compiler if is_ours else None


def check(stated: StatedSizes, compilation: Mapping[str, Any]) -> None:
    """Check the relations, where the function has the arguments that they are about.

    Raises:
        ViolatedConstraint: a size violates one, or the compiled function has no such argument.
    """
    if stated.relations is None:
        return
    given, code = compilation["locals"], compilation["code"]
    missing = [name for name in stated.relations.statements if name not in given]
    is_variadic = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    if missing and not is_variadic and is_called_directly():
        known = ", ".join(given) or "none"
        raise ViolatedConstraint(f"sizes of {missing[0]} are stated, but {code.co_name} has other arguments: {known}")
    if not missing:
        try:
            stated.check(dict(given))
        except ConstraintViolation as error:
            # an error that Dynamo passes on
            raise ViolatedConstraint(*error.args) from None


def in_our_words(found: FailedGuard, graphs: Sequence[Any], given: Mapping[str, object]) -> FailedGuard:
    """The failed guard of our variants in the place of Dynamo's, if one fails too."""
    names = {name.removesuffix(DIRECT) for name in found.code.co_names}
    compiled = next((each.compiled for each in graphs if each.name in names), None)
    cause = "" if compiled is None else compiled.cause(given)
    if not cause or (found.is_size and cause.startswith("range")):
        return found
    return replace(found, key=NUMBER.sub("#", cause), text=cause)


def is_called_directly() -> bool:
    """Return True if torch is compiling the function that the program compiles, not one that it calls."""
    frame = compiling_frame()
    while frame is not None and frame.f_code.co_name != "compile_wrapper":
        if is_users(frame.f_code.co_filename):
            return False
        frame = frame.f_back
    return frame is not None


Callback = Callable[[Any], None]


def registered(register: Callable[[Callback], object], callback: Callback) -> None:
    """Register a callback, and again each time that torch forgets it."""

    def notice(args: object) -> None:
        """Torch alone references it, until it clears its callbacks: it never raises, as a traceback would keep it."""

    for each in (notice, callback):
        skip_code(each.__code__)
        register(each)
    finalize(notice, registered, register, callback).atexit = False


def after_failed_capture(error: BaseException) -> None:
    """Count the end of a capture that raised this error."""
    if isinstance(error, FROM_THE_COMPILER) and not hasattr(error, DONE) and get_eval_frame_callback() is None:
        setattr(error, DONE, True)
        set_eval_frame(run_once)
        leave()
        set_eval_frame(None)


def run_once(frame: object, entry: object, state: object) -> ConvertFrameReturn:
    """Skip a frame once: frames that it calls may use compiled code, and nothing new is compiled."""
    return ConvertFrameReturn(
        frame_exec_strategy=FrameExecStrategy(FrameAction.SKIP, FrameAction.RUN_ONLY), apply_to_code=False
    )


def leave() -> None:
    """End the first of the two evaluations; torch sets its callback again when this frame returns."""
    set_eval_frame(None)
