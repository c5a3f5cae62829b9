"""The report of a compiled function: variants with guards and lines, causes of recompilation, eager fallbacks.

    >>> import torch
    >>> from frontends.pytorch import compile
    >>> f = compile(lambda x: x * 2 if x.shape[0] > 2 else x * 3, dynamic=True)
    >>> y = f(torch.randn(4, 5))
    >>> report = f.report()
    >>> guard = report.variants[0].guards[0]
    >>> guard.text, guard.verdict, guard.rejects
    ('x.shape[0] >= 3', 'depends', 'x.shape[0]=2')

Its records, its text and its page are those of `shapes.reports`. `operators` and `share_of_time` measure the calls
inside of `with f.timed():`; otherwise each graph counts once. Outside of it measuring costs nothing: the look-ups of
graphs are replaced inside.

    >>> with f.timed() as times:
    ...     for _ in range(4):
    ...         out = f(torch.randn(4, 5))
    >>> times.calls, times.operators, times.captured, 0 < times.share_of_time < 1
    (4, 4, 4, True)
"""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

import torch

from backends.loops.kernels import Kernel
from backends.program.log import lines
from frontends.pytorch.source_location import name_of, own_name
from frontends.pytorch.variant import Variant
from frontends.pytorch.variants.compiled_graph import CompiledGraph, Fallback
from shapes.errors import sizes_text
from shapes.origin import Origin
from shapes.reports.records import Entry, VariantReport
from shapes.reports.report import Report
from shapes.reports.sources import excerpts
from shapes.size_names import places_of, with_places

if TYPE_CHECKING:
    from backends.decisions.questions import Decision
    from shapes.env import ShapeEnv

BRANCH: Final = re.compile(r"\b(if|while)\b")
SIZE: Final = re.compile(r"(?P<name>\w+)\.shape\[(?P<axis>\d+)\] is ")
GUARD: Final = re.compile(r"guard `(?P<text>.*?)` fails")
REMEDIES: Final = (
    (re.compile(r".*\bdtype is |.*\bdevice is "), "convert the arguments before the call"),
    (re.compile(r"[GL]\[[^,:\s]*(\['[^']*'\])? == -?\d+ fails$"), "pass the number as a tensor"),
)
"""Ways to avoid a recompilation, by its cause."""
BREAKS: Final = {
    "print": "print after the call",
    "branch": "torch.where, or torch.cond with both branches",
    "item()": "keep the number a tensor",
}
"""Ways to avoid a graph break, by its cause."""


@dataclass(slots=True)
class Times:
    """The measurements.

    Attributes:
        operators: the number of executed operators, of which a graph break counts as one; `captured` of them in graphs.
        seconds: the time of the calls, including compilation, without backward passes.
        in_graphs: the time spent in graphs.
    """

    calls: int = 0
    operators: int = 0
    captured: int = 0
    seconds: float = 0.0
    in_graphs: float = 0.0

    @property
    def share_of_time(self) -> float:
        return self.in_graphs / self.seconds if self.seconds else 0.0

    def call(self, call: Callable[..., object], *given: object) -> object:
        """Measure a whole call."""
        started = time.perf_counter()
        try:
            return call(*given)
        finally:
            self.calls += 1
            self.seconds += time.perf_counter() - started

    @contextmanager
    def graph(self, graph: CompiledGraph, breaks: int) -> Iterator[None]:
        """Measure the runs of a graph inside the block; `breaks` counts the graph breaks at its end."""
        entry, lookup = graph.entry, graph.lookup
        operators = sum(map(operators_of, graph.variants[:1]))

        def measured(args: Sequence[Any]) -> Callable[[Sequence[Any]], Any] | None:
            call = lookup(args)
            if call is None:
                return None

            def timed(args: Sequence[Any]) -> Any:
                started = time.perf_counter()
                try:
                    return call(args)
                finally:
                    self.in_graphs += time.perf_counter() - started
                    self.operators += operators + breaks
                    self.captured += operators

            return timed

        graph.entry, graph.lookup = None, measured
        try:
            yield
        finally:
            graph.entry, graph.lookup = entry, lookup


def operators_of(variant: Variant) -> int:
    """The number of operators in a variant's graph."""
    return sum([isinstance(node.target, torch._ops.OpOverload) for node in variant.graph.graph.nodes])


def report_of(
    fn: Callable[..., object] | CodeType,
    variants: Sequence[Variant],
    fallbacks: Sequence[Fallback],
    breaks: Sequence[Any],
    times: Times | None,
) -> Report:
    """The report of a function, or of its code, with these variants and graph breaks."""
    found: list[VariantReport] = []
    for number, variant in enumerate(variants):
        found.append(variant_report(number, variant, found))
    captured = operators = sum([operators_of(variant) for variant in variants])
    if times is not None:
        captured, operators = times.captured, times.operators
    code: Any
    if isinstance(fn, CodeType):
        code, name = fn, fn.co_qualname
    else:
        function = fn.forward if isinstance(fn, torch.nn.Module) else fn
        is_plain = isinstance(function, FunctionType | MethodType)
        code, name = getattr(inspect.unwrap(function), "__code__", None) if is_plain else None, name_of(fn)
    ended = [Entry.at(each.place, "break", each.cause, note=BREAKS.get(each.cause, "")) for each in breaks]
    left = [Entry("fallback", each.reason) for each in fallbacks]
    first = last = 0
    if code is not None:
        first, last = code.co_firstlineno, max([line for *_, line in code.co_lines() if line] or [0])
    whole = [] if code is None else [(code.co_filename, first, last)]
    everything = [each for report in found for each in report.entries]
    name = name.rpartition("<locals>.")[2]
    return Report(
        own_name(name),
        "" if code is None else code.co_filename,
        first,
        tuple(found),
        tuple(ended),
        tuple(left),
        operators=operators,
        captured=captured,
        share_of_time=None if times is None else times.share_of_time,
        excerpts=excerpts([*everything, *ended], whole),
    )


