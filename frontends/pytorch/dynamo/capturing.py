"""This engine as the ShapeEnv of `torch.compile(f, backend="symshape")`, while Dynamo captures for it.

    >>> import torch
    >>> from frontends.pytorch import mark_dynamic
    >>> f = torch.compile(lambda x: x * 2 if x.shape[0] == 8 else x, backend="symshape")
    >>> x = torch.ones(8)
    >>> mark_dynamic(x, 0)
    >>> f(x)
    Traceback (most recent call last):
    frontends.pytorch.shape_env.errors.SpecializedMark: x.shape[0] is marked as dynamic, but would become the constant 8
      ...

Torch calls back when it begins and ends a compilation of Dynamo's; calls of what is compiled cost nothing more. Which
backend it is for stands in the frame of the function that compiles. Torch forgets its callbacks when it is reset; they
are then registered again.

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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Final, NoReturn
from weakref import ReferenceType, WeakKeyDictionary, finalize, ref

import torch
from torch._C._dynamo.eval_frame import get_eval_frame_callback, set_eval_frame
from torch._dynamo import callback_handler, config, convert_frame
from torch._dynamo.convert_frame import register_bytecode_hook
from torch._dynamo.eval_frame import skip_code
from torch._dynamo.exc import FailOnRecompileLimitHit, SkipFrame, TorchDynamoException, Unsupported
from torch._dynamo.types import ConvertFrameReturn, FrameAction, FrameExecStrategy
from torch._dynamo.utils import ExactWeakKeyDictionary
from torch.fx.experimental.symbolic_shapes import ConstraintViolationError, GuardOnDataDependentSymNode

from frontends.pytorch.dynamo.direct_calls import DIRECT, NUMBER, FailedGuard, closest
from frontends.pytorch.dynamo.graph_breaks import breaks_after
from frontends.pytorch.errors import ConstraintViolation
from frontends.pytorch.shape_env import installed
from frontends.pytorch.shape_env.errors import Refused
from frontends.pytorch.shape_env.marking import StatedSizes, ViolatedConstraint
from frontends.pytorch.source_location import is_users
from frontends.pytorch.variants.compiled_graph import FIRST, Fallback, note
from frontends.pytorch.variants.policy import Policy
from shapes.errors import ShapeError
from shapes.reports.process import PROCESS

if TYPE_CHECKING:
    from frontends.pytorch.variants.report import Times
    from shapes.reports.report import Report

COMPILES: Final = getattr(getattr(convert_frame, "_compile", None), "__code__", None)
"""The function of torch's that compiles a frame; None if it is called otherwise in this release."""
FROM_THE_COMPILER: Final = (
    TorchDynamoException,
    FailOnRecompileLimitHit,
    ConstraintViolationError,
    GuardOnDataDependentSymNode,
)
"""Errors that only the compiler raises, not a compiled program."""
DONE: Final = "symshape_frames_restored"
SETTINGS: Final = {
    **dict.fromkeys(
        (
            # Dynamo's assumptions: modules get no hooks, parameters are not shared, a tensor's metadata is constant
            # while it stays in its dictionary, functions' defaults are constant
            *("skip_nnmodule_hook_guards", "skip_no_tensor_aliasing_guards_on_parameters"),
            *("skip_tensor_guards_with_matching_dict_tags", "use_recursive_dict_tags_for_guards"),
            *("assume_dunder_attributes_remain_unchanged", "skip_guards_on_constant_func_defaults"),
            # an assertion raises another class of error
            "rewrite_assert_with_torch_assert",
            # calls of profilers beside every graph
            "record_runtime_overhead",
            # NumPy traced as torch returns arrays where NumPy returns scalars
            "trace_numpy",
        ),
        False,
    ),
    **dict.fromkeys(
        (
            # numbers and sizes that data decide are symbols without hints
            *("capture_scalar_outputs", "capture_dynamic_output_shape_ops"),
            # gradients that the program computes
            "trace_autograd_ops",
            # an integer attribute that changes is a symbol
            "allow_unspec_int_on_nn_module",
            "allow_rnn",
        ),
        True,
    ),
}
"""The settings with which Dynamo captures."""


