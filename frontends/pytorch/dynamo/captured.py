"""A program with graph breaks run by Dynamo: each graph between breaks has our variants and kernels.

    >>> import torch
    >>> from frontends.pytorch.dynamo.captured import Captured
    >>> def f(x):
    ...     y = torch.relu(x)
    ...     return y * 2 if y.sum() > 4 else y
    >>> captured = Captured(f, backend="cpu", dynamic=True)
    >>> for rows in (1, 3, 5):
    ...     x = torch.ones(rows, 2)
    ...     assert torch.equal(captured.run((x,), {}), f(x))
    >>> captured.refused, len(captured.graphs), [each.times for each in captured.breaks]
    ('', 3, [3])

Dynamo compiles bytecode, so Python between two graphs has no overhead, and its reads are guarded. It is used only for
code on which it is known to agree with Python (`trusted`). If it meets other code, that runs eagerly and is reported
(`refused`): from then on the caller runs the program in another way. Dynamo's own errors never reach the program.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

import torch

from frontends.pytorch.breaks.breaks import table
from frontends.pytorch.breaks.remembered import Break
from frontends.pytorch.calls import breaking
from frontends.pytorch.source_location import is_users
from shapes.origin import Origin

if TYPE_CHECKING:
    from frontends.pytorch.calls.dynamism import Policy
    from frontends.pytorch.dynamo.backend import Region
    from frontends.pytorch.variant import Variant

CAUSES: Final = {"generic_jump": "branch", "Unsupported Tensor.item()": "item()"}
"""Prefixes of Dynamo's break reasons, with our names."""
SET_OFF: Final = (
    *("skip_nnmodule_hook_guards", "skip_no_tensor_aliasing_guards_on_parameters"),
    *("skip_tensor_guards_with_matching_dict_tags", "use_recursive_dict_tags_for_guards"),
    *("assume_dunder_attributes_remain_unchanged", "skip_guards_on_constant_func_defaults"),
    *("nested_graph_breaks", "suppress_errors", "fail_on_recompile_limit_hit", "capture_scalar_outputs"),
)
"""Dynamo's default assumptions, disabled here: modules get no hooks, parameters are not shared, a tensor's metadata is
constant while it stays in its dictionary, functions' defaults are constant; and the user's settings for
`torch.compile`."""
ADVISING: Final = ("torch._dynamo.variables.tensor", "torch._dynamo.convert_frame")
"""The loggers of Dynamo's advice about graph breaks and recompilations."""
MOST_GRAPHS: Final = 8
"""The limit of graphs for one location, which is Dynamo's own; beyond it the code runs eagerly."""


class Piece:
    """A graph of Dynamo.

    Attributes:
        region: its callable; None if its operators run one by one.
        ended: the source location of the graph break after it, if any.
    """

    def __init__(self, module: torch.fx.GraphModule, region: Region | None) -> None:
        self.graph = module
        self.region = region
        self.ended = break_after(module)
        self.operators = len([node for node in module.graph.nodes if node.op.startswith("call_")])
        self.counts = counted(module) if region is None else [0, 0.0]

    @property
    def times(self) -> int:
        """The number of its runs."""
        return int(self.counts[0])

    @property
    def seconds(self) -> float:
        """The seconds of its calls."""
        return self.counts[1]

    @property
    def variants(self) -> Sequence[Variant]:
        if self.region is None or self.region.compilation is None:
            return ()
        return self.region.compilation.variants

    @property
    def note(self) -> str:
        """Why it runs operator by operator, or empty."""
        return "" if self.region is None else self.region.reason


def counted(module: torch.fx.GraphModule) -> list[float]:
    """Instrument a graph to count its runs and seconds: a wrapper would cost more than its operators, since Dynamo is
    called for each function."""
    counts: list[float] = [0, 0.0]
    module._counts, module._clock = counts, time.perf_counter

    def lines(body: list[str]) -> list[str]:
        end = max([place for place, line in enumerate(body) if line.lstrip().startswith("return ")], default=0)
        before = ["self._counts[0] += 1\n", "_began = self._clock()\n"]
        return [*before, *body[:end], "self._counts[1] += self._clock() - _began\n", *body[end:]]

    module.graph.on_generate_code(lambda before: lines if before is None else lambda body: lines(before(body)))
    module.recompile()
    return counts


