"""Metadata inference for operators: by a rule of ours, else by torch's meta function on symbolic sizes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch

from frontends.pytorch.errors import unsupported
from frontends.pytorch.meta_rules.corrected import MEANT, corrected
from frontends.pytorch.meta_rules.pointwise import elementwise, is_elementwise
from frontends.pytorch.meta_rules.registry import ONCE, RULES
from frontends.pytorch.recording.custom import template
from frontends.pytorch.recording.meta import by_meta
from frontends.pytorch.recording.operations import is_custom
from frontends.pytorch.symbolic.function_mode import Arguments, Keywords
from frontends.pytorch.symbolic.metadata import Template
from frontends.pytorch.symbolic.tensor import Trace, Traced
from shapes.errors import ShapeError, UndecidedGuard


def infer(
    recorder: Trace, func: torch._ops.OpOverload, args: Arguments, kwargs: Keywords, tensors: Sequence[Traced]
) -> Template:
    """Infer an operator's results.

    Raises:
        Unsupported: its name says that they are not dense.
    """
    rule = RULES.get(func)
    if rule is None and is_elementwise(func):
        rule = partial(elementwise, func)
    if rule is not None:
        try:
            found = rule(recorder, *args, **kwargs)
        except UndecidedGuard:
            raise
        except ShapeError:
            # torch reports the error itself
            found = NotImplemented
        if isinstance(found, Template):
            return found
        if found is not NotImplemented:
            return corrected(recorder, func, args, Template(found, once=func in ONCE))
    if is_custom(func):
        return template(recorder, func, args, kwargs, tensors)
    for kind in ("sparse", "nested"):
        if kind in func.name():
            fix = "make it outside of the function, or use dense operators"
            unsupported(f"a {kind} tensor: only dense ones are traced", fix)
    return corrected(recorder, func, args, by_meta(recorder, func, args, kwargs, tensors, run=MEANT.get(func)))
