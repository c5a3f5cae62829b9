"""The PyTorch frontend: functions traced over our own symbolic sizes.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> variant = trace(lambda x: x.view(-1, 4) * 2, (torch.randn(3, 8),))
    >>> variant.graph(torch.randn(5, 12))[0].shape
    torch.Size([15, 4])
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from backends.decisions.costs import Expected
from frontends.pytorch.calls import in_operators as _in_operators  # replaces torch.cond outside of traces
from frontends.pytorch.calls.compiled import Compiled
from frontends.pytorch.calls.compiling import compile
from frontends.pytorch.calls.dynamism import Policy
from frontends.pytorch.calls.loading import load
from frontends.pytorch.calls.marks import mark_dynamic, mark_maybe_dynamic, mark_static, mark_unbacked
from frontends.pytorch.calls.relations import dims, one_of
from frontends.pytorch.certificates import certify
from frontends.pytorch.dynamo import captured as _captured  # registers itself
from frontends.pytorch.dynamo.profile import load_profile, save_profile
from frontends.pytorch.minifier import Minified, minify
from frontends.pytorch.recording import cond as _cond  # implements torch.cond while a function is traced
from frontends.pytorch.recording import contraction as _contraction  # registers itself
from frontends.pytorch.recording import masks as _masks  # registers itself
from frontends.pytorch.recording import overlap as _overlap  # registers itself
from frontends.pytorch.tracing import trace
from frontends.pytorch.variant import Variant

if TYPE_CHECKING:
    from frontends.pytorch.reasoning.comparing import Comparison


def reasoner(*, compare: bool = False) -> AbstractContextManager[Comparison | None]:
    """Make torch's own compilation with dynamic sizes faster.

    Inside of the block, torch's arithmetic on symbols is memoized for as long as torch's replacements stay the same.
    Results, graphs and guards are torch's, except for guards that follow from others. The first call compiles, so it
    belongs in the block:
    `with reasoner(): torch.compile(model, dynamic=True)(x)`. Blocks may be nested.
    `SYMSHAPE_REASONER=1` does the same for a whole process, from the import of this package on. An untested version of
    torch is left unchanged, with one warning.

    Args:
        compare: let torch compute everything as well, use its answers, and log each difference as an error; the block
        receives the number of comparisons and the differences.

    Raises:
        RuntimeError: with `compare`, inside of another such block.
    """
    from frontends.pytorch.reasoning.installing import reasoner as installed

    return installed(compare=compare)


if os.environ.get("SYMSHAPE_REASONER", "0") not in ("", "0"):
    from frontends.pytorch.reasoning.installing import INSTALLATION as _INSTALLATION

    _INSTALLATION.enter()

__all__ = [
    "Compiled",
    "Expected",
    "Minified",
    "Policy",
    "Variant",
    "certify",
    "compile",
    "dims",
    "load",
    "load_profile",
    "mark_dynamic",
    "mark_maybe_dynamic",
    "mark_static",
    "mark_unbacked",
    "minify",
    "one_of",
    "reasoner",
    "save_profile",
    "trace",
]