@dataclass(eq=False)
class Captured:
    """A function or module run by Dynamo.

    Attributes:
        refused: untrusted or unsupported code that Dynamo met.
        pieces: its graphs.
        modules: the modules that its code was seen to name.
        call: runs the program; None before the first run, and after a refusal.
    """

    fn: Callable[..., object]
    _: KW_ONLY
    backend: str
    dynamic: object = None
    policy: Policy | None = None
    refused: str = ""
    pieces: list[Piece] = field(default_factory=list)
    modules: list[torch.nn.Module] = field(default_factory=list)
    call: Callable[..., object] | None = None

    def run(self, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """Run the program once."""
        call = self.call
        if call is None:
            call = self._made()
            # another thread may have met refused code
            self.call = None if self.refused else call
        return call(*args, **kwargs)

    def refuse(self, what: str) -> None:
        """Stop running the program by Dynamo, from the next call on."""
        self.refused = self.refused or what
        self.call = None

    def _made(self) -> Callable[..., object]:
        """The callable of the program; imports Dynamo lazily."""
        from torch._dynamo import optimize

        fn = self.fn.__call__ if isinstance(self.fn, torch.nn.Module) else self.fn
        limit = MOST_GRAPHS if self.policy is None else min(self.policy.variants, MOST_GRAPHS)
        try:
            context: Any = optimize(backend_of(self), recompile_limit=limit, isolate_recompiles=True)
            context.callback = Frames(context.callback, self, self.dynamic)
            return unless_told(context(fn), fn)
        except Exception as error:
            self.refuse(in_short(error))
            return self.fn

    def _compiled(self, module: torch.fx.GraphModule, inputs: Sequence[object]) -> Callable[..., object]:
        """The callable of a graph: operators one by one, or our variants."""
        from torch._dynamo.utils import get_traced_code

        self.look(get_traced_code() or [])
        if self.backend == "eager":
            self.pieces.append(Piece(module, None))
            return module.forward
        from frontends.pytorch.dynamo.backend import Region

        piece = Piece(module, Region(module, backend=self.backend, policy=self.policy))
        self.pieces.append(piece)
        # with kernels, a graph is one autograd node, with first derivatives only
        learns = any(isinstance(each, torch.Tensor) and each.requires_grad for each in inputs)
        return held_by(piece, learns=learns)

    def look(self, codes: Sequence[CodeType]) -> None:
        """Refuse untrusted code."""
        from frontends.pytorch.dynamo.trusted import is_resumed, reason_against

        found = [code for code in dict.fromkeys(codes) if not is_resumed(code)]
        reason = reason_against(found, self.modules)
        if reason:
            self.refuse(reason)

    # ------------------------------------------------------------------ reports

    @property
    def graphs(self) -> list[torch.fx.GraphModule]:
        """The captured graphs."""
        return [piece.graph for piece in self.pieces]

    @property
    def variants(self) -> list[Variant]:
        """The variants of the graphs, for a kernel backend."""
        return [variant for piece in self.pieces for variant in piece.variants]

    @property
    def kernels(self) -> list[Piece]:
        """The graphs that run as kernels."""
        return [piece for piece in self.pieces if piece.variants]

    def table(self) -> str:
        """The breaks as text."""
        return table(self.breaks, len(self.pieces), len(self.kernels), self.captured, self.operators)

    @property
    def breaks(self) -> list[Break]:
        """The graph breaks, most frequent first."""
        found: dict[tuple[str, str], Break] = {}
        for piece in self.pieces:
            if piece.ended is not None:
                cause, place = piece.ended
                each = found.setdefault((cause, str(place)), Break(place, cause))
                each.times += piece.times
                each.operators_before += piece.times * piece.operators
                each.operators_captured += piece.times * piece.operators
        return sorted(found.values(), key=lambda each: -each.times)

    @property
    def captured(self) -> int:
        """The number of operators that ran in graphs."""
        return sum([piece.times * piece.operators for piece in self.pieces])

    @property
    def operators(self) -> int:
        """The number of operators that ran; a break counts as one outside."""
        return self.captured + sum([each.times for each in self.breaks])

    @property
    def in_graphs(self) -> float:
        """The seconds spent in graphs."""
        return sum([piece.seconds for piece in self.pieces])


def unless_told(run: Callable[..., object], fn: Callable[..., object]) -> Callable[..., object]:
    """Run a program by Dynamo; eagerly if the user has set a stance for `torch.compile`
    (`torch.compiler.set_stance`)."""
    from torch._dynamo import eval_frame

    def call(*args: object, **kwargs: object) -> object:
        stance = eval_frame._stance
        if stance.stance != "default" or stance.backend is not None:
            return fn(*args, **kwargs)
        return run(*args, **kwargs)

    return call


def held_by(piece: Piece, *, learns: bool) -> Callable[..., object]:
    """A callable of a graph for Dynamo, which keeps it as long as the program's code: it has only a weak reference to
    the compiled graph. Operators run one by one while gradients are recorded."""
    holder, counts, operators, clock = weakref.ref(piece), piece.counts, piece.graph.forward, time.perf_counter

    def run(*args: object) -> object:
        found = holder()
        region = operators if found is None or (learns and torch.is_grad_enabled()) else found.region
        counts[0] += 1
        began = clock()
        try:
            return region(*args)  # type: ignore[misc]  # None is not given to `held_by`
        finally:
            counts[1] += clock() - began

    return run


def backend_of(captured: Captured) -> Callable[[torch.fx.GraphModule, Sequence[object]], Callable[..., object]]:
    """The backend for Dynamo, which keeps it for the lifetime of the process: it holds no reference to the program."""
    holder = weakref.ref(captured)

    def symshape(module: torch.fx.GraphModule, inputs: Sequence[object]) -> Callable[..., object]:
        found = holder()
        return module.forward if found is None else found._compiled(module, inputs)

    return symshape


class Frames:
    """Dynamo's callback for each called function: its own answer for trusted code."""

    def __init__(self, callback: Callable[..., Any], captured: Captured, dynamic: object) -> None:
        self._torchdynamo_orig_backend = callback
        self._callback = callback
        self._captured = captured
        self._settings: dict[str, object] = dict.fromkeys(SET_OFF, False)
        if dynamic is not None:
            self._settings |= {"assume_static_by_default": not dynamic, "automatic_dynamic_shapes": bool(dynamic)}
        self._answers: dict[CodeType, Any] = {}
        """What is done with code that Dynamo leaves alone: it would note that on the code, where it holds for whoever
        else has Dynamo run it."""

    def __call__(self, frame: Any, cache_entry: Any, state: Any) -> Any:
        from torch._dynamo import config
        from torch._dynamo.convert_frame import output_codes
        from torch._dynamo.types import ConvertFrameReturn, FrameAction, FrameExecStrategy

        from frontends.pytorch.dynamo.trusted import OWN, reason_against_frame

        captured = self._captured
        plainly = ConvertFrameReturn(
            frame_exec_strategy=FrameExecStrategy(FrameAction.SKIP, FrameAction.SKIP), apply_to_code=False
        )
        code = frame.f_code
        if not is_users(code.co_filename) and not code.co_filename.startswith(OWN):
            return plainly
        if code in output_codes:
            # the rest of a function, checked with the original
            return ConvertFrameReturn(apply_to_code=False)
        if not captured.refused:
            known = self._answers.get(code)
            if known is not None:
                return known
            reason = reason_against_frame(frame, captured.modules)
            if reason:
                captured.refuse(reason)
        if captured.refused != "":
            return plainly
        try:
            with config.patch(self._settings), alone(), seen(captured.look):
                found = self._callback(frame, cache_entry, state)
        except Exception as error:
            captured.refuse(in_short(error))
        # it may have met other code
        if captured.refused != "":
            return plainly
        if found.guarded_code is None:
            found = self._answers[code] = replace(found, apply_to_code=False)
        return found


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Exclusive use of Dynamo, without its advice in the log: graph breaks are reported by us."""
    from torch._dynamo.convert_frame import compile_lock
    from torch._dynamo.variables.tensor import TensorVariable

    thread = threading.get_ident()

    def is_anothers(record: logging.LogRecord) -> bool:
        return record.thread != thread

    advised: Any = TensorVariable._warn_capture_scalar_outputs
    with compile_lock:
        was_said = advised.cache_info().currsize
        for name in ADVISING:
            logging.getLogger(name).addFilter(is_anothers)
        try:
            yield
        finally:
            for name in ADVISING:
                logging.getLogger(name).removeFilter(is_anothers)
            if not was_said:
                # logged once; must still be logged
                advised.cache_clear()


@contextlib.contextmanager
def seen(look: Callable[[Sequence[CodeType]], None]) -> Iterator[None]:
    """Check all code that Dynamo inlines, including code without a graph, which reaches no backend."""
    from torch._dynamo.convert_frame import register_bytecode_hook

    def made(code: CodeType, new: CodeType) -> None:
        output = sys._getframe(1).f_locals["output"]
        look(output.tracing_context.traced_code)

    handle = register_bytecode_hook(made)
    try:
        yield
    finally:
        handle.remove()


def in_short(error: Exception) -> str:
    """The class of an error and the beginning of its message."""
    return " ".join(f"{type(error).__name__}: {error}".split("\n")[:2])


def break_after(module: torch.fx.GraphModule) -> tuple[str, Origin | None] | None:
    """The reason and location of a graph break; None if the program returns."""
    reason: Any = getattr(module, "compile_subgraph_reason", None)
    if reason is None or not reason.graph_break:
        return None
    text = str(reason.reason)
    cause = next((name for begin, name in CAUSES.items() if text.startswith(begin)), "")
    if not cause:
        cause = "print" if "`print`" in text else text.partition("\n")[0].partition("(")[0].strip()
    frames = [each for each in reason.user_stack if is_users(each.filename)]
    if not frames:
        return cause, None
    last = frames[-1]
    name = last.name
    if name.startswith("torch_dynamo_resume_in_"):
        name = name.removeprefix("torch_dynamo_resume_in_").rpartition("_at_")[0]
    return cause, Origin(last.filename, last.lineno or 0, name)


def captured(
    fn: Callable[..., object], *, backend: str, dynamic: object, policy: Policy | None
) -> Captured | None:
    """A program run by Dynamo; None for something that it does not accept."""
    if not isinstance(fn, FunctionType | MethodType | torch.nn.Module):
        return None
    if not (dynamic is None or isinstance(dynamic, bool)):
        return None
    return Captured(fn, backend=backend, dynamic=dynamic, policy=policy)


breaking.captures.append(captured)
