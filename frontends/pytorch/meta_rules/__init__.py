"""Meta rules for ATen operators: tensor metadata in, tensor metadata out. One family a file.

A rule takes the recorder and the operator's own arguments, tensors of the trace among them, and returns what comes
out: a `Metadata`, the place of an argument that is given back, a list or tuple of these, or `NotImplemented` where
torch's own meta function shall answer. Sizes come from `shapes.rules`, by `ruled`; what is added here is what a graph
needs beyond sizes: strides, dtype and device.
"""

from __future__ import annotations

import importlib
from typing import Final

from frontends.pytorch.meta_rules.registry import RULES, Kind, kind_rule, ruled

FAMILIES: Final = (
    "data_dependent", "missing_meta", "storage", "sequences", "pointwise", "views", "matmul", "reductions",
    "normalization", "embedding", "convolution", "joining", "creation", "attention", "scans", "recurrent", "transforms",
)  # fmt: skip

for family in FAMILIES:
    importlib.import_module(f"frontends.pytorch.meta_rules.{family}")

__all__ = ["RULES", "Kind", "kind_rule", "ruled"]