@dataclass(slots=True)
class Captured:
    """The captures of one compiled function: references to its graphs, and calls that run eagerly."""

    references: list[ReferenceType[Any]] = field(default_factory=list)
    fallbacks: list[Fallback] = field(default_factory=list)
    code: CodeType | None = None
    """The code object that was captured first."""

    @property
    def graphs(self) -> list[Any]:
        """The graphs in use, in order of capture."""
        return [graph for each in self.references if (graph := each()) is not None]

    def report(self, fn: Any = None) -> Report:
        """The report of these graphs, of a function or by the name of the code."""
        return report_on(self.code if fn is None else fn, self.graphs, self.fallbacks)


def report_on(fn: Any, graphs: Sequence[Any], fallbacks: Iterable[Fallback], times: Times | None = None) -> Report:
    """The report of a function's graphs, with calls that run eagerly."""
    from frontends.pytorch.variants.report import report_of

    eager = [*fallbacks, *[Fallback("", each.reason) for each in graphs if each.reason]]
    variants = [variant for graph in graphs for variant in graph.variants]
    return report_of(fn, variants, eager, breaks_after(graphs), times)


class Captures:
    """The captures for one backend.

    Attributes:
        backend: the function that torch calls for each graph.
        difference: the reason why a frame that begins with a graph break runs as Python, by its code and Dynamo's.
        active: the settings installed while one is under way.
        asked: the recompilations of each code object, by the question.
        cause: why the function under way is captured.
        known: what was captured, by torch's wrapper around the backend, of which each compiled function has one.
    """

    def __init__(self, backend: object, difference: Callable[[CodeType, CodeType], str]) -> None:
        self.backend = backend
        self.difference = difference
        self.active: ExitStack | None = None
        self.asked: WeakKeyDictionary[CodeType, Counter[str]] = WeakKeyDictionary()
        self.cause = FIRST
        self.known = ExactWeakKeyDictionary()

    def register(self) -> None:
        """Register the callbacks with torch."""
        registered(callback_handler.register_start_callback, self.began)
        registered(callback_handler.register_end_callback, self.ended)

    def began(self, args: object) -> None:
        """Torch's callback at the start of a compilation."""
        # a backward that a frame calls is compiled while Dynamo looks at frames, and holds torch's lock meanwhile
        compilation = self.compilation() if get_eval_frame_callback() is None else None
        if compilation is None or self.active is not None:
            return
        wrapper = self.wrapper(compilation["compiler_fn"])
        options = getattr(wrapper, "kwargs", {}).get("options") or {}
        try:
            stated = StatedSizes(options.get("dynamic"))
        except ShapeError:
            # the graph raises the error
            stated = StatedSizes(None)
        self._check(stated, compilation)
        if getattr(options.get("policy"), "ranks_timeout", None):
            text = "ranks_timeout is for `compile`: with torch.compile set TORCH_COMPILER_COLLECTIVES=1"
            raise ViolatedConstraint(text)
        self._limit(options.get("policy"), wrapper, compilation)
        with ExitStack() as stack:
            stack.enter_context(installed(stated.policies))
            stack.enter_context(config.patch(SETTINGS))
            if not compilation["one_graph"]:
                stack.enter_context(register_bytecode_hook(self._transformed))
            self.active = stack.pop_all()

    def ended(self, args: object) -> None:
        """Torch's callback at the end of a compilation."""
        active, self.active = self.active, None
        if active is not None:
            active.close()
        error = sys.exc_info()[1]
        if isinstance(error, Refused):
            # it leaves the compiler
            after_failed_capture(error)

    def note(self, graph: Any) -> None:
        """Note a graph of the function that torch is compiling, for as long as it is in use."""
        compilation = self.compilation()
        if compilation is not None:
            captured = self.captured(self.wrapper(compilation["compiler_fn"]))
            captured.references.append(ref(graph))
            captured.code = captured.code or compilation["code"]
            PROCESS.hold(graph)

    def compilation(self) -> Mapping[str, Any] | None:
        """The compilation for this backend that is under way; None if there is none."""
        found = under_way()
        return found if found is not None and self.wrapper(found.get("compiler_fn")) is not None else None

    def refuse(self, reason: str, error: Exception | None = None) -> NoReturn:
        """Make Dynamo run a frame as Python, by this error if given."""
        compilation = under_way()
        assert compilation is not None
        fallbacks = self.captured(self.wrapper(compilation["compiler_fn"])).fallbacks
        note(fallbacks, Fallback("", reason), compilation["code"].co_name)
        raise error or SkipFrame(reason)

    def _transformed(self, code: CodeType, transformed: CodeType) -> None:
        """Refuse a frame that Dynamo has transformed, if it differs from eager."""
        reason = self.difference(code, transformed)
        if reason:
            self.refuse(reason, Unsupported(reason, "known_difference"))

    def captured(self, wrapper: object) -> Captured:
        """The captures for a wrapper."""
        found: Captured | None = self.known.get(wrapper)
        if found is None:
            found = self.known[wrapper] = Captured()
            PROCESS.keep(found.report)
        return found

    def wrapper(self, compiler: object) -> object | None:
        """Torch's wrapper around the backend, with the options; None if the compiler is another."""
        while (inner := getattr(compiler, "_torchdynamo_orig_backend", None)) is not None:
            compiler = inner
        is_ours = compiler is self.backend or getattr(compiler, "compiler_fn", None) is self.backend
        return compiler if is_ours else None

    def _check(self, stated: StatedSizes, compilation: Mapping[str, Any]) -> None:
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
            text = f"sizes of {missing[0]} are stated, but {code.co_name} has other arguments: {known}"
            raise ViolatedConstraint(text)
        if not missing:
            try:
                stated.check(dict(given))
            except ConstraintViolation as error:
                # an error that Dynamo passes on
                raise ViolatedConstraint(*error.args) from None

    def _limit(self, policy: object, wrapper: object, compilation: Mapping[str, Any]) -> None:
        """Count the question for which a function is compiled again.

        Raises:
            Unsupported: it was asked too often, or there are as many variants as the policy allows. What is compiled
                stays in use; other calls run eagerly.
        """
        entries: Sequence[Any] = compilation["cache_entries"]
        code = compilation["code"]
        self.cause = FIRST
        if not entries:
            # compiled first, or torch was reset
            self.asked.pop(code, None)
            return
        found = closest([(entry.guard_manager, entry.code) for entry in entries], compilation["locals"])
        if found is None:
            return
        found = in_our_words(found, self.captured(wrapper).graphs, compilation["locals"])
        self.cause = found.text
        if compilation["one_graph"] or getattr(wrapper, "dynamic", None) is False:
            return
        policy = policy if isinstance(policy, Policy) else Policy()
        asked = self.asked.setdefault(code, Counter())
        fallback = asked_again(asked, found, policy)
        if fallback is None and len(entries) >= policy.variants:
            fallback = Fallback(found.key, f"{policy.variants} variants, the most that the policy allows: {found.text}")
        if fallback is not None:
            note(self.captured(wrapper).fallbacks, fallback, code.co_name)
            error = Unsupported(fallback.reason, "recompile_limit")
            error.frame_exec_strategy = FrameExecStrategy(FrameAction.RUN_ONLY, FrameAction.RUN_ONLY)
            raise error


