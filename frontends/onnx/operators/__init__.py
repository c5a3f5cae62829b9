"""Operators of ONNX by type, one family a file. Importing this registers all of them."""

from frontends.onnx.operators import (
    creation,
    indexing,
    joining,
    layers,
    matmul,
    pointwise,
    reductions,
    resampling,
    views,
    windows,
)
