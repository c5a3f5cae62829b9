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

from shapes.extras import require

require("torch", extra="torch", needed_by="frontends.pytorch")

# ruff: noqa: E402  # and not before that
from backends.decisions.costs import Expected
from frontends.pytorch.certificates.certifying import certify
from frontends.pytorch.dynamo.compiled import Compiled, compile, explain, report
from frontends.pytorch.minifier.minifying import Minified, minify
from frontends.pytorch.tracing import trace
from frontends.pytorch.variant import Variant
from frontends.pytorch.variants.marks import mark_dynamic, mark_maybe_dynamic, mark_static, mark_unbacked
from frontends.pytorch.variants.policy import Policy
from shapes.relations import dims, one_of

if TYPE_CHECKING:
    from frontends.pytorch.shape_env import Comparison


def reasoner(*, compare: bool = False) -> AbstractContextManager[Comparison | None]:
    """Let torch's own compilation with dynamic sizes ask this engine.

    Inside of the block and in its thread, the environments that torch makes (Dynamo for any backend, export, make_fx)
    are `EngineShapeEnv`s: the engine answers their questions and reduces their guards. Graphs and policies are torch's.
    The first call compiles, so it belongs in the block:
    `with reasoner(): torch.compile(model, dynamic=True)(x)`. Blocks may be nested.
    `SYMSHAPE_REASONER=1` does the same for a whole process, from the import of this package on. An untested version of
    torch is left unchanged, with one warning.

    Args:
        compare: torch answers, the engine is asked as well, and each conflict is logged as an error; the block receives
            the comparison.
    """
    from frontends.pytorch.shape_env import installed

    return installed(compare=compare)


if os.environ.get("SYMSHAPE_REASONER", "0") not in ("", "0"):
    from frontends.pytorch.shape_env.installing import install_everywhere as _install_everywhere

    _install_everywhere()

__all__ = [
    "Compiled",
    "Expected",
    "Minified",
    "Policy",
    "Variant",
    "certify",
    "compile",
    "dims",
    "explain",
    "mark_dynamic",
    "mark_maybe_dynamic",
    "mark_static",
    "mark_unbacked",
    "minify",
    "one_of",
    "reasoner",
    "report",
    "trace",
]
