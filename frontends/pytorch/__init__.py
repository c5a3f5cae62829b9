"""The PyTorch frontend: functions traced over our own symbolic sizes.

    >>> import torch
    >>> from frontends.pytorch import trace
    >>> variant = trace(lambda x: x.view(-1, 4) * 2, (torch.randn(3, 8),))
    >>> variant.graph(torch.randn(5, 12))[0].shape
    torch.Size([15, 4])
"""

from backends.costs import Expected
from frontends.pytorch.breaks import control_flow as _control_flow  # stands before torch.cond where a graph breaks
from frontends.pytorch.calls.compiled import Compiled
from frontends.pytorch.calls.compiling import compile
from frontends.pytorch.calls.dynamism import Policy
from frontends.pytorch.calls.loading import load
from frontends.pytorch.calls.marks import mark_dynamic, mark_maybe_dynamic, mark_static, mark_unbacked
from frontends.pytorch.calls.relations import dims, one_of
from frontends.pytorch.certificates import certify
from frontends.pytorch.recording import cond as _cond  # stands behind torch.cond while a function is traced
from frontends.pytorch.recording import contraction as _contraction  # registers itself
from frontends.pytorch.recording import masks as _masks  # registers itself
from frontends.pytorch.recording import overlap as _overlap  # registers itself
from frontends.pytorch.tracing import Variant, trace

__all__ = [
    "Compiled",
    "Expected",
    "Policy",
    "Variant",
    "certify",
    "compile",
    "dims",
    "load",
    "mark_dynamic",
    "mark_maybe_dynamic",
    "mark_static",
    "mark_unbacked",
    "one_of",
    "trace",
]