def asked_again(asked: Counter[str], found: FailedGuard, policy: Policy) -> Fallback | None:
    """Count a question for which a function is captured again; the eager fallback if it was asked too often."""
    asked[found.key] += 1
    limit = policy.limit(found.key)
    reason = f"{limit} recompilations for the same question: {found.text}"
    return Fallback(found.key, reason) if asked[found.key] > limit else None


def in_our_words(found: FailedGuard, graphs: Sequence[Any], given: Mapping[str, object]) -> FailedGuard:
    """The failed guard of our variants in the place of Dynamo's, if one fails too."""
    names = {name.removesuffix(DIRECT) for name in found.code.co_names}
    compiled = next((each.compiled for each in graphs if each.name in names), None)
    cause = "" if compiled is None else compiled.cause(given)
    if not cause or (found.is_size and cause.startswith("range")):
        return found
    return replace(found, key=NUMBER.sub("#", cause), text=cause)


def compiling_frame() -> FrameType | None:
    """The frame of torch's function that compiles a frame; None if none does."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code is not COMPILES:
        frame = frame.f_back
    return frame


def under_way() -> Mapping[str, Any] | None:
    """The names in the function of torch's that is compiling a frame; None if none is."""
    frame = compiling_frame()
    return None if frame is None else frame.f_locals


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


@contextmanager
def varying(sources: Collection[str]) -> Iterator[None]:
    """Make integers symbols of Dynamo inside of the block; `sources` are their names in its guards."""
    known = torch.compiler.config.dynamic_sources
    named = [f"{re.escape(each)}$" for each in sorted(sources)]
    with torch.compiler.config.patch(dynamic_sources=",".join([known, *named] if known else named)):
        yield
