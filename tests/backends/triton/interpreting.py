"""Run in a process of its own: kernels through Triton's interpreter, which must be chosen before Triton is loaded.

One line of JSON comes out for each case: its name, and what is wrong.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Sequence

if __name__ == "__main__":  # and not where doctests are looked for
    os.environ["TRITON_INTERPRET"] = "1"

import torch

from backends.triton import facts, forms, launching
from benchmarks.kernels.programs import PROGRAMS, Program
from benchmarks.models import MODELS, Model
from benchmarks.operators.worker import Strict
from tests.backends.programs import CASES as COMMON
from tests.backends.programs import Case
from tests.backends.triton import whole
from tests.backends.triton.cases import CASES, EDGES
from tests.backends.triton.checking import wrong
from tests.backends.triton.operating import operations, reductions

SIZES = [{"b": 4, "s": edge} for edge in EDGES] + [{"b": 0, "s": 5}, {"b": 1, "s": 16}, {"b": 40, "s": 2}]


def found_by(case: Case | Program | Model, sizes: Sequence[dict[str, int]]) -> list[object]:
    try:
        if isinstance(case, Model):
            return whole.wrong_model(case)
        return whole.wrong(case, "cpu") if isinstance(case, Program) else list(wrong(case, "cpu", sizes))
    except Exception as error:
        return [repr(error)]


def every() -> Iterator[tuple[str, Case | Program | Model, list[dict[str, int]]]]:
    """Names, cases and sizes; what they are run with is switched on the way."""
    fused = [*COMMON, *CASES]
    for case in [*fused, *reductions()]:
        yield case.name, case, SIZES
    for case in operations():
        yield case.name, case, [{"b": 1, "s": 400}]
    for program in PROGRAMS:
        yield f"{program.name}, compiled", program, []
    for name in whole.TRAINED:
        yield f"{name}, trained", MODELS[name], []
    launching.LARGEST = 0
    for case in fused:
        yield f"{case.name}, in 64 bits", case, [{"b": 4, "s": 33}]
    forms.FEW, facts.SHORT, forms.LONG_BLOCK, forms.BLOCK, forms.LEAST_BLOCKS = 8, 16, 32, 64, 4
    forms.LONGEST_BLOCK = 128
    for case in [*fused, *reductions()]:
        yield f"{case.name}, in blocks", case, [{"b": 2, "s": 0}, {"b": 3, "s": 130}, {"b": 260, "s": 3}]


def main(wanted: list[str]) -> None:
    torch.manual_seed(0)
    logging.getLogger("symshape.triton").addHandler(Strict())
    warnings.simplefilter("ignore")  # NumPy's about lanes that are masked
    for name, case, sizes in every():
        if wanted and name not in wanted:
            continue
        print(json.dumps([name, found_by(case, sizes)]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
