"""Torch's samples of operators on jagged tensors, run compiled and eagerly: what is right, and what is captured.

    $ python -m tests.frontends.pytorch.ragged.operator_samples 5        # every fifth sample of each operator
    $ python -m tests.frontends.pytorch.ragged.operator_samples 5 2      # every fifth, from another one on
"""

from __future__ import annotations

import random
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import torch

from frontends.pytorch import compile
from tests.frontends.pytorch.ragged.comparing import ran, unlike

CRASHES: Final = ("split_with_sizes",)
"""Operators whose gradient crashes eager torch."""


@dataclass(frozen=True)
class Sample:
    """One call of an operator, with gradients or without."""

    operator: str
    function: Any
    place: int
    name: str
    given: Any
    gradients: bool


def samples(step: int = 1, only: frozenset[str] | None = None, shift: int = 0) -> Iterator[Sample]:
    """Every `step`th sample of each operator that takes jagged tensors; others for another `shift` below that."""
    from torch.testing._internal.opinfo.definitions.nested import njt_op_db

    for operator in njt_op_db:
        name = operator.full_name
        if not operator.supports_njt or "jiterator" in name or (only is not None and name not in only):
            continue
        for gradients in (False, True)[: 1 + (operator.supports_autograd and name not in CRASHES)]:
            random.seed(0)
            torch.manual_seed(0)
            for place, each in enumerate(operator.sample_inputs("cpu", torch.float32, requires_grad=gradients)):
                if (place + shift + zlib.crc32(name.encode())) % step == 0:
                    given = (each.input, *each.args), dict(each.kwargs)
                    yield Sample(name, operator.op, place, each.name, given, gradients)


def verdict(sample: Sample) -> tuple[str, str]:
    """The verdict on a sample, with the reason: "refused" by eager torch too, "wrong", "eager", or "captured"."""

    def program(*args: Any, **kwargs: Any) -> Any:
        return sample.function(*args, **kwargs)

    expected = ran(sample.function, sample.given, gradients=sample.gradients)
    if expected.error is not None:
        return "refused", repr(expected.error)
    torch._dynamo.reset()
    compiled = compile(program)
    found = unlike(ran(compiled, sample.given, gradients=sample.gradients), expected)
    if found:
        return "wrong", found
    reasons = [each.reason for each in (*compiled.fallbacks, *compiled.graphs) if each.reason]
    # a tensor of a sample without gradients may need one, which nobody takes
    parts = [part for graph in compiled.graphs for part in graph.parts[: None if sample.gradients else 1]]
    if reasons or not parts or not all(part.variants for part in parts):
        return "eager", (reasons or ["no graph"])[0]
    return "captured", ""


def main(step: int, shift: int = 0) -> None:
    counts = Counter[str]()
    reasons = Counter[tuple[str, str]]()
    for sample in samples(step, shift=shift):
        what, why = verdict(sample)
        counts[what] += 1
        if what in ("wrong", "eager"):
            kind = "holes" if "holes" in sample.name else sample.operator
            reasons[what, f"{kind}: {why.splitlines()[0][:80]}"] += 1
    print(dict(counts))
    for (what, why), count in reasons.most_common():
        print(f"{count:6} {what:8} {why}")


if __name__ == "__main__":
    main(*(map(int, sys.argv[1:3]) if len(sys.argv) > 1 else [1]))
