"""`certify`: prove that the guards of a compiled program hold for all sizes in given ranges, or find one that fails.

    >>> import torch
    >>> from frontends.pytorch import certify, compile
    >>> @compile(dynamic=True)
    ... def f(x):
    ...     return x * 2 if x.shape[0] <= 64 else x
    >>> out = f(torch.ones(8, 3))
    >>> certify(f, {"x.shape[0]": (1, 64), "x.shape[1]": (1, None)}).status
    'proven'
    >>> found = certify(f, {"x.shape[0]": (1, 4096), "x.shape[1]": (1, None)})
    >>> [(finding.guard, finding.size) for finding in found.findings]
    [('x.shape[0] <= 64', {'x.shape[0]': 65})]

`shapes.certification.certifying` decides; the modules here extract guards: of our variants (`variants.py`), of
`torch.compile` (`compiled.py`), and of `torch.export` (`exported.py`). Programs are neither changed nor called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from frontends.pytorch.certificates.variants import of_program, of_variant
from frontends.pytorch.dynamo.compiled import OWN, Compiled
from frontends.pytorch.dynamo.program import Program
from frontends.pytorch.errors import rejected
from frontends.pytorch.variant import Variant
from shapes.accepted import shown
from shapes.certification.certificates import Certificate, Conditions
from shapes.certification.certifying import Range
from shapes.certification.certifying import certify as judged
from shapes.certification.guard_files import read_guards


def certify(compiled: object, sizes: Mapping[str, Range], facts: Sequence[str] = ()) -> Certificate:
    """Decide whether every guard holds for all sizes in these ranges: `{"x.shape[0]": (1, 64), "x.shape[1]": (16, 4096,
    16)}`, where the third number is a divisor of the size; `facts` are further propositions.

    `compiled` is a result of `compile` or `torch.compile` that was called, a variant of ours, a `torch.export` program,
    or the path of a file of guards. Of alternative variants, one must accept.

    Raises:
        ConstraintViolation: it is none of these, or was never called.
        ShapeError: an invalid range, or an unknown size.
    """
    found = guards_of(compiled)
    if found is None:
        what = f"compiled={shown(compiled)}: expected a compiled object"
        fix = "certify(compile(f), ...), torch.compile(f), a torch.export program, or the path of a file of guards"
        rejected(what, fix)
    variants, alternatives = found
    return judged(variants, sizes, facts, alternatives=alternatives)


def guards_of(compiled: object) -> tuple[Sequence[Conditions], bool] | None:
    """The guards of each variant, and whether variants are alternatives.

    None for an object without guards.
    """
    if issubclass(type(compiled), Compiled):
        compiled = object.__getattribute__(compiled, OWN)
    match compiled:
        case Program():
            return of_program(compiled), True
        case Variant():
            return [of_variant(compiled)], True
        case str() | Path() if Path(compiled).suffix == ".pt2":
            return guards_of(torch.export.load(compiled))
        case str() | Path():
            return read_guards(Path(compiled)), True
        case torch.export.ExportedProgram():
            from frontends.pytorch.certificates.exported import of_exported

            return [of_exported(compiled)], True
    from frontends.pytorch.certificates.compiled import is_compiled, of_compiled

    return of_compiled(compiled) if is_compiled(compiled) else None
