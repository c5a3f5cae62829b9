"""Operators of ONNX by type, one family a file. Importing this registers all of them."""

from frontends.onnx.operators import (
    attending,
    creating,
    elementwise,
    indexing,
    joining,
    multiplying,
    normalizing,
    recurrent,
    reducing,
    resizing,
    selecting,
    viewing,
    windows,
)
