"""The outcome of one operator: traced on each sample, run there and at other sizes, and compared with eager."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

import torch
from torch.utils._pytree import tree_flatten

from backends import named
from benchmarks.operators.programs import SEED, NotDifferentiable, Program, copied, nudged, programs, resampled
from benchmarks.operators.record import Outcome, first_line
from benchmarks.operators.resizing import Sizes, axes_of, proposed, scaled
from frontends.pytorch import trace
from frontends.pytorch.symbolic.tensor import Result
from shapes.symbolic.numbers import SymInt
from solver.terms.expr import Atom

RELATIVE: Final = {torch.float16: 4e-3, torch.bfloat16: 3e-2}
"""Tolerance of values, 1e-4 of other dtypes: eager rounds after each operator, a kernel once."""
ABSOLUTE: Final = {torch.float16: 2e-3, torch.bfloat16: 2e-2}
AT_EDGES: Final = 3
"""The number of samples that are tried at the edges of their guards."""
NUDGES: Final = 3
"""The number of times that arguments are rounded otherwise."""
ROUNDINGS: Final = 3.0
"""The largest distance of a graph from eager, as a multiple of the distance of these roundings from eager."""
OVERWRITING: Final = ("cov",)
"""Operators of which eager spoils an argument: with weights, one observation becomes its deviation."""
UNCHECKED: Final = ("nn.functional.embedding_bag",)
"""Operators of which eager reads memory of others where indices are too large: at other sizes all are 0."""
UNINITIALIZED: Final = (
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "resize_",
)
"""Operators whose values are whatever was in memory."""


@dataclass
class Run:
    """The results of a program, and its arguments after the run; or the error that ended it."""

    values: list[object]
    structure: object
    after: list[torch.Tensor]
    error: Exception | None = None


def judge(name: str, count: int, *, backward: bool = False, backend: str = "eager", dtype: str = "float32") -> Outcome:
    """An operator on its first samples."""
    begin = time.process_time()
    outcome = Outcome(name)
    for number, program in enumerate(programs(name, count, backward=backward, dtype=dtype)):
        Judged(outcome, number, program, values=name not in UNINITIALIZED, backend=named(backend)).examine()
    outcome.seconds = round(time.process_time() - begin, 2)
    return outcome


def by_operators(program: Program, tensors: Sequence[torch.Tensor]) -> Run:
    given = copied(tensors)
    torch.default_generator.manual_seed(SEED)
    try:
        values, structure = tree_flatten(program(*given))
    except NotDifferentiable:
        raise
    except Exception as error:
        return Run([], None, given, error)
    return Run(values, structure, given)


class Judged:
    """One sample."""

    def __init__(self, outcome: Outcome, number: int, program: Program, *, values: bool, backend: ModuleType) -> None:
        self.backend = backend
        self.outcome = outcome
        self.number = number
        self.program = program
        self.tensors = copied(program.tensors)
        self.with_values = values
        self.overwrites = outcome.operator in OVERWRITING
        self.as_a_whole = outcome.operator.startswith("linalg.")
        self.has_indices = any(tensor.dtype in (torch.int32, torch.int64) for tensor in self.tensors)
        self.sizes: Sizes = tuple([tuple(tensor.shape) for tensor in self.tensors])

    def examine(self) -> None:
        try:
            wanted = by_operators(self.program, self.tensors)
        except NotDifferentiable:
            return
        if wanted.error is not None:
            return
        self.outcome.samples += 1
        try:
            self.variant = trace(self.program, copied(self.tensors))
            self.run = self.variant.run_by(self.backend)
        except Exception as error:
            self.outcome.failed.append(f"{self.number}: {first_line(error)}")
            return
        self.outcome.fused += any(host.launches for host in self.variant.running.hosts)
        got = self.traced(self.tensors)
        if got.error is not None:
            self.outcome.failed.append(f"{self.number}: graph: {first_line(got.error)}")
            return
        differs = self.difference(wanted, got)
        if differs:
            self.outcome.wrong.append(f"{self.number}: {differs}")
            return
        self.outcome.right += 1
        self.pins()
        inputs = self.variant.inputs
        sources = {word: (described.name, *path) for described in inputs for word, path in described.symbols}
        names = [described.name for described in inputs]
        self.accepted = self.variant.env.compile_guards(sources, arguments=names)
        if not self.accepted(*self.tensors):
            self.outcome.wrong.append(f"{self.number}: the guards refuse the sample itself")
        for sizes in scaled(self.sizes):
            self.elsewhere(sizes, guards_may_refuse=False)
        if self.number < AT_EDGES:
            for sizes in proposed(self.variant, self.sizes):
                self.elsewhere(sizes, guards_may_refuse=True)

    def traced(self, tensors: Sequence[torch.Tensor]) -> Run:
        """The graph on tensors."""
        given = copied(tensors)
        torch.default_generator.manual_seed(SEED)
        try:
            with torch.no_grad():
                values, structure = tree_flatten(self.variant.assembled(self.run(given)))
        except Exception as error:
            return Run([], None, given, error)
        return Run(values, structure, given)

    def values(self, tensors: Sequence[torch.Tensor]) -> dict[Atom, int]:
        """The symbols of the inputs for these tensors."""
        names = self.variant.env.names
        found: dict[Atom, int] = {}
        for described, tensor in zip(self.variant.inputs, tensors):
            for word, path in described.symbols:
                found[next(iter(names[word].symbols))] = _read(tensor, path)
        return found

    def pins(self) -> None:
        """Sizes of inputs that are a number now."""
        words = axes_of(self.variant)
        for pinned in self.variant.env.specializations():
            if pinned.text not in words:
                continue
            because = "; ".join([f"{fact.text} ({_line(fact.origin)})" for fact in pinned.because[-1:]])
            place, axis = words[pinned.text]
            line = f"{self.number}: {pinned.text} = {pinned.value}: {pinned.why or because}"
            (self.outcome.ones if self.sizes[place][axis] == 1 else self.outcome.pinned).append(line)

    def elsewhere(self, sizes: Sizes, *, guards_may_refuse: bool) -> None:
        """Try other sizes: with values that eager takes, if there are any."""
        distinct = {size for each in sizes for size in each}
        bounds = [max(distinct, default=1), min(distinct, default=1), 1] if self.has_indices else [None]
        if self.outcome.operator in UNCHECKED:
            bounds = [1]
        for most in dict.fromkeys(bounds):
            generator = torch.Generator().manual_seed(SEED)
            tensors = [resampled(tensor, each, most, generator) for tensor, each in zip(self.tensors, sizes)]
            try:
                wanted = by_operators(self.program, tensors)
            except NotDifferentiable:
                return
            if wanted.error is None:
                break
        outcome, where = self.outcome, f"{self.number} at {sizes}"
        if not self.accepted(*tensors):
            if wanted.error is None and not guards_may_refuse:
                outcome.refused.append(f"{where}: {self.refusal(tensors)}")
            return
        got = self.traced(tensors)
        if wanted.error is not None:
            if got.error is None:
                outcome.lenient.append(f"{where}: {first_line(wanted.error)}")
        elif got.error is not None:
            outcome.stopped.append(f"{where}: {first_line(got.error)}")
        else:
            differs = self.difference(wanted, got, tensors)
            if differs and self.reproduced(wanted, tensors) and not self.rounded(wanted, got, tensors):
                outcome.wrong.append(f"{where}: {differs}")
            elif differs:
                return
            else:
                outcome.elsewhere += 1

    def reproduced(self, wanted: Run, tensors: Sequence[torch.Tensor]) -> bool:
        """Return True if eager is reproducible, and did not read memory that it should not have."""
        for filling in (1e30, -7.0):
            _ = [torch.full((size,), filling) for size in (1, 4, 16, 64, 256, 1024)]
            again = by_operators(self.program, tensors)
            if any(compared(one, other) for one, other in zip(wanted.values, again.values)):
                return False
        return True

    def rounded(self, wanted: Run, got: Run, tensors: Sequence[torch.Tensor]) -> bool:
        """Return True if eager differs as much from itself where its arguments are rounded otherwise."""
        others = [by_operators(self.program, nudged(tensors, seed)) for seed in range(NUDGES)]
        if any(other.structure != wanted.structure for other in (*others, got)):
            return False
        for place, (right, ours) in enumerate(zip(wanted.values, got.values)):
            if compared(right, ours, as_a_whole=self.as_a_whole):
                each = [other.values[place] for other in others]
                if not all(is_real(value) and value.shape == right.shape for value in (right, ours, *each)):
                    return False
                if not distance(right, ours) <= ROUNDINGS * max([distance(right, value) for value in each]):
                    return False
        return not self.foreseen(got, tensors)

    def refusal(self, tensors: Sequence[torch.Tensor]) -> str:
        """The guards that refuse, and where they are from."""
        values = self.values(tensors)
        refusing = [guard for guard in self.variant.guards if not guard.prop.evaluate(values)]
        return "; ".join([f"{guard} ({_line(guard.origin)})" for guard in refusing[:2]])

    def difference(self, wanted: Run, got: Run, tensors: Sequence[torch.Tensor] | None = None) -> str:
        """Describe the difference from eager; the trace's predictions of the outputs are compared as well."""
        if wanted.structure != got.structure:
            return f"another structure: {got.structure}, not {wanted.structure}"
        for place, (right, ours) in enumerate(zip(wanted.values, got.values)):
            differs = compared(right, ours, values=self.with_values, as_a_whole=self.as_a_whole)
            if differs:
                return f"output {place}: {differs}"
        for place, (right, ours) in enumerate(zip(wanted.after, got.after) if not self.overwrites else ()):
            differs = compared(right, ours, values=self.with_values, as_a_whole=self.as_a_whole)
            if differs:
                return f"input {place} afterwards: {differs}"
        return self.foreseen(got, self.tensors if tensors is None else tensors)

    def foreseen(self, got: Run, tensors: Sequence[torch.Tensor]) -> str:
        """Describe an output that differs from the trace's prediction; empty if there is none."""
        values = self.values(tensors)
        for place, (output, right) in enumerate(zip(self.variant.outputs, got.values)):
            if not isinstance(output, Result) or output.metadata is None or not isinstance(right, torch.Tensor):
                continue
            kind = output.metadata
            if kind.dtype is not right.dtype:
                return f"output {place} foreseen as {kind.dtype}, not {right.dtype}"
            sizes = [_at(size, values, actual) for size, actual in zip(kind.sizes, right.shape)]
            if sizes != list(right.shape):
                return f"output {place} foreseen as {sizes}, not {list(right.shape)}"
            strides = [_at(stride, values, actual) for stride, actual in zip(kind.strides, right.stride())]
            if right.numel() and any(
                one != other and size > 1 for one, other, size in zip(strides, right.stride(), right.shape)
            ):
                self.outcome.strides.append(f"{self.number}: {strides}, not {list(right.stride())} of {sizes}")
        return ""


