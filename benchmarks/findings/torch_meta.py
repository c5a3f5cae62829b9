"""torch's shape rules against its CPU kernels, on the calls that our own rules are tested with.

Two of its sets of rules: tensors on `device="meta"`, and fake tensors whose sizes are symbolic (with the Python
dispatcher, as when torch traces). A call that the kernel refuses counts only where sizes and arguments tell: where our
rule, which is not shown the values in the tensors, refuses it too, and the kernel's reason is no index.
"""

import logging
import warnings
from functools import cache
from typing import Any

from benchmarks.findings.drawing import drawn, smallest
from benchmarks.findings.record import Examined, Finding, first_line, under_way
from benchmarks.rules import torch_call
from shapes import ShapeEnv
from shapes.errors import ShapeError
from shapes.rules import rules
from shapes.testing.arguments import arguments_for, operators_with_arguments
from shapes.testing.calls import Call, Input
from shapes.testing.references.torch_eager import tensor_of, torch_operator

LIBRARY = "torch"
DRAWN = {"meta": 80, "symbolic": 15}
SECONDS = {"meta": 6.0, "symbolic": 10.0}
UNSUPPORTED = (
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "UnsupportedOperatorException",
    "UnsupportedFakeTensorException",
    "GuardOnDataDependentSymNode",
    "NotImplementedError",
)
NEEDS_DATA = ("item()", "meta tensor", "data-dependent", "not implemented for", "is not supported", "no attribute")
DATA_REFUSED = ("in the valid range", "out of bounds", "index out of range", "not implemented for")
"""Parts of a kernel's message when it refuses the values in its tensors or their dtype."""

Seen = tuple[tuple[int | None, ...] | None, ...]


class Unsupported(Exception):
    """The rule has no answer, and says so."""


def operators() -> list[str]:
    return sorted(set(operators_with_arguments()) - {"item"})  # whose result is no tensor


def kernel(name: str, call: Call) -> Seen | str:
    """The sizes that torch's kernel gives, or why it refuses."""
    args, kwargs = call.replaced(tensor_of)
    return _run(lambda: torch_operator(name)(*args, **kwargs))


def on_meta(name: str, call: Call) -> Seen | str:
    """Run the rules for tensors without data."""
    import torch

    def without_data(given: Input) -> Any:
        real: Any = tensor_of(given)
        return torch.empty_strided(real.size(), real.stride(), dtype=real.dtype, device="meta")

    def run() -> object:
        args, kwargs = call.replaced(without_data)
        with torch.device("meta"):
            return torch_operator(name)(*args, **kwargs)

    return _rule(run)


def on_symbols(name: str, call: Call) -> Seen | str:
    """Run the rules for fake tensors with symbolic sizes."""
    return _rule(torch_call(name, call))


RULES = {"meta": on_meta, "symbolic": on_symbols}


def difference(name: str, call: Call, where: str) -> Finding | None:
    """Compare a rule of torch with its kernel on a call."""
    text = repr(call)
    under_way(where, text)
    real = kernel(name, call)
    if isinstance(real, str) and (any(part in real for part in DATA_REFUSED) or not refused_by_sizes(name, call)):
        return None
    said = RULES[where](name, call)
    match real, said:
        case tuple(), tuple() if not _agree(real, said):
            kind = "sizes"
        case str(), tuple():
            kind = "accepts"
        case tuple(), str():
            kind = "refuses"
        case _:
            return None
    return Finding(kind, text, _told(real), _told(said), where)


def refused_by_sizes(name: str, call: Call) -> bool:
    """Return True if sizes and arguments alone show that the call is illegal."""
    args, kwargs = call.replaced(lambda given: Input(given, dtype=given.dtype, strides=given.strides))
    try:
        rules[name](ShapeEnv(origin=lambda: None), *args, **kwargs)
    except ShapeError:
        return True
    except Exception:
        return False
    return False


def examine(name: str) -> Examined:
    """Draw calls, and where one shows a difference, look for the smallest that shows it."""
    _quiet()
    strategy = arguments_for(name)
    done = Examined(name)
    for where, count in DRAWN.items():
        kinds: dict[str, Call] = {}
        for call in drawn(strategy, count):
            done.calls += 1
            try:
                found = difference(name, call, where)
            except Unsupported:
                done.unsupported += 1
                continue
            if found is not None:
                kinds.setdefault(found.kind, call)
        for kind, first in kinds.items():

            def differs(call: Call, kind: str = kind, where: str = where) -> bool:
                try:
                    found = difference(name, call, where)
                except Unsupported:
                    return False
                return found is not None and found.kind == kind

            least = smallest(strategy, differs, first, SECONDS[where])
            found = difference(name, least, where)
            if found is not None:  # it is not, where chance decides
                done.findings.append(found)
    return done


def again(name: str, finding: Finding) -> Finding | None:
    """The same call once more."""
    _quiet()
    call = eval(finding.call, {"Call": Call, "Input": Input})
    return difference(name, call, finding.where)


@cache
def _quiet() -> None:
    import torch

    torch.set_num_threads(1)
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")


def _run(run: Any) -> Seen | str:
    import torch

    try:
        with torch.no_grad():
            return tuple(_sizes(run()))
    except Exception as refusal:
        return first_line(refusal)


def _rule(run: Any) -> Seen | str:
    import torch

    try:
        with torch.no_grad():
            return tuple(_sizes(run()))
    except Exception as refusal:
        if type(refusal).__name__ in UNSUPPORTED or any(part in str(refusal) for part in NEEDS_DATA):
            raise Unsupported(first_line(refusal)) from refusal
        return first_line(refusal)


def _sizes(result: object) -> Any:
    """The sizes of each tensor in a result; None for an unbacked size, and for a result that is not a tensor."""
    import torch

    if isinstance(result, torch.Tensor):
        yield tuple([_number(size) for size in result.shape])
    elif isinstance(result, tuple | list):
        for one in result:
            yield from _sizes(one)
    else:
        yield None


def _number(size: Any) -> int | None:
    if isinstance(size, int):
        return size
    hint: int | None = size.node.hint if size.node.has_hint() else None
    return hint


def _agree(real: Seen, said: Seen) -> bool:
    if len(real) != len(said):
        return False
    for one, other in zip(real, said):
        if one is None or other is None:
            continue
        if len(one) != len(other) or any(b is not None and a != b for a, b in zip(one, other)):
            return False
    return True


def _told(seen: Seen | str) -> str:
    if isinstance(seen, str):
        return f"refuses: {seen}"
    shown = ", ".join([str(one) for one in seen[:4]])
    return shown if len(seen) <= 4 else f"{shown}, ... ({len(seen)} outputs)"
