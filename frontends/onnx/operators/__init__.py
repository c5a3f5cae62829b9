"""Operators of ONNX by type, one family a file. Importing this registers all of them."""

from frontends.onnx.operators import (
    attention,
    creation,
    indexing,
    joining,
    matmul,
    normalization,
    pointwise,
    recurrent,
    reductions,
    resampling,
    selecting,
    views,
    windows,
)