def variant_report(number: int, variant: Variant, before: Sequence[VariantReport]) -> VariantReport:
    """One variant, compiled after others."""
    places = places_of(variant.env.symbols.values())
    return VariantReport(
        number,
        variant.cause,
        remedy(variant, before),
        variant.made,
        tuple([with_places(f"{each.name}: {each.result.metadata}", places) for each in variant.inputs]),
        tuple([placed(each, places) for each in entries(variant)]),
        with_places(graph_text(variant), places),
        tuple([with_places(each, places) for each in kernel_lines(variant)]),
    )


def placed(entry: Entry, places: Mapping[str, str]) -> Entry:
    """An entry with the places of sizes."""
    text, accepts, rejects, note = [
        with_places(text, places) for text in (entry.text, entry.accepts, entry.rejects, entry.note)
    ]
    facts = tuple([with_places(fact, places) for fact in entry.facts])
    return replace(entry, text=text, accepts=accepts, rejects=rejects, note=note, facts=facts)


def remedy(variant: Variant, before: Sequence[VariantReport]) -> str:
    """The way to avoid the recompilation that made a variant; empty if none is known."""
    cause = variant.cause
    if (size := SIZE.match(cause)) is not None:
        name, axis = size["name"], int(size["axis"])
        made = [each for each in variant.specialized if each.text.startswith(f"{name}.shape[{axis}] = ")]
        if made:
            return f"keep the size symbolic in `{made[-1].source}` ({made[-1].place})"
        tensors = [each.result.metadata for each in variant.inputs if each.name == name]
        if any(axis < len(each.shape) and isinstance(each.shape[axis], int) for each in tensors if each is not None):
            return "no dynamic=False or mark_static for this size"
        return f"mark_dynamic({name}, {axis}), or dynamic=True"
    if (guard := GUARD.match(cause)) is not None:
        text, known = guard["text"], [each for report in before for each in report.guards]
        if any(each.text.startswith(f"{text} (for kernels") for each in known):
            return "nothing to do: a guard for kernels that has failed is not added again"
        branches = [each for each in known if each.text == text and BRANCH.search(each.source)]
        return "torch.where or torch.cond has both branches in one graph" if branches else ""
    return next((text for pattern, text in REMEDIES if pattern.match(cause)), "")


def entries(variant: Variant) -> Iterator[Entry]:
    """The entries of a variant: assumptions, guards, run-time checks, specializations, decisions of kernels."""
    env = variant.env
    bought = {} if variant.running is None else variant.running.bought
    stated = env.preconditions()
    yield from [Entry.at(each.origin, "assumption", str(each)) for each in stated]
    hints = {atom.name: declared.hint for atom, declared in env.symbols.items() if declared.hint is not None}
    for guard in variant.guards:
        paid = bought.get(guard.prop)
        names = {atom.name for atom in guard.prop.symbols}
        rejects = {name: n for name, n in (guard.rejects or {}).items() if name in names or n != hints.get(name)}
        yield Entry.at(
            guard.origin,
            "guard",
            str(guard) if paid is None else f"{guard} (for kernels: {paid.price})",
            # sizes on either side show that the facts leave it open
            verdict="unknown" if guard.rejects is None else "depends",
            facts=[each.text for each in stated if not each.prop.symbols.isdisjoint(guard.prop.symbols)],
            accepts=sizes_text({name: size for name, size in hints.items() if name in names}),
            rejects="" if guard.rejects is None else sizes_text(rejects),
        )
    for check in variant.runtime_asserts:
        yield Entry.at(check.origin, "assert", str(check), verdict="unknown")
    yield from (*variant.specialized, *specializations(env))
    places = {str(each.origin): each.origin for each in variant.recording.operations if each.origin is not None}
    for host in () if variant.running is None else variant.running.hosts:
        kernels = {step.name: step.origins for step in host.steps if isinstance(step, Kernel)}
        for decision in host.program.decisions.log:
            origin = places.get(decision.origin or next(iter(kernels.get(decision.where, ())), ""))
            yield decided(decision, origin)


def specializations(env: ShapeEnv) -> Iterator[Entry]:
    """The sizes that became constants."""
    for each in env.specializations():
        facts = [fact.text for fact in each.because]
        yield Entry.at(each.origin, "specialization", str(each), verdict="always", facts=facts)


def decided(decision: Decision, origin: Origin | None) -> Entry:
    """A decision of the kernel backend."""
    where = f"{decision.where}: " if decision.where else ""
    facts = [fact.text for fact in decision.core]
    text = f"{where}{decision.kind}: {decision.words}"
    return Entry.at(origin, "kernel", text, verdict=decision.answer, facts=facts, note=decision.outcome)


def kernel_lines(variant: Variant) -> Iterable[str]:
    """A variant's kernels, forward and then backward."""
    running = variant.running
    if running is None:
        return
    if running.note:
        yield f"operators run one by one: {running.note}"
    if running.guard_candidates:
        yield "guards that would save time:"
        yield from [f"  {each}{', added' * (each.question in running.bought)}" for each in running.guard_candidates]
    for name, host in zip(("forward", "backward"), running.hosts):
        yield f"{name}:"
        yield from [f"  {line}" for line in lines(host)]


def graph_text(variant: Variant) -> str:
    """The statements of a graph."""
    text = variant.graph.graph.python_code("self").src
    body = text.partition(":\n")[2]
    return "\n".join([line.strip().partition(";  ")[0] for line in body.splitlines() if line.strip()])