def _at(number: object, values: dict[Atom, int], actual: int) -> int:
    """A foreseen number at given sizes; the actual one where only the run tells."""
    if isinstance(number, torch.SymInt):
        number = number.node.value
    if isinstance(number, SymInt):
        return number.expr.evaluate(values) if number.expr.symbols <= values.keys() else actual
    return number


def _read(tensor: torch.Tensor, path: Sequence[int | str]) -> int:
    """Follow a path: `(".shape", 0)`, `(".stride()", 1)`, `(".storage_offset()",)`."""
    found: Any = tensor
    for step in path:
        if isinstance(step, int):
            found = found[step]
        else:
            found = getattr(found, step.strip(".()"))
            found = found() if step.endswith("()") else found
    return found


def _line(origin: object) -> str:
    return f"{origin.file.rpartition('/')[2]}:{origin.line}" if hasattr(origin, "file") else str(origin)


def compared(right: object, ours: object, *, values: bool = True, as_a_whole: bool = False) -> str:
    """Describe the difference; nothing where they are alike, each element or, where equations were solved, all
    together."""
    if not isinstance(right, torch.Tensor):
        alike = type(right) is type(ours) and (right == ours or (right != right and ours != ours))
        return "" if alike else f"{ours!r}, not {right!r}"
    if not isinstance(ours, torch.Tensor):
        return f"{ours!r}, not a tensor"
    if right.layout != ours.layout or right.dtype != ours.dtype or right.shape != ours.shape:
        return f"{told(ours)}, not {told(right)}"
    if not values or right.layout is not torch.strided:
        return ""
    if right.dtype is torch.bool or not (right.is_floating_point() or right.is_complex()):
        return "" if torch.equal(right, ours) else "other values"
    right, ours = right.detach(), ours.detach()
    rtol, atol = RELATIVE.get(right.dtype, 1e-4), ABSOLUTE.get(right.dtype, 1e-5)
    if torch.allclose(right, ours, rtol=rtol, atol=atol, equal_nan=True):
        return ""
    if as_a_whole and bool((right - ours).norm() <= rtol * right.norm()):
        return ""
    return f"other values, by {float((right - ours).abs().max()):.2g}"


def is_real(value: object) -> bool:
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


def distance(one: torch.Tensor, other: torch.Tensor) -> float:
    return float((one.detach() - other.detach()).norm())


def told(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
